// Holds a document to what it says: its models are checked, its commands are run and must print what it shows.
//
//     check_docs PROGRAM ROOT SCRATCH DOCUMENT.md
//
// Everything runs in a scratch folder with copies of ROOT/examples and ROOT/models, one for the whole document, block after block.
//
// ```bam             must pass `bam check`; ```bam fail must not; ```bam part is not a whole model and is left alone
// ```console         lines `$ command`, run by bash with `bam` on its path, each followed by what it prints, standard error included.
//                    A line `...` stands for any lines, `…` in a line for any text. A line that ends in \ goes on in the next.
// ```console fail    the same, and one of the commands has an exit code other than 0, which without the word none may have

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "process.hpp"

namespace fs = std::filesystem;

namespace {

using Lines = std::vector<std::string>;

/// A fenced block: the words after the fence, and the lines between.
struct Block {
    std::size_t line = 0;  ///< of the opening fence
    Lines words = {};
    Lines lines = {};

    bool is(std::string_view language) const { return !words.empty() && words.front() == language; }
    bool has(std::string_view word) const { return words.size() > 1 && words[1] == word; }
};

struct Command {
    std::size_t line = 0;
    std::string text;
    Lines expected = {};
};

std::string trim_right(std::string text) {
    text.erase(text.find_last_not_of(" \t\r") + 1);
    return text;
}

Lines split_lines(std::string const& text) {
    Lines lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(trim_right(line));
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
}

std::vector<Block> find_blocks(fs::path const& document) {
    std::ifstream file(document);
    if (!file) throw std::runtime_error("cannot read " + document.string());
    std::vector<Block> blocks;
    bool is_inside = false;
    std::size_t indent = 0;
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        std::size_t const start = std::min(line.find_first_not_of(' '), line.size());
        bool const is_fence = line.compare(start, 3, "```") == 0;
        if (is_inside && is_fence) {
            is_inside = false;
        } else if (is_inside) {
            blocks.back().lines.push_back(trim_right(line.substr(std::min(indent, start))));
        } else if (is_fence) {
            is_inside = true;
            indent = start;
            blocks.push_back({.line = number});
            std::istringstream words(line.substr(start + 3));
            for (std::string word; words >> word;) blocks.back().words.push_back(word);
        }
    }
    if (is_inside) throw std::runtime_error("the block of line " + std::to_string(blocks.back().line) + " is not closed");
    return blocks;
}

std::vector<Command> find_commands(Block const& block) {
    std::vector<Command> commands;
    bool goes_on = false;
    for (std::size_t i = 0; i < block.lines.size(); ++i) {
        std::string const& line = block.lines[i];
        if (goes_on) {
            commands.back().text += "\n" + (line.starts_with("> ") ? line.substr(2) : line);
        } else if (line.starts_with("$ ")) {
            commands.push_back({.line = block.line + 1 + i, .text = line.substr(2)});
        } else if (commands.empty()) {
            throw std::runtime_error("the block of line " + std::to_string(block.line) + " does not begin with `$ command`");
        } else {
            commands.back().expected.push_back(line);
            continue;
        }
        goes_on = line.ends_with('\\');
    }
    if (commands.empty()) throw std::runtime_error("the block of line " + std::to_string(block.line) + " has no command");
    for (Command& command : commands) {
        while (!command.expected.empty() && command.expected.back().empty()) command.expected.pop_back();
    }
    return commands;
}

/// `…` in the pattern stands for any text.
bool is_match(std::string_view pattern, std::string_view text) {
    constexpr std::string_view any = "…";
    std::size_t const first = pattern.find(any);
    if (first == std::string_view::npos) return pattern == text;
    if (!text.starts_with(pattern.substr(0, first))) return false;
    text.remove_prefix(first);
    pattern.remove_prefix(first + any.size());
    for (std::size_t next; (next = pattern.find(any)) != std::string_view::npos; pattern.remove_prefix(next + any.size())) {
        std::size_t const at = text.find(pattern.substr(0, next));
        if (at == std::string_view::npos) return false;
        text.remove_prefix(at + next);
    }
    return text.ends_with(pattern);
}

/// What of the pattern cannot be found in the lines, in words; empty if they match. A line `...` of the pattern stands for any lines.
std::string find_difference(Lines const& pattern, Lines const& lines) {
    std::vector<bool> reached(lines.size() + 1, false);  // [number of lines that the pattern so far can have used up]
    reached[0] = true;
    for (std::string const& line : pattern) {
        std::vector<bool> next(lines.size() + 1, false);
        for (std::size_t i = 0; i <= lines.size(); ++i) {
            if (line == "...") {
                next[i] = reached[i] || (i > 0 && next[i - 1]);
            } else {
                next[i] = i > 0 && reached[i - 1] && is_match(line, lines[i - 1]);
            }
        }
        if (std::ranges::find(next, true) == next.end()) return "does not print, where it should: " + line;
        reached = next;
    }
    return reached.back() ? "" : "prints more than is shown";
}

void write(fs::path const& path, std::string const& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path.string());
}

std::string join(Lines const& lines) {
    std::string text;
    for (std::string const& line : lines) text += line + "\n";
    return text;
}

/// The beginning and the end, where there is much.
std::string shorten(Lines const& lines) {
    constexpr std::ptrdiff_t head = 10, tail = 60;
    auto const size = static_cast<std::ptrdiff_t>(lines.size());
    if (size <= head + tail) return join(lines);
    return join({lines.begin(), lines.begin() + head}) + "[" + std::to_string(size - head - tail) + " lines]\n" +
           join({lines.end() - tail, lines.end()});
}

/// One document, its scratch folder, and whether it has kept its word so far.
class Document {
  public:
    Document(fs::path program, fs::path const& root, fs::path scratch, fs::path path)
        : program_(std::move(program)), scratch_(std::move(scratch)), path_(std::move(path)) {
        fs::remove_all(scratch_);
        fs::create_directories(scratch_);
        for (char const* folder : {"examples", "models"}) fs::copy(root / folder, scratch_ / folder, fs::copy_options::recursive);
        std::string const path_variable = std::getenv("PATH") == nullptr ? "/usr/bin:/bin" : std::getenv("PATH");
        start_ = {.folder = scratch_.string(),
                  .merges_err = true,
                  .environment = {"NO_COLOR=1", "TERM=dumb", "PATH=" + program_.parent_path().string() + ":" + path_variable}};
    }

    bool check() {
        std::size_t tried = 0;
        for (Block const& block : find_blocks(path_)) {
            if (!block.is("bam") && !block.is("console")) continue;
            bool const may_be_part = block.is("bam");
            if (block.words.size() > 2 || (block.words.size() == 2 && !block.has("fail") && !(may_be_part && block.has("part")))) {
                complain(block.line, "unknown words after the fence");
            } else if (!block.has("part")) {
                ++tried;
                block.is("bam") ? check_model(block) : check_console(block);
            }
        }
        std::cout << path_.string() << ": " << tried << " blocks tried\n";
        fs::remove_all(scratch_);
        return is_good_;
    }

  private:
    void complain(std::size_t line, std::string const& message) {
        std::cout << path_.string() << ":" << line << ": " << message << "\n";
        is_good_ = false;
    }

    void check_model(Block const& block) {
        std::string const name = path_.stem().string() + "_" + std::to_string(block.line) + ".bam";
        write(scratch_ / name, join(block.lines));
        bam::test::Ended const ended = bam::test::run({program_.string(), "check", name}, start_);
        if (ended.is_crash()) {
            complain(block.line, "`bam check` ended with " + std::to_string(ended.code) + "\n" + ended.out);
        } else if (block.has("fail") && ended.code == 0) {
            complain(block.line, "`bam check` finds nothing wrong with this model");
        } else if (!block.has("fail") && ended.code != 0) {
            complain(block.line, "`bam check` refuses this model\n" + ended.out);
        }
    }

    void check_console(Block const& block) {
        std::vector<Command> const commands = find_commands(block);
        fs::path const printed = scratch_.string() + ".printed";
        fs::remove_all(printed);
        fs::create_directories(printed);
        // One bash for the block, so that `cd`, variables and `$?` reach the next command; a file for what each prints, another for its
        // code.
        std::string script;
        for (std::size_t i = 0; i < commands.size(); ++i) {
            std::string const file = "'" + (printed / std::to_string(i)).string() + "'";
            script += "exec >" + file + " 2>&1\n(exit ${code_:-0})\n" + commands[i].text + "\ncode_=$?\necho $code_ >" + file + ".code\n";
        }
        write(printed / "script", script);
        bam::test::run({"bash", "--norc", "--noprofile", (printed / "script").string()}, start_);
        bool has_failed = false;
        for (std::size_t i = 0; i < commands.size(); ++i) {
            int const code = check_command(commands[i], printed / std::to_string(i), block.has("fail"));
            has_failed = has_failed || code != 0;
        }
        if (block.has("fail") && !has_failed) complain(block.line, "is marked fail, yet every exit code is 0");
        fs::remove_all(printed);
    }

    /// Its exit code.
    int check_command(Command const& command, fs::path const& printed, bool may_fail) {
        std::ifstream file(printed);
        Lines const lines = split_lines({std::istreambuf_iterator<char>(file), {}});
        std::string const text = shorten(lines);
        int code = -1;
        std::ifstream(printed.string() + ".code") >> code;
        bam::test::Ended const ended{code, {}, {}};
        if (code < 0) {
            complain(command.line, "did not come back: " + command.text + "\n" + text);
        } else if (ended.is_crash() || (code != 0 && !may_fail)) {
            complain(command.line, "exit code " + std::to_string(code) + ": " + command.text + "\n" + text);
        } else if (std::string const difference = find_difference(command.expected, lines); !difference.empty()) {
            complain(command.line, command.text + "\n--- " + difference + "\n--- printed\n" + text);
        }
        return code;
    }

    fs::path program_;
    fs::path scratch_;
    fs::path path_;
    bam::test::Start start_;
    bool is_good_ = true;
};

}  // namespace

int main(int count, char** values) try {
    if (count != 5) {
        std::cerr << "usage: check_docs PROGRAM ROOT SCRATCH DOCUMENT.md\n";
        return 64;
    }
    Document document(fs::absolute(values[1]), fs::absolute(values[2]), fs::absolute(values[3]), fs::absolute(values[4]));
    return document.check() ? 0 : 1;
} catch (std::exception const& error) {
    std::cerr << "check_docs: " << error.what() << "\n";
    return 70;
}
