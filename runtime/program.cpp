// Codes of this file:
//   BAM0494  a new table has labels of which the model of a run says nothing
//   BAM0491  a model that cannot be simulated, and so not be calibrated
//   BAM0507  options of a run that no run can have
#include "program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "certify.hpp"
#include "explain_trouble.hpp"
#include "fit.hpp"
#include "geweke.hpp"
#include "labels.hpp"
#include "mean_field.hpp"
#include "overview.hpp"
#include "places.hpp"
#include "prior_check.hpp"
#include "prior_report.hpp"
#include "report.hpp"
#include "sbc.hpp"
#include "schedule.hpp"
#include "simulation.hpp"
#include "words.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;

constexpr int exit_usage = 64;
constexpr int exit_data = 65;

bool is_file(std::string const& priors) { return priors.ends_with(".bam") || priors.find('/') != std::string::npos; }

CompileRequest make_request(std::string const& file, CompileOptions const& options) {
    CompileRequest request;
    request.dims = options.dims;
    request.learns_hyper = options.learn_hyper;
    // A file of priors stands to the model as a file that uses it: what it says wins, and the last one is the outermost.
    for (std::string const& priors : options.priors) {
        if (is_file(priors))
            request.files.insert(request.files.begin(), priors);
        else
            request.priors.push_back(priors);
    }
    request.files.push_back(file);
    return request;
}

std::string name_of(Compiled const& compiled, CompileRequest const& request) {
    std::string name = compiled.outline().name;
    if (!name.empty()) return name;
    std::string const& file = request.files.back();
    return file == "-" ? "model" : std::filesystem::path(file).stem().string();
}

std::string dump_json(Json const& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'; }

/// Lines moved to the right, as what belongs to a line above.
std::string indented(std::string const& text) {
    std::string result;
    bool is_start = true;
    for (char const c : text) {
        if (is_start && c != '\n') result += "  ";
        result += c;
        is_start = c == '\n';
    }
    return result;
}

std::vector<bool> all_alike(Layout const& layout) {
    Problem problem;
    problem.masks.resize(layout.factors.size());
    return weighted_factors(layout, problem);
}

/// What a report has that one before it had not.
Diagnostics new_in(Report const& report, Report const& before) {
    Diagnostics fresh = report.diagnostics();
    std::erase_if(fresh, [&](Diagnostic const& one) {
        return std::any_of(before.diagnostics().begin(), before.diagnostics().end(),
                           [&](Diagnostic const& other) { return one.code == other.code && one.message == other.message; });
    });
    return fresh;
}

}  // namespace

std::string_view version() { return BAM_VERSION; }

std::shared_ptr<Program::Parts const> make_program(CompileRequest const& request, Reader const& reader) {
    auto sources = std::make_shared<Sources>();
    Diagnostics diagnostics;
    CompileResult result = compile(request, reader, *sources, diagnostics);
    throw_if_error(sources, diagnostics);
    std::string name = name_of(result.compiled.value(), request);
    return std::make_shared<Program::Parts>(
        Program::Parts{sources, std::move(*result.compiled), request, make_report(sources, std::move(diagnostics)), std::move(name)});
}

namespace {

/// Labels of a table that a run has not seen, and what of its model was said for those that it has: `refusal`, of the compiler.
Diagnostic new_labels(std::vector<LabelColumns> const& wanted, std::map<std::string, std::vector<std::string>> const& known,
                      Table const& table, Diagnostics const& refusal) {
    Places places;
    std::vector<std::string> dims, names;
    for (LabelColumns const& one : wanted) {
        auto const of_run = known.find(one.dim);
        if (of_run == known.end()) continue;
        for (ColumnExpr const& column : one.columns) {
            auto const at = table.find_column(column.name);
            for (std::size_t row = 0; at && row < table.rows(); ++row) {
                std::string const label(table.text(row, *at));
                auto const is_in = [&](std::vector<std::string> const& list) {
                    return std::find(list.begin(), list.end(), label) != list.end();
                };
                if (table.is_missing(row, *at) || is_in(of_run->second) || is_in(names)) continue;
                names.push_back(label);
                places.add(table.span(row, *at), fmt::format("the run has {}", first_few(of_run->second)));
                if (std::find(dims.begin(), dims.end(), one.dim) == dims.end()) dims.push_back(one.dim);
            }
        }
    }
    std::vector<Label> more;
    for (Diagnostic const& diagnostic : refusal)
        if (!diagnostic.labels.empty()) more.push_back({diagnostic.labels.front().span, "this is for the labels of the run"});
    Diagnostics result;
    places.report(494,
                  fmt::format("{} {} new in {}, and the model says nothing of {}", first_few(names), names.size() == 1 ? "is" : "are",
                              first_few(dims), names.size() == 1 ? "it" : "them"),
                  {"leave those rows out, or fit again with them in the table",
                   "a prior that is one number for all labels holds for new ones, too; a list has a number for each that there was"},
                  std::move(more), result);
    return std::move(result.front());
}

}  // namespace

std::shared_ptr<Program::Parts const> with_labels(std::shared_ptr<Program::Parts const> program, Csv const& csv) {
    std::vector<LabelColumns> const wanted = program->compiled.label_columns();
    if (wanted.empty()) return program;
    auto sources = std::make_shared<Sources>(*program->sources);
    std::uint32_t const source = sources->add_table(csv.name, csv.text);
    Diagnostics diagnostics;
    auto const table = Table::parse((*sources)[source].text, source, {csv.separator, csv.decimal_point}, diagnostics);
    throw_if_error(sources, diagnostics);
    CompileRequest request = program->request;
    for (LabelColumns const& one : wanted) add_labels(one, *table, request.labels[one.dim], diagnostics);
    throw_if_error(sources, diagnostics);
    if (request.labels == program->request.labels) return program;
    Reader const reader = [&](std::string const& name) {
        ReadText read;
        auto const file = program->compiled.files().find(name);
        if (file == program->compiled.files().end()) return read_text(name);
        read.identity = (*program->sources)[file->second].name;
        read.text = (*program->sources)[file->second].text;
        return read;
    };
    try {
        return make_program(request, reader);
    } catch (Error const& error) {
        if (program->request.labels.empty()) throw;  // the first table: what is wrong is the model's
        throw Error(make_report(sources, {new_labels(wanted, program->request.labels, *table, error.report().diagnostics())}), exit_data);
    }
}

std::unique_ptr<PreparedTable> prepare(Program::Parts const& program, Csv const& csv, BindOptions const& options,
                                       std::shared_ptr<Sources>& sources, Diagnostics& diagnostics) {
    sources = std::make_shared<Sources>(*program.sources);
    std::uint32_t const source = sources->add_table(csv.name, csv.text);
    auto table = prepare(program.compiled, (*sources)[source], source, {csv.separator, csv.decimal_point}, options, diagnostics);
    throw_if_error(sources, diagnostics);
    return table;
}

// ---------------------------------------------------------------- Program

Program::Program(std::shared_ptr<Parts const> parts) : parts_(std::move(parts)) {}

Program Program::from_file(std::string const& name, CompileOptions const& options) {
    return Program(make_program(make_request(name, options), read_text));
}

Program Program::from_text(std::string text, CompileOptions const& options, std::string const& name) {
    Reader const reader = [&](std::string const& asked) {
        if (asked != name) return read_text(asked);
        ReadText read;
        read.text = text;
        read.identity = name;
        return read;
    };
    return Program(make_program(make_request(name, options), reader));
}

Report const& Program::report() const { return parts_->report; }
std::string const& Program::name() const { return parts_->name; }

std::string Program::overview(Format format, bool colour) const {
    Outline const outline = parts_->compiled.outline();
    if (format == Format::Json) return overview_json(outline, nullptr);
    return overview_text(outline, nullptr) + indented(to_text(outline.notes, *parts_->sources, colour));
}

std::string Program::explain(std::optional<std::string> const& block, Format format) const {
    Diagnostics diagnostics;
    auto const text = parts_->compiled.explain(block, diagnostics);
    throw_if_error(parts_->sources, diagnostics);
    if (format == Format::Text) return *text;
    Json json = Json::object();
    for (std::string const& name : parts_->compiled.blocks())
        if (!block || name == *block) json[name] = parts_->compiled.explain(name, diagnostics).value();
    return dump_json(json);
}

std::string Program::symmetries() const { return parts_->compiled.symmetries(); }

namespace {

PriorListing list_priors(Program::Parts const& program, Diagnostics warnings) {
    PriorList const list = program.compiled.priors();
    PriorListing listing{priors_text(list, *program.sources), priors_json(list, warnings, *program.sources), {}};
    listing.report = make_report(program.sources, std::move(warnings));
    return listing;
}

}  // namespace

PriorListing Program::priors() const { return list_priors(*parts_, parts_->compiled.suspicious_priors(std::nullopt)); }

Prepared Program::with(Csv const& csv) const {
    auto parts = std::make_shared<Prepared::Parts>();
    std::shared_ptr<Sources> sources;
    Diagnostics diagnostics;
    parts->program = with_labels(parts_, csv);
    diagnostics = new_in(parts->program->report, parts_->report);  // what the labels of the table have changed
    parts->table = prepare(*parts->program, csv, {}, sources, diagnostics);
    parts->sources = sources;
    parts->report = make_report(std::move(sources), std::move(diagnostics));
    parts->data_name = csv.name;
    parts->data_hash = hash(csv.text);
    parts->separator = csv.separator;
    parts->decimal_point = csv.decimal_point;
    return Prepared(std::move(parts));
}

Fit Program::fit(Csv const& table, FitOptions const& options, ProgressCallback const& progress, std::stop_token stop) const {
    return with(table).fit(options, progress, std::move(stop));
}

// ---------------------------------------------------------------- Prepared

Prepared::Prepared(std::shared_ptr<Parts const> parts) : parts_(std::move(parts)) {}
Report const& Prepared::report() const { return parts_->report; }
std::string Prepared::counts() const { return counts_text(*parts_->table); }

std::string Prepared::overview(Format format, bool colour) const {
    Outline const outline = parts_->program->compiled.outline();
    if (format == Format::Json) return overview_json(outline, parts_->table.get());
    return overview_text(outline, parts_->table.get()) + indented(to_text(outline.notes, *parts_->program->sources, colour));
}

std::string Prepared::samplers(Format format) const {
    auto const steps = sweep_steps(*parts_->table);
    return format == Format::Json ? schedule_json(steps) : schedule_text(steps);
}

std::string Prepared::plan() const { return parts_->program->compiled.print_plan(parts_->table->problem.weighted); }

PriorListing Prepared::priors() const {
    Problem const& problem = parts_->table->problem;
    Compiled const& compiled = parts_->program->compiled;
    Diagnostics warnings = compiled.suspicious_priors(problem.bound.grid.steps);
    or_explain(parts_->program->sources, problem.plan.layout, [&] {
        for (Diagnostic& diagnostic : check_priors(compiled, problem)) warnings.push_back(std::move(diagnostic));
    });
    return list_priors(*parts_->program, std::move(warnings));
}

namespace {

[[noreturn]] void refuse_simulation(Program::Parts const& program, Layout const& layout, std::string message,
                                    std::vector<std::string> notes, std::string const& variable) {
    Diagnostic diagnostic{491, Severity::Error, std::move(message), {}, std::move(notes)};
    for (Variable const& one : layout.variables)
        if (one.name == variable) diagnostic.labels = {{one.span, "here"}};
    throw Error(make_report(program.sources, {std::move(diagnostic)}), exit_data);
}

/// Why chains cannot be tried on outputs of the model's own making.
void require_simulation(Prepared::Parts const& parts, std::string const& purpose) {
    Problem const& problem = parts.table->problem;
    require_proper_priors(*parts.program, problem, purpose);
    for (std::size_t k = 0; k < problem.augmented.size(); ++k) {
        if (problem.augmented[k].empty()) continue;
        std::string const& name = problem.plan.layout.variables[problem.plan.lagged_outputs[k].variable].name;
        refuse_simulation(*parts.program, problem.plan.layout,
                          fmt::format("{} needs every earlier value of `{}`, at which its means look back", purpose, name),
                          {"take a table without missing cells of it"}, name);
    }
}

}  // namespace

void require_proper_priors(Program::Parts const& program, Problem const& problem, std::string const& what) {
    auto const flat = find_flat(problem);
    if (flat.empty()) return;
    refuse_simulation(program, problem.plan.layout,
                      fmt::format("{} draws parameters from their priors, and {} {} a flat one", what, first_few(flat),
                                  flat.size() == 1 ? "has" : "have"),
                      {"give it a proper prior; `--priors FILE` can do so without a change of the model"}, flat.front());
}

Verification Prepared::verify(VerifyOptions const& options) const {
    Problem const& problem = parts_->table->problem;
    if (options.calibrations > 0) require_simulation(*parts_, "calibration");
    if (options.joint_sweeps > 0) require_simulation(*parts_, "Geweke's test");
    return or_explain(parts_->program->sources, problem.plan.layout, [&] {
        Verification verification;
        auto checks = certify(problem, options.seed);
        ExpectationPlan const expectations = parts_->program->compiled.expectations(drawn_outputs(problem));
        for (Check& check : certify_variational(problem, expectations, options.seed)) checks.push_back(std::move(check));
        std::string found;
        Json details = Json::object();
        if (options.calibrations > 0) {
            CalibrationOptions calibration_options;
            calibration_options.seed = options.seed;
            calibration_options.replicates = options.calibrations;
            calibration_options.threads = options.threads;
            Calibration const calibration = calibrate(problem, calibration_options);
            for (Check& check : to_checks(calibration)) checks.push_back(std::move(check));
            found = ranks_text(calibration) + '\n';
            verification.svg = ranks_svg(calibration);
        }
        if (options.joint_sweeps > 0) {
            JointTestOptions joint_options;
            joint_options.seed = options.seed;
            joint_options.sweeps = options.joint_sweeps;
            joint_options.threads = options.threads;
            JointTest const test = compare_joint(problem, joint_options);
            for (Check& check : to_checks(test)) checks.push_back(std::move(check));
            found += moments_text(test) + '\n';
            details["geweke"] = Json::parse(moments_json(test));
        }
        verification.has_passed = has_passed(checks);
        verification.text = found + checks_text(checks);
        Json json = Json::parse(checks_json(checks));
        json.update(details);
        verification.json = dump_json(json);
        return verification;
    });
}

Fit Prepared::fit(FitOptions const& options, ProgressCallback const& progress, std::stop_token stop) const {
    auto const require = [](bool is_right, char const* message) {
        if (!is_right) throw Error(Diagnostic{507, Severity::Error, message, {}, {}}, exit_usage);
    };
    require(options.chains > 0, "a run has at least one chain");
    require(options.num_samples > 0, "a run has at least one draw");
    require(!options.relax || (*options.relax >= 0 && *options.relax < 1), "over-relaxation, `relax`, is from 0 to below 1");
    require(options.max_draws > 0, "a run has at least one draw: `max_draws`");
    require(options.until.empty() || options.backend == Backend::Gibbs, "chains of Backend::Gibbs alone have an `until`");
    require(options.thin > 0, "every first draw, at most, can be kept: `thin` counts from 1");
    return Fit(run_fit(*this->parts_, options, progress, std::move(stop)));
}

// ---------------------------------------------------------------- stages

Dump dump(Stage stage, std::string const& file, CompileOptions const& options) {
    CompileRequest request = make_request(file, options);
    if (stage == Stage::Parse) request.last = CompileStage::Parse;
    if (stage == Stage::Check) request.last = CompileStage::Check;
    auto sources = std::make_shared<Sources>();
    Diagnostics diagnostics;
    CompileResult const result = compile(request, read_text, *sources, diagnostics);
    std::string text = stage == Stage::Parse ? result.tree : result.model;
    if (stage == Stage::Plan) {
        Layout const* const layout = result.compiled ? result.compiled->layout(diagnostics) : nullptr;
        text = layout == nullptr ? ""
                                 : "# as if no cell were missing; --data TABLE gives the plan for a table\n" +
                                       result.compiled->print_plan(all_alike(*layout));
    }
    int const code = has_error(diagnostics) ? exit_code_of(diagnostics) : 0;
    return {std::move(text), make_report(sources, std::move(diagnostics)), code};
}

std::string format_model(std::string const& name, std::string const& text) {
    auto sources = std::make_shared<Sources>();
    Diagnostics diagnostics;
    auto formatted = format_text(name, text, *sources, diagnostics);
    throw_if_error(sources, diagnostics);
    return *formatted;
}

}  // namespace bam
