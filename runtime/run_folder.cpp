// A run as a folder: what is in it, how it is replaced, how it is read.
//
// Codes of this file:
//   BAM0530  a folder that is not a run, and not empty: bam does not write into it
//   BAM0531  no run: there is no such folder, or it has no config.json or no chains
//   BAM0533  files of different runs in one folder
//   BAM0535  a file or folder that cannot be created
//   BAM0536  a file that cannot be written
//   BAM0537  a file to be written that is one of a run's own, or a model, or named twice
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "atomic_file.hpp"
#include "csv.hpp"
#include "fit.hpp"
#include "read_text.hpp"
#include "report.hpp"
#include "write.hpp"

namespace bam {
namespace {

namespace fs = std::filesystem;

constexpr int exit_data = 65;
constexpr int exit_no_input = 66;
constexpr int exit_create = 73;
constexpr char const* run_key = "run";  // in the header of a chain: RunConfig::run_hash

constexpr char const* mode_name = "mode.csv";
constexpr char const* map_name = "map.json";
constexpr char const* factors_name = "variational.csv";
constexpr char const* climb_name = "vi.json";
constexpr char const* exchange_name = "exchange.json";

constexpr std::string_view chain_before = "chain_";
constexpr std::string_view dropped_before = "dropped_";  // of chains that readers of `chain_*.csv` must not find

std::string chain_name(std::size_t number) { return fmt::format("{}{}.csv", chain_before, number); }
std::string dropped_name(std::size_t number) { return fmt::format("{}{}.csv", dropped_before, number); }

/// The number of a chain's file; nothing for other names.
std::optional<std::size_t> chain_number(std::string const& name, std::string_view before = chain_before) {
    constexpr std::string_view after = ".csv";
    if (!name.starts_with(before) || !name.ends_with(after) || name.size() <= before.size() + after.size()) return std::nullopt;
    std::string const digits = name.substr(before.size(), name.size() - before.size() - after.size());
    bool const is_number = digits.size() < 9 && std::all_of(digits.begin(), digits.end(), [](char c) { return '0' <= c && c <= '9'; });
    return is_number ? std::optional<std::size_t>(std::stoul(digits)) : std::nullopt;
}

bool is_ours(std::string const& name) {
    return name == "config.json" || name == "summary.csv" || name == "predictions.csv" || name == mode_name || name == map_name ||
           name == factors_name || name == climb_name || name == exchange_name || chain_number(name) ||
           chain_number(name, dropped_before) || name.starts_with(".bam-");
}

std::vector<std::string> names_in(fs::path const& folder) {
    std::error_code error;
    std::vector<std::string> names;
    for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator(); at.increment(error))
        names.push_back(at->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

ChainConfig chain_config(RunConfig const& config, std::size_t number) {
    FitOptions const& options = config.options;
    ChainConfig chain;
    chain.model = config.model;
    chain.data_file = config.data_name;
    chain.method = options.backend == Backend::Map           ? ChainMethod::Optimize
                   : options.backend == Backend::Variational ? ChainMethod::Variational
                                                             : ChainMethod::Sample;
    chain.init = word(options.init);
    chain.seed = options.seed;
    chain.chain = number;
    chain.num_samples = options.num_samples;
    chain.num_warmup = options.num_warmup;
    chain.thin = options.thin;
    chain.max_passes = options.max_passes;
    chain.tolerance = options.tolerance;
    if (chain.method == ChainMethod::Optimize) chain.num_samples = 1;
    if (chain.method != ChainMethod::Sample) chain.thin = 1;
    chain.refresh = options.refresh;
    chain.sig_figs = options.sig_figs;
    chain.more = {{"version", config.version},
                  {"model_file", config.requested.back()},
                  {"model_hash", config.model_hash()},
                  {"data_hash", config.data_hash},
                  {"priors", fmt::format("{}", fmt::join(config.priors, ","))},
                  {run_key, config.run_hash()}};
    Mark const mark = mark_of(config.incidents);
    if (mark != Mark::None) chain.more.insert(chain.more.end() - 1, {"recovery", word(mark)});
    if (mark == Mark::Degraded) chain.more.insert(chain.more.end() - 1, {"degraded", "true"});
    if (chain.method == ChainMethod::Sample)
        chain.more.insert(chain.more.end() - 1,
                          {{"sweeps", std::to_string(options.sweeps)}, {"relax", fmt::format("{}", options.relax.value_or(0))}});
    return chain;
}

[[noreturn]] void refuse(int code, std::string message, std::vector<std::string> notes, int exit_code) {
    throw Error(Diagnostic{code, Severity::Error, std::move(message), {}, std::move(notes)}, exit_code);
}

/// A file of the folder, kept among the sources.
std::uint32_t read_into(Sources& sources, fs::path const& path) {
    ReadText read = read_text(path.string());
    if (!read.failure.empty())
        refuse(531,
               fmt::format("`{}` is no run of bam: {} cannot be read: {}", path.parent_path().string(), path.filename().string(),
                           read.failure),
               {"`bam fit ... -o RUN` makes one"}, exit_no_input);
    return sources.add_table(path.string(), std::move(read.text));
}

}  // namespace

void with_file_errors(std::function<void()> const& work) {
    auto const fail = [](bool is_create, std::string const& what, int exit_code) {
        refuse(is_create ? 535 : 536, what, {is_create ? "is its folder there, and may you write into it?" : "is the disk full?"},
               exit_code);
    };
    try {
        work();
    } catch (FileError const& error) {
        fail(error.exit_code() == exit_create, error.what(), error.exit_code());
    } catch (fs::filesystem_error const& error) {
        fail(true, fmt::format("cannot create `{}`: {}", error.path1().string(), error.code().message()), exit_create);
    }
}

namespace {

/// Whether the folder could be made: better known before a long run than after it.
void check_place(fs::path const& folder) {
    std::error_code error;
    fs::path place = fs::absolute(folder, error).lexically_normal();
    while (!fs::exists(place, error) && place != place.parent_path()) place = place.parent_path();
    if (fs::is_directory(place, error) && ::access(place.c_str(), W_OK | X_OK) == 0) return;
    std::error_code const why(fs::is_directory(place, error) ? EACCES : ENOTDIR, std::generic_category());
    refuse(535, fmt::format("cannot create `{}`: {}", folder.string(), why.message()), {"is its folder there, and may you write into it?"},
           exit_create);
}

}  // namespace

void check_run_folder(fs::path const& folder, bool force) {
    std::error_code error;
    auto const status = fs::status(folder, error);
    if (!fs::exists(status)) return check_place(folder);
    if (!fs::is_directory(status)) refuse(530, fmt::format("`{}` is there already, and is no folder", folder.string()), {}, exit_create);
    std::vector<std::string> others;
    for (std::string const& name : names_in(folder))
        if (!is_ours(name)) others.push_back(name);
    bool const is_run = fs::exists(folder / "config.json", error);
    if (force || is_run || others.empty()) return;
    refuse(530, fmt::format("`{}` is there already, and is no run of bam: it has `{}`", folder.string(), others.front()),
           {"choose another folder, or say --force to write into this one; its other files stay"}, exit_create);
}

Report write_run(Fit::Parts const& parts, fs::path const& folder, bool force) {
    check_run_folder(folder, force);
    Diagnostics diagnostics;
    std::vector<Incident> const& incidents = parts.config.incidents;
    Mark const mark = mark_of(incidents);
    with_file_errors([&] {
        fs::create_directories(folder);
        std::set<std::string> written{"config.json", "summary.csv", "predictions.csv"};
        for (std::size_t c = 0; c < parts.run.chains.size(); ++c) {
            std::size_t const number = parts.chain_numbers[c];
            std::string const name = parts.mode ? mode_name : parts.climb ? factors_name : chain_name(number);
            ChainConfig const config = chain_config(parts.config, number);
            write_chain_csv(folder / name, config, parts.run.columns, parts.run.chains[c]);
            if (c == 0)
                if (auto warning = find_misleading_name(folder / name, config)) diagnostics.push_back(std::move(*warning));
            written.insert(name);
        }
        for (Chain const& chain : parts.dropped) {
            RunConfig asked = parts.config;  // a mode may stand in for the draws
            asked.options = parts.asked;
            write_chain_csv(folder / dropped_name(chain.number), chain_config(asked, chain.number), parts.run.columns, chain);
            written.insert(dropped_name(chain.number));
        }
        if (parts.mode) {
            write_file(folder / map_name, to_json(*parts.mode, parts.config.run_hash(), incidents));
            written.insert(map_name);
            write_mode_csv(folder / "summary.csv", parts.rows, parts.mode->sds, mark);
        } else if (parts.climb) {
            write_file(folder / climb_name, to_json(*parts.climb, parts.factors, parts.config.run_hash()));
            written.insert(climb_name);
            write_summary_csv(folder / "summary.csv", parts.rows, parts.climb->response);
        } else {
            write_summary_csv(folder / "summary.csv", parts.rows, {}, mark);
        }
        if (parts.run.exchange) {
            write_file(folder / exchange_name, to_json(*parts.run.exchange, parts.config.run_hash(), incidents));
            written.insert(exchange_name);
        }
        if (parts.program)
            write_predictions_csv(folder / "predictions.csv", *parts.program->compiled.layout(diagnostics), parts.run.predictions, mark);
        for (std::string const& name : names_in(folder))
            if (is_ours(name) && !written.contains(name)) fs::remove(folder / name);  // of the run that was here before
        write_file(folder / "config.json", to_json(parts.config));                    // the last: with it the folder is a run
    });
    return make_report(std::make_shared<Sources>(), std::move(diagnostics));
}

void check_not_of_run(fs::path const& file) {
    std::error_code error;
    fs::path const target = fs::weakly_canonical(file, error);
    fs::path const folder = target.parent_path();
    if (!is_ours(target.filename().string()) || !fs::exists(folder / "config.json", error)) return;
    auto const names = names_in(folder);
    auto const is_draws = [](std::string const& name) { return chain_number(name) || name == mode_name || name == factors_name; };
    if (std::none_of(names.begin(), names.end(), is_draws)) return;
    refuse(537, fmt::format("`{}` belongs to the run in its folder", file.string()), {"choose another name"}, exit_create);
}

void check_not_input(fs::path const& file, std::vector<std::string> const& inputs) {
    if (file.extension() == ".bam")
        refuse(537, fmt::format("`{}` has the name of a model", file.string()), {"choose another name"}, exit_create);
    for (std::string const& input : inputs) {
        std::error_code error;
        if (fs::weakly_canonical(file, error) != fs::weakly_canonical(input, error)) continue;
        refuse(537, fmt::format("`{}` is named twice on the command line", file.string()), {"choose another name for what is written"},
               exit_create);
    }
}

namespace {

/// What predictions_csv wrote. Without a dim for sequences or time, its label is "1", as in the fit.
std::optional<std::vector<PredictedCell>> read_predictions(std::string_view text, RunConfig const& config) {
    csv::Reader reader(text, ',', 0);
    std::vector<csv::Field> fields;
    if (!reader.next(fields)) return std::nullopt;
    constexpr std::size_t after_keys = 7;  // output, observed, mean, sd, q5, q50, q95
    std::size_t const width = fields.size();
    std::size_t const marks = mark_of(config.incidents) == Mark::None ? 0 : 1;  // the column `recovery`
    if (width < after_keys + marks || width > after_keys + marks + 2) return std::nullopt;
    std::size_t const keys = width - after_keys - marks;
    bool const is_series = config.sequences.size() == 1 && config.sequences.front().label == "1";
    std::vector<PredictedCell> cells;
    while (reader.next(fields)) {
        if (fields.size() != width) return std::nullopt;
        auto const text_of = [&](std::size_t k) {
            std::string field(text.substr(fields[k].begin, fields[k].end - fields[k].begin));
            return fields[k].is_quoted ? csv::unquote(field) : field;
        };
        bool is_number = true;
        auto const number_of = [&](std::size_t k) {
            std::string const field = text_of(k);
            double value = std::numeric_limits<double>::quiet_NaN();
            if (field.empty()) return value;
            auto const [end, fault] = std::from_chars(field.data(), field.data() + field.size(), value);
            is_number = is_number && fault == std::errc() && end == field.data() + field.size();
            return value;
        };
        PredictedCell cell;
        cell.row = std::numeric_limits<std::size_t>::max();
        cell.sequence = keys == 2 || (keys == 1 && !is_series) ? text_of(0) : "1";
        cell.time = keys == 2 ? text_of(1) : keys == 1 && is_series ? text_of(0) : "1";
        cell.output = text_of(keys);
        std::size_t k = keys + 1;
        for (double* const value : {&cell.observed, &cell.mean, &cell.sd, &cell.q5, &cell.q50, &cell.q95}) *value = number_of(k++);
        if (!is_number) return std::nullopt;
        cells.push_back(std::move(cell));
    }
    return reader.fault() ? std::nullopt : std::optional(std::move(cells));
}

}  // namespace

std::shared_ptr<Fit::Parts const> read_run(fs::path const& folder) {
    auto sources = std::make_shared<Sources>();
    Diagnostics diagnostics;
    std::error_code error;
    if (!fs::is_directory(folder, error)) refuse(531, fmt::format("there is no folder `{}`", folder.string()), {}, exit_no_input);
    std::uint32_t const source = read_into(*sources, folder / "config.json");
    auto config = read_config((*sources)[source].text, source, diagnostics);
    throw_if_error(sources, diagnostics);

    auto parts = std::make_shared<Fit::Parts>();
    std::vector<ChainFile> files;
    bool const is_map = config->options.backend == Backend::Map;
    bool const is_variational = config->options.backend == Backend::Variational;
    char const* const one_name = is_map ? mode_name : is_variational ? factors_name : nullptr;  // of what is no set of chains
    for (std::string const& name : names_in(folder)) {
        if (one_name != nullptr ? name != one_name : !chain_number(name)) continue;
        std::uint32_t const chain = read_into(*sources, folder / name);
        auto file = read_chain_csv((*sources)[chain].text, chain, diagnostics);
        throw_if_error(sources, diagnostics);
        bool const is_of_run = std::find(file->config.more.begin(), file->config.more.end(),
                                         std::pair<std::string, std::string>(run_key, config->run_hash())) != file->config.more.end();
        if (!is_of_run)
            refuse(533, fmt::format("{} is not of the run that config.json describes", name),
                   {"a fit was stopped while it wrote, or files were copied together: fit again"}, exit_data);
        files.push_back(std::move(*file));
    }
    if (is_map) {
        std::uint32_t const map = read_into(*sources, folder / map_name);
        parts->mode = read_mode((*sources)[map].text, config->run_hash(), map, diagnostics);
        throw_if_error(sources, diagnostics);
    }
    if (is_variational) {
        std::uint32_t const climb = read_into(*sources, folder / climb_name);
        parts->climb = read_climb((*sources)[climb].text, config->run_hash(), climb, diagnostics);
        throw_if_error(sources, diagnostics);
    }
    auto const dropped = static_cast<std::size_t>(
        std::count_if(config->incidents.begin(), config->incidents.end(), [](Incident const& one) { return one.remedy == Remedy::Drop; }));
    std::size_t const expected =
        config->is_interrupted || one_name != nullptr ? 1 : config->options.chains - std::min(dropped, config->options.chains);
    if (one_name != nullptr && files.empty())
        refuse(531, fmt::format("`{}` has no {}", folder.string(), one_name), {"fit again"}, exit_no_input);
    if (files.size() < expected)
        refuse(531, fmt::format("`{}` has {} of the {} chains of its run", folder.string(), files.size(), expected), {"fit again"},
               exit_no_input);
    std::sort(files.begin(), files.end(), [](ChainFile const& a, ChainFile const& b) { return a.config.chain < b.config.chain; });
    for (ChainFile const& file : files) parts->chain_numbers.push_back(file.config.chain);
    auto run = join_chains(std::move(files), diagnostics);
    throw_if_error(sources, diagnostics);
    parts->config = std::move(*config);
    parts->run = std::move(*run);
    if (fs::exists(folder / exchange_name, error)) {
        std::uint32_t const exchange = read_into(*sources, folder / exchange_name);
        parts->run.exchange = read_exchange((*sources)[exchange].text, parts->config.run_hash(), exchange, diagnostics);
        throw_if_error(sources, diagnostics);
    }
    if (fs::exists(folder / "predictions.csv", error)) {
        auto predictions = read_predictions((*sources)[read_into(*sources, folder / "predictions.csv")].text, parts->config);
        if (!predictions) refuse(531, "predictions.csv is not as bam writes it", {"fit again, or take the file away"}, exit_data);
        parts->predictions = std::move(*predictions);
    }
    summarize(*parts);
    return parts;
}

}  // namespace bam
