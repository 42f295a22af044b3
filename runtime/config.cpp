// Codes of this file:
//   BAM0532  a config.json that bam did not write, or that was changed since
//   BAM0534  a config.json of a later format
#include "config.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "incidents.hpp"

namespace bam {
namespace {

using Json = nlohmann::ordered_json;

constexpr int format_number = 1;  ///< raised when an old bam could misread a new file
constexpr std::uint64_t fnv_basis = 0xcbf29ce484222325;
constexpr std::uint64_t fnv_prime = 0x100000001b3;

Json to_json(std::optional<char> character) { return character ? Json(std::string(1, *character)) : Json(nullptr); }

std::optional<char> to_character(Json const& json) {
    if (json.is_null()) return std::nullopt;
    return json.get<std::string>().at(0);
}

/// What the backend looks at. A run that does not say its backend is one of Gibbs: it was the first.
Json to_json(FitOptions const& options) {
    if (options.backend == Backend::Map)
        return {{"backend", word(options.backend)}, {"seed", options.seed},        {"init", word(options.init)},
                {"starts", options.starts},         {"rows", options.by_rows},     {"orbit", options.by_orbits},
                {"max_passes", options.max_passes}, {"sig_figs", options.sig_figs}};
    if (options.backend == Backend::Variational)
        return {{"backend", word(options.backend)},
                {"num_samples", options.num_samples},
                {"seed", options.seed},
                {"init", word(options.init)},
                {"starts", options.starts},
                {"rows", options.by_rows},
                {"orbit", options.by_orbits},
                {"max_passes", options.max_passes},
                {"tolerance", options.tolerance},
                {"linear_response", options.linear_response},
                {"sig_figs", options.sig_figs}};
    Json json{{"chains", options.chains},    {"num_warmup", options.num_warmup}, {"num_samples", options.num_samples},
              {"thin", options.thin},        {"sweeps", options.sweeps},         {"relax", options.relax.value_or(0)},
              {"seed", options.seed},        {"init", word(options.init)},       {"starts", options.starts},
              {"rows", options.by_rows},     {"orbit", options.by_orbits},       {"refresh", options.refresh},
              {"sig_figs", options.sig_figs}};
    json["exchange"] = word(options.exchange);
    json["rungs"] = options.rungs;
    json["evidence"] = options.evidence;
    if (options.init == Init::Map) json["max_passes"] = options.max_passes;
    if (!options.until.empty()) json.update({{"until", options.until}, {"max_draws", options.max_draws}});
    return json;
}

/// The value whose word it is; the first if none is.
template <class Value>
Value from_word(std::string const& text, std::initializer_list<Value> values) {
    for (Value const value : values)
        if (text == word(value)) return value;
    return *values.begin();
}

FitOptions to_options(Json const& json) {
    FitOptions options;
    options.backend = from_word(json.value("backend", ""), {Backend::Gibbs, Backend::Variational, Backend::Map});
    if (options.backend == Backend::Gibbs) {
        json.at("chains").get_to(options.chains);
        json.at("num_warmup").get_to(options.num_warmup);
        json.at("num_samples").get_to(options.num_samples);
        json.at("thin").get_to(options.thin);
        json.at("sweeps").get_to(options.sweeps);
        options.relax = json.at("relax").get<double>();
        json.at("refresh").get_to(options.refresh);
        options.until = json.value("until", "");
        options.max_draws = json.value("max_draws", options.max_draws);
        // Of runs from before there was any: none.
        options.exchange = from_word(json.value("exchange", ""), {ReplicaExchange::Off, ReplicaExchange::Start, ReplicaExchange::AllAlong});
        options.rungs = json.value("rungs", options.rungs);
        options.evidence = json.value("evidence", options.evidence);
    }
    if (options.backend == Backend::Variational) {
        json.at("num_samples").get_to(options.num_samples);
        json.at("tolerance").get_to(options.tolerance);
        json.at("linear_response").get_to(options.linear_response);
    }
    json.at("seed").get_to(options.seed);
    options.init = from_word(json.at("init").get<std::string>(), {Init::Dispersed, Init::Prior, Init::Map});
    json.at("starts").get_to(options.starts);
    json.at("rows").get_to(options.by_rows);
    json.at("orbit").get_to(options.by_orbits);
    options.max_passes = json.value("max_passes", options.max_passes);
    json.at("sig_figs").get_to(options.sig_figs);
    return options;
}

/// What decides the draws.
Json identity(RunConfig const& config) {
    Json files = Json::array();
    for (RunConfig::File const& file : config.files) files.push_back({{"name", file.name}, {"also", file.also}, {"text", file.text}});
    Json json{{"bam", config.version},
              {"model",
               {{"name", config.model},
                {"hash", config.model_hash()},
                {"requested", config.requested},
                {"dims", config.dims},
                {"priors", config.priors},
                {"files", std::move(files)}}},
              {"data",
               {{"file", config.data_name},
                {"hash", config.data_hash},
                {"rows", config.data_rows},
                {"separator", to_json(config.separator)},
                {"decimal", to_json(config.decimal_point)}}},
              {"options", to_json(config.options)},
              {"interrupted", config.is_interrupted}};
    if (config.learns_hyper) json["model"]["learn_hyper"] = true;
    if (!config.labels.empty()) json["model"]["labels"] = config.labels;
    if (!config.options.until.empty()) json["until_met"] = config.is_until_met;
    return json;
}

RunConfig to_config(Json const& json) {
    RunConfig config;
    json.at("bam").get_to(config.version);
    Json const& model = json.at("model");
    model.at("name").get_to(config.model);
    model.at("requested").get_to(config.requested);
    config.dims = model.at("dims").get<std::map<std::string, std::size_t>>();
    model.at("priors").get_to(config.priors);
    config.learns_hyper = model.value("learn_hyper", false);
    config.labels = model.value("labels", config.labels);
    for (Json const& file : model.at("files"))
        config.files.push_back(
            {file.at("name").get<std::string>(), file.at("text").get<std::string>(), file.at("also").get<std::vector<std::string>>()});
    Json const& data = json.at("data");
    data.at("file").get_to(config.data_name);
    data.at("hash").get_to(config.data_hash);
    data.at("rows").get_to(config.data_rows);
    config.separator = to_character(data.at("separator"));
    config.decimal_point = to_character(data.at("decimal"));
    config.options = to_options(json.at("options"));
    json.at("interrupted").get_to(config.is_interrupted);
    config.is_until_met = json.value("until_met", false);
    if (json.contains("incidents")) config.incidents = read_incidents(json["incidents"]);
    for (Json const& sequence : json.at("sequences"))
        config.sequences.push_back({sequence.at("label").get<std::string>(), sequence.at("first_time").get<std::string>(),
                                    sequence.at("steps").get<std::size_t>()});
    for (auto const& [variable, components] : json.at("learnt").items())
        for (Json const& constants : components) config.learnt[variable].push_back({constants.get<std::vector<double>>()});
    return config;
}

}  // namespace

char const* word(Backend backend) {
    switch (backend) {
        case Backend::Gibbs: return "gibbs";
        case Backend::Variational: return "vi";
        case Backend::Map: return "map";
    }
    return "";
}

char const* word(Init init) {
    switch (init) {
        case Init::Dispersed: return "dispersed";
        case Init::Prior: return "prior";
        case Init::Map: return "map";
    }
    return "";
}

char const* word(ReplicaExchange exchange) {
    switch (exchange) {
        case ReplicaExchange::Start: return "start";
        case ReplicaExchange::Off: return "off";
        case ReplicaExchange::AllAlong: return "all_along";
    }
    return "";
}

std::string hash(std::string_view text) {
    std::uint64_t value = fnv_basis;
    for (char const c : text) value = (value ^ static_cast<unsigned char>(c)) * fnv_prime;
    return fmt::format("fnv1a:{:016x}", value);
}

std::string RunConfig::model_hash() const {
    std::string all;
    for (File const& file : files) all += file.text + '\0';
    return hash(all);
}

std::string RunConfig::run_hash() const { return hash(identity(*this).dump(-1, ' ', false, Json::error_handler_t::replace)); }

std::string to_json(RunConfig const& config) {
    Json json = identity(config);
    json["format"] = format_number;
    json.update(mark_json(config.incidents));
    json["incidents"] = to_json(config.incidents);
    json["run"] = config.run_hash();
    json["sequences"] = Json::array();
    for (RunConfig::Sequence const& sequence : config.sequences)
        json["sequences"].push_back({{"label", sequence.label}, {"first_time", sequence.first_time}, {"steps", sequence.steps}});
    json["learnt"] = Json::object();
    for (auto const& [variable, components] : config.learnt)
        for (Learnt const& learnt : components) json["learnt"][variable].push_back(learnt.constants);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::optional<RunConfig> read_config(std::string_view text, std::uint32_t source, Diagnostics& diagnostics) {
    auto const refuse = [&](int code, std::string message, std::string note, std::size_t at) {
        auto const place = static_cast<std::uint32_t>(std::min(at, text.size()));
        diagnostics.push_back({code, Severity::Error, std::move(message), {{{source, place, place}, "here"}}, {std::move(note)}});
        return std::nullopt;
    };
    std::string const changed = "bam writes this file; it was changed since, or another program wrote it";
    try {
        Json const json = Json::parse(text);
        if (json.at("format").get<int>() > format_number)
            return refuse(534, fmt::format("bam {} wrote this run, and this is bam {}", json.at("bam").get<std::string>(), BAM_VERSION),
                          "read it with that version, or fit again", 0);
        RunConfig config = to_config(json);
        if (json.at("run").get<std::string>() != config.run_hash())
            return refuse(532, "this is not the description of a run as bam wrote it", changed, 0);
        return config;
    } catch (Json::parse_error const& error) {
        return refuse(532, "this is not the description of a run: it is no JSON", changed, error.byte > 0 ? error.byte - 1 : 0);
    } catch (std::exception const&) {
        return refuse(532, "this is not the description of a run: something is missing", changed, 0);
    }
}

}  // namespace bam
