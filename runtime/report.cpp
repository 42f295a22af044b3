#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "words.hpp"

namespace bam {
namespace {

constexpr int exit_model = 1;
constexpr int exit_usage = 64;
constexpr int exit_data = 65;
constexpr int exit_no_input = 66;

std::size_t count(Diagnostics const& diagnostics, Severity severity) {
    return static_cast<std::size_t>(
        std::count_if(diagnostics.begin(), diagnostics.end(), [&](Diagnostic const& d) { return d.severity == severity; }));
}

bool is_same(Diagnostic const& a, Diagnostic const& b) {
    auto const place = [](Diagnostic const& d) { return d.labels.empty() ? Span{} : d.labels.front().span; };
    return a.code == b.code && a.message == b.message && a.labels.empty() == b.labels.empty() && place(a) == place(b);
}

}  // namespace

Report make_report(std::shared_ptr<Sources const> sources, Diagnostics diagnostics) {
    auto parts = std::make_shared<Report::Parts>();
    parts->sources = std::move(sources);
    for (Diagnostic& diagnostic : diagnostics) {
        bool const is_known = std::any_of(parts->diagnostics.begin(), parts->diagnostics.end(),
                                          [&](Diagnostic const& other) { return is_same(diagnostic, other); });
        if (!is_known) parts->diagnostics.push_back(std::move(diagnostic));
    }
    return Report(std::move(parts));
}

int exit_code_of(Diagnostics const& diagnostics) {
    for (Diagnostic const& diagnostic : diagnostics) {
        if (diagnostic.severity != Severity::Error) continue;
        int const code = diagnostic.code;
        if (code == 501) return exit_no_input;
        if (code >= 505 && code < 530) return exit_usage;
        if ((code >= 400 && code < 500) || (code >= 530 && code < 550)) return exit_data;
        break;
    }
    return exit_model;
}

void throw_if_error(std::shared_ptr<Sources const> const& sources, Diagnostics const& diagnostics) {
    if (has_error(diagnostics)) throw Error(make_report(sources, diagnostics), exit_code_of(diagnostics));
}

Report::Report() : Report(std::make_shared<Parts>(Parts{std::make_shared<Sources>(), {}})) {}
Report::Report(std::shared_ptr<Parts const> parts) : parts_(std::move(parts)) {}
Diagnostics const& Report::diagnostics() const { return parts_->diagnostics; }
bool Report::has_errors() const { return has_error(parts_->diagnostics); }
std::string Report::text(bool colour) const { return to_text(parts_->diagnostics, *parts_->sources, colour); }
std::string Report::json() const { return to_json(parts_->diagnostics, *parts_->sources); }
std::string Report::counts() const {
    return counted(count(parts_->diagnostics, Severity::Error), "error") + "; " +
           counted(count(parts_->diagnostics, Severity::Warning), "warning");
}

Error::Error(Report report, int exit_code)
    : report_(std::make_shared<Report>(std::move(report))), text_(std::make_shared<std::string>(report_->text())), exit_code_(exit_code) {}
Error::Error(Diagnostic diagnostic, int exit_code) : Error(make_report(std::make_shared<Sources>(), {std::move(diagnostic)}), exit_code) {}

}  // namespace bam
