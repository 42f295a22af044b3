#include "text_table.hpp"

#include <algorithm>

#include "utf8.hpp"

namespace bam {

std::string text_table(std::vector<std::vector<std::string>> const& lines, std::vector<bool> const& is_number) {
    std::vector<std::size_t> widths(is_number.size());
    for (auto const& line : lines)
        for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], code_points(line[i]));
    std::string text;
    for (auto const& line : lines) {
        std::string row;
        for (std::size_t i = 0; i < line.size(); ++i) {
            std::string const padding(widths[i] - code_points(line[i]), ' ');
            row += (i == 0 ? "" : "  ") + (is_number[i] ? padding + line[i] : line[i] + padding);
        }
        row.erase(row.find_last_not_of(' ') + 1);
        text += row + '\n';
    }
    return text;
}

}  // namespace bam
