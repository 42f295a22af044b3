#include "recovery.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "trouble.hpp"

namespace bam {
namespace {

bool has_nan(State const& state) {
    return std::any_of(state.values.begin(), state.values.end(), [](std::vector<double> const& values) {
        return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
    });
}

}  // namespace

Recovery::Recovery(Replica& replica) : replica_(replica), before_(replica.state()) {}

void Recovery::sweep_once(std::uint64_t index) {
    try {
        replica_.draw_all(index);
    } catch (std::bad_alloc const&) {
        throw;
    } catch (std::exception const& failure) {
        // Whatever is said of numbers that are none, it is not the model's fault. Of them it need not be clear which block they are of.
        auto const* const trouble = dynamic_cast<NumericalTrouble const*>(&failure);
        bool const is_of_numbers = trouble != nullptr && trouble->is_of_numbers;
        bool const is_too_large = dynamic_cast<TooLarge const*>(&failure) != nullptr;
        bool const is_poison = is_too_large || replica_.is_poisoned();
        // Outputs that are fitted exactly, or residuals that are rounding, are for the user to mend: no other try helps.
        bool const is_doubtful = trouble != nullptr || dynamic_cast<std::domain_error const*>(&failure) != nullptr;
        if (!is_poison && is_doubtful) replica_.look_behind(std::nullopt, trouble == nullptr || is_of_numbers);
        if (is_of_numbers || !is_poison) throw;
        std::string reason = failure.what();
        if (dynamic_cast<std::domain_error const*>(&failure) != nullptr) reason = "a scale cannot be drawn: " + reason;
        throw NumericalTrouble(reason, trouble != nullptr ? trouble->block : std::nullopt, true);
    }
    // At a power below 1 a replica may be where the likelihood is 0, or overflows: there it does not exchange, and comes back. From a
    // parameter that is no number it would not.
    if (!std::isfinite(replica_.log_joint()) && (replica_.factors().power() == 1 || has_nan(replica_.state())))
        throw NumericalTrouble("the log joint is not finite", std::nullopt, true);
}

std::optional<Repair> Recovery::sweep(std::uint64_t index) {
    before_ = replica_.state();  // of the same sizes: nothing is allocated
    try {
        sweep_once(index);
        return std::nullopt;
    } catch (NumericalTrouble const& trouble) {
        if (!trouble.is_of_numbers) throw;
        return retry(index, trouble);
    }
}

Repair Recovery::retry(std::uint64_t index, NumericalTrouble const& trouble) {
    if (has_swept(index, std::nullopt, 0)) return {Remedy::Rebuild, trouble.block, 0, "", trouble.what()};
    if (trouble.block) {
        for (double jitter = least_jitter; jitter < 2 * most_jitter; jitter *= 10)
            if (has_swept(index, trouble.block, jitter)) return {Remedy::Jitter, trouble.block, jitter, "", trouble.what()};
    }
    replica_.set_state(before_);
    throw NumericalTrouble(trouble);
}

bool Recovery::has_swept(std::uint64_t index, std::optional<std::size_t> block, double jitter) {
    replica_.set_state(before_);  // with all that is summed up of it
    if (block) replica_.scale_diagonal(*block, 1 + jitter);
    bool is_done = true;
    try {
        sweep_once(index);
    } catch (NumericalTrouble const&) {
        is_done = false;
    }
    if (block) replica_.scale_diagonal(*block, 1);
    return is_done;
}

}  // namespace bam
