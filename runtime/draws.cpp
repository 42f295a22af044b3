#include "draws.hpp"

namespace bam {

std::string csv_name(DrawColumn const& column) {
    std::string name = column.name;
    for (std::size_t const i : column.index) name += '.' + std::to_string(i);
    return name;
}

std::string label_name(DrawColumn const& column) {
    std::string name = column.name;
    for (std::size_t i = 0; i < column.labels.size(); ++i) name += (i == 0 ? '[' : ',') + column.labels[i];
    return column.labels.empty() ? name : name + ']';
}

}  // namespace bam
