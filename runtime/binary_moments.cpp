#include "binary_moments.hpp"

namespace bam {

BinaryMoments::BinaryMoments(Plan const& plan, ExpectationPlan const& expectations, std::size_t factor, Inputs const& inputs,
                             Factors const& factors, std::vector<Covariances> const& covariances)
    : plan_(plan),
      variance_(expectations.variances[factor]),
      factor_(factor),
      grid_(inputs.bound.grid),
      factors_(factors),
      means_(plan.means[factor].pass, {}, inputs, covariances, no_register),
      variances_(variance_.pass, {}, inputs, covariances, no_register) {}

void BinaryMoments::add_squares(std::vector<double>& squares) {
    add(plan_.means[factor_], means_, true, squares);
    add(variance_, variances_, false, squares);
}

void BinaryMoments::add(TermPlan const& term, AdjointRunner& runner, bool is_squared, std::vector<double>& squares) {
    ScaleUse const use{static_cast<std::uint32_t>(factor_), factors_.learnt_parts(factor_).front()};
    Variable const& target = plan_.layout.variables[plan_.layout.factors[factor_].target];
    runner.begin();
    for (Chunk const& chunk : runner.chunks()) {
        runner.run(chunk);
        for (std::size_t c = 0; c < term.registers.size(); ++c) {
            if (term.registers[c] == no_register) continue;
            double const* values = runner.at(term.registers[c]);
            bool const is_one = term.pass.registers[term.registers[c]].extent == Extent::One;
            std::size_t k = 0;
            grid_.for_each(target.extent, chunk.first_step, chunk.last_step, [&](std::size_t i, std::size_t s, std::size_t t) {
                double const value = values[is_one ? 0 : k++];
                if (factors_.mask(factor_, c, i) > 0) squares[factors_.scale_index(use, c, s, t)] += is_squared ? value * value : value;
            });
        }
        runner.advance(chunk);
    }
}

}  // namespace bam
