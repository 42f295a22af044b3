#include "csv.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cell.hpp"

namespace bam::csv {
namespace {

constexpr std::string_view no_break_space = "\xC2\xA0";
constexpr std::size_t records_sampled = 100;

std::uint32_t offset(std::size_t at) { return static_cast<std::uint32_t>(at); }

/// How the text is read with one separator.
struct Trial {
    std::size_t header_fields = 0;
    std::size_t records = 0;   ///< below the header, the first hundred
    std::size_t agreeing = 0;  ///< with as many fields as the header
    std::size_t split = 0;     ///< with more than one field
    std::size_t decimal = 0;   ///< of these, with one decimal comma and nothing else

    double agreement() const { return records == 0 ? 0 : static_cast<double>(agreeing) / static_cast<double>(records); }
};

Trial try_separator(std::string_view text, std::size_t begin, char separator) {
    Reader reader(text, separator, begin);
    std::vector<Field> fields;
    Trial trial;
    while (trial.records < records_sampled && reader.next(fields)) {
        std::string_view const line = text.substr(fields.front().begin, fields.back().end - fields.front().begin);
        if (line.empty()) continue;
        if (trial.header_fields == 0) {
            trial.header_fields = fields.size();
            continue;
        }
        ++trial.records;
        if (fields.size() == trial.header_fields) ++trial.agreeing;
        if (fields.size() > 1) ++trial.split;
        if (separator == ',' && fields.size() == 2 && to_number(line, ',')) ++trial.decimal;
    }
    if (reader.fault()) ++trial.records;
    return trial;
}

}  // namespace

bool Reader::next(std::vector<Field>& fields) {
    fields.clear();
    if (fault_ || at_ >= text_.size()) return false;
    while (true) {
        Field field;
        if (!read_field(field)) return false;
        fields.push_back(field);
        if (at_ == text_.size()) return true;
        char const end = text_[at_++];
        if (end == separator_) continue;
        if (end == '\r' && at_ < text_.size() && text_[at_] == '\n') ++at_;
        return true;
    }
}

std::size_t Reader::skip_blanks(std::size_t at) const {
    while (at < text_.size() && text_[at] != separator_) {
        if (text_[at] == ' ' || text_[at] == '\t') {
            ++at;
        } else if (text_.substr(at, 2) == no_break_space) {
            at += 2;
        } else {
            break;
        }
    }
    return at;
}

bool Reader::is_at_field_end(std::size_t at) const {
    return at == text_.size() || text_[at] == separator_ || text_[at] == '\n' || text_[at] == '\r';
}

bool Reader::read_field(Field& field) {
    std::size_t const begin = skip_blanks(at_);
    at_ = begin;
    if (at_ < text_.size() && text_[at_] == '"') return read_quoted_field(field);
    while (!is_at_field_end(at_)) ++at_;
    std::string_view const bytes = trim(text_.substr(begin, at_ - begin));
    field = {offset(begin), offset(begin + bytes.size()), false};
    return true;
}

bool Reader::read_quoted_field(Field& field) {
    std::size_t const open = at_;
    std::size_t close = text_.find('"', open + 1);
    while (close != std::string_view::npos && text_.substr(close + 1, 1) == "\"") close = text_.find('"', close + 2);
    if (close == std::string_view::npos) {
        fault_ = {offset(open), offset(text_.size()), offset(text_.size())};
        return false;
    }
    at_ = skip_blanks(close + 1);
    if (!is_at_field_end(at_)) {
        while (!is_at_field_end(at_)) ++at_;
        fault_ = {offset(open), offset(close), offset(at_)};
        return false;
    }
    field = {offset(open), offset(close + 1), true};
    return true;
}

std::string unquote(std::string_view field) {
    std::string_view const inside = field.substr(1, field.size() - 2);
    std::string content;
    content.reserve(inside.size());
    for (std::size_t i = 0; i < inside.size(); ++i) {
        content += inside[i];
        if (inside[i] == '"') ++i;
    }
    return content;
}

char find_separator(std::string_view text, std::size_t begin) {
    constexpr std::string_view rarest_first = "\t|;,";
    std::optional<char> best;
    std::pair<double, std::size_t> best_score;
    char best_unsplit = ',';
    std::size_t most_split = 0;
    for (char const separator : rarest_first) {
        Trial const trial = try_separator(text, begin, separator);
        // Where no record agrees, the width of the header decides; where some do, it does not.
        std::pair const score{trial.agreement(), trial.agreeing == 0 ? trial.header_fields : 0};
        if (trial.header_fields > 1 && (!best || score > best_score)) {
            best = separator;
            best_score = score;
        }
        if (trial.split > most_split) {
            best_unsplit = trial.split == trial.decimal ? ';' : separator;
            most_split = trial.split;
        }
    }
    return best.value_or(best_unsplit);
}

}  // namespace bam::csv
