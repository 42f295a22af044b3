#include "maximise.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "trouble.hpp"

namespace bam {
namespace {

constexpr double still = 1e-8;           ///< sds
constexpr double nearly_still = 1e-6;    ///< below which rounding may be all that is left
constexpr double hardly_visible = 1e-4;  ///< moves whose rise of the log joint may be less than rounding
constexpr std::size_t patience = 200;    ///< passes in which moves get smaller, unless they are rounding
constexpr double smaller = 0.99;
constexpr std::size_t undone = 20;  ///< passes in which updates are undone and the log joint does not rise

/// All that an ascent moves as one vector, in which scales are logarithms.
class Coordinates {
  public:
    Coordinates(Layout const& layout, Factors const& factors) : layout_(layout), factors_(factors) {}

    Eigen::VectorXd of(State const& state) const {
        Eigen::VectorXd x(size(state));
        visit(state, [&](std::uint32_t v, std::size_t e, Eigen::Index k) {
            x(k) = is_scale(v) ? std::log(state.values[v][e]) : state.values[v][e];
        });
        return x;
    }
    /// What lies beyond an end of a truncated prior comes to lie at it.
    void put(Eigen::VectorXd const& x, State& state) const {
        visit(state, [&](std::uint32_t v, std::size_t e, Eigen::Index k) {
            state.values[v][e] = is_scale(v) ? std::exp(x(k)) : factors_.interval(v, e).nearest(x(k));
        });
    }
    /// 1 / sd of each coordinate given the others; 0 where there is none.
    Eigen::VectorXd weights(State const& state, std::vector<std::vector<double>> const& sds) const {
        Eigen::VectorXd w(size(state));
        visit(state, [&](std::uint32_t v, std::size_t e, Eigen::Index k) {
            double const sd = e < sds[v].size() ? sds[v][e] / (is_scale(v) ? state.values[v][e] : 1) : 0;
            w(k) = sd > 0 && std::isfinite(sd) ? 1 / sd : 0;
        });
        return w;
    }

  private:
    bool is_scale(std::uint32_t v) const { return layout_.variables[v].kind == VariableKind::Scale; }
    static Eigen::Index size(State const& state) {
        std::size_t n = 0;
        for (auto const& values : state.values) n += values.size();
        return static_cast<Eigen::Index>(n);
    }
    template <class F>
    static void visit(State const& state, F f) {
        Eigen::Index k = 0;
        for (std::uint32_t v = 0; v < state.values.size(); ++v)
            for (std::size_t e = 0; e < state.values[v].size(); ++e) f(v, e, k++);
    }

    Layout const& layout_;
    Factors const& factors_;
};

/// Anderson's extrapolation (1965; type II of Walker and Ni 2011): of the last points x with their passes to F(x), the combination whose
/// moves F(x) - x cancel best, taken as the next point. Where passes creep along a valley it jumps to the valley's lowest move.
class Extrapolation {
  public:
    static constexpr std::size_t window = 8;

    void clear() { points_.clear(); }
    Eigen::VectorXd const& last_move() const { return points_.back().move; }
    void add(Eigen::VectorXd x, Eigen::VectorXd passed) {
        if (points_.size() > window) points_.pop_front();
        Eigen::VectorXd move = passed - x;
        points_.push_back({std::move(passed), std::move(move)});
    }
    /// `weights`: of the coordinates in the length of a move. Nothing if there is nothing to combine.
    std::optional<Eigen::VectorXd> next(Eigen::VectorXd const& weights) const {
        if (points_.size() < 2) return std::nullopt;
        auto const columns = static_cast<Eigen::Index>(points_.size() - 1);
        Point const& last = points_.back();
        Eigen::MatrixXd moves(last.move.size(), columns);
        for (Eigen::Index k = 0; k < columns; ++k)
            moves.col(k) = weights.cwiseProduct(points_[static_cast<std::size_t>(k)].move - last.move);
        Eigen::ColPivHouseholderQR<Eigen::MatrixXd> solver(moves);
        Eigen::VectorXd const shares = solver.solve(-weights.cwiseProduct(last.move));
        Eigen::VectorXd x = last.passed;
        for (Eigen::Index k = 0; k < columns; ++k) x += shares(k) * (points_[static_cast<std::size_t>(k)].passed - last.passed);
        return x.allFinite() ? std::optional(x) : std::nullopt;
    }

  private:
    struct Point {
        Eigen::VectorXd passed;  ///< F(x)
        Eigen::VectorXd move;    ///< F(x) - x
    };
    std::deque<Point> points_;
};

class Climber {
  public:
    Climber(Replica& replica, AscentOptions const& options, Layout const& layout)
        : replica_(replica), options_(options), coordinates_(layout, replica.factors()) {}

    Ascent run(std::stop_token const& stop) {
        Ascent ascent;
        Eigen::VectorXd x = coordinates_.of(replica_.state());
        double least = std::numeric_limits<double>::infinity();
        std::size_t least_at = 0;
        double highest = -std::numeric_limits<double>::infinity();
        std::size_t highest_at = 0;
        while (true) {
            if (stop.stop_requested() || ascent.passes == options_.max_passes) {
                ascent.ending = stop.stop_requested() ? Ending::Stopped : Ending::PassLimit;
                break;
            }
            AscentPass const pass = replica_.ascend();
            ++ascent.passes;
            ascent.largest_move = pass.largest_move;
            ascent.without_mode = pass.without_mode;
            if (pass.without_mode || pass.largest_move < still) {
                ascent.ending = pass.without_mode ? Ending::NoMode : Ending::Still;
                break;
            }
            // Where updates are undone and nothing else rises, what is left to climb is less than rounding.
            if (!pass.is_rounded || replica_.log_joint() > highest + replica_.rounding()) {
                highest = replica_.log_joint();
                highest_at = ascent.passes;
            } else if (ascent.passes - highest_at >= undone) {
                ascent.ending = Ending::Rounding;
                break;
            }
            if (pass.largest_move < smaller * least) {
                least = pass.largest_move;
                least_at = ascent.passes;
            }
            if (least < nearly_still && ascent.passes - least_at >= patience) {
                ascent.ending = Ending::Rounding;
                break;
            }
            if (!options_.extrapolates) continue;
            if (before_jump_ && pass.largest_move > 10 * before_jump_->largest_move) {
                // Where a rise is less than rounding, only the moves say whether a jump led on; they need not fall at once.
                replica_.set_state(before_jump_->state);
                extrapolation_.clear();
                before_jump_.reset();
                x = coordinates_.of(replica_.state());
                continue;
            }
            before_jump_.reset();
            extrapolation_.add(std::move(x), coordinates_.of(replica_.state()));
            jump(pass.largest_move);
            x = coordinates_.of(replica_.state());
        }
        ascent.state = replica_.state();
        ascent.log_joint = replica_.log_joint();
        ascent.log_likelihood = replica_.log_likelihood();
        ascent.sds = replica_.conditional_sds();
        return ascent;
    }

  private:
    /// Goes to the extrapolated point, or part of the way, if the log joint is no lower there. If not even that, the history is of no use:
    /// it is forgotten, and the last move is repeated as far as it leads up.
    void jump(double largest_move) {
        constexpr int attempts = 4;
        constexpr double shorter = 0.25;
        auto const target = extrapolation_.next(coordinates_.weights(replica_.state(), replica_.conditional_sds()));
        if (!target) return;
        State const present = replica_.state();
        Eigen::VectorXd const here = coordinates_.of(present);
        double const log_joint = replica_.log_joint();
        double const slack = 1e-3 * replica_.rounding();
        double share = 1;
        for (int k = 0; k < attempts; ++k, share *= shorter) {
            if (try_point(here + share * (*target - here)) < log_joint - slack) continue;
            if (share < 1) extrapolation_.clear();
            if (largest_move < hardly_visible) before_jump_ = {present, largest_move};
            return;
        }
        replica_.set_state(present);
        stretch(here, extrapolation_.last_move());
        extrapolation_.clear();
    }

    double try_point(Eigen::VectorXd const& x) {
        State there = replica_.state();
        coordinates_.put(x, there);
        replica_.set_state(there);
        return replica_.log_joint();
    }

    void stretch(Eigen::VectorXd const& here, Eigen::VectorXd const& move) {
        constexpr double longer = 4;
        constexpr double longest = 1e12;
        State best = replica_.state();
        double log_joint = replica_.log_joint();
        for (double length = 1; length < longest && try_point(here + length * move) > log_joint; length *= longer) {
            best = replica_.state();
            log_joint = replica_.log_joint();
        }
        replica_.set_state(best);
    }

    Replica& replica_;
    AscentOptions const& options_;
    Coordinates coordinates_;
    Extrapolation extrapolation_;
    struct Jump {
        State state;
        double largest_move = 0;
    };
    std::optional<Jump> before_jump_;
};

/// Calls work(0), ..., work(count - 1) on threads. Rethrows the first failure.
template <class Work>
void spread(std::size_t count, std::size_t threads, Work work) {
    std::size_t const wanted = threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
    std::mutex mutex;
    std::exception_ptr failure;
    std::size_t next = 0;
    auto const loop = [&] {
        while (true) {
            std::size_t k = 0;
            {
                std::lock_guard const lock(mutex);
                if (failure || next == count) return;
                k = next++;
            }
            try {
                work(k);
            } catch (...) {
                std::lock_guard const lock(mutex);
                if (!failure) failure = std::current_exception();
            }
        }
    };
    std::vector<std::jthread> pool;
    for (std::size_t k = 1; k < std::min(wanted, count); ++k) pool.emplace_back(loop);
    loop();
    pool.clear();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace

Ascent ascend(Replica& replica, AscentOptions const& options, std::stop_token const& stop) {
    return Climber(replica, options, replica.inputs().layout).run(stop);
}

Maximum maximise(Problem const& problem, AscentOptions const& options, std::stop_token const& stop) {
    std::size_t const starts = problem.plan.is_multilinear ? std::max<std::size_t>(options.starts, 1) : 1;
    Maximum maximum;
    maximum.ascents.resize(starts);
    std::vector<std::exception_ptr> failures(starts);
    spread(starts, options.threads, [&](std::size_t k) {
        Replica replica(problem, options.seed, options.chain, options.sweep);
        replica.start(k, options.starts_from_prior);
        try {
            maximum.ascents[k] = ascend(replica, options, stop);
        } catch (std::exception const& failure) {
            auto const reason = reason_of_start(failure);
            if (!reason) throw;
            maximum.ascents[k].log_joint = std::numeric_limits<double>::quiet_NaN();
            maximum.ascents[k].ending = Ending::Failed;
            maximum.ascents[k].failure = *reason;
            failures[k] = std::current_exception();
        }
    });
    while (maximum.best < starts && failures[maximum.best]) ++maximum.best;
    if (maximum.best == starts) std::rethrow_exception(failures.front());
    for (std::size_t k = maximum.best + 1; k < starts; ++k) {
        Ascent const& one = maximum.ascents[k];
        Ascent const& best = maximum.ascents[maximum.best];
        if (failures[k]) continue;
        bool const is_first_with_mode = !one.without_mode && best.without_mode;
        bool const is_as_good = one.without_mode.has_value() == best.without_mode.has_value();
        if (is_first_with_mode || (is_as_good && one.log_joint > best.log_joint)) maximum.best = k;
    }
    return maximum;
}

void require_mode(Maximum const& maximum, bool is_start) {
    Ascent const& best = maximum.ascents[maximum.best];
    if (best.without_mode) throw NoModeFound(*best.without_mode, is_start);
}

}  // namespace bam
