#include "nearest.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using bam::nearest;

namespace {

using Names = std::vector<std::string>;

std::string found(std::string const& name, Names const& names) { return nearest(name, names).value_or("(none)"); }

}  // namespace

TEST_CASE("nearest: one slip of each kind") {
    Names const names{"half_cauchy", "normal", "inverse_gamma", "standardize", "Weight"};
    CHECK(found("half_caucy", names) == "half_cauchy");
    CHECK(found("half_ccauchy", names) == "half_cauchy");
    CHECK(found("nornal", names) == "normal");
    CHECK(found("nroaml", names) == "normal");
    CHECK(found("standardise", names) == "standardize");
    CHECK(found("Wieght", names) == "Weight");
}

TEST_CASE("nearest: an exchange of neighbours is one step") {
    CHECK(found("seq", {"sqe"}) == "sqe");
    CHECK(found("ab", {"ba"}) == "ba");
    CHECK(found("abc", {"cab"}) == "(none)");  // two steps of three letters
}

TEST_CASE("nearest: another case is preferred to another letter") {
    CHECK(found("time", {"dime", "TIME", "times"}) == "TIME");
    CHECK(found("x", {"y", "X"}) == "X");
    CHECK(found("GRÖSSE", {"Grosse", "grösse"}) == "grösse");
    CHECK(found("δt", {"dt", "Δt"}) == "Δt");
    CHECK(found("ВРЕМЯ", {"время"}) == "время");
    CHECK(found("ŽIVOT", {"život"}) == "život");
    CHECK(found("ŁĄKA", {"łąka"}) == "łąka");
    CHECK(found("ÿ", {"Ÿ"}) == "Ÿ");
    CHECK(found("Ѐ", {"ѐ"}) == "ѐ");
}

TEST_CASE("nearest: the name itself comes before everything") { CHECK(found("Time", {"time", "TIME", "Time"}) == "Time"); }

TEST_CASE("nearest: the first of equals") { CHECK(found("cat", {"bat", "car", "rat"}) == "bat"); }

TEST_CASE("nearest: nothing if it is too far or there is nothing to choose from") {
    CHECK(found("x", {"y", "z"}) == "(none)");
    CHECK(found("conc", {"dose", "weight"}) == "(none)");
    CHECK(found("temp", {"temperature"}) == "(none)");
    CHECK(found("x", {}) == "(none)");
    CHECK(found("", {"a", "ab"}) == "(none)");
    CHECK(found("a", {""}) == "(none)");
    CHECK(found("", {""}) == "");
}

TEST_CASE("nearest: a letter of several bytes is one letter") {
    CHECK(found("größe", {"grüße"}) == "grüße");
    CHECK(found("温度計", {"温度"}) == "温度");
    CHECK(found("é", {"è"}) == "(none)");
}

TEST_CASE("nearest: long names are compared but never for long") {
    std::string const name(200000, 'a');
    CHECK(found(name, {name + "b"}) == "(none)");
    CHECK(found(name, {std::string(200000, 'A')}) == std::string(200000, 'A'));
}

TEST_CASE("nearest: property: one random edit of a name of three or more letters leads back to it") {
    std::mt19937 random(20240607);
    std::string const letters = "abcdefghijklmnopqrstuvwxyz_";
    auto const letter = [&] { return letters[random() % letters.size()]; };
    for (int round = 0; round < 2000; ++round) {
        std::string name;
        for (std::size_t i = 0, length = 3 + random() % 12; i < length; ++i) name += letter();
        std::string edited = name;
        std::size_t const at = random() % (name.size() - 1);
        switch (random() % 4) {
            case 0: edited.insert(at, 1, letter()); break;
            case 1: edited.erase(at, 1); break;
            case 2: edited[at] = letter(); break;
            default: std::swap(edited[at], edited[at + 1]); break;
        }
        CAPTURE(name);
        CAPTURE(edited);
        CHECK(found(edited, {"0123456789", name, "0"}) == name);
    }
}
