#include "csv.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using namespace bam;

namespace {

using Records = std::vector<std::vector<std::string>>;

/// The raw fields of every record.
Records read(std::string const& text, char separator = ',') {
    csv::Reader reader(text, separator, 0);
    std::vector<csv::Field> fields;
    Records records;
    while (reader.next(fields)) {
        auto& record = records.emplace_back();
        for (csv::Field const& field : fields) record.push_back(text.substr(field.begin, field.end - field.begin));
    }
    CHECK_FALSE(reader.fault());
    return records;
}

csv::QuoteFault fault(std::string const& text) {
    csv::Reader reader(text, ',', 0);
    std::vector<csv::Field> fields;
    while (reader.next(fields)) {
    }
    CHECK_FALSE(reader.next(fields));
    REQUIRE(reader.fault());
    return *reader.fault();
}

}  // namespace

TEST_CASE("csv: every line end ends a record and the last may go without") {
    Records const expected{{"a", "b"}, {"1", "2"}};
    for (std::string const end : {"\n", "\r\n", "\r"}) {
        CHECK(read("a,b" + end + "1,2" + end) == expected);
        CHECK(read("a,b" + end + "1,2") == expected);
    }
    CHECK(read("a,b\r\n\r\n1,2\n") == Records{{"a", "b"}, {""}, {"1", "2"}});
    CHECK(read("").empty());
    CHECK(read("\n") == Records{{""}});
}

TEST_CASE("csv: blanks around a field are not part of it") {
    CHECK(read("  a b ,\tc\t,\xC2\xA0"
               "d\n") == Records{{"a b", "c", "d"}});
    CHECK(read(" \"a\" , \"b, c\"\t\n") == Records{{"\"a\"", "\"b, c\""}});
    CHECK(read("a\t \tb\t\n", '\t') == Records{{"a", "", "b", ""}});
}

TEST_CASE("csv: an empty field is one wherever it stands") {
    CHECK(read(",\n,1\n1,") == Records{{"", ""}, {"", "1"}, {"1", ""}});
    CHECK(read(",,") == Records{{"", "", ""}});
}

TEST_CASE("csv: quotes hold separators, line ends and doubled quotes") {
    CHECK(read("\"a,\r\nb\",\"say \"\"hi\"\"\"\n\"\",\"\"\"\"") == Records{{"\"a,\r\nb\"", "\"say \"\"hi\"\"\""}, {"\"\"", "\"\"\"\""}});
    CHECK(read("5\" pipe,a\"\"b\n") == Records{{"5\" pipe", "a\"\"b"}});
    CHECK(csv::unquote("\"say \"\"hi\"\"\"") == "say \"hi\"");
    CHECK(csv::unquote("\"\"") == "");
    CHECK(csv::unquote("\"\"\"\"") == "\"");
}

TEST_CASE("csv: quotes that do not pair up are a fault at their place") {
    auto const unclosed = fault("a\n1,\"b\n2");
    CHECK(unclosed.is_unclosed());
    CHECK(unclosed.open == 4);
    CHECK(unclosed.end == 8);
    auto const followed = fault("a,\"b\"c d,e\n");
    CHECK_FALSE(followed.is_unclosed());
    CHECK(followed.open == 2);
    CHECK(followed.close == 4);
    CHECK(followed.end == 8);
    CHECK(fault("\"").is_unclosed());
    CHECK(fault("\"\"\"").is_unclosed());
}

TEST_CASE("csv: the separator that the records agree with") {
    auto const separator = [](std::string const& text) { return csv::find_separator(text, 0); };
    CHECK(separator("a,b\n1,2\n") == ',');
    CHECK(separator("a;b\n1;2\n") == ';');
    CHECK(separator("a\tb\n1\t2\n") == '\t');
    CHECK(separator("a|b\n1|2\n") == '|');
    CHECK(separator("a;b\n1,5;2,5\n") == ';');
    CHECK(separator("Time (h, local);Conc\n1,5;2\n2,5;3\n") == ';');
    CHECK(separator("x (a,b,c);y\n1,5;2,5\n") == ';');
    CHECK(separator("Time (h, local)\tConc\n1\t2\n") == '\t');
    CHECK(separator("name,type,values\nthreads,int,1;2;3\nseed,int,4\n") == ',');
    CHECK(separator("Duration;Phase\n6:30;First, developer\n1:00;Wash\n") == ';');
    CHECK(separator("\"a,b,c\";d\n1;2\n") == ';');
    CHECK(separator("id,comment\n1,\"one;\ntwo;\"\n2,\"three\"\n") == ',');
    CHECK(separator("\n\na;b\n\n1;2\n") == ';');
}

TEST_CASE("csv: without records the header decides and one column needs no separator") {
    auto const separator = [](std::string const& text) { return csv::find_separator(text, 0); };
    CHECK(separator("a;b;c") == ';');
    CHECK(separator("a;b,c,d") == ',');
    CHECK(separator("y\n1\n2\n") == ',');
    CHECK(separator("y\n3,5\n2,5\n") == ';');
    CHECK(separator("") == ',');
    CHECK(separator("a,b,c\n1,2\n3;4\n") == ',');
}

TEST_CASE("csv: reading begins where it is told to") {
    CHECK(csv::find_separator("a,b,c\nd;e\n1;2\n", 6) == ';');
    std::string const text = "skip,this\na\n";
    csv::Reader reader(text, ',', 10);
    std::vector<csv::Field> fields;
    REQUIRE(reader.next(fields));
    CHECK(fields.size() == 1);
    CHECK(fields.front().begin == 10);
    CHECK_FALSE(reader.next(fields));
}

TEST_CASE("csv: property: fields are in order, apart and inside the text, whatever the text") {
    std::mt19937 random(7);
    std::string const alphabet = "a1,;\t\"\"\n\r \xC2\xA0";
    for (int round = 0; round < 5000; ++round) {
        std::string text;
        for (std::size_t i = 0, length = random() % 30; i < length; ++i) text += alphabet[random() % alphabet.size()];
        CAPTURE(text);
        csv::Reader reader(text, ",;\t"[random() % 3], 0);
        std::vector<csv::Field> fields;
        std::size_t at = 0;
        while (reader.next(fields)) {
            REQUIRE_FALSE(fields.empty());
            for (csv::Field const& field : fields) {
                CHECK(field.begin >= at);
                CHECK(field.end >= field.begin);
                CHECK(field.is_quoted == (text[field.begin] == '"' && !field.is_empty()));
                at = field.end;
            }
        }
        CHECK(at <= text.size());
        if (reader.fault()) CHECK(text[reader.fault()->open] == '"');
    }
}
