#include "climb.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace bam;

namespace {

Climb some_climb() {
    Climb climb;
    climb.starts = {-12.5, -HUGE_VAL, -10.25};
    climb.chosen = 2;
    climb.trace = {-20, -11, -10.25, -10.2499};
    climb.ending = ClimbEnding::Converged;
    climb.seconds = 0.5;
    climb.pareto_k = 0.31;
    climb.draws = 1000;
    climb.response.sds = {1.5, std::nan("")};
    climb.response.means = {std::nan(""), 2.5};
    return climb;
}

}  // namespace

TEST_CASE("climb: vi.json reads back") {
    Climb const climb = some_climb();
    Diagnostics diagnostics;
    auto const read = read_climb(to_json(climb, "[]", "abc"), "abc", 0, diagnostics);
    REQUIRE(read);
    CHECK(diagnostics.empty());
    CHECK(read->trace == climb.trace);
    CHECK(read->chosen == 2);
    CHECK(read->starts[0] == -12.5);
    CHECK(std::isnan(read->starts[1]));
    CHECK(read->ending == ClimbEnding::Converged);
    CHECK(read->pareto_k == 0.31);
    CHECK(read->draws == 1000);
    CHECK(read->response.sd(0) == 1.5);
    CHECK(std::isnan(read->response.sd(1)));
    CHECK(std::isnan(read->response.mean(0)));
    CHECK(read->response.mean(1) == 2.5);
    CHECK(std::isnan(read->response.mean(2)));
    CHECK(read->held_choices.empty());
}

TEST_CASE("climb: factors are not called close where they hold a choice") {
    Climb held = some_climb();
    held.held_choices = {"z"};
    Diagnostics diagnostics;
    auto const read = read_climb(to_json(held, "[]", "abc"), "abc", 0, diagnostics);
    REQUIRE(read);
    CHECK(read->held_choices == held.held_choices);
    auto const all = [](Climb const& climb) {
        std::string text;
        for (std::string const& sentence : judge(climb).sentences) text += sentence;
        return text;
    };
    CHECK(all(some_climb()).find("are close") != std::string::npos);
    CHECK(all(held).find("are close") == std::string::npos);
    CHECK(all(held).find("The probabilities of `z` are not to be relied on") != std::string::npos);
    CHECK_FALSE(judge(held).advice.empty());
}

TEST_CASE("climb: a vi.json of another run, or that is none, is refused (BAM0539)") {
    for (auto const& [text, run] : std::initializer_list<std::pair<std::string, std::string>>{
             {to_json(some_climb(), "[]", "abc"), "abd"}, {"{\"run\": \"abc\"}", "abc"}, {"no json", "abc"}}) {
        Diagnostics diagnostics;
        CHECK_FALSE(read_climb(text, run, 0, diagnostics));
        REQUIRE(diagnostics.size() == 1);
        CHECK(diagnostics[0].code == 539);
    }
}

TEST_CASE("climb: what the verdict says is in vi.json as numbers") {
    std::string const text = to_json(some_climb(), "[]", "abc");
    CHECK(text.find("\"converged\": true") != std::string::npos);
    // 1 - 1 / log10(1000)
    CHECK(text.find("\"pareto_k_threshold\": 0.66666666666666") != std::string::npos);
}

TEST_CASE("climb: of many passes the verdict says what makes them fewer") {
    Climb climb = some_climb();
    climb.trace.assign(1000, -10);
    REQUIRE(judge(climb).advice.size() == 1);
    CHECK(judge(climb).advice.front().starts_with("`--init map`"));
    climb.trace.resize(4);
    climb.ending = ClimbEnding::PassLimit;
    REQUIRE(judge(climb).advice.size() == 2);
    CHECK(judge(climb).advice.back().starts_with("`--init map`"));
}

TEST_CASE("climb: the verdict says how far the factors are from the posterior") {
    Climb climb = some_climb();
    CHECK(judge(climb).is_converged);
    CHECK(judge(climb).advice.empty());
    climb.pareto_k = 1.2;
    climb.response.sds.clear();
    CHECK(judge(climb).is_converged);
    CHECK(judge(climb).advice.size() == 2);
    climb.ending = ClimbEnding::PassLimit;
    CHECK_FALSE(judge(climb).is_converged);
    CHECK(judge(climb).advice.size() == 3);
    CHECK(starts_text(climb) == "start 1: ELBO -12.5000\nstart 2: ELBO -inf\nstart 3: ELBO -10.2500, the best: climbed on\n");
}
