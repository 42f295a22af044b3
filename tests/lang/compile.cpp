#include "compile.hpp"

#include <doctest/doctest.h>

#include "describe.hpp"

using namespace bam;

namespace {

constexpr char const* base = R"(model base
dims { sequence seq; time t; feat; unit = 2 }
data { x[seq, t, feat]; y[seq, t] missing }
param { W[unit, feat] ~ normal(0, 1); v[unit] ~ normal(0, 1); sigma ~ half_cauchy(1) }
observe { y[t] ~ normal(v' * (W * x[t]), sigma) }
)";

constexpr char const* user = R"(use "base.bam"
table { seq = id; t = day; feat = [one = 1, dose]; y = y }
priors tight { v ~ normal(0, 0.1) }
)";

struct Result {
    CompileResult result;
    std::string said;
};

Result compile(std::vector<std::string> const& files, CompileRequest request = {}) {
    Sources sources;
    Diagnostics diagnostics;
    Reader const reader = [](std::string const& name) {
        if (name == "base.bam") return ReadText{base, name, "", ""};
        if (name == "user.bam") return ReadText{user, name, "", ""};
        if (name == "sure.bam") return ReadText{"priors { v fixed 1 }\n", name, "", ""};
        return ReadText{"", name, "no such file", ""};
    };
    request.files = files;
    Result result;
    result.result = bam::compile(request, reader, sources, diagnostics);
    result.said = describe(diagnostics, sources);
    return result;
}

}  // namespace

TEST_CASE("compile: a model without a table can be looked at, but has no layout") {
    auto const [result, said] = compile({"base.bam"});
    CHECK(said.empty());
    REQUIRE(result.compiled);
    Outline const outline = result.compiled->outline();
    CHECK(outline.name == "base");
    CHECK_FALSE(outline.has_table);
    CHECK(outline.dims.size() == 4);
    CHECK_FALSE(outline.dims[2].size);
    REQUIRE(outline.notes.size() == 1);
    CHECK(outline.notes[0].code == 301);
    Diagnostics diagnostics;
    CHECK(result.compiled->layout(diagnostics) == nullptr);
    REQUIRE(diagnostics.size() == 1);
    CHECK(diagnostics[0].code == 208);
}

TEST_CASE("compile: what a file uses is part of it, and files of priors have the last word") {
    auto const plain = compile({"user.bam"});
    CHECK(plain.said.empty());
    REQUIRE(plain.result.compiled);
    Diagnostics diagnostics;
    Layout const* const layout = plain.result.compiled->layout(diagnostics);
    REQUIRE(layout != nullptr);
    CHECK(layout->dims[2].labels == std::vector<std::string>{"one", "dose"});
    CHECK(plain.result.compiled->files().size() == 2);
    CHECK(plain.result.compiled->blocks() == std::vector<std::string>{"W", "v", "sigma"});

    auto const sure = compile({"sure.bam", "user.bam"});
    REQUIRE(sure.result.compiled);
    CHECK(sure.result.compiled->blocks() == std::vector<std::string>{"W", "sigma"});
    CHECK(plain.result.compiled->symmetries() == "W -> A W, v -> inv(A)' v   (A: 2 x 2 invertible, along unit)\n");
    CHECK(sure.result.compiled->symmetries() == "(W) along unit: any numbering\n");  // v is 1 at both
}

TEST_CASE("compile: stages stop where they are told to") {
    CompileRequest request;
    request.last = CompileStage::Parse;
    auto const parsed = compile({"user.bam"}, request);
    CHECK_FALSE(parsed.result.tree.empty());
    CHECK(parsed.result.model.empty());
    request.last = CompileStage::Check;
    auto const checked = compile({"user.bam"}, request);
    CHECK_FALSE(checked.result.model.empty());
    CHECK_FALSE(checked.result.compiled);
}

TEST_CASE("compile: errors of any stage leave no model") {
    CHECK(compile({"absent.bam"}).said == "BAM0501 `absent.bam` cannot be read: no such file\n");
    CHECK_FALSE(compile({"absent.bam"}).result.compiled);
    CompileRequest request;
    request.priors = {"tigth"};
    auto const wrong = compile({"user.bam"}, request);
    CHECK_FALSE(wrong.result.compiled);
    CHECK(wrong.said.find("BAM0511") == 0);
}

TEST_CASE("compile: a block that is not there is missed, with the one that was meant") {
    auto const compiled = compile({"user.bam"}).result.compiled;
    REQUIRE(compiled);
    Diagnostics diagnostics;
    CHECK(compiled->explain("W", diagnostics));
    CHECK_FALSE(compiled->explain("sgima", diagnostics));
    REQUIRE(diagnostics.size() == 1);
    CHECK(diagnostics[0].code == 505);
    CHECK(diagnostics[0].notes.front() == "did you mean `sigma`?");
}
