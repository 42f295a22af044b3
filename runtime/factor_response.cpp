#include "factor_response.hpp"

#include "block_sampler.hpp"

namespace bam {

TermPlan variable_term(Layout const& layout, std::uint32_t variable) {
    TermPlan term;
    term.pass.domain = layout.variables[variable].extent;
    for (std::uint32_t c = 0; c < layout.variables[variable].components; ++c) {
        term.registers.push_back(c);
        term.pass.registers.push_back({layout.variables[variable].extent, From::Variable, variable, c, 0, 0});
    }
    return term;
}

FactorResponse::FactorResponse(MeanField& field, Posterior const& optimum, bool with_scales)
    : field_(field), coordinates_(field.problem(), optimum, with_scales), with_scales_(with_scales) {
    settled_at_ = after_pass(Eigen::VectorXd::Zero(coordinates_.size()));
}

/// One pass of the climb, given the numbers that were learnt.
void FactorResponse::pass() {
    for (std::size_t f = 0; f < field_.factors(); ++f) {
        if (!field_.is_number(f) && (with_scales_ || !field_.is_scale(f))) field_.update(f);
    }
    field_.move_orbits();
}

/// Where a pass leads from a point near the optimum.
Eigen::VectorXd FactorResponse::after_pass(Eigen::VectorXd const& from) {
    field_.set_posterior(coordinates_.at(from));
    pass();
    return coordinates_.distance(field_.posterior());
}

std::optional<Eigen::VectorXd> FactorResponse::to(std::function<void(double)> const& tilt, double sd) {
    double const epsilon = relative_tilt / sd;
    Eigen::VectorXd const origin = Eigen::VectorXd::Zero(coordinates_.size());
    try {
        tilt(epsilon);
        Eigen::VectorXd const up = after_pass(origin);
        tilt(-epsilon);
        Eigen::VectorXd const down = after_pass(origin);
        tilt(0);
        return solver_.solve((up - down) / (2 * epsilon), [&](Eigen::VectorXd const& v) -> Eigen::VectorXd {
            return v - (after_pass(relative_move * v) - settled_at_) / relative_move;
        });
    } catch (NumericalTrouble const&) {  // a tilted density need not have an integral
        tilt(0);
        return std::nullopt;
    }
}

}  // namespace bam
