#include "maximise.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

namespace bam {
namespace {

constexpr double still = 1e-8;         ///< sds
constexpr double nearly_still = 1e-6;  ///< below which rounding may be all that is left
constexpr std::size_t patience = 200;  ///< passes in which moves get smaller, unless they are rounding
constexpr double smaller = 0.99;

/// All that an ascent moves as one vector, in which scales are logarithms.
class Coordinates {
  public:
    explicit Coordinates(Layout const& layout) : layout_(layout) {}

    std::vector<double> of(State const& state) const {
        std::vector<double> x;
        visit(state, [&](std::uint32_t v, std::size_t e) { x.push_back(is_scale(v) ? std::log(state.values[v][e]) : state.values[v][e]); });
        return x;
    }
    void put(std::vector<double> const& x, State& state) const {
        std::size_t k = 0;
        visit(state, [&](std::uint32_t v, std::size_t e) {
            state.values[v][e] = is_scale(v) ? std::exp(x[k]) : x[k];
            ++k;
        });
    }
    /// 1 / sd^2 of each coordinate given the others; 0 where there is none.
    std::vector<double> weights(State const& state, std::vector<std::vector<double>> const& sds) const {
        std::vector<double> w;
        visit(state, [&](std::uint32_t v, std::size_t e) {
            double const sd = e < sds[v].size() ? sds[v][e] / (is_scale(v) ? state.values[v][e] : 1) : 0;
            w.push_back(sd > 0 && std::isfinite(sd) ? 1 / (sd * sd) : 0);
        });
        return w;
    }

  private:
    bool is_scale(std::uint32_t v) const { return layout_.variables[v].kind == VariableKind::Scale; }
    template <class F>
    void visit(State const& state, F f) const {
        for (std::uint32_t v = 0; v < state.values.size(); ++v)
            for (std::size_t e = 0; e < state.values[v].size(); ++e) f(v, e);
    }

    Layout const& layout_;
};

/// Squared extrapolation (SQUAREM, Varadhan and Roland 2008, scheme S3): from the points before, between and after two passes, along the
/// line on which slow passes creep.
std::optional<std::vector<double>> extrapolate(std::vector<double> const& x0, std::vector<double> const& x1, std::vector<double> const& x2,
                                               std::vector<double> const& weights) {
    double step = 0, bend = 0;
    for (std::size_t i = 0; i < x0.size(); ++i) {
        double const r = x1[i] - x0[i];
        double const v = x2[i] - x1[i] - r;
        step += weights[i] * r * r;
        bend += weights[i] * v * v;
    }
    double const length = std::sqrt(step / bend);
    if (!(length > 1) || !std::isfinite(length)) return std::nullopt;  // no farther than the passes went
    std::vector<double> x(x0.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        double const r = x1[i] - x0[i];
        double const v = x2[i] - x1[i] - r;
        x[i] = x0[i] + 2 * length * r + length * length * v;
    }
    return x;
}

class Climber {
  public:
    Climber(Replica& replica, AscentOptions const& options, Layout const& layout)
        : replica_(replica), options_(options), coordinates_(layout) {}

    Ascent run(std::stop_token const& stop) {
        Ascent ascent;
        std::vector<std::vector<double>> points{coordinates_.of(replica_.state())};
        double least = std::numeric_limits<double>::infinity();
        std::size_t least_at = 0;
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
            if (pass.largest_move < smaller * least) {
                least = pass.largest_move;
                least_at = ascent.passes;
            }
            if (least < nearly_still && ascent.passes - least_at >= patience) {
                ascent.ending = Ending::Rounding;
                break;
            }
            if (!options_.extrapolates) continue;
            points.push_back(coordinates_.of(replica_.state()));
            if (points.size() < 3) continue;
            jump(points);
            points = {coordinates_.of(replica_.state())};
        }
        ascent.state = replica_.state();
        ascent.log_joint = replica_.log_joint();
        ascent.log_likelihood = replica_.log_likelihood();
        ascent.sds = replica_.conditional_sds();
        return ascent;
    }

  private:
    /// Goes to the extrapolated point if the log joint is no lower there.
    void jump(std::vector<std::vector<double>> const& points) {
        auto const weights = coordinates_.weights(replica_.state(), replica_.conditional_sds());
        auto const x = extrapolate(points[0], points[1], points[2], weights);
        if (!x) return;
        State const present = replica_.state();
        double const log_joint = replica_.log_joint();
        State there = present;
        coordinates_.put(*x, there);
        replica_.set_state(there);
        if (!(replica_.log_joint() >= log_joint)) replica_.set_state(present);
    }

    Replica& replica_;
    AscentOptions const& options_;
    Coordinates coordinates_;
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
    spread(starts, options.threads, [&](std::size_t k) {
        Replica replica(problem, options.seed, options.chain, options.sweep);
        replica.start(k, options.starts_from_prior);
        maximum.ascents[k] = ascend(replica, options, stop);
    });
    for (std::size_t k = 1; k < starts; ++k) {
        Ascent const& one = maximum.ascents[k];
        Ascent const& best = maximum.ascents[maximum.best];
        bool const is_first_with_mode = !one.without_mode && best.without_mode;
        bool const is_as_good = one.without_mode.has_value() == best.without_mode.has_value();
        if (is_first_with_mode || (is_as_good && one.log_joint > best.log_joint)) maximum.best = k;
    }
    return maximum;
}

}  // namespace bam
