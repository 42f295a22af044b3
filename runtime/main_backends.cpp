// Codes of this file:
//   BAM0525  a flag that the backend does not look at
//   BAM0549  flags on replicas that contradict one another
#include "main_backends.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "main_options.hpp"

namespace bam::cli {
namespace {

/// A flag that not every backend looks at.
struct BackendFlag {
    char const* name;
    std::vector<Backend> backends;
    bool is_of_ascents = false;  ///< also where a run starts at a mode, `--init map`
};

std::vector<BackendFlag> const& backend_flags() {
    using enum Backend;
    static std::vector<BackendFlag> const flags{
        {"--chains", {Gibbs}},
        {"--num-warmup", {Gibbs}},
        {"--num-samples", {Gibbs, Variational}},
        {"--until", {Gibbs}},
        {"--max-draws", {Gibbs}},
        {"--thin", {Gibbs}},
        {"--sweeps", {Gibbs}},
        {"--relax", {Gibbs}},
        {"--no-tempering", {Gibbs}},
        {"--tempering", {Gibbs}},
        {"--rungs", {Gibbs}},
        {"--evidence", {Gibbs}},
        {"--rows", {Gibbs, Map}, true},
        {"--max-passes", {Variational, Map}, true},
        {"--tol", {Variational}},
        {"--learn-hyper", {Variational}},
        {"--linear-response", {Variational}},
    };
    return flags;
}

char const* name_of(Backend backend) {
    switch (backend) {
        case Backend::Gibbs: return "gibbs";
        case Backend::Variational: return "vi";
        case Backend::Map: return "map";
    }
    return "";
}

/// "`--backend vi`, `--backend map` or `--init map`".
std::string where_of(BackendFlag const& flag) {
    std::vector<std::string> places;
    for (Backend const backend : flag.backends) places.push_back(fmt::format("`--backend {}`", name_of(backend)));
    if (flag.is_of_ascents) places.emplace_back("`--init map`");
    std::string text = places.front();
    for (std::size_t k = 1; k < places.size(); ++k) text += (k + 1 < places.size() ? ", " : " or ") + places[k];
    return text;
}

bool is_looked_at(BackendFlag const& flag, FitOptions const& options) {
    for (Backend const backend : flag.backends)
        if (backend == options.backend) return true;
    return flag.is_of_ascents && options.init == Init::Map;
}

Error usage(int code, std::string message, std::string note) {
    return Error(Diagnostic{code, Severity::Error, std::move(message), {}, {std::move(note)}}, exit_usage);
}

}  // namespace

void refuse_idle_flags(FitOptions const& options, std::function<bool(std::string const& flag)> const& is_given) {
    for (BackendFlag const& flag : backend_flags()) {
        if (!is_given(flag.name) || is_looked_at(flag, options)) continue;
        throw usage(525, fmt::format("`{}` does nothing with `--backend {}`", flag.name, name_of(options.backend)),
                    fmt::format("leave it out, or fit with {}", where_of(flag)));
    }
}

void refuse_contradiction(Options const& options) {
    char const* const other = options.tempers_all_along ? "--tempering" : options.fit.evidence ? "--evidence" : "--rungs";
    bool const needs_replicas = options.tempers_all_along || options.fit.evidence || options.fit.rungs > 0;
    if (!options.tempers_start && needs_replicas)
        throw usage(549, fmt::format("`--no-tempering` and `{}`: replicas exchange, or they do not", other), "leave out one of them");
    std::size_t const fewest = options.fit.evidence ? 3 : 2;
    if (options.fit.rungs > 0 && options.fit.rungs < fewest)
        throw usage(549,
                    fmt::format("`--rungs {}`: {} at least{}", options.fit.rungs, fewest, options.fit.evidence ? ", for the evidence" : ""),
                    "leave it out: bam finds how many it takes");
}

}  // namespace bam::cli
