#include "table.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "describe.hpp"

using namespace bam;

namespace {

using Cells = std::vector<std::vector<std::string>>;

/// A text, and the table that was read from it.
struct Reading {
    explicit Reading(std::string text, TableFormat format = {}) {
        sources.add_table("t.csv", std::move(text));
        table = Table::parse(sources[0].text, 0, format, diagnostics);
        CHECK(table.has_value() == !has_error(diagnostics));
    }

    Table const& operator*() const {
        INFO(described());
        REQUIRE(table);
        return *table;
    }
    Table const* operator->() const { return &**this; }
    std::string described() const { return describe(diagnostics, sources); }
    Cells cells() const {
        Cells result;
        for (std::size_t row = 0; row < (**this).rows(); ++row) {
            auto& record = result.emplace_back();
            for (std::size_t column = 0; column < table->columns().size(); ++column) record.emplace_back(table->text(row, column));
        }
        return result;
    }

    Sources sources;
    Diagnostics diagnostics;
    std::optional<Table> table;
};

std::string error_of(std::string text, TableFormat format = {}) {
    Reading const reading(std::move(text), format);
    CHECK_FALSE(reading.table);
    return reading.described();
}

bool is_read(std::string text) { return Reading(std::move(text)).table.has_value(); }

}  // namespace

TEST_CASE("table: a plain one") {
    Reading const t("seq,t,conc\n1,0,0.74\n1,0.25,\n");
    CHECK(t->rows() == 2);
    CHECK(t->columns() == std::vector<std::string>{"seq", "t", "conc"});
    CHECK(t->find_column("conc") == 2);
    CHECK_FALSE(t->find_column("Conc"));
    CHECK(t->number(0, 2) == 0.74);
    CHECK(t->is_missing(1, 2));
    CHECK_FALSE(t->number(1, 2));
    CHECK(t->format().separator == ',');
    CHECK(t->format().decimal_point == '.');
    CHECK(t.sources.text(t->span(1, 1)) == "0.25");
    CHECK(t.sources.text(t->header_span(1)) == "t");
}

TEST_CASE("table: as a spreadsheet writes it: BOM and CRLF and semicolons and decimal commas and quotes and empty records at the end") {
    Reading const t(
        "\xEF\xBB\xBFTime;\"Größe (mm)\";note\r\n1;3,5;\"a; b\"\r\n2;NA;\"say "
        "\"\"hi\"\"\"\r\n3;-0,25;\"two\r\nlines\"\r\n;;\r\n;;\r\n\r\n");
    CHECK(t->columns() == std::vector<std::string>{"Time", "Größe (mm)", "note"});
    CHECK(t.cells() == Cells{{"1", "3,5", "a; b"}, {"2", "NA", "say \"hi\""}, {"3", "-0,25", "two\r\nlines"}});
    CHECK(t->number(0, 1) == 3.5);
    CHECK(t->is_missing(1, 1));
    CHECK(t->number(2, 1) == -0.25);
    CHECK(t->format().separator == ';');
    CHECK(t->format().decimal_point == ',');
    CHECK(t.sources.text(t->header_span(1)) == "\"Größe (mm)\"");
    CHECK(t.sources.text(t->span(1, 2)) == "\"say \"\"hi\"\"\"");
}

TEST_CASE("table: a first line that tells the separator is believed") {
    CHECK(Reading("sep=;\r\na;b,c\r\n1;2\r\n")->columns() == std::vector<std::string>{"a", "b,c"});
    CHECK(Reading("\xEF\xBB\xBFsep=,\na,b;c\n1,2\n")->columns() == std::vector<std::string>{"a", "b;c"});
    CHECK(Reading("sep=;\na,b;c\n1,2\n", {',', {}})->columns() == std::vector<std::string>{"a", "b;c"});
    CHECK(Reading("sep=x\n1\n")->columns() == std::vector<std::string>{"sep=x"});
}

TEST_CASE("table: the decimal point is told or found out") {
    auto const point = [](std::string text, TableFormat format = {}) {
        return Reading(std::move(text), format)->format().decimal_point.value();
    };
    CHECK(point("a;b\n1;2\n") == '.');
    CHECK(point("a;b\n1;2,5\n") == ',');
    CHECK(point("a\tb\n1\t2,5\n") == ',');
    CHECK(point("a;b\n1;2.5\n") == '.');
    CHECK(point("a;b\n1;1,234\n") == ',');    // what `;` is for
    CHECK(point("a\tb\n1\t1,234\n") == '.');  // a thousand, perhaps
    CHECK(point("a;b\n1.5;1,234\n") == '.');
    CHECK(point("a;b\n1.234;2,5\n") == ',');      // the first is a thousand, perhaps
    CHECK(point("a;b;c\n1.5;2,5;3.5\n") == '.');  // b is text, then
    CHECK(point("a,b\n1,\"2,5\"\n") == '.');      // 2,500 would be a thousand and look alike
    CHECK(point("a,b\n1,\"2,5\"\n", {{}, ','}) == ',');
    CHECK(point("a;b\n1;2.5\n", {{}, ','}) == ',');
    CHECK(Reading("a,b\n1,\"2,5\"\n", {{}, ','})->number(0, 1) == 2.5);
    CHECK(Reading("y\n3,5\n4,25\n")->number(1, 0) == 4.25);
    CHECK(Reading("a;b\n1;2.5\n", {{}, ','})->number(0, 1).has_value() == false);
}

TEST_CASE("table: blanks and quotes around a cell do not matter") {
    Reading const t(
        "a , \"b\"\t,c\n 1 , \" 2 \" ,\xC2\xA0"
        "3\n \"NA\",\" \",\t\n");
    CHECK(t->columns() == std::vector<std::string>{"a", "b", "c"});
    CHECK(t.cells() == Cells{{"1", "2", "3"}, {"NA", "", ""}});
    CHECK(t->number(0, 1) == 2);
    for (std::size_t column = 0; column < 3; ++column) CHECK(t->is_missing(1, column));
}

TEST_CASE("table: blank lines are skipped, in one column they are missing cells, and none stands at the end") {
    CHECK(Reading("\n\na,b\n\n1,2\n \n3,4\n\n\n")->rows() == 2);
    Reading const one("y\n1\n\n3\n\n\n");
    CHECK(one.cells() == Cells{{"1"}, {""}, {"3"}});
    CHECK(Reading("y\n1\n\"\"\n")->rows() == 2);
}

TEST_CASE("table: columns without a name") {
    Reading const rownames("\"\",\"x\",\"y\"\n\"1\",0.5,2\n\"2\",0.7,3\n");
    CHECK(rownames->columns() == std::vector<std::string>{"", "x", "y"});
    CHECK_FALSE(rownames->find_column(""));
    CHECK(rownames->number(1, 2) == 3);
    Reading const notes("x,y,,\n1,2\n3,4,,\n5,6,a note\n7,8,,,,,\n");
    CHECK(notes.cells() == Cells{{"1", "2", "", ""}, {"3", "4", "", ""}, {"5", "6", "a note", ""}, {"7", "8", "", ""}});
    CHECK(notes->span(0, 2).begin == notes->span(0, 1).end);
}

TEST_CASE("table: moments are numbers or dates") {
    Reading const t("when\n2024-03-01\n1970-01-02T12:00:00Z\n 7 \n\"1970-02\"\n1/2/2024\nNA\n");
    CHECK(t->moment(0, 0) == 19783);
    CHECK_FALSE(t->number(0, 0));
    CHECK(t->moment(1, 0) == 1.5);
    CHECK(t->moment(2, 0) == 7);
    CHECK(t->moment(3, 0) == 31);
    CHECK_FALSE(t->moment(4, 0));
    CHECK_FALSE(t->moment(5, 0));
}

TEST_CASE("table: a copy and a moved one hold the same cells") {
    Reading const t("a,b\n\"x \"\"y\"\"\",2\n");
    Table copy = *t;
    CHECK(copy.text(0, 0) == "x \"y\"");
    Table const moved = std::move(copy);
    CHECK(moved.text(0, 0) == "x \"y\"");
    CHECK(moved.number(0, 1) == 2);
}

TEST_CASE("table: errors in the header") {
    CHECK(error_of("") ==
          "BAM0401 the table is empty\n1:1 [] nothing before here\n= the first line names the columns, each line below is one record\n");
    CHECK(error_of("\n \n") ==
          "BAM0401 the table is empty\n3:1 [] nothing before here\n= the first line names the columns, each line below is one record\n");
    CHECK(error_of(",,\n1,2,3\n") ==
          "BAM0401 the first line of the table names no column\n1:1 [,,] the header should stand here\n"
          "= the first line names the columns, each line below is one record\n");
    CHECK(error_of("1,0,79.6\n1,1,80\n") ==
          "BAM0401 the table has no header: its first line holds values\n1:1 [1,0,79.6] the header should stand here\n"
          "= put a line of column names above it\n= if these are names, put quotes around them: `\"2019\"`\n");
    CHECK(error_of("2024-03-01;3,5;NA\n").starts_with("BAM0401 the table has no header"));
    CHECK(is_read("a,b,c\n1,0,79.6\n1,1,80\n"));
    CHECK(is_read("\"2019\",\"2020\"\n1,2\n"));
    CHECK(is_read("site,2019,2020\nA,1,2\n"));
    CHECK(error_of("a,b\n") ==
          "BAM0409 the table has a header and no rows\n1:1 [a] the header\n= below the header, each line is one record\n");
    CHECK(error_of("a,b\n,\n\n").starts_with("BAM0409"));
}

TEST_CASE("table: a name that stands twice") {
    Reading const t("x,x_2,\"x\",x\n1,2,3,4\n");
    CHECK(t.described() ==
          "BAM0403 two columns are named `x`\n1:7 [\"x\"] named again here\n1:1 [x] named first here\n= write `x_3`\n"
          "= every column needs a name of its own; a column that is not used may have none\n"
          "BAM0403 two columns are named `x`\n1:11 [x] named again here\n1:1 [x] named first here\n= write `x_3`\n"
          "= every column needs a name of its own; a column that is not used may have none\n");
    CHECK(is_read(follow_hint(Reading("x,x_2,\"x\"\n1,2,3\n").diagnostics.front(), Reading("x,x_2,\"x\"\n1,2,3\n").sources)));
    CHECK(is_read("x,x_2,,\n1,2,3,4\n"));
    CHECK(error_of("\"a,b\",\"a,b\"\n1,2\n") ==
          "BAM0403 two columns are named `a,b`\n1:7 [\"a,b\"] named again here\n1:1 [\"a,b\"] named first here\n"
          "= every column needs a name of its own; a column that is not used may have none\n");
}

TEST_CASE("table: quotes that do not pair up") {
    CHECK(error_of("a,b\n1,\"x\n2,y\n") ==
          "BAM0404 a quote is opened and never closed\n2:3 [\"] all that follows is in this cell\n= close it at the end of its cell\n"
          "= a quote that belongs to the text is written twice, in a cell in quotes: `\"a 5\"\" pipe\"`\n");
    CHECK(is_read("a,b\n1,\"x\"\n2,y\n"));
    CHECK(error_of("a,b\n1,\"a 5\" pipe\"\n2,y\n") ==
          "BAM0405 text follows the quote that closes a cell\n2:8 [ pipe\"] only a separator or the end of the line may follow\n2:3 [\"a "
          "5\"] the cell\n"
          "= a quote that belongs to the text is written twice, in a cell in quotes: `\"a 5\"\" pipe\"`\n");
    CHECK(is_read("a,b\n1,\"a 5\"\" pipe\"\n2,y\n"));
    CHECK(error_of("a,b\n1,\"say \\\"hi\\\"\"\n") ==
          "BAM0405 text follows the quote that closes a cell\n2:10 [hi\\\"\"] only a separator or the end of the line may follow\n2:3 "
          "[\"say \\\"] the cell\n"
          "= a quote that belongs to the text is written twice, in a cell in quotes: `\"a 5\"\" pipe\"`\n= a backslash before a quote is "
          "no escape in CSV\n");
    CHECK(error_of("\"a,b\n1,2\n").starts_with("BAM0404"));
    CHECK(error_of("\"a\"b,c\n1,2\n").starts_with("BAM0405"));
}

TEST_CASE("table: records with too few fields") {
    CHECK(error_of("a,b,c\n1,2,3\n1,2\n") ==
          "BAM0406 a record has too few fields: the header has 3 names\n3:1 [1,2] 2 fields\n= a missing value is an empty field, or NA\n"
          "= the separator was found to be `,`\n");
    CHECK(is_read("a,b,c\n1,2,3\n1,2,\n"));
    CHECK(is_read("a,b,c\n1,2,3\n1,2,NA\n"));
    CHECK(error_of("a;b\n1\n2;2\n3\n4\n5\n6\n7\n", {';', {}}) ==
          "BAM0406 6 records have too few fields: the header has 2 names\n2:1 [1] 1 field\n4:1 [3] 1 field\n5:1 [4] 1 field\n6:1 [5] 1 "
          "field\n"
          "7:1 [6] 1 field\n= a missing value is an empty field, or NA\n= these are the first 5\n");
}

TEST_CASE("table: records with too many fields") {
    CHECK(error_of("a,b\n1,2,3,4\n1,2\n") ==
          "BAM0407 a record has too many fields: the header has 2 names\n2:5 [3,4] 2 too many\n= a cell with `,` in it needs quotes around "
          "it\n"
          "= a table with decimal commas is separated by `;` or tabs\n= the separator was found to be `,`\n");
    CHECK(is_read("a,b\n1,\"2,3,4\"\n1,2\n"));
    CHECK(is_read("a,b\n1,2,,\n1,2\n"));
    CHECK(
        error_of("x\ty\nr1\t1\t2\nr2\t3\t4\n", {'\t', {}}) ==
        "BAM0407 2 records have too many fields: the header has 2 names\n2:6 [2] 1 too many\n3:6 [4] 1 too many\n"
        "= if each record begins with its name, begin the header with `row` and a tab\n= a cell with a tab in it needs quotes around it\n");
    CHECK(is_read("row\tx\ty\nr1\t1\t2\nr2\t3\t4\n"));
    CHECK(error_of("Study 12\na,b\n1,2\n").find("= the first line is the header: delete the lines above it\n") != std::string::npos);
    CHECK(error_of("# made by x\na,b\n1,2\n").find("= the first line is the header, even if it begins with `#`\n") != std::string::npos);
    CHECK(error_of("Study 12\na;b\n1,5;2\n").find("= the separator was found to be `;`\n") != std::string::npos);
    CHECK(is_read("a,b\n1,2\n"));
}

TEST_CASE("table: independent errors come together") {
    std::string const both = error_of("a,b,c\n1\n1,2,3,4\n1,2,\"x\n");
    CHECK(both.find("BAM0404") != std::string::npos);
    CHECK(both.find("BAM0406") != std::string::npos);
    CHECK(both.find("BAM0407") != std::string::npos);
}

TEST_CASE("table: text that is not UTF-8") {
    CHECK(error_of("a,caf\xE9\n1,2\n") ==
          "BAM0408 the table is not UTF-8: byte 0xE9\n1:6 [\xE9] here\n"
          "= save it as UTF-8; from Latin-1 or Windows-1252, `iconv -f WINDOWS-1252 -t UTF-8 old.csv > new.csv`\n");
    CHECK(is_read("a,café\n1,2\n"));
}

TEST_CASE("table: files that are no text") {
    auto const begins = [](std::string_view bytes) { return error_of(std::string(bytes) + "rest"); };
    CHECK(begins("\x1F\x8B\x08") == "BAM0410 the table is gzip data, not text\n1:1 [] read from here\n= `gunzip` makes a text of it\n");
    CHECK(begins("BZh9") == "BAM0410 the table is bzip2 data, not text\n1:1 [] read from here\n= `bunzip2` makes a text of it\n");
    CHECK(begins("\xFD\x37zXZ") == "BAM0410 the table is xz data, not text\n1:1 [] read from here\n= `unxz` makes a text of it\n");
    CHECK(begins("\x28\xB5\x2F\xFD") ==
          "BAM0410 the table is Zstandard data, not text\n1:1 [] read from here\n= `unzstd` makes a text of it\n");
    CHECK(begins("PK\x03\x04") ==
          "BAM0410 the table is a spreadsheet or a zip archive, not text\n1:1 [] read from here\n"
          "= in the spreadsheet, save it as CSV (UTF-8); an archive is unpacked by `unzip`\n");
    CHECK(begins("\xD0\xCF\x11\xE0") ==
          "BAM0410 the table is an old spreadsheet, not text\n1:1 [] read from here\n= in the spreadsheet, save it as CSV (UTF-8)\n");
    CHECK(begins("PAR1") ==
          "BAM0410 the table is a Parquet file, not text\n1:1 [] read from here\n= write it as CSV with the program that made it\n");
    for (std::string const mark : {"\xFF\xFE", "\xFE\xFF"})
        CHECK(begins(mark) ==
              "BAM0410 the table is UTF-16, not UTF-8\n1:1 [] read from here\n= save it as UTF-8, or `iconv -f UTF-16 -t UTF-8 old.csv > "
              "new.csv`\n");
    CHECK(error_of(std::string("a\0,\0", 4)) ==
          "BAM0410 the table is not text: it has a NUL byte\n1:2 [" + std::string(1, '\0') +
              "] here\n= if it is UTF-16, save it as UTF-8, or `iconv -f UTF-16LE -t UTF-8 old.csv > new.csv`\n");
}

TEST_CASE("table: a text longer than spans reach is refused before it is read") {
    char const byte = 'a';
    Diagnostics diagnostics;
    CHECK_FALSE(Table::parse(std::string_view(&byte, std::size_t{1} << 32), 0, {}, diagnostics));
    CHECK(describe(diagnostics, Sources()) ==
          "BAM0411 the table is longer than 4 GiB\n= leave out columns or records that the model does not use\n");
}

TEST_CASE("table: a long cell or many columns take no longer than their bytes") {
    std::string header = "a";
    std::string record = "1";
    for (int i = 0; i < 20000; ++i) {
        header += ",a" + std::to_string(i);
        record += ",1";
    }
    CHECK(Reading(header + "\n" + record + "\n")->columns().size() == 20001);
    CHECK(Reading("a,b\n1,\"" + std::string(1000000, '"') + "\"\n")->text(0, 1).size() == 500000);
    CHECK(Reading(header + std::string(20000, '\n') + record)->rows() == 1);
}

namespace {

/// Writes tables as people do: any separator, line end and quoting that a reader can undo.
struct Writer {
    std::mt19937& random;
    char separator = ",;\t|"[random() % 4];
    std::string line_end = random() % 3 == 0 ? "\n" : random() % 2 == 0 ? "\r\n" : "\r";
    unsigned long quoting = random() % 3;  // where needed, at times, always

    std::string blanks() {
        std::string const kinds[] = {"", "", "", " ", "  ", "\xC2\xA0"};
        return kinds[random() % 6];
    }

    std::string field(std::string const& cell) {
        bool const is_needed = cell.find_first_of("\r\n,;|\t") != std::string::npos || cell.starts_with('"');
        if (!is_needed && (quoting == 0 || (quoting == 1 && random() % 2 == 0))) return blanks() + cell + blanks();
        std::string quoted = "\"";
        for (char const c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
        return blanks() + quoted + "\"" + blanks();
    }

    std::string table(Cells const& records) {
        std::string text = random() % 2 == 0 ? "\xEF\xBB\xBF" : "";
        for (std::size_t i = 0; i < records.size(); ++i) {
            for (std::size_t j = 0; j < records[i].size(); ++j) {
                if (j > 0) text += separator;
                text += field(records[i][j]);
            }
            if (i + 1 < records.size() || random() % 2 == 0) text += line_end;
        }
        for (std::size_t i = random() % 3; i > 0; --i) text += line_end + blanks();
        return text;
    }
};

std::string random_cell(std::mt19937& random) {
    std::string const pieces[] = {"a", "Z", "1", ".", "é", "温", "\"", "\"\"", ",", ";", "\t", "|", "\n", "\r\n", "'", " ", "-", "#"};
    std::string cell = "x";
    for (std::size_t i = random() % 6; i > 0; --i) cell += pieces[random() % std::size(pieces)];
    return cell + "x";
}

}  // namespace

TEST_CASE("table: property: what a writer writes reads back the same") {
    std::mt19937 random(20240607);
    for (int round = 0; round < 3000; ++round) {
        std::size_t const columns = 2 + random() % 5;
        Cells records(2 + random() % 8);
        for (std::size_t i = 0; i < records.size(); ++i)
            for (std::size_t j = 0; j < columns; ++j) {
                bool const is_value = i > 0 && (j > 0 || i + 1 < records.size());
                if (i == 0) {
                    records[i].push_back(random_cell(random) + std::to_string(j));
                } else {
                    records[i].push_back(is_value && random() % 4 == 0 ? "" : random_cell(random));
                }
            }
        Writer writer{random};
        std::string const text = writer.table(records);
        CAPTURE(text);
        bool const is_told = random() % 2 == 0;
        Reading const t(text, {is_told ? std::optional(writer.separator) : std::nullopt, {}});
        CHECK(t->format().separator == writer.separator);
        CHECK(t->columns() == records.front());
        CHECK(t.cells() == Cells(records.begin() + 1, records.end()));
    }
}

TEST_CASE("table: property: numbers come back to the last bit whatever the decimal point") {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    for (int round = 0; round < 1000; ++round) {
        char const point = round % 2 == 0 ? '.' : ',';
        std::vector<double> values(1 + random() % 20);
        Cells records{{"i", "value"}};
        for (double& value : values) {
            value = normal(random) * std::pow(10, static_cast<double>(random() % 20) - 10);
            std::string text = fmt::format("{}", value);
            if (std::size_t const at = text.find('.'); at != std::string::npos) text[at] = point;
            records.push_back({"r", text});
        }
        std::string const text = Writer{random}.table(records);
        CAPTURE(text);
        Reading const t(text, {{}, point});
        REQUIRE(t->rows() == values.size());
        for (std::size_t row = 0; row < values.size(); ++row) CHECK(t->number(row, 1) == values[row]);
    }
}
