// Codes of this file:
//   BAM0010  the version line: another version, or not the first line
//   BAM0013  a section without its `{` or `}`, or a `}` that closes nothing
//   BAM0014  a second `model` line
//   BAM0015  a name or `extends` on a section other than priors, or one too many
#include "reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bam::syntax {

Reader::Reader(Source const& source, std::uint32_t id, Diagnostics& diagnostics)
    : source_(source), diagnostics_(diagnostics), recovery_(source.code) {
    file.source = id;
}

void Reader::start(char const* at, Stage at_stage) {
    begin_ = std::min(source_.code.find_first_not_of(" \t", offset(at)), source_.code.size());
    has_failed = false;
    stage = at_stage;
    open.clear();
    minus.clear();
}

void Reader::fail(char const* where, std::string expected) {
    std::optional<std::size_t> const innermost = open.empty() ? std::nullopt : std::optional{open.back()};
    std::size_t const token = std::min(source_.code.find_first_not_of(" \t", offset(where)), source_.code.size());
    diagnostics_.push_back(explain({source_, file.source, begin_, token, std::move(expected), stage, innermost}));
    has_failed = true;
}

char const* Reader::fail_statement(char const* where, std::string expected) {
    fail(where, std::move(expected));
    return base() + recovery_.find_end(begin_, offset(where));
}

char const* Reader::skip_outside(char const* where) {
    start(where, Stage::Line);
    std::size_t const end = recovery_.find_end(begin_, begin_);
    if (!std::exchange(is_outside_, true)) diagnostics_.push_back(outside(source_.code, span(begin_, std::max(last_end(end), begin_ + 1))));
    return base() + end;
}

void Reader::extra_word(Token const& token) {
    report(15, token.span, fmt::format("`{}` does not belong here", token.text), "",
           {"a heading is `param {`, `priors wide {` or `priors wide extends base {`"});
}

void Reader::check_heading(tree::Section& section) {
    is_outside_ = false;
    auto const& keywords = section_keywords();
    bool const is_known = std::find(keywords.begin(), keywords.end(), section.keyword) != keywords.end();
    if (!is_known) {
        std::optional<std::string> meant;
        diagnostics_.push_back(unknown_section(section.keyword_span, section.keyword, section.name_span, section.name, meant));
        section.keyword = meant.value_or("");
    } else if (section.keyword != "priors" && !(section.name.empty() && section.extends.empty())) {
        Span const extra = section.name.empty() ? section.extends_span : section.name_span;
        report(15, extra, fmt::format("`{}` has no name", section.keyword), "only `priors` have one");
    } else if (section.name.empty() && !section.extends.empty()) {
        report(15, section.extends_span, "priors without a name extend nothing", "priors without a name always apply",
               {"a set that is chosen with --priors has a name: `priors wide extends base {`"});
    }
    if (section.keyword == "priors") return;
    section.name.clear();
    section.extends.clear();
}

void Reader::miss_open(char const* at) {
    std::size_t const end = last_end(offset(at));
    brace_.reset();
    report(13, span(end, end), "a section without `{`", "expected `{` here");
}

void Reader::close_section(tree::Section& section, char const* end) const { section.span = span(section.keyword_span.begin, offset(end)); }

void Reader::miss_close(tree::Section& section, char const* at) {
    std::size_t const end = last_end(offset(at));
    section.span = span(section.keyword_span.begin, end);
    if (!brace_) return;  // reported, and nobody knows where it was to end
    Span const word = section.keyword_span;
    std::string_view const keyword = std::string_view{source_.text}.substr(word.begin, word.end - word.begin);
    report(13, span(end, end), fmt::format("the section `{}` is not closed", keyword), "expected `}` here");
    diagnostics_.back().labels.push_back({span(*brace_, *brace_ + 1), "opened here"});
}

void Reader::stray_close(char const* brace) {
    std::size_t const at = offset(brace);
    if (!std::exchange(is_outside_, true)) report(13, span(at, at + 1), "`}` closes nothing", "no section is open here");
}

void Reader::add(tree::Section&& section) {
    if (!section.keyword.empty()) file.sections.push_back(std::move(section));
}

void Reader::set_version(Token const& token) {
    Span const line = span(begin_, token.span.end);
    bool const is_first = file.sections.empty() && file.uses.empty() && file.model.empty() && !file.version;
    if (!is_first) {
        report(10, line, "the version line comes first", "", {"move it to the top of the file"});
    } else if (token.text != "1") {
        report(10, token.span, fmt::format("version {} of the language", token.text), "this bam reads version 1");
        is_other_version = true;
    } else {
        file.version = 1;
        file.version_span = line;
    }
}

void Reader::set_model(Token const& token) {
    if (file.model.empty()) {
        file.model = token.text;
        file.model_span = token.span;
    } else {
        report(14, token.span, "a second name for the model", "a file has one `model` line");
        diagnostics_.back().labels.push_back({file.model_span, "the first"});
    }
}

void Reader::add_use(Token const& token) { file.uses.push_back({span(begin_, token.span.end), token.text, token.span}); }

std::size_t Reader::last_end(std::size_t at) const {
    std::size_t const last = at == 0 ? std::string::npos : source_.code.find_last_not_of(" \t\n", at - 1);
    return last == std::string::npos ? 0 : last + 1;
}

void Reader::report(int code, Span where, std::string message, std::string label, std::vector<std::string> notes) {
    diagnostics_.push_back({code, Severity::Error, std::move(message), {{where, std::move(label)}}, std::move(notes)});
}

}  // namespace bam::syntax
