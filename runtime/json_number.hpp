// Numbers of which JSON has no infinite ones.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace bam {

/// null where there is no number, or an infinite one.
inline nlohmann::ordered_json json_number(double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace bam
