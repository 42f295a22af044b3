// What check refuses: every rule, with its code and its place, and without a cascade. A hint that is followed must lead to a model.
#include "check_text.hpp"

using namespace bam;

namespace {

struct Case {
    int code;
    std::string text;     ///< after `head`, or alone if it declares dims
    std::string primary;  ///< what the first label marks
};

/// One error and no more: its code, its place; a hint, when followed, leads to a model.
void check_refused(Case const& refused) {
    CAPTURE(refused.text);
    bool const is_alone = refused.text.find("dims {") != std::string::npos;
    std::string const text = is_alone ? refused.text : head + refused.text;
    Checked const checked = check_text(text);
    INFO(describe(checked.diagnostics, checked.sources));
    CHECK_FALSE(checked.model);
    REQUIRE(checked.errors() == 1);
    Diagnostic const& error = checked.diagnostics.front();
    CHECK(error.code == refused.code);
    REQUIRE_FALSE(error.labels.empty());
    CHECK(checked.sources.text(error.labels.front().span) == refused.primary);
    std::string const followed = follow_hint(error, checked.sources);
    if (followed == text) return;
    CAPTURE(followed);
    Checked const again = check_text(followed);
    INFO(describe(again.diagnostics, again.sources));
    CHECK(again.model);
}

void check_refused(std::vector<Case> const& cases) {
    for (Case const& refused : cases) check_refused(refused);
}

}  // namespace

TEST_CASE("refusals: names and declarations") {
    check_refused({
        {101, "param { b ~ normal(0, 1); x ~ normal(0, 1) }", "x"},
        {101, "state { r = z }\nreport { r = z }", "r"},
        {102, "param { b ~ normal(0, 1) }\nobserve { z ~ normal(bb * z[t-1], 1) }", "bb"},
        {102, "param { W[unti] ~ normal(0, 1) }", "unti"},
        {102, "observe { zz ~ normal(0, 1) }", "zz"},
        {102, "priors { c ~ normal(0, 1) }", "c"},
        {103, "state { r ~ normal(0, 1) }", "r ~ normal(0, 1)"},
        {103, "param { b = 1 }", "b = 1"},
        {103, "param { b ~ normal(0, 1) }\npriors { b = 2 }", "b = 2"},
        {103, "observe { z = 1 }", "z = 1"},
        {103, "dims { sequence seq; feat }\ndata { z[seq] ~ normal(0, 1) }", "z[seq] ~ normal(0, 1)"},
        {103, "dims { sequence seq; feat fixed 3 }", "feat fixed 3"},
        {104, "dims { time t; time u }", "time"},
        {104, "dims { sequence seq; unit = 2.5 }", "2.5"},
        {104, "dims { time t = 5 }", "5"},
        {105, "param { W[unit, feat, out] ~ normal(0, 1) }", "W[unit, feat, out]"},
        {105, "param { W[unit, unit] ~ normal(0, 1) }", "unit"},
        {105, "param { W[unit > 2] ~ normal(0, 1) }", "unit > 2"},
        {105, "dims { sequence seq; time t }\ndata { z[t] }", "z[t]"},
        {105, "dims { feat }\ndata { z[feat] }", "z[feat]"},
        {105, "report { r[t > 0] = z }", "t > 0"},
        {105, "param { W[unit, feat] ~ normal(0, 1) }\nreport { r[feat, feat] = W' * W }", "feat"},
        {106, "observe { z[unit] ~ normal(0, 1) }", "unit"},
        {106, "observe { z[t > -1] ~ normal(0, 1) }", "-1"},
        {106, "param { a[t > 0] ~ normal(0, 1) }\npriors { a[t = 0] ~ normal(0, 1) }", "t = 0"},
        {106, "param { W[unit, feat] ~ normal(0, 1) }\npriors { W[feat, unit] ~ normal(0, 1) }", "feat"},
        {107, "param { W[unit] ~ normal(0, 1) }\npriors { W[3] ~ normal(0, 1) }", "3"},
        {107,
         "param { W[out] ~ normal(0, 1) }\npriors { W[cnoc] ~ normal(0, 1) }\ntable { t = T; feat = [A]; out = [conc, drug]; z = Z; s = S "
         "}",
         "cnoc"},
    });
}

TEST_CASE("refusals: expressions") {
    std::string const params =
        "param { W[unit, feat] ~ normal(0, 1); b[unit] ~ normal(0, 1); c[feat] ~ normal(0, 1); d ~ normal(0, 1); sigma ~ half_normal(1) "
        "}\n";
    auto const state = [&](std::string const& text) { return params + "state { r = " + text + " }"; };
    check_refused({
        {110, state("x[t] * c"), "x[t] * c"},
        {110, state("b * c"), "b * c"},
        {110, state("x * W"), "x * W"},
        {110, state("W * W"), "W * W"},
        {110, state("W' * c"), "W' * c"},
        {110, state("x' * (b + b)"), "x' * (b + b)"},
        {111, state("b + c"), "b + c"},
        {111, state("b - b'"), "b - b'"},
        {111, state("b + 1"), "b + 1"},
        {111, state("d .* b"), "d .* b"},
        {111, params + "state { r[unit] = b' }", "b'"},
        {111, params + "report { r[feat] = b }", "b"},
        {112, state("d / x[t]"), "x[t]"},
        {112, state("b^2"), "b^2"},
        {112, state("d^2.5"), "2.5"},
        {112, state("d^d"), "d"},
        {112, state("d / 0"), "d / 0"},
        {112, state("diag(W)"), "diag(W)"},
        {112, state("diag(b')"), "diag(b')"},
        {113, state("z[t+1]"), "t+1"},
        {113, state("z[unit]"), "unit"},
        {113, state("x[feat - 1]"), "feat - 1"},
        {113, state("z[t - 1.5]"), "t - 1.5"},
        {113, state("z[0]"), "0"},
        {113, state("b[1]"), "1"},
        {114, params + "state { k = W * x; r = k[t-1] }", "k[t-1]"},
        {114, "dims { sequence seq; time t; a; b; lag = 2 }\ndata { m[seq, t, a, b] }\nstate { r = m[t - lag] }", "m[t - lag]"},
        {114, params + "param { e[t] ~ normal(0, 1) }\nstate { r = e[t - lag] }", "e[t - lag]"},
        {114, state("r[t-2] + z"), "r[t-2]"},
        {113, state("d[t-1]"), "t-1"},
        {115, state("unit * z"), "unit"},
        {115, params + "state { r = k }\nreport { k = z }", "k"},
        {116, state("lgo(z)"), "lgo"},
        {116, state("normal(z, 1)"), "normal"},
        {116, state("x(t)"), "x(t)"},
        {116, state("log(z, 2)"), "log(z, 2)"},
        {117, state("[1, 2]"), "[1, 2]"},
        {117, state("\"body weight\""), "\"body weight\""},
        {117, state("z > 2"), "z > 2"},
        {119, params + "state { r = 2 * q; q = p; p = r + z }", "r"},
        {119, params + "state { r[t] = r[t-1] + q; q[t] = q[t-1] + r }", "r"},
        {213, state("exp(d)"), "d"},
        {213, state("z / d"), "d"},
        {213, state("sqrt(d * z)"), "d * z"},
        {213, state("d^-1"), "d"},
    });
}

TEST_CASE("refusals: recurrences") {
    std::string const params =
        "param { A[unit, unit2] ~ normal(0, 1); b[unit] ~ normal(0, 1); a[t > 0] ~ normal(0, 1); d ~ normal(0, 1) }\n";
    std::string const dims = "dims { sequence seq; time t; unit = 2; unit2 = 2; lag = 2 }\ndata { z[seq, t]; w[seq, t, unit2] }\n";
    auto const state = [&](std::string const& text) { return dims + params + "state { " + text + " }"; };
    check_refused({
        {210, state("r[t] = A' * A * r[t-1] + w"), "A' * A * r[t-1] + w"},
        {210, state("r[t] = diag(z * w) * r[t-1]' + w * w'"), "r[t-1]"},
        {210, state("r[t] = A' * A * r[t-1] + w * w'"), "A' * A * r[t-1] + w * w'"},
        {211, state("r[t] = r[t-1] * r[t-1] + z"), "r[t-1] * r[t-1]"},
        {212, state("r[t] = a[t] * r[t-1]"), "a[t] * r[t-1]"},
        {213, state("r[t] = exp(r[t-1]) + z"), "r[t-1]"},
        {213, state("r[t] = z / r[t-1]"), "r[t-1]"},
        {214, state("r[t] = a[t] * r[t] + z"), "r[t]"},
        {214, state("r = z + r"), "r"},
        {111, state("r[t] = b * r[t-1] + z"), "b * r[t-1] + z"},
        {210, state("r[t] = A * r[t-1] + b"), "A * r[t-1]"},
        {114, state("g[t] = r[t-1] + g[t-1]; r[t] = r[t-1] + z"), "r[t-1]"},
        {138, state("r[t] = r[t-1] + a[t]") + "\nobserve { z ~ normal(r, 1) }", "a[t]"},
        {138, state("r[t] = r[t-1] + a[t]; g = r * z") + "\nreport { e = g }", "a[t]"},
    });
}

TEST_CASE("refusals: priors") {
    std::string const observed = "observe { z ~ normal(b' * x + c, 1) }\n";
    std::string const params = "param { b[feat] ~ normal(0, 1); c ~ normal(0, 1) }\n";
    auto const prior = [&](std::string const& text) { return "param { b[feat] ~ " + text + "; c ~ normal(0, 1) }\n" + observed; };
    check_refused({
        {118, prior("normal([[1, 2], [3, 4]], 1)"), "[1, 2]"},
        {118, "param { b[unit] ~ normal([1, 2, 3], 1) }", "[1, 2, 3]"},
        {118, "param { W[unit, feat] ~ normal([[1, 2], [3]], 1) }", "[3]"},
        {120, prior("dnorm(0, 0.001)"), "dnorm(0, 0.001)"},
        {120, prior("nromal(0, 1)"), "nromal"},
        {120, prior("student(3, 0, 1)"), "student"},
        {120, prior("0"), "0"},
        {120, prior("normal"), "normal"},
        {120, "param { s_y ~ half_cauchy(0, 1) }\nobserve { z ~ normal(0, s_y) }", "half_cauchy(0, 1)"},
        {120, "param { s_y ~ dunif(0, 100) }\nobserve { z ~ normal(0, s_y) }", "dunif(0, 100)"},
        {120, params + "observe { z ~ half_normal(1) }", "half_normal(1)"},
        {121, prior("normal(0)"), "normal(0)"},
        {121, prior("normal(sd = 2)"), "normal(sd = 2)"},
        {121, prior("normal(0, 1, 2)"), "normal(0, 1, 2)"},
        {121, prior("normal(0, variance = 2)"), "variance"},
        {121, prior("normal(0, 1, sd = 2)"), "sd = 2"},
        {121, "param { s_y ~ gamma(1) }\nobserve { z ~ normal(0, precision = s_y) }", "gamma(1)"},
        {122, "param { s_y ~ gamma(1, -1) }\nobserve { z ~ normal(0, precision = s_y) }", "-1"},
        {123, params + "priors { x ~ normal(0, 1) }", "x"},
        {123, params + "state { r = c * z }\nobserve { r ~ normal(0, 1) }", "r"},
        {123, params + "observe { c ~ normal(0, 1) }", "c"},
        {124, "param { c ~ normal(0, 1); c ~ normal(1, 1) }\n", "c"},
        {124, "param { a[t >= 0] ~ normal(0, 1); a[t > 1] ~ normal(1, 1) }\n", "a[t > 1]"},
        {124, params + "observe { z ~ normal(0, 1); z[t > 4] ~ normal(0, 1) }", "z[t > 4]"},
        {124, "param { a[unit] ~ normal(0, 1); a[1] ~ normal(3, 1); a[1] ~ normal(9, 1) }\n", "a[1]"},
        {124, "param { a[unit] ~ normal(0, 1); a[1..2] ~ normal(3, 1); a[2] ~ normal(9, 1) }\n", "a[2]"},
        {125, "param { c }", "c"},
        {125, "param { a[t = 0] ~ normal(0, 1); a[t > 2] ~ normal(0, 1) }", "a[t = 0]"},
        {106, params + "priors { a[seq = 1..2.5] ~ normal(5, 1) }\nparam { a[seq] ~ normal(0, 1) }\n", "2.5"},
        {106, params + "priors { a[seq = 3..0] ~ normal(5, 1) }\nparam { a[seq] ~ normal(0, 1) }\n", "3..0"},
        {106, params + "priors { a[seq = 1..10001] ~ normal(5, 1) }\nparam { a[seq] ~ normal(0, 1) }\n", "1..10001"},
        {106, params + "priors { a[seq = S1..S3] ~ normal(5, 1) }\nparam { a[seq] ~ normal(0, 1) }\n", "S1..S3"},
        {125, "param { a[unit]; a[1] ~ normal(0, 1) }", "a[1]"},
        {126, "param { a[unit] ~ normal(0, 1) }\npriors { a[1] fixed 0 }", "a[1] fixed 0"},
        {127, params + "priors wide { c ~ normal(0, 10) }\npriors wide { c ~ normal(0, 100) }", "wide"},
        {127, params + "priors wide extends bse { c ~ normal(0, 10) }\npriors base { c ~ normal(0, 2) }", "bse"},
        {127, params + "priors a extends b { c ~ normal(0, 10) }\npriors b extends a { c ~ normal(0, 2) }", "b"},
        {128, "param { W[unit, feat] ~ normal(0, 1) }\nobserve { y ~ normal(W * x, 1) }", "W * x"},
        {128, "param { W[feat, out] ~ normal(0, 1) }\nobserve { y ~ normal(x' * W, 1) }", "x' * W"},
        {128, params + "observe { y ~ normal(c, 1) }", "c"},
        {129, "param { c ~ normal(z, 1) }", "z"},
        {129, "param { c[seq] ~ normal(0, s) }", "s"},
        {130, "param { g ~ half_normal(1) }\nobserve { z ~ normal(0, 2 + g) }", "2 + g"},
        {130, "observe { z ~ normal(0, s[t-1]) }", "s[t-1]"},
        {131, "param { g ~ normal(0, 1) }\nobserve { z ~ normal(0, g) }", "normal(0, 1)"},
        {131, "param { g ~ inverse_gamma(1, 1) }\nobserve { z ~ normal(0, g) }", "g"},
        {131, "param { g ~ half_cauchy(1) }\nobserve { z ~ normal(0, precision = g) }", "precision = g"},
        {131, "param { g ~ half_cauchy(1) }\nobserve { z ~ normal(g * s, 1) }", "half_cauchy(1)"},
        {131, "param { g[unit] ~ half_cauchy(1); g[1] ~ normal(0, 1) }", "normal(0, 1)"},
        {132, "param { g ~ half_cauchy(1) }\nobserve { z ~ normal(0, g); s ~ normal(0, var = g) }", "var = g"},
        {132, "param { g ~ half_cauchy(1) }\nobserve { z ~ normal(g, g) }", "g"},
        {133, "observe { z ~ normal(0, 0) }", "0"},
        {133, "param { g fixed -1 }\nobserve { z ~ normal(0, g) }", "g"},
        {133, "param { g[unit] ~ half_normal(1) }\nobserve { y ~ normal(0, g) }", "g"},
        {165, "param { g[seq] ~ half_normal(1); g[seq = A] ~ half_normal(2) }\nobserve { z ~ normal(0, g) }", "g[seq = A]"},
        {165, "param { g[t] ~ half_normal(1) }\npriors { g[t > 3] ~ half_normal(2) }\nobserve { z ~ normal(0, g) }", "g[t > 3]"},
        {134, "param { b[unit] ~ normal(0, cov = [[1, 2], [2, 1]]) }", "[[1, 2], [2, 1]]"},
        {134, "param { b[unit] ~ normal(0, cov = [[1, 0.5], [0.4, 1]]) }", "[[1, 0.5], [0.4, 1]]"},
        {134, "param { b[unit] ~ normal(0, cov = 2) }", "2"},
        {134, "param { c ~ normal(0, cov = [[1]]) }", "[[1]]"},
        {135, "dims { sequence seq; time t }\ndata { z[seq, t] missing }", "z"},
        {136, "observe { z ~ normal(0.5 * z, 1) }", "0.5 * z"},
        {137, "param { a ~ normal(b, 1); b ~ normal(a, 1) }", "b ~ normal(a, 1)"},
        {138, "param { a[t > 0] ~ normal(0, 1) }\nobserve { z ~ normal(a[t], 1) }", "a[t]"},
        {138, "param { a[t > 0] ~ normal(0, 1); b[t > 0] ~ normal(a[t-1], 1) }", "a[t-1]"},
    });
}

TEST_CASE("refusals: bindings") {
    std::string const model = "param { b[feat] ~ normal(0, 1) }\nobserve { z ~ normal(b' * x, s) }\n";
    auto const table = [&](std::string const& text) { return model + "table { " + text + " }"; };
    std::string const others = "; t = T; out = [A]; z = Z; s = S";
    check_refused({
        {102, table("fat = [B]; feat = [A]" + others), "fat"},
        {103, table("feat[1] = B; t = T; out = [A]; z = Z; s = S"), "feat[1] = B"},
        {140, table("b = B; feat = [B]" + others), "b"},
        {141, table("feat = [B]; feat = [C]" + others), "feat"},
        {142, table("feat = [B]; t = T; out = [A]; z = Z"), "s"},
        {142, table("feat = [B]; out = [A]; z = Z; s = S"), "t"},
        {142, table("t = T; out = [A]; z = Z; s = S"), "feat"},
        {143, table("feat = B" + others), "B"},
        {143, table("feat = [B]; t = [T]; out = [A]; z = Z; s = S"), "[T]"},
        {143, table("x = [B]" + others), "x"},
        {143, table("unit = [B, C]; feat = [D]" + others), "unit = [B, C]"},
        {143, "dims { sequence seq; feat }\ndata { a[seq, feat]; b[seq, feat] }\ntable { feat = [A] }", "feat = [A]"},
        {144, table("feat = [1, B]" + others), "1"},
        {144, table("feat = [B * C]" + others), "B * C"},
        {144, table("feat = [B, log(B)]" + others), "log(B)"},
        {144, table("feat = [feat, B]" + others), "[feat, B]"},
        {145, table("feat = [lgo(B)]" + others), "lgo"},
        {145, table("feat = [order(B)]" + others), "order"},
        {145, table("feat = [B[t-1]]" + others), "B[t-1]"},
        {145, table("seq = 2 * A; feat = [B]" + others), "2 * A"},
        {146, "dims { sequence seq; feat = 2 }\ndata { a[seq, feat] }\ntable { feat = [A] }", "[A]"},
    });
}

TEST_CASE("refusals: all independent errors in one run and no cascade") {
    Checked const checked = check_text(head + R"(
        param { b[feat] ~ nromal(0, 1); c ~ normal(0, cc); W[unti] ~ normal(0, 1) }
        state { k = b' * x; r = k + missing_name; q = r * W + r }
        observe { y ~ normal(q, 1); z ~ normal(q + missing_name, c) })");
    std::vector<int> codes;
    for (Diagnostic const& d : checked.diagnostics) codes.push_back(d.code);
    INFO(describe(checked.diagnostics, checked.sources));
    CHECK(codes == std::vector<int>{102, 120, 102, 131, 102});
}

TEST_CASE("refusals: a circle is printed") {
    Checked const checked = check_text(head + "state { r = 2 * q; q = p; p = r + z }");
    CHECK(checked.diagnostics.at(0).message == "definitions in a circle: r -> q -> p -> r");
    CHECK(checked.diagnostics.at(0).labels.size() == 4);
}

TEST_CASE("refusals: no model has more dims than there are ids of them") {
    std::string dims = "dims { sequence seq";
    for (int i = 1; i < 70000; ++i) dims += "; d" + std::to_string(i);
    check_refused({104, dims + " }\ndata { z[seq] }", "d1000"});
}

TEST_CASE("refusals: no expression grows without end") {
    std::string sums = "(diag(b) + M)";
    std::string powers = "c";
    std::string chain = "state { r0 = z";
    for (int i = 0; i < 40; ++i) sums += " * (diag(b) + M)";
    for (int i = 0; i < 40; ++i) powers = "(" + powers + ")^8";
    for (int i = 1; i < 20000; ++i) chain += "\nr" + std::to_string(i) + " = exp(z - r" + std::to_string(i - 1) + ")";
    std::string const square =
        "dims { sequence seq; unit = 2; feat }\ndata { z[seq]; x[seq, unit] }\nparam { b[unit] ~ normal(0, 1); c ~ normal(0, 1) }\n"
        "state { M = x * x' }\n";
    for (std::string const& text :
         {square + "state { r = " + sums + " }", square + "state { r = " + powers + " }", square + chain + " }"}) {
        Checked const checked = check_text(text);
        REQUIRE(checked.errors() >= 1);
        CHECK(checked.diagnostics.front().code == 139);
    }
}
