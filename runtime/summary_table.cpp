#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "summary.hpp"
#include "utf8.hpp"

namespace bam {
namespace {

constexpr int most_decimals = 7;       ///< smaller numbers are written with a power of ten
constexpr double largest_fixed = 1e8;  ///< and so are larger ones
constexpr std::size_t headings = 11;
constexpr std::size_t sd_heading = 3;  ///< StdDev
constexpr std::array<char const*, headings> heading{"",    "Mean", "MCSE",     "StdDev",   "MAD",  "5%",
                                                    "50%", "95%",  "ESS_bulk", "ESS_tail", "R_hat"};

using Line = std::array<std::string, headings + 1>;  ///< name, numbers, what is wrong

int decade(double value) { return static_cast<int>(std::floor(std::log10(std::abs(value)))); }

/// Decimals of a location: those whose rounding hides the standard error, but as many as show what half an sd is.
int location_decimals(double mcse, double sd) {
    if (!(mcse > 0) || !(sd > 0) || !std::isfinite(mcse) || !std::isfinite(sd)) return 6;
    return std::max(static_cast<int>(std::floor(-std::log10(2 * mcse))), -decade(sd / 2));
}

/// Decimals that show two digits.
int two_digits(double value) { return value == 0 || !std::isfinite(value) ? 0 : 1 - decade(value); }

/// `decimals` may be negative: digits before the point that mean nothing.
std::string number(double value, int decimals) {
    if (std::isnan(value)) return "-";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    bool const is_small = decimals > most_decimals;
    if (value == 0 || (!is_small && std::abs(value) < largest_fixed)) {
        std::string text = fmt::format("{:.{}f}", value, is_small ? 0 : std::max(decimals, 0));
        bool const is_negative_zero = text.front() == '-' && text.find_first_of("123456789") == std::string::npos;
        return is_negative_zero ? text.substr(1) : text;
    }
    return fmt::format("{:.{}e}", value, std::clamp(decade(value) + decimals, 0, 15));
}

std::string count(double value) { return std::isnan(value) ? "-" : fmt::format("{:.0f}", value); }

std::string r_hat(double value) {
    if (std::isnan(value)) return "-";
    return value < 100 ? fmt::format("{:.3f}", value) : fmt::format("{:.3g}", value);
}

/// What does not vary has its value and nothing else; it needs no more digits than it has.
Line fixed_line(SummaryRow const& row) {
    Line line;
    line.fill("-");
    std::string const value = fmt::format("{:.6g}", row.quantity.median);
    line[0] = label_name(row.column);
    line[1] = line[5] = line[6] = line[7] = value;
    line[3] = line[4] = "0";
    line[headings] = word(row.condition);
    return line;
}

Line line_of(SummaryRow const& row) {
    if (row.condition == Condition::Fixed) return fixed_line(row);
    QuantitySummary const& q = row.quantity;
    int const location = location_decimals(q.mcse_mean, q.sd);
    int const spread = two_digits(q.sd);
    bool const is_judged = row.is_identified() || row.condition == Condition::NotFinite || row.condition == Condition::Stuck;
    std::string const bad = row.condition == Condition::Good ? "" : word(row.condition);
    std::string const remark = row.is_aligned ? (bad.empty() ? "aligned" : "aligned, " + bad) : !is_judged ? "unidentified" : bad;
    return {label_name(row.column),
            number(q.mean, location),
            number(q.mcse_mean, two_digits(q.mcse_mean)),
            number(q.sd, spread),
            number(q.mad, spread),
            number(q.q5, location),
            number(q.median, location),
            number(q.q95, location),
            count(q.ess_bulk),
            count(q.ess_tail),
            r_hat(q.rhat),
            remark};
}

std::string padding(std::size_t width, std::string const& text) { return std::string(width - std::min(width, code_points(text)), ' '); }

std::size_t width_of(std::vector<std::string> const& column) {
    std::size_t width = 0;
    for (std::string const& text : column) width = std::max(width, text.size());
    return width;
}

}  // namespace

std::string summary_table(std::vector<SummaryRow> const& rows, bool raw, LinearResponse const& response) {
    std::vector<Line> lines(1);
    std::vector<std::vector<std::string>> more;  // columns after StdDev, each per line
    if (!response.means.empty()) more.push_back({"LR_mean"});
    if (!response.sds.empty()) more.push_back({"LR_sd"});
    std::copy(heading.begin(), heading.end(), lines[0].begin());
    for (std::size_t k = 0; k < rows.size(); ++k) {
        if (!raw && !rows[k].column.is_shown) continue;
        lines.push_back(line_of(rows[k]));
        double const sd = response.sd(k);
        if (!response.means.empty()) more.front().push_back(number(response.mean(k), two_digits(sd)));
        if (!response.sds.empty()) more.back().push_back(number(sd, two_digits(sd)));
    }
    std::array<std::size_t, headings> widths{};
    for (Line const& line : lines)
        for (std::size_t i = 0; i < headings; ++i) widths[i] = std::max(widths[i], code_points(line[i]));
    std::string table;
    for (std::size_t k = 0; k < lines.size(); ++k) {
        Line const& line = lines[k];
        std::string text = line[0] + padding(widths[0], line[0]);
        for (std::size_t i = 1; i < headings; ++i) {
            text += "  " + padding(widths[i], line[i]) + line[i];
            if (i != sd_heading) continue;
            for (auto const& column : more) text += "  " + padding(width_of(column), column[k]) + column[k];
        }
        table += text + (line[headings].empty() ? "" : "  " + line[headings]) + '\n';
    }
    return table;
}

}  // namespace bam
