#include "effective.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "check_text.hpp"

using namespace bam;

namespace {

constexpr char const* dims_and_data = R"(dims { sequence seq; time t; unit = 2; feat = 3 }
data { x[seq, t]; y[seq, t] }
)";

/// `TARGET TEXT`, a line each.
std::string listed(std::string const& text, Choices const& choices = {}) {
    Checked const checked = check_files({dims_and_data + text}, choices);
    REQUIRE(checked.model);
    std::string lines;
    for (PriorLine const& line : effective_priors(*checked.model).lines) lines += line.prior.target + " " + line.prior.text + "\n";
    return lines;
}

Diagnostics suspected(std::string const& text, std::optional<std::size_t> steps = {}) {
    Checked const checked = check_files({dims_and_data + text});
    REQUIRE(checked.model);
    return suspicious_priors(*checked.model, steps);
}

std::string decay(std::string const& prior) {
    return "param { a[t > 0] ~ " + prior + " }\nstate { h[t] = a[t] * h[t-1] + x[t] }\nobserve { y[t] ~ normal(h[t], 1) }\n";
}

}  // namespace

TEST_CASE("effective: a list has its entries, and equal neighbours are one line") {
    CHECK(listed("param { A[unit, feat] ~ normal([[0, 0, 0], [1, 1, 2]], 3) }\n") ==
          "A[1, feat] ~ normal(0, 3)\nA[2, 1..2] ~ normal(1, 3)\nA[2, 3] ~ normal(2, 3)\n");
    CHECK(listed("param { A[unit, feat] ~ normal(0, var = [[4, 1, 1], [4, 1, 1]]) }\n") ==
          "A[unit, 1] ~ normal(0, var = 4)\nA[unit, 2..3] ~ normal(0, var = 1)\n");
    CHECK(listed("param { v[feat] ~ normal(0, cov = [[2, 1, 0], [1, 2, 0], [0, 0, 1]]) }\n") ==
          "v[feat] ~ normal(0, cov = [[2, 1, 0], [1, 2, 0], [0, 0, 1]])\n");
}

TEST_CASE("effective: later statements win on rows, columns, steps and sequences") {
    std::string const own = "param { A[unit, feat] ~ normal(0, 1); a[seq, t > 0] ~ normal(0, 1) }\n";
    CHECK(listed(own + "priors { A[unit, 2] ~ normal(5, 1); A[2, feat] ~ normal(6, 1) }\n") ==
          "A[1, 1] ~ normal(0, 1)\nA[1, 2] ~ normal(5, 1)\nA[1, 3] ~ normal(0, 1)\nA[2, feat] ~ normal(6, 1)\na[seq, t > 0] ~ normal(0, "
          "1)\n");
    CHECK(listed(own + "priors { a[seq = p, t = 2..4] ~ normal(1, 1) }\npriors s { A fixed 0 }\n", {{}, {"s"}, false}) ==
          "A[unit, feat] fixed 0\na[seq, t = 1] ~ normal(0, 1)\na[seq = p, t = 2..4] ~ normal(1, 1)\na[seq, t > 4] ~ normal(0, 1)\n"
          "a[seq, t = 2..4] ~ normal(0, 1)\n");
}

TEST_CASE("effective: a statement is unused if others have all of its entries, one by one or together") {
    Checked const checked =
        check_files({std::string(dims_and_data) + "param { v[feat] ~ normal(0, 1); w[feat] ~ normal(0, 1) }\n"
                                                  "priors { v[1..2] ~ normal(1, 1); v[3] ~ normal(2, 1); w[1] ~ normal(1, 1) }\n"
                                                  "priors other { w ~ normal(9, 9) }\n"});
    REQUIRE(checked.model);
    PriorList const list = effective_priors(*checked.model);
    REQUIRE(list.unused.size() == 1);
    CHECK(list.unused[0].prior.target == "v[feat]");
    CHECK(list.unused[0].taken_by.size() == 2);
    REQUIRE(list.sets.size() == 1);
    CHECK_FALSE(list.sets[0].is_chosen);
}

TEST_CASE("effective: decays of mean m and sd s let a state grow from m^2 + s^2 = 1 on") {
    CHECK(suspected(decay("normal(0.6, 0.79)")).empty());  // 0.9841
    CHECK(suspected(decay("normal(0.5, tau)") + "param { tau ~ half_cauchy(1) }\n").empty());
    Diagnostics const grows = suspected(decay("normal(0.6, var = 0.65)"), 4);  // 1.01
    REQUIRE(grows.size() == 1);
    CHECK(grows[0].code == 322);
    // With inputs of variance 1 at each step: 1 + 1.01 + 1.01^2 + 1.01^3 = 4.0604, whose root is 2.015.
    CHECK(grows[0].notes.at(0).find("after the 4 steps of the table the prior sd of the state is 2.02 times") == 0);
}

TEST_CASE("effective: decays about 1 are meant to forget nothing - what matters is their sd over the steps") {
    CHECK(suspected(decay("uniform_position(sd = 0.2)")).empty());
    CHECK(suspected(decay("uniform_position(sd = 0.2)"), 25).empty());
    CHECK(suspected(decay("uniform_position(sd = 0.2)"), 26).size() == 1);
}

TEST_CASE("effective: the rewrites that are offered for a decay fade") {
    for (double const mean : {0.0, 0.3, 0.9, 0.97, 0.995, 1.0, 1.2}) {
        for (double const sd : {0.3, 1.1, 5.0}) {
            if (mean * mean + sd * sd < 1 || (mean == 1 && 4 * sd * sd <= 1)) continue;
            Diagnostics const found = suspected(decay(fmt::format("normal({}, {})", mean, sd)), 4);
            REQUIRE(found.size() == 1);
            std::string const note = found[0].notes.back();
            std::size_t const begin = note.find('`') + 1;
            CHECK(suspected(decay(note.substr(begin, note.find('`', begin) - begin))).empty());
        }
    }
}

TEST_CASE("effective: what no entry follows is not suspected") {
    std::string const plain = "param { b ~ normal(0, 0.001); s ~ gamma(0.001, 0.001) }\nobserve { y ~ normal(b * x, precision = s) }\n";
    CHECK(suspected(plain).size() == 2);
    CHECK(suspected(plain + "priors { b ~ normal(0, 1); s ~ gamma(2, 1) }\n").empty());
}
