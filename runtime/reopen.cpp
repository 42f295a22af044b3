// Codes of this file:
//   BAM0518  the table of a run, which is no longer there as it was fitted
//   BAM0528  a table that is not that of the run
//   BAM0495  (note) labels of a table that the run has not seen
#include "reopen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "nearest.hpp"
#include "report.hpp"
#include "words.hpp"

namespace bam {
namespace {

/// The files of a run as they were when it was fitted.
Reader reader_of(RunConfig const& config) {
    return [&config](std::string const& name) {
        ReadText read;
        read.identity = name;
        for (RunConfig::File const& file : config.files) {
            bool const is_it = file.name == name || std::find(file.also.begin(), file.also.end(), name) != file.also.end();
            if (!is_it) continue;
            read.identity = file.name;
            read.text = file.text;
            return read;
        }
        read.failure = "the run does not have it";
        return read;
    };
}

CompileRequest request_of(RunConfig const& config) {
    CompileRequest request;
    request.files = config.requested;
    request.dims = config.dims;
    request.priors = config.priors;
    request.learns_hyper = config.learns_hyper;
    request.labels = config.labels;
    return request;
}

constexpr int exit_data = 65;

FittedTable bind_columns(Program::Parts const& program, RunConfig const& config, Csv const& csv, bool outputs_may_be_absent,
                         Diagnostics& diagnostics) {
    Layout const* const layout = program.compiled.layout(diagnostics);
    throw_if_error(program.sources, diagnostics);
    auto const learnt = learnt_of(config, *layout);
    BindOptions binding;
    binding.learnt = &learnt;
    binding.outputs_may_be_absent = outputs_may_be_absent;
    FittedTable fitted;
    fitted.table = prepare(program, csv, binding, fitted.sources, diagnostics);
    return fitted;
}

std::optional<double> as_number(std::string const& label) {
    double value = 0;
    auto const [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
    return error == std::errc() && end == label.data() + label.size() ? std::optional(value) : std::nullopt;
}

/// The label of the run that a new one may be meant for: the same number, or the nearest text.
std::string likely(std::string const& label, std::vector<std::string> const& known) {
    auto const number = as_number(label);
    auto const twin =
        std::find_if(known.begin(), known.end(), [&](std::string const& other) { return number && as_number(other) == number; });
    if (twin != known.end())
        return fmt::format("`{}` is `{}` of the run as a number, but labels are told apart by their text", label, *twin);
    auto const near = number ? std::nullopt : nearest(label, known);
    return near ? fmt::format("`{}`: did you mean `{}`?", label, *near) : "";
}

/// They are entries of their own, drawn from the prior: which may be what is wanted, or the work of another spelling.
void note_new_labels(Program::Parts const& program, RunConfig const& config, Diagnostics& diagnostics) {
    for (auto const& [dim, labels] : program.request.labels) {
        auto const of_run = config.labels.find(dim);
        std::vector<std::string> const known = of_run == config.labels.end() ? std::vector<std::string>{} : of_run->second;
        std::vector<std::string> fresh, notes;
        for (std::string const& label : labels)
            if (std::find(known.begin(), known.end(), label) == known.end()) fresh.push_back(label);
        if (fresh.empty()) continue;
        constexpr std::size_t most = 5;
        for (std::string const& label : fresh)
            if (std::string note = likely(label, known); !note.empty() && notes.size() < most) notes.push_back(std::move(note));
        notes.emplace_back("what is over them is drawn from its prior");
        diagnostics.push_back(
            {495,
             Severity::Note,
             fmt::format("the table has {} of `{}` that the run has not seen: {}", counted(fresh.size(), "label"), dim, first_few(fresh)),
             {},
             std::move(notes)});
    }
}

}  // namespace

std::shared_ptr<Program::Parts const> program_of(RunConfig const& config) { return make_program(request_of(config), reader_of(config)); }

std::shared_ptr<Program::Parts const> program_with(RunConfig const& config, std::string const& priors, std::string const& set) {
    std::string const name = "<posterior>.bam";
    CompileRequest request = request_of(config);
    request.files.insert(request.files.begin(), name);
    request.priors.push_back(set);
    request.learns_hyper = false;
    Reader const reader = [&, others = reader_of(config)](std::string const& asked) {
        if (asked != name) return others(asked);
        ReadText read;
        read.identity = name;
        read.text = priors;
        return read;
    };
    return make_program(request, reader);
}

std::vector<std::vector<Learnt>> learnt_of(RunConfig const& config, Layout const& layout) {
    std::vector<std::vector<Learnt>> learnt;
    for (Variable const& variable : layout.variables) {
        auto const found = config.learnt.find(variable.name);
        learnt.push_back(found == config.learnt.end() ? std::vector<Learnt>(variable.components) : found->second);
        learnt.back().resize(variable.components);
    }
    return learnt;
}

bool is_fitted(Csv const& table, RunConfig const& config) { return hash(table.text) == config.data_hash; }

Csv fitted_table(RunConfig const& config, std::string const& hint_if_absent, std::string const& hint_if_changed) {
    if (config.data_name == "-")
        throw Error(Diagnostic{518, Severity::Error, "the table that was fitted came from standard input", {}, {hint_if_absent}},
                    exit_data);
    if (std::error_code error; !std::filesystem::exists(config.data_name, error))
        throw Error(
            Diagnostic{
                518, Severity::Error, fmt::format("the table that was fitted, `{}`, is not there", config.data_name), {}, {hint_if_absent}},
            exit_data);
    Csv table = Csv::read(config.data_name);
    table.separator = config.separator;
    table.decimal_point = config.decimal_point;
    if (!is_fitted(table, config))
        throw Error(
            Diagnostic{
                518, Severity::Error, fmt::format("`{}` is no longer the table that was fitted", config.data_name), {}, {hint_if_changed}},
            exit_data);
    return table;
}

FittedTable bind_fitted(Program::Parts const& program, RunConfig const& config, std::optional<Csv> const& given, Diagnostics& diagnostics) {
    std::string const elsewhere = "say where it is: `--data TABLE`";
    std::string const changed = "fit again, or say where the old one is: `--data TABLE`";
    Csv csv = given ? *given : fitted_table(config, elsewhere, changed);
    if (given && !is_fitted(csv, config))
        throw Error(Diagnostic{528,
                               Severity::Error,
                               fmt::format("`{}` is not the table that was fitted", csv.name),
                               {},
                               {"give the table that the draws are of, or fit again with this one"}},
                    exit_data);
    if (!csv.separator) csv.separator = config.separator;
    if (!csv.decimal_point) csv.decimal_point = config.decimal_point;
    return bind_columns(program, config, csv, false, diagnostics);
}

FittedTable bind_new(std::shared_ptr<Program::Parts const> const& program, RunConfig const& config, Csv const& table,
                     Diagnostics& diagnostics) {
    auto known = with_labels(program, table);
    note_new_labels(*known, config, diagnostics);
    FittedTable bound = bind_columns(*known, config, table, true, diagnostics);
    bound.program = std::move(known);
    return bound;
}

}  // namespace bam
