// One state of a chain with all it takes to sweep it. A chain is a set of replicas: those of its ladder (ladder.hpp), and one that is kept.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "augment.hpp"
#include "block_sampler.hpp"
#include "exact_fit.hpp"
#include "factors.hpp"
#include "orbit.hpp"
#include "plan.hpp"
#include "problem.hpp"
#include "state.hpp"

namespace bam {

struct Fault;

struct SweepOptions {
    bool draws_rows = false;   ///< Gaussian blocks a row at a time
    bool moves_orbits = true;  ///< along the symmetries of the likelihood
    double relaxation = 0;     ///< of Gaussian draws: below 0 over-relaxed, see Relaxation
};

/// A parameter whose density grows without bound: an ascent has no end.
struct NoMode {
    std::uint32_t variable = 0;
    std::string entry = {};               ///< entry_name()
    double start = 0;                     ///< the entry at the start
    std::optional<std::uint32_t> traded;  ///< another block that it can shrink against without end; else a scale at 0 or infinity
};

/// One pass of coordinate ascent.
struct AscentPass {
    double largest_move = 0;  ///< of an entry, in sds of the entry given everything else
    bool is_rounded = false;  ///< some updates led down, by no more than rounding explains: they were undone
    std::optional<NoMode> without_mode;
};

class Replica {
  public:
    Replica(Problem const& problem, std::uint64_t seed, std::uint64_t chain, SweepOptions options);
    Replica(Replica const&) = delete;
    Replica& operator=(Replica const&) = delete;
    ~Replica();

    /// A dispersed start: blocks no wider than sd 1 about the means of their priors, or, `as_wide`, drawn from them; scales in the bulk of
    /// theirs.
    /// `start` numbers the attempt.
    void start(std::uint64_t start, bool as_wide = false);
    /// Every block, every scale and every orbit once. `index` names the random numbers: the same index from the same state gives the same
    /// bits. Throws NumericalTrouble, ExactFit, TooLarge and LostDigits.
    void sweep(std::uint64_t index);
    /// The same, but what fails is thrown as it is: for those that try again (recovery.hpp).
    void draw_all(std::uint64_t index);
    /// Once a draw has failed: throws what is behind it, if that is known (ExactFitWatch::look_behind). `block`: of the plan, which failed;
    /// `is_of_digits`: its model determines it.
    void look_behind(std::optional<std::size_t> block, bool is_of_digits);
    /// Whether the state, or what scales see of it, has become infinite or no number, or nearly so.
    bool is_poisoned() const;
    /// BlockSampler::scale_diagonal of one block of the plan.
    void scale_diagonal(std::size_t block, double factor) { samplers_[block]->scale_diagonal(factor); }

    /// Every block, missing output, orbit and scale once, each to the highest point of its conditional density: a sweep with every draw
    /// replaced by a mode. Throws NumericalTrouble, ExactFit, TooLarge and LostDigits; std::logic_error if the log joint falls by more than
    /// rounding can explain.
    AscentPass ascend();
    /// Per variable of the layout, [component][extent]: sds of every entry given everything else, as of the last ascend(); empty for data.
    /// NaN where there is none, as at an end of a truncated prior.
    std::vector<std::vector<double>> conditional_sds() const;
    /// Whether an entry lies at an end of its prior's interval.
    bool is_at_end(std::uint32_t variable, std::size_t entry) const;
    /// How far rounding can move log_joint(), where residuals are sums of what is about as large as their outputs.
    double rounding() const;
    /// The same, and how far a solution of normal equations can fall short of their mode, wherever the numbers are that cancel
    /// (math.md, 13a. Rounding).
    double cancellation();

    State const& state() const { return state_; }
    void set_state(State const& state);
    /// From now on sweeps leave p(parameters) p(y | parameters, local scales)^power as it is, with y the observed outputs and drawn ones
    /// among the parameters; 1 is the posterior.
    void set_power(double power) { factors_.set_power(power); }
    /// log p(y, parameters), of the parameters as the file declares them; as of the last sweep. Local scales of binary outputs are
    /// integrated out: how wide they are says nothing of the parameters.
    double log_joint() const { return log_joint_; }
    /// log p(y | parameters), of drawn outputs too
    double log_likelihood() const { return log_likelihood_; }
    /// By how much the log likelihood of the observed outputs changes from one power to another at this state, local scales of binary
    /// outputs integrated out: (to - from) L without such outputs.
    double log_change(double from, double to) const;
    /// Its derivatives at the power.
    PowerSlope slope() const;
    /// Draws the local scales of binary outputs anew at the power: once it has changed. `index` names the random numbers.
    void draw_binary_locals(std::uint64_t index);
    Inputs inputs() const { return {problem_.plan.layout, problem_.bound, state_, factors_.weights()}; }
    Factors& factors() { return factors_; }
    Factors const& factors() const { return factors_; }

    /// Draws one block of the plan and nothing else.
    void sample_block(std::size_t block, NormalSource& normals) { samplers_[block]->draw(normals); }
    /// Draws one block of the plan from chosen normals, for tests and certificates. Brings densities up to date.
    void draw_block(std::size_t block, NormalSource& normals) {
        samplers_[block]->draw(normals);
        finish();
    }
    /// The same with the choices that are drawn with it.
    void draw_block_with_choices(std::size_t block, NormalSource& normals) {
        samplers_[block]->draw_with_choices(normals);
        finish();
    }

  private:
    void start_from_prior(std::uint64_t start);
    std::vector<std::size_t> existing_entries(Variable const& variable) const;
    void finish();
    void update_densities();
    AscentPass ascend_all();
    template <class Move>
    void climb(std::vector<std::uint32_t> const& variables, std::string const& what, AscentPass& pass, Move move);
    Magnitudes& magnitudes();

    Problem const& problem_;
    std::uint64_t seed_;
    std::uint64_t chain_;
    SweepOptions options_;
    State state_;
    Factors factors_;
    std::vector<std::unique_ptr<BlockSampler>> samplers_;  ///< per block of the plan
    std::vector<std::unique_ptr<Priors>> priors_;          ///< per block of the plan that an orbit moves, else null
    std::vector<std::unique_ptr<OrbitMoves>> orbits_;      ///< per orbit of the plan; null where it is not moved
    std::vector<std::unique_ptr<Augmentation>> augmentations_;
    ExactFitWatch exact_fit_;
    std::deque<Fault>* faults_;               ///< of tests; null
    std::unique_ptr<Magnitudes> magnitudes_;  ///< made where digits are in doubt
    double log_joint_ = 0;
    double log_likelihood_ = 0;
    double log_normals_ = 0;                         ///< log_likelihood_ without drawn and without binary outputs
    std::vector<std::vector<double>> scale_starts_;  ///< of an ascent: per variable, the scales at its first pass; else empty
    std::vector<std::vector<double>> scale_sds_;     ///< per variable: of the scales, given everything else
};

}  // namespace bam
