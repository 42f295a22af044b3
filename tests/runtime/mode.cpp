// What a run that looked for the mode keeps beside its point.
#include "mode.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace bam;

namespace {

Mode example() {
    Mode mode;
    mode.starts = {{-12.5, 40, Ending::Still, 1e-9}, {-11.25, 10000, Ending::PassLimit, 0.25}, {3, 7, Ending::NoMode, 0.5}};
    mode.chosen = 1;
    mode.seconds = 0.5;
    mode.unbounded = {"tau"};
    mode.at_ends = {"a[2]"};
    mode.sds = {0.1, std::numeric_limits<double>::quiet_NaN()};
    return mode;
}

int code_of(std::string const& text) {
    Diagnostics diagnostics;
    CHECK_FALSE(read_mode(text, "fnv1a:1", 0, diagnostics));
    return diagnostics.at(0).code;
}

}  // namespace

TEST_CASE("mode: a start that failed is told of beside the others") {
    Mode mode = example();
    mode.starts[1].ending = Ending::Still;
    mode.starts.push_back({std::numeric_limits<double>::quiet_NaN(), 0, Ending::Failed, 0, "the log joint density is no number"});
    CHECK(starts_text(mode).find("start 4: failed: the log joint density is no number\n") != std::string::npos);
    Verdict const verdict = judge(mode);
    CHECK(verdict.is_converged);
    CHECK(std::find(verdict.sentences.begin(), verdict.sentences.end(), "1 of 4 starts failed, and is left out.") !=
          verdict.sentences.end());
    Diagnostics diagnostics;
    auto const read = read_mode(to_json(mode, "fnv1a:1"), "fnv1a:1", 0, diagnostics);
    REQUIRE(read);
    CHECK(read->starts.back().ending == Ending::Failed);
    CHECK(read->starts.back().failure == "the log joint density is no number");
}

TEST_CASE("mode: map.json reads back") {
    Mode const mode = example();
    Diagnostics diagnostics;
    auto const read = read_mode(to_json(mode, "fnv1a:1"), "fnv1a:1", 0, diagnostics);
    REQUIRE(read);
    CHECK(diagnostics.empty());
    REQUIRE(read->starts.size() == 3);
    for (std::size_t k = 0; k < 3; ++k) {
        CHECK(read->starts[k].log_joint == mode.starts[k].log_joint);
        CHECK(read->starts[k].passes == mode.starts[k].passes);
        CHECK(read->starts[k].ending == mode.starts[k].ending);
        CHECK(read->starts[k].largest_move == mode.starts[k].largest_move);
    }
    CHECK(read->chosen == 1);
    CHECK(read->seconds == 0.5);
    CHECK(read->unbounded == mode.unbounded);
    CHECK(read->at_ends == mode.at_ends);
    CHECK(read->sds[0] == 0.1);
    CHECK(std::isnan(read->sds[1]));
    CHECK(to_json(*read, "fnv1a:1") == to_json(mode, "fnv1a:1"));
}

TEST_CASE("mode: a map.json of another run, or that was changed") {
    std::string const text = to_json(example(), "fnv1a:2");
    CHECK(code_of(text) == 538);
    CHECK(code_of("{}") == 538);
    CHECK(code_of("no JSON") == 538);
}

TEST_CASE("mode: an ascent that was cut short is none, and its advice is more passes") {
    Verdict const verdict = judge(example());
    CHECK_FALSE(verdict.is_converged);
    REQUIRE(verdict.advice.size() == 1);
    CHECK(verdict.advice[0] == "more passes, `--max-passes 100000`");
    Mode mode = example();
    mode.chosen = 0;
    CHECK(judge(mode).is_converged);
}
