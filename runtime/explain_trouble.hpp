// What the program says of a run that cannot go on, where that is the model's or the table's fault: one text for each cause, whoever ran.
#pragma once

#include <exception>
#include <memory>
#include <optional>

#include "bam/bam.hpp"
#include "plan.hpp"
#include "source.hpp"

namespace bam {

/// Nothing if the failure is none of those: then it is bam's own. `sources`: what the layout's spans are of.
std::optional<Error> explain_trouble(std::exception const& failure, std::shared_ptr<Sources const> const& sources, Layout const& layout);

/// Calls work. Throws what explain_trouble() makes of a failure, or the failure itself.
template <class Work>
auto or_explain(std::shared_ptr<Sources const> const& sources, Layout const& layout, Work work) {
    try {
        return work();
    } catch (std::exception const& failure) {
        if (auto const error = explain_trouble(failure, sources, layout)) throw Error(*error);
        throw;
    }
}

}  // namespace bam
