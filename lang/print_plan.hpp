// A plan as text, a line for each thing in it: `bam check --dump=plan`.
#pragma once

#include <string>

#include "plan.hpp"

namespace bam {

/// Variables, factors, scales, and for every block its systems and its passes, an instruction a line.
std::string print(Plan const& plan);

}  // namespace bam
