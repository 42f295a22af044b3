// Codes of this file:
//   BAM0501  a file of the command line cannot be read
//   BAM0502  a file that is used cannot be read
//   BAM0503  files that use one another in a circle
//   BAM0504  `use "-"`, or a path of nothing
#include "load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "grammar.hpp"

namespace bam {
namespace {

class Loader {
  public:
    Loader(Reader const& reader, Sources& sources, Diagnostics& diagnostics)
        : reader_(reader), sources_(sources), diagnostics_(diagnostics) {}

    void add(std::string const& name) { visit(name, std::nullopt); }
    Loaded take() {
        suggest_sets();
        return std::move(loaded_);
    }

  private:
    /// A file whose uses are being followed, and the `use` that led to it.
    struct Step {
        std::string identity;
        std::optional<Span> use;
    };

    void visit(std::string const& name, std::optional<Span> use);
    void follow(tree::Use const& use, std::string const& from);
    void report_unread(std::string const& name, std::optional<Span> use, ReadText const& read);
    void report_circle(std::string const& identity, Span use);
    void suggest_sets();

    Reader const& reader_;
    Sources& sources_;
    Diagnostics& diagnostics_;
    Loaded loaded_;
    std::map<std::string, std::optional<std::uint32_t>> known_;  ///< by identity; nothing: it is no model text
    std::vector<Step> path_;
    std::vector<std::pair<std::string, std::size_t>> unread_;  ///< files of the command line, and their diagnostics
};

void Loader::visit(std::string const& name, std::optional<Span> use) {
    ReadText read = reader_(name);
    if (!read.failure.empty()) return report_unread(name, use, read);
    bool const is_open = std::any_of(path_.begin(), path_.end(), [&](Step const& step) { return step.identity == read.identity; });
    if (is_open) return report_circle(read.identity, *use);
    if (auto const known = known_.find(read.identity); known != known_.end()) {
        if (known->second) loaded_.sources[name] = *known->second;
        return;
    }
    auto const source = sources_.add_model(name, std::move(read.text), diagnostics_);
    known_[read.identity] = source;
    if (!source) {
        return;
    }
    loaded_.sources[name] = *source;
    tree::File file = parse(sources_, *source, diagnostics_);
    std::vector<tree::Use> const uses = file.uses;
    loaded_.files.push_back(std::move(file));
    path_.push_back({read.identity, use});
    for (tree::Use const& next : uses) follow(next, name);
    path_.pop_back();
}

void Loader::follow(tree::Use const& use, std::string const& from) {
    if (use.path.empty() || use.path == "-") {
        diagnostics_.push_back({504,
                                Severity::Error,
                                use.path.empty() ? "`use` of no file" : "standard input cannot be used",
                                {{use.path_span, "here"}},
                                {"`use` takes the path of a file, relative to the file that says it"}});
        return;
    }
    std::filesystem::path const folder = from == "-" ? std::filesystem::path() : std::filesystem::path(from).parent_path();
    visit((folder / use.path).lexically_normal().string(), use.path_span);
}

void Loader::report_unread(std::string const& name, std::optional<Span> use, ReadText const& read) {
    Diagnostic diagnostic{502, Severity::Error, fmt::format("`{}` cannot be read: {}", name, read.failure), {}, {}};
    if (!use) {
        diagnostic.code = 501;
        unread_.emplace_back(name, diagnostics_.size());
        if (!read.near.empty()) diagnostic.notes.push_back(fmt::format("did you mean `{}`?", read.near));
    } else {
        diagnostic.labels.push_back({*use, "used here"});
        // What the user writes is relative to the file that says it.
        std::filesystem::path const folder = std::filesystem::path(sources_[use->source].name).parent_path();
        std::string const path = std::filesystem::path(read.near).lexically_proximate(folder).string();
        if (!read.near.empty()) diagnostic.notes.push_back(fmt::format("write `\"{}\"`", path));
        diagnostic.notes.push_back("a path is relative to the file that says it");
    }
    diagnostics_.push_back(std::move(diagnostic));
}

void Loader::report_circle(std::string const& identity, Span use) {
    auto const first = std::find_if(path_.begin(), path_.end(), [&](Step const& step) { return step.identity == identity; });
    Diagnostic diagnostic{503, Severity::Error, "files use one another in a circle", {{use, "and so it begins again"}}, {}};
    if (path_.end() - first == 1) {
        diagnostic.message = "a file uses itself";
        diagnostic.labels.front().text = "that is this file";
    }
    for (auto step = first + 1; step != path_.end(); ++step) diagnostic.labels.push_back({*step->use, "which is used here"});
    diagnostics_.push_back(std::move(diagnostic));
}

/// A prior set of the model may have been meant where a file of that name was asked for.
void Loader::suggest_sets() {
    for (auto const& [name, diagnostic] : unread_) {
        std::string const set = std::filesystem::path(name).stem().string();
        bool const is_set = std::any_of(loaded_.files.begin(), loaded_.files.end(), [&](tree::File const& file) {
            return std::any_of(file.sections.begin(), file.sections.end(),
                               [&](tree::Section const& section) { return section.keyword == "priors" && section.name == set; });
        });
        if (!is_set) continue;
        std::vector<std::string>& notes = diagnostics_[diagnostic].notes;
        notes.insert(notes.begin(), fmt::format("did you mean the prior set `{0}` of the model? That is `--priors {0}`", set));
    }
}

}  // namespace

Loaded load(std::vector<std::string> const& names, Reader const& reader, Sources& sources, Diagnostics& diagnostics) {
    Loader loader(reader, sources, diagnostics);
    for (std::string const& name : names) loader.add(name);
    return loader.take();
}

}  // namespace bam
