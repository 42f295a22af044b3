#include <doctest/doctest.h>

#include <cmath>

#include "check_text.hpp"
#include "print_model.hpp"

using namespace bam;

namespace {

Model model_of(std::string const& text, Choices const& choices = {}) {
    Checked checked = check_text(head + text, choices);
    REQUIRE_MESSAGE(checked.model, describe(checked.diagnostics, checked.sources));
    return std::move(*checked.model);
}

SymbolId symbol(Model const& model, std::string const& name) {
    for (SymbolId id = 0; id < model.symbols.size(); ++id) {
        if (model.symbols[id].name == name) return id;
    }
    FAIL("no symbol " << name);
    return 0;
}

/// What a definition stands for, `state { r = ... }`.
std::string definition(std::string const& text, std::string const& name = "r") {
    Model const model = model_of(text);
    return Notation(model).definition(symbol(model, name));
}

std::string mean_of(Model const& model, std::size_t factor) { return to_text(model, model.factors.at(factor).mean); }

}  // namespace

TEST_CASE("check: the attention model") {
    Model const model = model_of(R"(
        observe { y[t] ~ normal(h[t]' * q, sigma) }
        state { h[t] = a[t] * h[t-1] + k * v'
                k = W_k * x[t];  q = W_q * x[t];  v = W_v * x[t] }
        param { W_k[unit, feat] ~ normal(0, 1); W_q[unit, feat] ~ normal(0, 1); W_v[out, feat] ~ normal(0, 1)
                a[t > 0] ~ normal(0.8, 0.2); sigma ~ half_cauchy(1) }
        report { kernel[feat, feat2 = feat] = W_q' * W_k })");
    Notation notation(model);
    CHECK(notation.definition(symbol(model, "k")) == "k[t,unit] = sum[feat] W_k[unit,feat] x[t,feat]");
    CHECK(notation.definition(symbol(model, "h")) == "h[t,unit,out] = a[t] h[t-1,unit,out] + k[t,unit] v[t,out]");
    CHECK(notation.definition(symbol(model, "kernel")) == "kernel[feat,feat'] = sum[unit] W_k[unit,feat'] W_q[unit,feat]");
    Factor const& observed = model.factors.back();
    CHECK(observed.is_observation);
    CHECK(to_text(model, observed.mean) == "sum[unit] h[t,unit,out] q[t,unit]");
    CHECK(to_text(model, observed.residual) == "sum[unit] h[t,unit,out] q[t,unit] - y[t,out]");
    CHECK(to_text(model, observed.spread.front().value) == "sigma");
    CHECK(model.symbols[symbol(model, "a")].first_step == 1);
    CHECK(model.symbols[symbol(model, "sigma")].kind == SymbolKind::Scale);
    CHECK(model.symbols[symbol(model, "W_v")].kind == SymbolKind::Block);
    REQUIRE(model.scale_priors.size() == 1);
    CHECK(model.scale_priors[0].family == ScaleFamily::HalfStudentT);
}

TEST_CASE("check: every dimension of a product") {
    std::string const params =
        "param { W[unit, feat] ~ normal(0, 1); V[unit, feat] ~ normal(0, 1); b[unit] ~ normal(0, 1); c ~ normal(0, 1) }\n";
    auto const value = [&](std::string const& text) { return definition(params + "report { r = " + text + " }"); };
    CHECK(value("W * x") == "r[t,unit] = sum[feat] W[unit,feat] x[t,feat]");
    CHECK(value("x' * W'") == "r[t,unit] = sum[feat] W[unit,feat] x[t,feat]");
    CHECK(value("b' * W * x") == "r[t] = sum[feat] x[t,feat] sum[unit] b[unit] W[unit,feat]");
    CHECK(value("b * x'") == "r[t,unit,feat] = b[unit] x[t,feat]");
    CHECK(value("x * x'") == "r[t,feat,feat'] = x[t,feat] x[t,feat']");
    CHECK(value("W' * V") == "r[feat,feat'] = sum[unit] V[unit,feat'] W[unit,feat]");
    CHECK(value("(W' * V)'") == "r[feat,feat'] = sum[unit] V[unit,feat] W[unit,feat']");
    CHECK(value("W' * V * W' * V") ==
          "r[feat,feat'] = sum[unit] V[unit,feat'] sum[feat''] W[unit,feat''] sum[unit'] W[unit',feat] V[unit',feat'']");
    CHECK(value("c * W .* V") == "r[unit,feat] = c W[unit,feat] V[unit,feat]");
    CHECK(value("diag(b) * W") == "r[unit,feat] = b[unit] W[unit,feat]");
    CHECK(value("W' * diag(b)") == "r[feat,unit] = W[unit,feat] b[unit]");
    CHECK(value("2 * W - W - W") == "r[unit,feat] = 0");
    CHECK(value("W * x - 0.5 * b") == "r[t,unit] = sum[feat] W[unit,feat] x[t,feat] - 0.5 b[unit]");
    CHECK(value("c^2 / z[t] + 2^3") == "r[t] = c^2 / z[t] + 8");
    CHECK(value("sqrt(c) + c^0.5 - c^-1") == "r = 2 sqrt(c) - 1 / c");
}

TEST_CASE("check: steps back") {
    std::string const params = "param { W[unit, feat] ~ normal(0, 1); c[lag] ~ normal(0, 1); m[lag, out] ~ normal(0, 1) }\n";
    CHECK(definition(params + "state { r = W * x[t-1] }") == "r[t,unit] = sum[feat] W[unit,feat] x[t-1,feat]");
    CHECK(definition(params + "state { r = c' * z[t - lag] }") == "r[t] = sum[lag] c[lag] z[t-lag]");
    CHECK(definition(params + "state { r = y[t - lag] * c }") == "r[t,out] = sum[lag] c[lag] y[t-lag,out]");
    CHECK(definition(params + "state { r = z[seq, t - 3] + z[t - 0] + z }") == "r[t] = z[t-3] + 2 z[t]");
}

TEST_CASE("check: recurrences are taken apart") {
    std::string const params =
        "param { a[t > 0] ~ normal(0, 1); u[unit] ~ normal(0, 1); b[unit, t > 0] ~ normal(0, 1); c ~ normal(0, 1) }\n";
    auto const value = [&](std::string const& text) { return definition(params + "state { " + text + " }"); };
    CHECK(value("r[t] = r[t-1] + z[t]") == "r[t] = r[t-1] + z[t]");
    CHECK(value("r[t] = x * x' + a[t] * r[t-1]") == "r[t,feat,feat'] = a[t] r[t-1,feat,feat'] + x[t,feat] x[t,feat']");
    CHECK(value("r[t] = diag(b[t]) * r[t-1] + u * x[t]'") == "r[t,unit,feat] = u[unit] S1[t,feat,unit]");
    CHECK(value("r[t] = b[t] .* r[t-1] + z[t] * b[t-1]") == "r[t,unit] = b[unit,t] r[t-1,unit] + b[unit,t-1] z[t]");
    CHECK(value("r[t] = z[t] - (c * r[t-1] - a[t] * r[t-1]) / 2") == "r[t] = (0.5 a[t] - 0.5 c) r[t-1] + z[t]");
    CHECK(value("r[t, unit] = u' * u * r[t-1] + u * z[t]") == "r[t,unit] = u[unit] S1[t]");
    CHECK(value("r[t] = 0 * r[t-1] + z[t]") == "r[t] = z[t]");
    Model const model = model_of(params + "state { r[t] = a[t] * r[t-1] + g; g[t] = a[t] * g[t-1] + z }");
    CHECK(Notation(model).definition(symbol(model, "r")) == "r[t] = a[t] r[t-1] + g[t]");
    CHECK(model.names.at(*model.symbols[symbol(model, "g")].term) == symbol(model, "g"));
}

TEST_CASE("check: what a parameter is comes from its prior and its use") {
    Model const model = model_of(R"(
        param { b[out] ~ flat(); tau ~ flat(); v[out] ~ inverse_gamma(3, 0.2); p ~ gamma(1, 2); n[out] ~ normal(m, sd = tau); m ~ normal(0, precision = p)
                c fixed 2; d[out] fixed -1; k[seq] ~ laplace_position(scale = 2, sd = 0.5) }
        observe { y ~ normal(c * b + n + d, var = v); z ~ normal(k, s) })");
    auto const kind = [&](char const* name) { return model.symbols[symbol(model, name)].kind; };
    CHECK(kind("b") == SymbolKind::Block);
    CHECK(kind("tau") == SymbolKind::Scale);
    CHECK(kind("v") == SymbolKind::Scale);
    CHECK(kind("p") == SymbolKind::Scale);
    CHECK(kind("c") == SymbolKind::Fixed);
    CHECK(model.literals[*model.symbols[symbol(model, "d")].literal].values == std::vector<double>{-1});
    REQUIRE(model.scale_priors.size() == 3);
    CHECK(model.scale_priors[0].spread == SpreadKind::Sd);
    CHECK(model.scale_priors[0].family == ScaleFamily::Flat);
    CHECK(model.scale_priors[1].spread == SpreadKind::Variance);
    CHECK(model.scale_priors[1].second == 0.2);
    CHECK(model.scale_priors[2].spread == SpreadKind::Precision);
    REQUIRE(model.factors.size() == 6);
    CHECK(model.factors[0].is_flat());
    CHECK(to_text(model, model.factors[0].residual) == "-b[out]");
    CHECK(mean_of(model, 1) == "m");
    CHECK(to_text(model, model.factors[1].residual) == "m - n[out]");
    CHECK(model.terms.constant_value(model.factors[3].mean) == doctest::Approx(0.60653065971263342));
    CHECK(to_text(model, model.factors[5].spread.front().value) == "s[t]");
}

TEST_CASE("check: lists are entries") {
    std::string const dims = "dims { sequence seq; out = 2; feat = 3 }\ndata { z[seq] }\n";
    Checked const checked = check_text(dims + R"(
        param { W[out, feat] ~ normal([[1, 2, 3], [4, 5, 6]], [[1, 1, 1], [2, 2, 2]]); b[feat] ~ normal([0, -1, 1/2], cov = [[2, 1, 0], [1, 2, 0], [0, 0, 1]])
                c[out] fixed [1, 2] }
        observe { z ~ normal(c' * W * b, 1) })");
    REQUIRE(checked.model);
    Model const& model = *checked.model;
    CHECK(to_text(model, model.factors[0].mean) == "[[1, 2, 3], [4, 5, 6]][out,feat]");
    CHECK(to_text(model, model.factors[1].mean) == "[0, -1, 0.5][feat]");
    CHECK(model.factors[1].has_covariance());
    CHECK(model.literals[model.terms[model.factors[1].spread.front().value].payload].shape == std::vector<std::size_t>{3, 3});
}

TEST_CASE("check: later priors win") {
    std::string const text = R"(
        param { b[out] ~ normal(0, 1); c ~ normal(0, 1); a[t > 0] ~ normal(0, 1); sigma[out] ~ half_normal(1) }
        state { h[t] = a[t] * h[t-1] + c * z }
        observe { y ~ normal(h[t] * b, sigma) }
        priors base { b ~ normal(2, 1); b[conc] ~ normal(3, 1); a[t > 3] ~ normal(4, 1); sigma[conc] ~ half_cauchy(2) }
        priors { c ~ normal(1, 1) }
        priors child extends base { b[drug] ~ normal(5, 1); a fixed 0 }
        table { t = Time; feat = [one = 1]; out = [conc, drug]; z = Z; s = S })";
    auto const means = [&](Choices const& choices) {
        Model const model = model_of(text, choices);
        std::string out;
        for (Factor const& factor : model.factors) {
            if (factor.is_observation) continue;
            out += model.symbols[factor.target].name + to_text(model, factor.region) + " " + to_text(model, factor.mean);
            for (auto later : factor.overridden_by) out += " <" + std::to_string(later);
            out += "; ";
        }
        return out;
    };
    CHECK(means({}) == "b 0; a where t >= 1 0; c 1; ");
    CHECK(means({{}, {"base"}}) == "a where t >= 1 0 <4; c 1; b 2 <3; b where out = conc 3; a where t >= 4 4; ");
    CHECK(means({{}, {"child"}}) == "c 1; b 2 <2 <3; b where out = conc 3; b where out = drug 5; ");
    Model const model = model_of(text, {{}, {"base"}});
    REQUIRE(model.scale_priors.size() == 2);
    CHECK(model.scale_priors[0].overridden_by == std::vector<std::uint32_t>{1});
    CHECK(model.scale_priors[1].region.labels[0].label == "conc");
}

TEST_CASE("check: the set that is named last holds") {
    std::string const text =
        "param { c ~ normal(0, 1) }\nobserve { z ~ normal(c, 1) }\npriors base { c ~ normal(1, 1) }\n"
        "priors child extends base { c ~ normal(2, 1) }\npriors other extends base { }\n";
    auto const mean = [&](std::vector<std::string> const& sets) { return mean_of(model_of(text, {{}, sets}), 0); };
    CHECK(mean({"base", "child"}) == "2");
    CHECK(mean({"child", "base"}) == "1");
    CHECK(mean({"child", "base", "child"}) == "2");
    CHECK(mean({"child", "other"}) == "2");  // its base is there already
    // Of each set once: a statement that is there twice would be reported twice.
    Model const model = model_of(text, {{}, {"child", "base"}});
    CHECK(std::count_if(model.stated.begin(), model.stated.end(), [](StatedPrior const& stated) { return stated.is_chosen; }) == 3);
}

TEST_CASE("check: ranges of labels are counted") {
    auto const labels = [](std::string const& range) {
        Model const model =
            model_of("param { a[seq] ~ normal(0, 1) }\nobserve { z ~ normal(a, 1) }\npriors { a[seq = " + range + "] ~ normal(5, 1) }\n");
        std::string text;
        for (StatedPrior const& stated : model.stated)
            for (Region::Labels const& label : stated.region.labels) text += label.label + " ";
        return text;
    };
    CHECK(labels("1..3") == "1 2 3 ");
    CHECK(labels("1..3.0") == "1 2 3 ");
    CHECK(labels("0..2") == "0 1 2 ");
    CHECK(labels("20000..20001") == "20000 20001 ");
}

TEST_CASE("check: what names more labels is an exception to what names fewer") {
    Model const model = model_of(
        "param { W[out, feat] ~ normal(0, 1); W[conc, feat] ~ normal(1, 1); W[conc, one] ~ normal(2, 1) }\n"
        "observe { y ~ normal(W * x, 1) }\ntable { t = Time; feat = [one = 1]; out = [conc, drug]; z = Z; s = S }\n");
    CHECK(model.stated.size() == 3);
}

TEST_CASE("check: weights and decays of one bank") {
    auto const accepts = [](std::string const& params) {
        Checked const checked = check_text(head + "dims { bank }\nparam { " + params + " }\nobserve { z ~ normal(0, 1) }\n");
        return std::none_of(checked.diagnostics.begin(), checked.diagnostics.end(), [](Diagnostic const& d) { return d.code == 164; });
    };
    CHECK(accepts("b[bank] fixed ggd_decays(4, 0.5); w[bank] ~ normal(ggd_weights(4, 0.5), 0.1)"));
    CHECK(accepts("b[bank] fixed ggd_decays([2, 8], [0.5, 1]); w[bank] ~ ggd_position([2, 8], [0.5, 1], 0.1)"));
    // As a spread a list is a size only; without decays there is nothing to be of another kernel than.
    CHECK(accepts("b[bank] fixed ggd_decays(4, 0.5); w[bank] ~ normal(0, ggd_weights(16, 0.5))"));
    CHECK(accepts("w[bank] ~ normal(ggd_weights(4, 0.5), 0.1); v[bank] ~ normal(ggd_weights(8, 0.5), 0.1)"));
    // Two kernels in one bank, each with its decays.
    CHECK(
        accepts("b[bank] fixed ggd_decays(4, 0.5); w[bank] fixed ggd_weights(4, 0.5); "
                "c[bank] fixed ggd_decays(8, 0.5); v[bank] fixed ggd_weights(8, 0.5)"));
    CHECK_FALSE(accepts("b[bank] fixed ggd_decays(4, 0.5); w[bank] ~ normal(ggd_weights(5, 0.5), 0.1)"));
    CHECK_FALSE(accepts("b[bank] fixed ggd_decays(4, 0.5); w[bank] ~ normal(ggd_weights(4, 0.5, lags = 50), 0.1)"));
    CHECK_FALSE(accepts("b[bank] fixed ggd_decays([2, 8], [0.5, 1]); w[bank] ~ ggd_position([16, 64], [0.5, 1], 0.1)"));
    // A set that changes one of the two only.
    std::string const model = head +
                              "dims { bank }\nparam { b[bank] fixed ggd_decays(4, 0.5); w[bank] ~ normal(ggd_weights(4, 0.5), 0.1) }\n"
                              "observe { z ~ normal(0, 1) }\npriors half { w ~ normal(ggd_weights(16, 0.5), 0.1) }\n"
                              "priors both { b fixed ggd_decays(16, 0.5); w ~ normal(ggd_weights(16, 0.5), 0.1) }\n";
    auto const is_refused = [&](std::vector<std::string> const& sets) {
        Checked const checked = check_text(model, {{}, sets});
        return std::any_of(checked.diagnostics.begin(), checked.diagnostics.end(), [](Diagnostic const& d) { return d.code == 164; });
    };
    CHECK_FALSE(is_refused({}));
    CHECK(is_refused({"half"}));
    CHECK_FALSE(is_refused({"both"}));
}

TEST_CASE("check: the user's file overrides what it uses") {
    Checked const checked = check_files({"priors { c ~ normal(2, 1) }\ntable { z = Z; t = T }",
                                         "model used\ndims { sequence seq; time t }\ndata { z[seq, t] }\nparam { c ~ normal(0, 1) }\n"
                                         "priors { c ~ normal(1, 1) }\nobserve { z ~ normal(c, 1) }"});
    REQUIRE(checked.model);
    CHECK(checked.model->name == "used");
    CHECK(mean_of(*checked.model, 0) == "2");
    CHECK(checked.model->factors.size() == 2);
}

TEST_CASE("check: statements on ranges of steps") {
    Model const model = model_of(R"(
        param { level[seq, t = 0] ~ normal(0, 10); level[seq, t > 0] ~ normal(level[t-1], tau); tau ~ half_normal(1)
                a[t = 1..2] ~ normal(0, 1); a[t >= 3] ~ normal(0.5 * a[t-1], 1) }
        state { h[t] = a[t] * h[t-1] + level }
        observe { z[t <= 4] ~ normal(level, 1); z[t > 4] ~ normal(h, 1); y[t >= 1, 1..2] ~ normal(a[t], 1) })");
    CHECK(model.symbols[symbol(model, "level")].first_step == 0);
    CHECK(model.symbols[symbol(model, "a")].first_step == 1);
    CHECK(model.factors[1].region.first_step == 1);
    CHECK(mean_of(model, 1) == "level[t-1]");
    CHECK(model.factors[2].region.last_step == 2);
    CHECK(model.factors[4].region.last_step == 4);
    REQUIRE(model.factors.size() == 8);
    CHECK(model.factors[7].region.labels[0].label == "2");
}

TEST_CASE("check: bindings") {
    std::string const text = R"(
        param { W[out, feat] ~ normal(0, 1) }
        observe { y ~ normal(W * x, 1) }
        table { seq = Subject; t = order(Time); z = log("body weight"); s = S / 2
                feat = [one = 1, Time / 24, "body weight", male = Sex == "male", Dose > 0]
                out = [log(earn), standardize(kms)] })";
    Model const model = model_of(text);
    CHECK(model.dims[2].labels == std::vector<std::string>{"one", "Time", "body weight", "male", "Dose"});
    CHECK(model.dims[3].labels == std::vector<std::string>{"earn", "kms"});
    CHECK(model.dims[3].size == 2);
    REQUIRE(model.bindings.size() == 6);
    CHECK(model.bindings[1].is_order);
    CHECK(model.bindings[1].columns[0].op == ColumnOp::Column);
    ColumnExpr const& male = model.bindings[4].columns[3];
    CHECK(male.op == ColumnOp::Equal);
    CHECK(male.args[1].op == ColumnOp::Text);
    CHECK(male.args[1].name == "male");
    CHECK(model.bindings[2].symbol == symbol(model, "z"));
}

TEST_CASE("check: choices of the command line") {
    std::string const text = "param { W[unit, feat] ~ normal(0, 1) }\nreport { r = W * W' }\n";
    CHECK(model_of(text, {{{"unit", 5}}, {}}).dims[4].size == 5);
    auto const codes = [&](std::string const& whole, Choices const& choices) {
        Checked const checked = check_text(whole, choices);
        std::vector<int> result;
        for (Diagnostic const& d : checked.diagnostics) {
            if (d.severity == Severity::Error) result.push_back(d.code);
        }
        return result;
    };
    CHECK(codes(head + text, {{{"unti", 5}}, {}}) == std::vector<int>{510});
    CHECK(codes(head + text, {{{"t", 5}}, {}}) == std::vector<int>{510});
    CHECK(codes(head + text, {{{"unit", 0}}, {}}) == std::vector<int>{510});
    CHECK(codes(head + text, {{}, {"wide"}}) == std::vector<int>{511});
    std::string const table = "table { t = T; feat = [A, B]; out = [C]; z = Z; s = S }\n";
    CHECK(codes(head + text + table, {{{"feat", 5}}, {}}) == std::vector<int>{512});
}

TEST_CASE("check: warnings do not stop a model") {
    Checked const checked =
        check_text(head + "param { b ~ normal(0, 1); sigma ~ half_normal(1); c ~ normal(0, 1) }\nobserve { z ~ normal(c, 1) }");
    CHECK(checked.model);
    REQUIRE(checked.diagnostics.size() == 2);
    CHECK(checked.diagnostics[0].code == 310);
    CHECK(checked.diagnostics[0].severity == Severity::Warning);
    CHECK(checked.sources.text(checked.diagnostics[1].labels[0].span) == "sigma");
}

TEST_CASE("check: a choice and a kernel that is learnt by one") {
    Model const model = model_of(R"(
        dims { group = 3; bank }
        param { p[seq, group] ~ categorical([2, 1, 1]); q[seq, group] ~ categorical()
                m[group] ~ normal(0, 1)
                b[bank] fixed ggd_decays(scale = [2, 8], shape = 1); w[bank] ~ ggd_position(scale = [2, 8], shape = 1, sd = 0.1)
                each[bank] fixed 1 }
        state { u = w' * each }
        observe { z ~ normal((p + q)' * m + u, 1) })");
    CHECK(model.choice_of(symbol(model, "p")) == model.symbols[symbol(model, "m")].dims[0]);
    CHECK(!model.choice_of(symbol(model, "m")));
    SymbolId const kernel = symbol(model, "w_kernel");
    REQUIRE(model.choice_of(kernel));
    Dim const& dim = model.dims[*model.choice_of(kernel)];
    CHECK(dim.labels == std::vector<std::string>{"scale 2 shape 1", "scale 8 shape 1"});
    CHECK(model.symbols[symbol(model, "w_scale")].is_report);
    auto const is_shape = [](Symbol const& s) { return s.name == "w_shape"; };  // it is known
    CHECK(std::none_of(model.symbols.begin(), model.symbols.end(), is_shape));
    for (Factor const& factor : model.factors) {
        if (factor.target == symbol(model, "p")) CHECK(model.terms[*factor.weights].op == Op::Literal);
        if (factor.target == symbol(model, "q")) CHECK(model.terms.is_constant(*factor.weights, 1));
        if (factor.target == symbol(model, "w")) CHECK(mentions(model, factor.mean, {Op::Param, kernel, 0}));
    }
}

TEST_CASE("check: functions that give a list of numbers") {
    Model const model = model_of(R"(
        dims { head = 4; bank; pair = 2; free }
        param { a[head] fixed alibi_decays(); b[bank] fixed ggd_decays(scale = 16, shape = 0.5)
                c[pair, free] ~ normal([ggd_weights(16, 0.5), power_weights(r1 = 0.5, r2 = 1, lags = 100)], 0.5 * [ggd_decays(4, 0.5, tolerance = 0.01), ggd_weights(16, 0.5)])
                k[seq] ~ uniform_position(0.1) }
        observe { z ~ normal(k, 1) })");
    auto const literal = [&](char const* name) { return model.literals[*model.symbols[symbol(model, name)].literal].values; };
    REQUIRE(literal("a").size() == 4);
    for (int head = 1; head <= 4; ++head)  // ALiBi: slopes 2^(-8h/H)
        CHECK(literal("a")[static_cast<std::size_t>(head - 1)] == doctest::Approx(std::exp(-std::pow(2.0, -8.0 * head / 4))));
    std::size_t const size = *model.dims[model.symbols[symbol(model, "b")].dims[0]].size;
    CHECK(size == 6);
    CHECK(literal("b").size() == size);
    for (Factor const& factor : model.factors) {
        if (factor.target == symbol(model, "k")) CHECK(model.terms.constant_value(factor.mean) == 1);
        if (factor.target != symbol(model, "c")) continue;
        std::vector<double> const& means = model.literals[model.terms[factor.mean].payload].values;
        REQUIRE(means.size() == 2 * size);
        for (std::size_t row = 0; row < 2; ++row) {  // either kernel is 1 at lag 0
            double sum = 0;
            for (std::size_t j = 0; j < size; ++j) sum += means[row * size + j];
            CHECK(std::abs(sum - 1) <= 1e-3);
        }
        CHECK(factor.spread.size() == 2);
    }
}
