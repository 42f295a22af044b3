// The variational backend's part of `bam verify`: its factors are made from expectations and their derivatives, Gibbs conditionals from
// covariates and normal equations. Where they must agree, each checks the other.
#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "augmented_density.hpp"
#include "certify.hpp"
#include "mean_field.hpp"
#include "random_line.hpp"

namespace bam {
namespace {

constexpr double tolerance = 1e-12;        ///< of log densities, or what rounding makes of matrices of their condition
constexpr double ascent_tolerance = 1e-8;  ///< relative to the ELBO
constexpr std::size_t states = 3;
constexpr std::size_t most_passes = 50;
constexpr std::size_t least_passes = 3;
constexpr std::size_t cells_in_all = 100000;  ///< of all passes: long tables have fewer
constexpr std::size_t most_steps = 12;
constexpr std::uint64_t stream_base = std::uint64_t{3} << 60;

class VariationalCertifier {
  public:
    VariationalCertifier(Problem const& problem, ExpectationPlan const& expectations, std::uint64_t seed)
        : problem_(problem), expectations_(expectations), grid_(problem.bound.grid), replica_(problem, seed, 1, {}), seed_(seed) {}

    std::vector<Check> run() {
        try {
            try_all();
        } catch (NumericalTrouble const& trouble) {
            look_behind(problem_, replica_, trouble.block, trouble.is_of_numbers || !trouble.block);
            throw;
        }
        return checks_.take();
    }

  private:
    void try_all() {
        replica_.start(0);
        MeanField field(problem_, expectations_);
        for (std::size_t k = 0; k < states; ++k) {
            for (std::size_t sweep = 0; sweep < 10; ++sweep) replica_.sweep(k * 10 + sweep);
            State const state = replica_.state();
            for (std::size_t b = 0; b < problem_.plan.blocks.size(); ++b) {
                field.start(state);
                field.set_outputs(state);
                if (field.is_number(b)) continue;
                field.update_at_points(b);
                bool const is_sweep = problem_.plan.blocks[b].method == PlanMethod::Sweep;
                is_sweep ? collapse_steps(field.posterior(), b, state) : collapse(field.posterior(), b, state);
                if (!is_sweep) try_free(field.posterior(), b, state);
            }
            replica_.set_state(state);
        }
        climb(field);
    }

    Variable const& variable(std::size_t b) const { return problem_.plan.layout.variables[problem_.plan.blocks[b].variable]; }
    Stream stream() { return {seed_, 1, stream_base + draws_++, 0}; }

    /// Solving with a matrix loses about as many digits as the logarithm of its condition, and a mean that is many sds away from 0 as many
    /// when it is subtracted.
    double tolerance_of(Posterior const& posterior, std::size_t b) const {
        if (variable(b).is_categorical) return tolerance;  // no matrix is solved with
        Covariances const& covariances = posterior.covariances[problem_.plan.blocks[b].variable];
        double worst = 1;
        std::size_t systems = 0;
        for_each_system(problem_.plan.blocks[b], variable(b), grid_, [&](auto const& group, std::size_t here, auto) {
            if (systems++ >= most_steps) return;
            Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> const values(covariance_of(group, here, covariances), Eigen::EigenvaluesOnly);
            for (std::uint32_t const c : group) {
                double const variance = covariances.at(c, c)[here];
                double const mean = posterior.state.values[problem_.plan.blocks[b].variable][c * covariances.size + here];
                if (variance > 0) worst = std::max(worst, std::abs(mean) / std::sqrt(variance));
            }
            worst = std::max(worst, values.eigenvalues().maxCoeff() / std::max(values.eigenvalues().minCoeff(), 1e-300));
        });
        return std::max(tolerance, 10 * std::numeric_limits<double>::epsilon() * worst);
    }

    double log_density(Posterior const& posterior, std::size_t b, State const& state, std::optional<std::size_t> step = {}) const {
        std::uint32_t const v = problem_.plan.blocks[b].variable;
        return log_factor_density(problem_.plan.blocks[b], variable(b), grid_, posterior, state.values[v], step);
    }

    void note(char const* name, char const* claim, Posterior const& posterior, std::size_t b, double value, double reference) {
        if (variable(b).is_categorical && std::isinf(value)) return;  // a choice of probability 0, to a double
        double const violation = std::abs(value - reference) / (1 + std::abs(reference));
        double const most = tolerance_of(posterior, b);
        checks_.add(name, variable(b).name, claim, violation, violation > most ? allowed_violation(replica_, reference, most) : most);
    }

    static constexpr char const* collapse_claim = "where the other factors are points it is the Gibbs conditional";

    /// A Gibbs draw from normals z has log density constant - z'z / 2 under the factor, if the two are one.
    void collapse(Posterior const& posterior, std::size_t b, State const& state) {
        auto const at = [&](double length) {
            Stream random = stream();
            RandomLine line(random, length);
            replica_.set_state(state);
            replica_.draw_block(b, line);
            return log_density(posterior, b, replica_.state()) + 0.5 * line.squares();
        };
        double const reference = at(0);
        for (double const length : {1.0, 0.3, 3.0}) note("collapse", collapse_claim, posterior, b, at(length), reference);
    }

    /// The same of one step after another, those before it at their means.
    void collapse_steps(Posterior const& posterior, std::size_t b, State const& state) {
        BlockPlan const& block = problem_.plan.blocks[b];
        std::vector<std::size_t> const first = first_normals(block, variable(b), grid_);
        std::size_t const steps = grid_.steps - std::min(grid_.steps, variable(b).first_step);
        for (std::size_t k = 0; k < std::min(steps, most_steps); ++k) {
            std::size_t const t = variable(b).first_step + (steps <= most_steps ? k : k * (steps - 1) / (most_steps - 1));
            auto const at = [&](double length) {
                Stream random = stream();
                RandomLine line(random, length, first[t], first[t + 1]);
                replica_.set_state(state);
                replica_.draw_block(b, line);
                return log_density(posterior, b, replica_.state(), t) + 0.5 * line.squares();
            };
            double const reference = at(0);
            for (double const length : {1.0, 3.0}) note("collapse", collapse_claim, posterior, b, at(length), reference);
        }
    }

    /// log p(y, θ) - log q(θ) is the log evidence given the other blocks, wherever it is taken.
    void try_free(Posterior const& posterior, std::size_t b, State const& state) {
        auto const at = [&](double length) {
            Stream random = stream();
            RandomLine line(random, length);
            State moved = state;
            std::uint32_t const v = problem_.plan.blocks[b].variable;
            draw_factor(problem_.plan.blocks[b], variable(b), grid_, posterior, line, moved.values[v]);
            replica_.set_state(moved);
            return log_augmented(problem_, replica_) - log_density(posterior, b, moved);
        };
        double const reference = at(0);
        for (double const length : {1.0, 3.0})
            note("free", "alone free it is the posterior: log joint minus its log density is constant", posterior, b, at(length),
                 reference);
    }

    /// Every update of a climb raises the ELBO, by what its derivatives say.
    void climb(MeanField& field) {
        replica_.start(0);
        field.start(replica_.state());
        double const first = field.pass();
        double before = first;
        double worst = 0;
        double rounding = 0;
        std::size_t updates = 0;
        std::size_t const passes = std::clamp(cells_in_all / std::max<std::size_t>(grid_.cells(), 1), least_passes, most_passes);
        for (std::size_t pass = 0; pass < passes; ++pass) {
            for (std::size_t k = 0; k <= field.factors(); ++k) {
                double const rise = k < field.factors() ? field.update(k) : field.move_orbits();
                double const after = field.elbo();
                double const scale = 1 + std::abs(before) + std::abs(after);
                worst = std::max({worst, -rise / scale, (before - after) / scale, std::abs(after - before - rise) / scale});
                if (worst > ascent_tolerance) rounding = std::max(rounding, field.cancellation() / scale);
                if (std::isnan(after) || std::isnan(rise)) worst = HUGE_VAL;
                before = after;
                ++updates;
            }
        }
        checks_.add("ascent", "ELBO", "every update raises the ELBO by what its derivatives say", worst,
                    std::max(ascent_tolerance, rounding), updates);
    }

    Problem const& problem_;
    ExpectationPlan const& expectations_;
    Grid const& grid_;
    Replica replica_;
    std::uint64_t seed_;
    std::uint64_t draws_ = 0;
    CheckList checks_;
};

}  // namespace

std::vector<Check> certify_variational(Problem const& problem, ExpectationPlan const& expectations, std::uint64_t seed) {
    return VariationalCertifier(problem, expectations, seed).run();
}

}  // namespace bam
