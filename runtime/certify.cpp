#include "certify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "augmented_density.hpp"
#include "magnitude.hpp"
#include "random_line.hpp"
#include "scales.hpp"
#include "trouble.hpp"

namespace bam {
namespace {

constexpr double tolerance = 1e-9;       ///< relative to the log joint
constexpr std::size_t states = 4;        ///< points at which everything is tried: a start, then where a chain has been
constexpr std::size_t most_places = 12;  ///< steps of a swept block, entries of a scale, missing cells that are tried at each
constexpr std::uint64_t stream_base = std::uint64_t{1} << 61;

/// About `most` of the numbers below n, the first and the last among them.
std::vector<std::size_t> spread_over(std::size_t n, std::size_t most = most_places) {
    std::vector<std::size_t> places;
    std::size_t const count = std::min(n, most);
    for (std::size_t k = 0; k < count; ++k) places.push_back(count == 1 ? 0 : k * (n - 1) / (count - 1));
    return places;
}

class Certifier {
  public:
    Certifier(Problem const& problem, std::uint64_t seed, double power)
        : problem_(problem), layout_(problem.plan.layout), grid_(problem.bound.grid), replica_(problem, seed, 1, {}), seed_(seed) {
        replica_.set_power(power);
    }

    std::vector<Check> run() {
        try {
            try_all();
        } catch (NumericalTrouble const& trouble) {
            look_behind(problem_, replica_, trouble.block, trouble.is_of_numbers);
            throw;
        }
        return checks_.take();
    }

  private:
    void try_all() {
        replica_.start(0);
        for (std::size_t k = 0; k < states; ++k) {
            if (k > 0)
                for (std::size_t sweep = 0; sweep < 10; ++sweep) replica_.sweep(k * 10 + sweep);
            State const start = replica_.state();
            for (std::size_t b = 0; b < problem_.plan.blocks.size(); ++b)
                problem_.plan.blocks[b].method == PlanMethod::Sweep ? try_sweep(b, start) : try_block(b, start, false);
            for (std::size_t b = 0; b < problem_.plan.blocks.size(); ++b)
                if (!problem_.plan.blocks[b].choices.empty()) try_block(b, start, true);
            for (std::size_t a = 0; a < problem_.augmented.size(); ++a)
                if (!problem_.augmented[a].empty()) try_missing(a, start);
            for (ScaleLayout const& scale : layout_.scales) try_scale(scale, start);
            for (OrbitPlan const& orbit : problem_.plan.orbits)
                if (orbit.is_moved) try_orbit(orbit, start);
            replica_.set_state(start);
        }
    }

    static constexpr char const* symmetry_claim = "a move does not change the log likelihood, and is drawn from the priors";
    static constexpr char const* quadratic_claim = "along random lines the log joint minus the derived normal's is constant";

    Stream stream() { return {seed_, 1, stream_base + draws_++, 0}; }

    /// `reference`: what the violation is relative to. Where that is too much, it is what cancels that decides how much rounding may be.
    void note(char const* name, std::string const& of, char const* claim, double violation, double reference) {
        checks_.add(name, of, claim, violation, violation > tolerance ? allowed_violation(replica_, reference, tolerance) : tolerance);
    }

    static double difference(double value, double reference) { return std::abs(value - reference) / (1 + std::abs(reference)); }

    /// A draw from normals z stands at mean + inv(L)' z, so that the log joint there plus z'z / 2 does not depend on z. Every entry moves;
    /// of a precision that is off, or of a mean, two lengths of z tell. A choice falls below the best by what its log probabilities say.
    void try_block(std::size_t b, State const& start, bool with_choices) {
        auto const at = [&](double length) {
            Stream random = stream();
            RandomLine line(random, length);
            replica_.set_state(start);
            with_choices ? replica_.draw_block_with_choices(b, line) : replica_.draw_block(b, line);
            return log_augmented(problem_, replica_) + 0.5 * line.squares();
        };
        double const reference = at(0);
        for (double const length : {1.0, 0.3, 3.0})
            note("quadratic", layout_.variables[problem_.plan.blocks[b].variable].name, quadratic_claim, difference(at(length), reference),
                 reference);
    }

    /// A step of a swept block is drawn given the new values before it and the old ones after it.
    void try_sweep(std::size_t b, State const& start) {
        BlockPlan const& block = problem_.plan.blocks[b];
        Variable const& variable = layout_.variables[block.variable];
        std::vector<std::size_t> const first = first_normals(block, variable, grid_);
        if (variable.first_step >= grid_.steps) return;
        for (std::size_t const place : spread_over(grid_.steps - variable.first_step)) {
            std::size_t const t = variable.first_step + place;
            auto const at = [&](double length) {
                Stream random = stream();
                RandomLine line(random, length, first[t], first[t + 1]);
                replica_.set_state(start);
                replica_.draw_block(b, line);
                State mixed = replica_.state();
                std::size_t const size = grid_.size(variable.extent);
                std::size_t const from = variable.extent == Extent::Time ? t + 1 : grid_.offsets[t + 1];
                for (std::size_t c = 0; c < variable.components; ++c)
                    for (std::size_t i = from; i < size; ++i)
                        mixed.values[block.variable][c * size + i] = start.values[block.variable][c * size + i];
                replica_.set_state(mixed);
                return log_augmented(problem_, replica_) + 0.5 * line.squares();
            };
            double const reference = at(0);
            for (double const length : {1.0, 3.0})
                note("quadratic", variable.name, quadratic_claim, difference(at(length), reference), reference);
        }
    }

    /// Missing cells that later means look back at, one after another as a swept block.
    void try_missing(std::size_t a, State const& start) {
        LaggedOutput const& output = problem_.plan.lagged_outputs[a];
        std::size_t const components = layout_.variables[output.variable].components;
        std::vector<std::size_t> entries;  // in the order of the draws
        for (std::size_t t = 0; t < grid_.steps; ++t)
            for (std::size_t s = 0; s < grid_.lanes(t); ++s)
                for (std::size_t c = 0; c < components; ++c)
                    if (std::size_t const entry = c * grid_.cells() + grid_.cell(s, t); problem_.augmented[a][entry])
                        entries.push_back(entry);
        State state = start;
        Factors factors(problem_, state);
        factors.set_power(replica_.factors().power());
        Augmentation augmentation(output, problem_.plan, {layout_, problem_.bound, state, factors.weights()}, factors, state,
                                  problem_.augmented[a]);
        for (std::size_t const k : spread_over(entries.size())) {
            auto const at = [&](double length) {
                Stream random = stream();
                RandomLine line(random, length, k, k + 1);
                std::copy(start.values[output.variable].begin(), start.values[output.variable].end(),
                          state.values[output.variable].begin());
                augmentation.draw(line);
                State mixed = start;
                for (std::size_t i = 0; i <= k; ++i) mixed.values[output.variable][entries[i]] = state.values[output.variable][entries[i]];
                replica_.set_state(mixed);
                return log_augmented(problem_, replica_) + 0.5 * line.squares();
            };
            double const reference = at(0);
            for (double const length : {1.0, 3.0})
                note("quadratic", layout_.variables[output.variable].name, quadratic_claim, difference(at(length), reference), reference);
        }
    }

    /// The log joint as a function of one entry against the density it is drawn from.
    void try_scale(ScaleLayout const& scale, State const& start) {
        std::string const& name = layout_.variables[scale.variable].name;
        for (std::size_t const e : spread_over(start.values[scale.variable].size())) {
            double magnitude = 1;  // of what cancels
            auto const at = [&](double ratio) {
                State state = start;
                state.values[scale.variable][e] *= ratio;
                replica_.set_state(state);
                magnitude = std::max(magnitude, 1 + std::abs(log_augmented(problem_, replica_)));
                return log_augmented(problem_, replica_) - log_conditional(scale, layout_, replica_.factors(), state, e);
            };
            double const reference = at(1);
            for (double const ratio : {0.5, 0.8, 1.3, 2.0}) {
                double const change = at(ratio) - reference;
                note("scale", name, "the log joint minus the derived density of the scale is constant", std::abs(change) / magnitude,
                     magnitude);
            }
        }
    }

    void try_orbit(OrbitPlan const& orbit, State const& start) {
        State state = start;
        Factors factors(problem_, state);
        Inputs const inputs{layout_, problem_.bound, state, factors.weights()};
        auto const priors_of = [&](std::uint32_t variable) {
            auto const it = std::find_if(problem_.plan.blocks.begin(), problem_.plan.blocks.end(),
                                         [&](BlockPlan const& block) { return block.variable == variable; });
            return Priors(problem_.plan, *it, inputs, factors);
        };
        Priors first = priors_of(orbit.first);
        Priors second = priors_of(orbit.second);
        OrbitMoves moves(orbit, layout_, grid_, state, first, second);
        replica_.set_state(start);
        double const reference = replica_.log_likelihood();
        std::string const name = fmt::format("{}, {}", layout_.variables[orbit.first].name, layout_.variables[orbit.second].name);
        for (int k = 0; k < 3; ++k) {
            Stream random = stream();
            moves.move(random);
            replica_.set_state(state);
            note("symmetry", name, symmetry_claim, difference(replica_.log_likelihood(), reference), reference);
        }
        try_priors(name, orbit.first, first, start);
        try_priors(name, orbit.second, second, start);
    }

    /// The quadratic from which a move along a symmetry is drawn, against the log joint: all that is not the likelihood.
    void try_priors(std::string const& name, std::uint32_t v, Priors& priors, State const& start) {
        Variable const& variable = layout_.variables[v];
        std::vector<double> const& values = start.values[v];
        std::size_t const size = values.size() / variable.components;
        std::size_t const first = first_index(variable, grid_);
        replica_.set_state(start);
        double const reference = replica_.log_joint() - replica_.log_likelihood();
        Stream random = stream();
        State moved = start;
        std::vector<double> direction(values.size(), 0.0), product(values.size());
        for (std::size_t e = 0; e < values.size(); ++e) {
            if (e % size < first) continue;
            direction[e] = random.normal();
            moved.values[v][e] += direction[e];
        }
        priors.update();
        priors.multiply(direction, product);
        double change = 0;
        for (std::size_t e = 0; e < values.size(); ++e)
            change += direction[e] * priors.linear()[e] - product[e] * (values[e] + 0.5 * direction[e]);
        replica_.set_state(moved);
        note("symmetry", name, symmetry_claim, difference(replica_.log_joint() - replica_.log_likelihood(), reference + change),
             reference + change);
    }

    Problem const& problem_;
    Layout const& layout_;
    Grid const& grid_;
    Replica replica_;
    std::uint64_t seed_;
    std::uint64_t draws_ = 0;
    CheckList checks_;
};

}  // namespace

void look_behind(Problem const& problem, Replica& replica, std::optional<std::size_t> block, bool is_of_digits) {
    replica.factors().score(replica.inputs());
    Magnitudes magnitudes(problem.plan, replica.inputs(), replica.factors());
    ExactFitWatch(problem, replica.factors()).look_behind(replica.factors(), magnitudes, block, is_of_digits);
}

double allowed_violation(Replica& replica, double reference, double usual) {
    constexpr double nothing_left = 0.1;
    double const rounding = 2 * replica.cancellation() / (1 + std::abs(reference));
    if (rounding <= nothing_left) return std::max(usual, rounding);
    Layout const& layout = replica.inputs().layout;
    auto const observation =
        std::find_if(layout.factors.begin(), layout.factors.end(), [](FactorLayout const& factor) { return factor.is_observation; });
    throw LostDigits(observation->target);
}

std::vector<Check> certify(Problem const& problem, std::uint64_t seed, double power) { return Certifier(problem, seed, power).run(); }

}  // namespace bam
