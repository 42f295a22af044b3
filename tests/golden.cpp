// Compares what bam prints for a case with the file beside it. One case is one file, tests/golden/STAGE/NAME.bam, and NAME.expected.
//
//     golden PROGRAM SCRATCH CASE...            succeeds if every case prints what it should
//     golden --update PROGRAM SCRATCH CASE...   writes NAME.expected instead, but never from a crash or with the wrong sort of exit code
//
// CASE is such a file, or a folder of stages. The first lines of a case may say what to run, as often as needed, with the words of a shell:
//
//     # run: check --dump=parse %s
//
// %s is the case, %d its folder, both as seen from the folder of the stage, where it runs; %t is an empty folder that is gone afterwards.
// `< FILE` gives standard input. Seconds, as in `0.12 s`, are printed as `%s s`, what rounding leaves as `worst %e of`. Without such a line
// it is `check %s`. A case whose name begins with fail_ fails in one run at least, and no other does. NAME.fixed is a case as well:
// fail_NAME.bam with the advice taken. It must not fail, and it has no expected file.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>

#include "process.hpp"

namespace fs = std::filesystem;

namespace {

constexpr unsigned cpu_seconds = 60;

std::string read(fs::path const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(fs::path const& path, std::string const& text) {
    fs::path const beside = path.string() + ".new";
    std::ofstream file(beside, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw std::runtime_error("cannot write " + beside.string());
    fs::rename(beside, path);
}

std::string replace_all(std::string text, std::string_view what, std::string_view with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) text.replace(at, what.size(), with);
    return text;
}

/// The words of a command line: blanks part them, '...' and "..." and \ keep blanks.
std::vector<std::string> split_words(std::string_view line) {
    std::vector<std::string> words;
    char quote = 0;
    bool is_inside = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        char const c = line[i];
        if (quote == 0 && (c == ' ' || c == '\t')) {
            is_inside = false;
            continue;
        }
        if (!is_inside) words.emplace_back();
        is_inside = true;
        if (quote != '\'' && c == '\\' && i + 1 < line.size()) {
            words.back() += line[++i];
        } else if (quote == 0 && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == quote) {
            quote = 0;
        } else {
            words.back() += c;
        }
    }
    if (quote != 0) throw std::runtime_error("unclosed quote in: " + std::string(line));
    return words;
}

bool is_fixed(fs::path const& path) { return path.extension() == ".fixed"; }

std::vector<std::string> find_runs(std::string const& text) {
    std::vector<std::string> runs;
    std::istringstream lines(text);
    std::string const mark = "# run: ";
    for (std::string line; std::getline(lines, line) && line.starts_with('#');) {
        if (line.starts_with(mark)) runs.push_back(line.substr(mark.size()));
    }
    if (runs.empty()) runs.emplace_back("check %s");
    return runs;
}

struct Result {
    std::string text;       ///< for the .expected file
    std::string complaint;  ///< why the text may not become the expected one; empty if it may
};

Result run_case(fs::path const& path, std::string const& program, fs::path const& scratch) {
    fs::remove_all(scratch);
    fs::create_directories(scratch);
    Result result;
    bool has_failed = false;
    for (std::string const& line : find_runs(read(path))) {
        std::string const shown = replace_all(replace_all(line, "%s", path.filename().string()), "%d", ".");
        std::vector<std::string> command = split_words(replace_all(shown, "%t", scratch.string()));
        bam::test::Start start{.folder = path.parent_path().string(), .environment = {"NO_COLOR=1"}, .cpu_seconds = cpu_seconds};
        if (auto const from = std::ranges::find(command, "<"); from != command.end() && from + 1 != command.end()) {
            start.input = from[1];
            command.erase(from, from + 2);
        }
        command.insert(command.begin(), program);
        bam::test::Ended const ended = bam::test::run(command, start);
        result.text += "$ bam " + shown + "\n" + ended.out;
        if (!ended.err.empty()) result.text += "--- stderr\n" + ended.err;
        result.text += "exit " + std::to_string(ended.code) + "\n";
        has_failed = has_failed || ended.code != 0;
        if (ended.is_crash()) result.complaint = "crash: `bam " + shown + "` ended with " + std::to_string(ended.code);
    }
    result.text = replace_all(result.text, scratch.string(), "%t");
    // What is no answer: how long it took.
    result.text = std::regex_replace(result.text, std::regex(R"(\b[0-9]+\.[0-9]{2} s\b)"), "%s s");
    result.text = std::regex_replace(result.text, std::regex(R"(("seconds": )[-+.e0-9]+)"), "$1%s");
    // And by how much rounding breaks an identity.
    result.text = std::regex_replace(result.text, std::regex(R"(\bworst [-+.e0-9]+ of )"), "worst %e of ");
    fs::remove_all(scratch);
    if (!result.complaint.empty()) return result;
    bool const should_fail = path.filename().string().starts_with("fail_") && !is_fixed(path);
    if (should_fail && !has_failed) result.complaint = "it is named fail_, yet every exit code is 0";
    if (!should_fail && has_failed)
        result.complaint = is_fixed(path) ? "the advice does not help" : "an exit code is not 0, yet it is not named fail_";
    return result;
}

/// Prints the difference on standard output.
void show_difference(fs::path const& expected, fs::path const& actual) {
    std::vector<std::string> const command = {"diff",    "-u",      "--label",         "expected",
                                              "--label", "printed", expected.string(), actual.string()};
    std::cout << bam::test::run(command).out;
}

bool check(fs::path const& path, Result const& result, fs::path const& scratch) {
    if (!result.complaint.empty()) {
        std::cout << path.string() << ": " << result.complaint << "\n" << result.text;
        return false;
    }
    if (is_fixed(path)) return true;
    fs::path const expected = fs::path(path).replace_extension(".expected");
    if (!fs::exists(expected)) {
        std::cout << path.string() << ": there is no " << expected.filename().string() << "; it would be\n" << result.text;
        return false;
    }
    if (read(expected) == result.text) return true;
    std::cout << path.string() << ": printed something else than expected\n";
    write(scratch, result.text);
    show_difference(expected, scratch);
    fs::remove(scratch);
    return false;
}

bool update(fs::path const& path, Result const& result) {
    if (!result.complaint.empty()) {
        std::cout << path.string() << ": not written, " << result.complaint << "\n" << result.text;
        return false;
    }
    if (is_fixed(path)) return true;
    fs::path const expected = fs::path(path).replace_extension(".expected");
    if (!fs::exists(expected) || read(expected) != result.text) {
        write(expected, result.text);
        std::cout << "wrote " << expected.string() << "\n";
    }
    return true;
}

std::vector<fs::path> find_cases(fs::path const& path) {
    if (!fs::is_directory(path)) return {fs::absolute(path)};
    std::vector<fs::path> cases;
    for (auto const& stage : fs::directory_iterator(path)) {
        if (!stage.is_directory()) continue;
        for (auto const& file : fs::directory_iterator(stage)) {
            if (file.path().extension() == ".bam") cases.push_back(fs::absolute(file.path()));
        }
    }
    std::ranges::sort(cases);
    return cases;
}

}  // namespace

int main(int count, char** values) try {
    std::vector<std::string> arguments(values + 1, values + count);
    bool const is_update = !arguments.empty() && arguments.front() == "--update";
    if (is_update) arguments.erase(arguments.begin());
    if (arguments.size() < 3) {
        std::cerr << "usage: golden [--update] PROGRAM SCRATCH CASE...\n";
        return 64;
    }
    std::string const program = fs::absolute(arguments[0]).string();
    fs::path const scratch = fs::absolute(arguments[1]);
    bool is_good = true;
    for (std::size_t i = 2; i < arguments.size(); ++i) {
        for (fs::path const& path : find_cases(arguments[i])) {
            Result const result = run_case(path, program, scratch);
            bool const is_ok = is_update ? update(path, result) : check(path, result, scratch);
            is_good = is_good && is_ok;
        }
    }
    return is_good ? 0 : 1;
} catch (std::exception const& error) {
    std::cerr << "golden: " << error.what() << "\n";
    return 70;
}
