// Codes of this file:
//   BAM0540  no file of draws: the names of Stan's columns do not come, or are not those that bam writes
//   BAM0541  a setting in the header is missing or not a number
//   BAM0542  a row of draws with another number of fields than there are names
//   BAM0543  a field of draws that is not a number
//   BAM0544  the file ends before its draws do
//   BAM0545  chains that are not of one run: their columns or settings differ
//   BAM0546  a chain that is there twice
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <map>
#include <set>

#include "chain_format.hpp"
#include "write.hpp"

namespace bam {
namespace {

using chain_format::our_prefix;

std::string_view trimmed(std::string_view text) {
    std::size_t const begin = std::min(text.find_first_not_of(" \t\r"), text.size());
    return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

template <typename Number>
std::optional<Number> to(std::string_view text) {
    Number value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(value) : std::nullopt;
}

std::vector<std::string_view> split(std::string_view line) {
    std::vector<std::string_view> fields;
    for (;;) {
        std::size_t const comma = line.find(',');
        fields.push_back(line.substr(0, comma));
        if (comma == std::string_view::npos) return fields;
        line.remove_prefix(comma + 1);
    }
}

/// `W_k.1.2`; nothing if what follows the name are no indices.
std::optional<DrawColumn> to_column(std::string_view name) {
    DrawColumn column;
    std::size_t dot = name.find('.');
    column.name = name.substr(0, dot);
    while (dot != std::string_view::npos) {
        std::size_t const next = name.find('.', dot + 1);
        auto const index = to<std::size_t>(name.substr(dot + 1, next == std::string_view::npos ? next : next - dot - 1));
        if (!index || *index == 0) return std::nullopt;
        column.index.push_back(*index);
        column.labels.push_back(std::to_string(*index));
        dot = next;
    }
    return column.name.empty() ? std::nullopt : std::optional(column);
}

class ChainReader {
  public:
    ChainReader(std::string_view text, std::uint32_t source, Diagnostics& diagnostics)
        : text_(text), source_(source), diagnostics_(diagnostics) {}

    std::optional<ChainFile> run() {
        if (text_.size() > std::numeric_limits<std::uint32_t>::max()) {
            diagnostics_.push_back({540, Severity::Error, "a file of draws of more than 4 GiB cannot be read", {}, {}});
            return std::nullopt;
        }
        while (next_line() && line_.starts_with('#')) read_setting();
        if (!read_names() || !read_settings() || !read_rows()) return std::nullopt;
        if (!read_trailer()) return std::nullopt;
        return std::move(file_);
    }

  private:
    /// Takes the next line; false at the end. A line that is not ended is one, but the file is cut off.
    bool next_line() {
        if (at_ >= text_.size()) {
            line_ = {};
            has_line_ = false;
            return false;
        }
        std::size_t const end = text_.find('\n', at_);
        is_cut_ = end == std::string_view::npos;
        line_ = text_.substr(at_, is_cut_ ? end : end - at_);
        at_ = is_cut_ ? text_.size() : end + 1;
        if (line_.ends_with('\r')) line_.remove_suffix(1);
        has_line_ = true;
        return true;
    }

    Span span(std::string_view part) const {
        auto const begin = static_cast<std::uint32_t>(part.data() - text_.data());
        return {source_, begin, begin + static_cast<std::uint32_t>(part.size())};
    }
    Span here() const { return has_line_ ? span(line_) : span(text_.substr(text_.size())); }

    bool report(int code, std::string message, Span place, std::string label, std::vector<std::string> notes) {
        diagnostics_.push_back({code, Severity::Error, std::move(message), {{place, std::move(label)}}, std::move(notes)});
        return false;
    }

    void read_setting();
    bool read_names();
    bool read_settings();
    template <typename Number>
    bool read_number(std::string_view key, Number& number);
    bool read_rows();
    bool read_row();
    bool read_trailer();
    void read_comment(std::map<std::string, DrawColumn*> const& columns);

    std::string_view text_;
    std::uint32_t source_;
    Diagnostics& diagnostics_;
    std::size_t at_ = 0;
    std::string_view line_;
    bool has_line_ = false;
    bool is_cut_ = false;
    std::map<std::string_view, std::string_view> settings_;
    ChainFile file_;
};

void ChainReader::read_setting() {
    std::size_t const equals = line_.find('=');
    if (equals == std::string_view::npos) return;
    std::string_view const key = trimmed(line_.substr(1, equals - 1));
    std::string_view value = trimmed(line_.substr(equals + 1));
    if (constexpr std::string_view mark = "(Default)"; value.ends_with(mark)) value = trimmed(value.substr(0, value.size() - mark.size()));
    settings_.try_emplace(key, value);  // the first `file` is that of the data
    if (!key.starts_with(our_prefix)) return;
    std::string_view const own = key.substr(our_prefix.size());
    if (own == chain_format::start)
        file_.chain.start = value;
    else if (own != chain_format::incident)  // config.json has them all
        file_.config.more.emplace_back(own, value);
}

bool ChainReader::read_names() {
    ChainMethod& method = file_.config.method;
    if (settings_.contains("method") && settings_["method"] == "optimize") method = ChainMethod::Optimize;
    if (settings_.contains("method") && settings_["method"] == "variational") method = ChainMethod::Variational;
    std::size_t const before = chain_format::count_first_columns(method);
    auto const refuse = [&](std::string label) {
        return report(540, "this is not a file of draws that bam wrote", here(), std::move(label),
                      {fmt::format("after the comments come the names, `{},...,{},{}`", chain_format::first_columns(method),
                                   chain_format::log_joint, chain_format::log_likelihood)});
    };
    if (!has_line_) return refuse("no names come");
    auto const names = split(line_);
    bool const has_ours = names.size() >= before + 2 && line_.starts_with(chain_format::first_columns(method)) &&
                          names[names.size() - 2] == chain_format::log_joint && names.back() == chain_format::log_likelihood;
    if (!has_ours) return refuse("these are not its names");
    for (std::size_t i = before; i + 2 < names.size(); ++i) {
        auto column = to_column(names[i]);
        if (!column) return report(540, "this is not a file of draws that bam wrote", span(names[i]), "not the name of a column", {});
        file_.columns.push_back(std::move(*column));
    }
    file_.header = here();
    return true;
}

template <typename Number>
bool ChainReader::read_number(std::string_view key, Number& number) {
    auto const found = settings_.find(key);
    if (found == settings_.end())
        return report(541, fmt::format("the header of the draws does not say `{}`", key), file_.header, "the header ends here", {});
    auto const value = to<Number>(found->second);
    if (value) {
        number = *value;
        return true;
    }
    return report(541, fmt::format("the setting `{}` of the draws is not a whole number", key), span(found->second), "here", {});
}

bool ChainReader::read_settings() {
    ChainConfig& config = file_.config;
    bool const is_sample = config.method == ChainMethod::Sample;
    if (!is_sample) config.num_samples = 1;
    bool const has_length = is_sample ? read_number("num_samples", config.num_samples) && read_number("num_warmup", config.num_warmup) &&
                                            read_number("thin", config.thin)
                                      : read_number("iter", config.max_passes) &&
                                            (config.method == ChainMethod::Optimize || read_number("output_samples", config.num_samples));
    bool const has_numbers = has_length && read_number("id", config.chain) && read_number("seed", config.seed) &&
                             read_number("refresh", config.refresh) && read_number("sig_figs", config.sig_figs);
    if (!has_numbers) return false;
    auto const text = [&](std::string_view key) { return std::string(settings_.contains(key) ? settings_[key] : ""); };
    config.model = text("model");
    if (config.model.ends_with(chain_format::model_suffix)) config.model.resize(config.model.size() - chain_format::model_suffix.size());
    config.data_file = text("file");
    config.init = text("init");
    file_.chain.is_interrupted = text(chain_format::interrupted) == "1";
    return true;
}

bool ChainReader::read_row() {
    std::size_t const before = chain_format::count_first_columns(file_.config.method);
    std::size_t const count = file_.columns.size() + before + 2;
    std::vector<double> values;
    values.reserve(count);
    for (std::string_view const field : split(line_)) {
        auto const value = to<double>(trimmed(field));
        if (!value) return report(543, "a draw is not a number", span(field), "here", {"the file was changed after bam wrote it"});
        values.push_back(*value);
    }
    if (values.size() != count)
        return report(542, fmt::format("a row of draws has {} fields, and there are {} names", values.size(), count), here(), "this row",
                      {"the file was changed after bam wrote it"});
    if (file_.config.method == ChainMethod::Variational) {
        if (file_.chain.means.empty()) {  // the first row
            file_.chain.means.assign(values.begin() + static_cast<std::ptrdiff_t>(before), values.end() - 2);
            return true;
        }
        file_.chain.log_factors.push_back(values[2]);
    }
    file_.chain.log_joint.push_back(values[values.size() - 2]);
    file_.chain.log_likelihood.push_back(values.back());
    file_.chain.values.insert(file_.chain.values.end(), values.begin() + static_cast<std::ptrdiff_t>(before), values.end() - 2);
    return true;
}

bool ChainReader::read_rows() {
    auto const cut_off = [&](std::string label) {
        return report(544, "the file ends before its draws do", here(), std::move(label),
                      {"the disk may have been full, or the file was copied while it was written; run the chain again"});
    };
    bool has_line = next_line();
    while (has_line && file_.config.method == ChainMethod::Variational && file_.chain.means.empty() && line_.starts_with('#'))
        has_line = next_line();  // what Stan says of step sizes
    for (; has_line && !line_.starts_with('#'); has_line = next_line()) {
        if (is_cut_) return cut_off("this row is cut off");
        if (!read_row()) return false;
    }
    std::size_t const rows = chain_format::rows(file_.config);
    std::size_t const found = file_.chain.log_joint.size();
    if (found < rows) return cut_off(fmt::format("{} of {} draws", found, rows));
    if (found == rows) return true;
    return report(541, fmt::format("there are {} draws, and the header promises {}", found, rows), file_.header, "the draws below", {});
}

void ChainReader::read_comment(std::map<std::string, DrawColumn*> const& columns) {
    if (line_.starts_with(chain_format::column_comment)) {
        std::string_view const rest = line_.substr(chain_format::column_comment.size());
        auto const column = columns.find(std::string(rest.substr(0, rest.find(' '))));
        if (column != columns.end()) chain_format::read_description(line_, *column->second);
        return;
    }
    std::size_t const seconds = line_.find(" seconds (");
    if (seconds == std::string_view::npos) return;
    std::size_t const blank = line_.rfind(' ', seconds - 1);
    auto const value = to<double>(line_.substr(blank + 1, seconds - blank - 1));
    if (!value) return;
    if (line_.find("(Warm-up)") != std::string_view::npos) file_.chain.warmup_seconds = *value;
    if (line_.find("(Sampling)") != std::string_view::npos) file_.chain.sampling_seconds = *value;
}

bool ChainReader::read_trailer() {
    std::map<std::string, DrawColumn*> columns;
    for (DrawColumn& column : file_.columns) columns.emplace(csv_name(column), &column);
    bool has_total = false;
    for (; has_line_; next_line()) {
        if (!line_.starts_with('#'))
            return report(542, "something follows the draws that is not a comment", here(), "here", {"one file holds one chain"});
        read_comment(columns);
        has_total = has_total || line_.ends_with("seconds (Total)");
    }
    return has_total || report(544, "the file ends before it says how long the chain took", here(), "here",
                               {"the disk may have been full, or the file was copied while it was written; run the chain again"});
}

/// Why two chains cannot be of one run; "" if they can.
std::string difference(ChainFile const& a, ChainFile const& b) {
    if (!std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                    [](DrawColumn const& x, DrawColumn const& y) { return csv_name(x) == csv_name(y); }))
        return "other columns";
    if (a.config.model != b.config.model) return "another model";
    if (a.config.thin != b.config.thin) return "another `thin`";
    if (a.config.more != b.config.more) return "other settings";
    return "";
}

}  // namespace

std::optional<ChainFile> read_chain_csv(std::string_view text, std::uint32_t source, Diagnostics& diagnostics) {
    return ChainReader(text, source, diagnostics).run();
}

std::optional<Run> join_chains(std::vector<ChainFile> files, Diagnostics& diagnostics) {
    Run run;
    if (files.empty()) return run;
    std::stable_sort(files.begin(), files.end(), [](ChainFile const& a, ChainFile const& b) { return a.config.chain < b.config.chain; });
    bool has_failed = false;
    auto const report = [&](int code, std::string message, ChainFile const& one, std::string label, ChainFile const& other) {
        diagnostics.push_back({code, Severity::Error, std::move(message), {{one.header, std::move(label)}, {other.header, "here"}}, {}});
        has_failed = true;
    };
    for (std::size_t i = 1; i < files.size(); ++i) {
        if (std::string const what = difference(files[i], files[0]); !what.empty())
            report(545, fmt::format("chains {} and {} are not of one run", files[0].config.chain, files[i].config.chain), files[i],
                   what + " than", files[0]);
        if (files[i].config.chain == files[i - 1].config.chain)
            report(546, fmt::format("chain {} is there twice", files[i].config.chain), files[i], "again here", files[i - 1]);
    }
    if (has_failed) return std::nullopt;
    run.columns = std::move(files.front().columns);
    for (ChainFile& file : files) {
        file.chain.number = file.config.chain;
        run.chains.push_back(std::move(file.chain));
    }
    return run;
}

}  // namespace bam
