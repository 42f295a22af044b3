#include "config.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "describe.hpp"

using namespace bam;

namespace {

RunConfig config() {
    RunConfig config;
    config.version = "1.0.0";
    config.model = "line";
    config.requested = {"known.bam", "models/line.bam"};
    config.files = {{"known.bam", "priors { }\n", {}}, {"models/line.bam", "dims { time t }\n", {"./models/line.bam"}}};
    config.dims = {{"unit", 3}};
    config.priors = {"strong"};
    config.data_name = "größe.csv";
    config.data_hash = hash("a,b\n");
    config.data_rows = 12;
    config.separator = ';';
    config.options.seed = 18446744073709551615U;
    config.options.init = Init::Prior;
    config.options.by_orbits = false;
    config.is_interrupted = true;
    config.sequences = {{"s 1", "2024-01-01", 7}};
    config.learnt = {{"x", {{{0.1, 1.0 / 3}}, {}}}};
    return config;
}

struct Read {
    std::optional<RunConfig> config;
    std::string said;
};

Read read(std::string const& text) {
    Sources sources;
    Diagnostics diagnostics;
    std::uint32_t const source = sources.add_table("config.json", text);
    Read result;
    result.config = read_config(sources[source].text, source, diagnostics);
    result.said = describe(diagnostics, sources);
    return result;
}

std::string replaced(std::string text, std::string const& what, std::string const& with) {
    return text.replace(text.find(what), what.size(), with);
}

}  // namespace

TEST_CASE("config: the hash is FNV-1a of 64 bits") {
    // The published answers (http://www.isthe.com/chongo/src/fnv/test_fnv.c).
    CHECK(hash("") == "fnv1a:cbf29ce484222325");
    CHECK(hash("a") == "fnv1a:af63dc4c8601ec8c");
    CHECK(hash("foobar") == "fnv1a:85944171f73967e8");
}

TEST_CASE("config: what is written is what is read") {
    RunConfig const one = config();
    Read const result = read(to_json(one));
    CHECK(result.said.empty());
    REQUIRE(result.config);
    RunConfig const& two = *result.config;
    CHECK(to_json(two) == to_json(one));
    CHECK(two.options.seed == one.options.seed);
    CHECK(two.options.init == Init::Prior);
    CHECK_FALSE(two.options.by_orbits);
    CHECK(two.separator == ';');
    CHECK_FALSE(two.decimal_point);
    CHECK(two.files[1].also == std::vector<std::string>{"./models/line.bam"});
    REQUIRE(two.learnt.at("x").size() == 2);
    CHECK(two.learnt.at("x")[0].constants == std::vector<double>{0.1, 1.0 / 3});
    CHECK(two.learnt.at("x")[1].constants.empty());
    CHECK(two.sequences[0].steps == 7);
}

TEST_CASE("config: whatever decides the draws decides the hash of the run") {
    std::string const hash = config().run_hash();
    CHECK(config().run_hash() == hash);
    for (auto const& change : std::vector<std::function<void(RunConfig&)>>{
             [](RunConfig& c) { c.options.seed = 2; }, [](RunConfig& c) { c.options.thin = 2; },
             [](RunConfig& c) { c.files[0].text += " "; }, [](RunConfig& c) { c.data_hash = "other"; },
             [](RunConfig& c) { c.priors.clear(); }, [](RunConfig& c) { c.dims["unit"] = 4; },
             [](RunConfig& c) { c.is_interrupted = false; }, [](RunConfig& c) { c.version = "1.0.1"; }}) {
        RunConfig changed = config();
        change(changed);
        CHECK(changed.run_hash() != hash);
    }
}

TEST_CASE("config: what was changed, cut off, or written by a later bam is refused") {
    std::string const text = to_json(config());
    for (std::string const& broken :
         {std::string(), std::string("{}"), std::string("[1, 2]"), std::string("null"), text.substr(0, text.size() / 2),
          replaced(text, "\"thin\": 1", "\"thin\": 2"), replaced(text, "\"thin\": 1", "\"thin\": \"one\"")}) {
        CAPTURE(broken);
        Read const result = read(broken);
        CHECK_FALSE(result.config);
        CHECK(result.said.find("BAM0532") == 0);
    }
    Read const later = read(replaced(text, "\"format\": 1", "\"format\": 2"));
    CHECK_FALSE(later.config);
    CHECK(later.said.find("BAM0534 bam 1.0.0 wrote this run") == 0);
}
