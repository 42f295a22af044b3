// What nothing but its number tells from others: judged, shown and told of in one way.
#include "aligned_summary.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bam/bam.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "random.hpp"

using namespace bam;
using Json = nlohmann::json;

namespace {

constexpr char const* groups = R"(dims { sequence seq; time t; group = 2 }
data { y[seq, t] }
param {
  z[seq, group] ~ categorical()
  mu[group]     ~ normal(0, 2)
  theta[seq]    ~ normal(mu' * z, tau)
  tau           ~ half_normal(1)
  sigma         ~ half_cauchy(1)
  contrast[group] fixed [1, -1]
}
observe { y[t] ~ normal(theta, sigma) }
report {
  level[group] = mu * 2
  slope        = contrast' * mu
  total        = mu' * mu
  spread       = sigma * 2
}
table { seq = s; t = t; y = y }
)";

/// Two groups that are far apart.
Csv clear_groups() {
    std::string text = "s,t,y\n";
    Stream stream(1, 0, 0, 0);
    for (int s = 0; s < 12; ++s)
        for (int t = 0; t < 4; ++t) text += fmt::format("{},{},{:.4f}\n", s, t, (s % 2 == 0 ? -1.6 : 1.4) + 0.5 * stream.normal());
    return {.text = text, .name = "t.csv"};
}

Fit fit_groups(std::uint64_t seed = 1) {
    FitOptions options;
    options.num_warmup = 500;
    options.num_samples = 1500;
    options.seed = seed;
    return Program::from_text(groups).fit(clear_groups(), options);
}

/// The rows of a table by their first words.
std::map<std::string, std::string> lines_of(std::string const& table) {
    std::map<std::string, std::string> lines;
    for (std::size_t at = 0; at < table.size();) {
        std::size_t const end = std::min(table.find('\n', at), table.size());
        std::string const line = table.substr(at, end - at);
        lines.try_emplace(line.substr(0, line.find(' ')), line);
        at = end + 1;
    }
    return lines;
}

}  // namespace

TEST_CASE("numbering: chains that number groups differently agree on what they are") {
    Fit const fit = fit_groups();
    // As drawn they disagree, or there is nothing to test.
    REQUIRE(fit["mu[1]"].rhat > 1.5);
    CHECK_FALSE(fit["mu[1]"].is_identified);
    CHECK_FALSE(fit["level[1]"].is_identified);
    CHECK_FALSE(fit["slope"].is_identified);
    CHECK(fit["spread"].is_identified);
    CHECK(fit["total"].is_identified);
    CHECK(fit["theta[0]"].is_identified);
    CHECK(fit["log_joint"].is_identified);

    CAPTURE(fit.verdict());
    CHECK(fit.verdict().find("verdict: converged.") != std::string::npos);
    CHECK(fit.verdict().find("Stuck") == std::string::npos);
    CHECK(fit.verdict().find("z: all 12 are assigned with probability 0.9 or more.") != std::string::npos);

    // The same rows with and without --raw, the report beside its parameter.
    for (bool const raw : {false, true}) {
        auto lines = lines_of(fit.table(raw));
        for (char const* name : {"mu[1]", "mu[2]", "level[1]", "level[2]"}) {
            CAPTURE(lines[name]);
            CHECK(lines[name].ends_with("  aligned"));
        }
        CHECK(lines["slope"].ends_with("  unidentified"));
        CHECK(fit.table(raw).find("Of `z`, `mu` and `level` each group has the number nearest to the mean of all draws") !=
              std::string::npos);
        CHECK(fit.table(raw).find("shown as drawn") != std::string::npos);
    }
    std::map<std::string, Json> aligned;
    Json const json = Json::parse(fit.json());
    for (Json const& row : json["aligned"]["summary"]) aligned[row["variable"]] = row;
    for (int g = 1; g <= 2; ++g) {
        Json const& mu = aligned[fmt::format("mu[{}]", g)];
        Json const& level = aligned[fmt::format("level[{}]", g)];
        for (char const* key : {"mean", "median", "sd"})
            CHECK(level[key].get<double>() == doctest::Approx(2 * mu[key].get<double>()).epsilon(1e-9));
        CHECK(std::abs(std::abs(mu["mean"].get<double>()) - 1.5) < 0.5);
        CHECK(mu["rhat"].get<double>() < 1.05);
        CHECK(mu["identified"] == true);
    }
}

TEST_CASE("numbering: a run that was written is judged as it was") {
    auto const folder = std::filesystem::temp_directory_path() / "bam_numbering";
    std::filesystem::remove_all(folder);
    Fit const fit = fit_groups();
    fit.write(folder);
    Fit const read = Fit::open(folder);
    CHECK(read.verdict() == fit.verdict());
    for (bool const raw : {false, true}) CHECK(read.table(raw) == fit.table(raw));
    CHECK(Json::parse(read.json())["aligned"] == Json::parse(fit.json())["aligned"]);
    std::filesystem::remove_all(folder);
}

TEST_CASE("numbering: --until looks at what has one numbering") {
    FitOptions options;
    options.num_warmup = 300;
    options.until = "rhat<1.05,ess>100";
    options.max_draws = 3000;
    Fit const fit = Program::from_text(groups).fit(clear_groups(), options);
    REQUIRE(fit["mu[1]"].rhat > 1.5);
    CHECK(fit.num_draws() < 3000);
    CHECK(fit.verdict().find("holds.") != std::string::npos);
}

TEST_CASE("numbering: blocks of different names that change places are told of once and in one way") {
    FitOptions options;
    options.num_warmup = 300;
    options.num_samples = 500;
    Fit const fit =
        Program::from_text(R"(dims { sequence seq; time t }
data { x[seq, t]; y[seq, t] }
param { a ~ normal(0, 2); b ~ normal(0, 2); sigma ~ half_cauchy(1) }
state { h[t] = 0.9 * h[t-1] + a * x[t]; g[t] = 0.9 * g[t-1] + b * x[t] }
observe { y[t] ~ normal(h[t] + g[t], sigma) }
report { sum = a + b; difference = a - b }
table { seq = s; t = t; x = x; y = y }
)")
            .fit(Csv{.text = "s,t,x,y\n1,0,1,1.1\n1,1,0,0.9\n1,2,0.5,1.4\n1,3,-1,0.2\n1,4,0.3,0.6\n", .name = "t.csv"}, options);
    CHECK_FALSE(fit["a"].is_identified);
    CHECK_FALSE(fit["difference"].is_identified);
    CHECK(fit["sum"].is_identified);
    CHECK(fit["sigma"].is_identified);
    CHECK(fit.table().find("`a`; `b` stand in the order nearest") != std::string::npos);
}

TEST_CASE("interrupted: chains without a draw are told of in the first sentence") {
    std::stop_source source;
    FitOptions options;
    options.chains = 4;
    options.threads = 1;
    options.num_warmup = 20;
    options.num_samples = 100000;
    Fit const fit = Program::from_text(groups).fit(
        clear_groups(), options,
        [&](Progress const& progress) {
            if (progress.chain == 1 && progress.iteration == 60) source.request_stop();
        },
        source.get_token());
    CHECK(fit.is_interrupted());
    CHECK(fit.verdict().substr(0, fit.verdict().find('\n')).find(", by 1 of 4 chains. ") != std::string::npos);
    bool is_noted = false;
    for (std::string const& note : fit.notes())
        is_noted = is_noted || note == "chains 2, 3, 4 were stopped before the first draw, and are in no file and no number";
    CHECK(is_noted);
}
