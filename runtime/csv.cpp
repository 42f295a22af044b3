#include "csv.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "cell.hpp"

namespace bam::csv {
namespace {

constexpr std::string_view no_break_space = "\xC2\xA0";
constexpr std::size_t records_sampled = 100;

std::uint32_t offset(std::size_t at) { return static_cast<std::uint32_t>(at); }

/// How well the text is read with one separator.
struct Agreement {
    std::size_t header_fields = 0;
    std::size_t agreeing_records = 0;
};

Agreement try_separator(std::string_view text, std::size_t begin, char separator) {
    Reader reader(text, separator, begin);
    std::vector<Field> fields;
    Agreement agreement;
    std::size_t records = 0;
    while (records <= records_sampled && reader.next(fields)) {
        if (fields.size() == 1 && fields.front().is_empty()) continue;
        if (records++ == 0) {
            agreement.header_fields = fields.size();
        } else if (fields.size() == agreement.header_fields) {
            ++agreement.agreeing_records;
        }
    }
    return agreement;
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
    char best = ',';
    std::tuple<bool, std::size_t, std::size_t, std::size_t> best_score;
    for (std::size_t i = 0; i < rarest_first.size(); ++i) {
        auto const [header_fields, agreeing_records] = try_separator(text, begin, rarest_first[i]);
        bool const is_split = header_fields > 1;
        // Where no record agrees, the header alone decides; where some do, its width does not. One column needs no separator: the usual
        // one.
        std::tuple const score{is_split, agreeing_records, agreeing_records == 0 ? header_fields : 0,
                               is_split ? rarest_first.size() - i : i + 1};
        if (score > best_score) {
            best = rarest_first[i];
            best_score = score;
        }
    }
    return best;
}

}  // namespace bam::csv
