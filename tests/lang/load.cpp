#include "load.hpp"

#include <doctest/doctest.h>

#include <map>

#include "describe.hpp"

using namespace bam;

namespace {

/// Files that are nowhere but here. `same`: names of one file.
struct Disk {
    std::map<std::string, std::string> texts;
    std::map<std::string, std::string> same;
    std::vector<std::string> asked;

    ReadText read(std::string const& name) {
        asked.push_back(name);
        std::string const real = same.contains(name) ? same[name] : name;
        if (!texts.contains(real)) return {"", name, "no such file", ""};
        return {texts[real], real, "", ""};
    }
};

struct Result {
    Loaded loaded;
    std::vector<std::string> names;
    std::string said;
};

Result load(Disk& disk, std::vector<std::string> const& names) {
    Sources sources;
    Diagnostics diagnostics;
    Result result;
    result.loaded = bam::load(
        names, [&](std::string const& name) { return disk.read(name); }, sources, diagnostics);
    for (tree::File const& file : result.loaded.files) result.names.push_back(sources[file.source].name);
    result.said = describe(diagnostics, sources);
    return result;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("load: a file comes before what it uses, and paths are relative to the file that says them") {
    Disk disk{{{"a/top.bam", "use \"../b/mid.bam\"\nuse \"side.bam\"\n"},
               {"b/mid.bam", "use \"low.bam\"\n"},
               {"b/low.bam", ""},
               {"a/side.bam", ""}},
              {},
              {}};
    Result const result = load(disk, {"a/top.bam"});
    CHECK(result.said.empty());
    CHECK(result.names == Names{"a/top.bam", "b/mid.bam", "b/low.bam", "a/side.bam"});
}

TEST_CASE("load: a file that is used twice is there once, whatever it is called") {
    Disk disk{{{"top.bam", "use \"left.bam\"\nuse \"right.bam\"\n"},
               {"left.bam", "use \"low.bam\"\n"},
               {"right.bam", "use \"link.bam\"\n"},
               {"low.bam", ""}},
              {{"link.bam", "low.bam"}},
              {}};
    Result const result = load(disk, {"top.bam"});
    CHECK(result.said.empty());
    CHECK(result.names == Names{"top.bam", "left.bam", "low.bam", "right.bam"});
    CHECK(result.loaded.sources.at("link.bam") == result.loaded.sources.at("low.bam"));
}

TEST_CASE("load: standard input uses files of the present folder") {
    Disk disk{{{"-", "use \"models/low.bam\"\n"}, {"models/low.bam", ""}}, {}, {}};
    CHECK(load(disk, {"-"}).names == Names{"-", "models/low.bam"});
}

TEST_CASE("load: files that use one another in a circle are told apart from files that are used twice") {
    Disk disk{
        {{"a.bam", "use \"b.bam\"\n"}, {"b.bam", "use \"c.bam\"\n"}, {"c.bam", "use \"a.bam\"\n"}, {"self.bam", "use \"self.bam\"\n"}},
        {},
        {}};
    CHECK(load(disk, {"a.bam"}).said ==
          "BAM0503 files use one another in a circle\n"
          "1:5 [\"a.bam\"] and so it begins again\n"
          "1:5 [\"b.bam\"] which is used here\n"
          "1:5 [\"c.bam\"] which is used here\n");
    CHECK(load(disk, {"self.bam"}).said ==
          "BAM0503 a file uses itself\n"
          "1:5 [\"self.bam\"] that is this file\n");
}

TEST_CASE("load: what cannot be read is said where it is used") {
    Disk disk{{{"a.bam", "use \"nothing.bam\"\nuse \"-\"\nuse \"\"\nuse \"b.bam\"\n"}, {"b.bam", ""}}, {}, {}};
    Result const result = load(disk, {"a.bam"});
    CHECK(result.said ==
          "BAM0502 `nothing.bam` cannot be read: no such file\n"
          "1:5 [\"nothing.bam\"] used here\n"
          "= a path is relative to the file that says it\n"
          "BAM0504 standard input cannot be used\n"
          "2:5 [\"-\"] here\n"
          "= `use` takes the path of a file, relative to the file that says it\n"
          "BAM0504 `use` of no file\n"
          "3:5 [\"\"] here\n"
          "= `use` takes the path of a file, relative to the file that says it\n");
    CHECK(result.names == Names{"a.bam", "b.bam"});
    CHECK(load(disk, {"absent.bam"}).said == "BAM0501 `absent.bam` cannot be read: no such file\n");
}
