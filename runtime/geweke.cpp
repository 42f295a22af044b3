#include "geweke.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "chains.hpp"
#include "convergence.hpp"
#include "each_chain.hpp"
#include "record.hpp"
#include "simulation.hpp"
#include "tails.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr double level = 0.001;  ///< of all quantities together
constexpr std::size_t most_chains = 100;
constexpr std::size_t least_chains = 10;
constexpr std::size_t most_simulations = 100'000;  ///< of independent tables: more precise than any chain
constexpr std::size_t least_sweeps = 10;           ///< of a chain, rather than more chains
// Numbers of simulations, apart from those of calibration.
constexpr std::uint64_t prior_number = std::uint64_t{1} << 41;
constexpr std::uint64_t start_number = std::uint64_t{1} << 42;
constexpr std::uint64_t output_number = std::uint64_t{1} << 43;
constexpr std::uint64_t first_chain = std::uint64_t{1} << 32;

/// A problem of its own, into which outputs are simulated.
class Simulator {
  public:
    Simulator(Problem const& problem, JointTestOptions const& options, std::uint64_t chain)
        : problem_(problem),
          simulation_(problem_, options.seed),
          replica_(problem_, options.seed, first_chain + chain, as_fitted(problem)),
          recorder_(problem_, replica_.inputs()),
          row_(recorder_.columns().size()) {
        for (std::size_t k = 0; k < recorder_.columns().size(); ++k)
            if (recorder_.source(k).term == nullptr) columns_.push_back(k);
        std::size_t const most = options.most_quantities - 1;  // the last is the log likelihood
        if (columns_.size() <= most) return;
        std::vector<std::size_t> kept;
        for (std::size_t i = 0; i < most; ++i) kept.push_back(columns_[i * (columns_.size() - 1) / (most - 1)]);
        columns_ = std::move(kept);
    }

    std::size_t size() const { return columns_.size() + 1; }
    MomentTest quantity(std::size_t q) const {
        if (q == columns_.size()) return {no_register, "log_likelihood"};
        return {recorder_.source(columns_[q]).variable, label_name(recorder_.columns()[columns_[q]])};
    }

    /// Parameters and outputs from the priors.
    void simulate(std::uint64_t number) { replica_.set_state(simulation_.draw(number)); }
    /// Parameters given the outputs, then outputs given the parameters.
    void step(std::uint64_t sweep, std::uint64_t number) {
        replica_.sweep(sweep);
        State state = replica_.state();
        simulation_.draw_outputs(state, number);
        replica_.set_state(state);  // whose densities are of the new outputs
    }
    /// The quantities as they are, [size()].
    std::vector<double> const& values() {
        recorder_.record(replica_.state(), row_.data());
        values_.clear();
        for (std::size_t const k : columns_) values_.push_back(row_[k]);
        values_.push_back(replica_.log_likelihood());
        return values_;
    }

  private:
    static SweepOptions as_fitted(Problem const& problem) {
        SweepOptions options;
        options.relaxation = relaxation_of(problem, {});
        return options;
    }

    Problem problem_;
    Simulation simulation_;
    Replica replica_;
    Recorder recorder_;
    std::vector<double> row_, values_;
    std::vector<std::size_t> columns_;
};

/// Where a quantity is under its prior, and how wide.
struct Yardstick {
    double median = 0;
    double mad = 1;

    explicit Yardstick(std::vector<double> const& draws) : median(bam::median(draws)) {
        double const width = bam::mad(draws);
        if (width > 0) mad = width;
    }
    double bounded(double x) const {
        double const u = (x - median) / mad;
        return std::isfinite(u) ? u / (1 + std::abs(u)) : std::copysign(1.0, u);
    }
};

struct Mean {
    double value = 0;
    double squared_error = 0;
    double degrees = 0;
};

/// Of independent numbers.
Mean mean_of(std::vector<double> const& values) {
    auto const n = static_cast<double>(values.size());
    Mean mean{0, 0, n - 1};
    for (double const x : values) mean.value += x / n;
    for (double const x : values) mean.squared_error += (x - mean.value) * (x - mean.value) / (n * (n - 1));
    return mean;
}

struct Difference {
    double z = 0, p = 1;
};

/// Welch's test of two means.
Difference compare(Mean const& a, Mean const& b) {
    double const squared_error = a.squared_error + b.squared_error;
    double const gap = a.value - b.value;
    if (squared_error == 0) {
        constexpr double infinite = std::numeric_limits<double>::infinity();
        return gap == 0 ? Difference{} : Difference{std::copysign(infinite, gap), 0};
    }
    double const degrees =
        squared_error * squared_error / (a.squared_error * a.squared_error / a.degrees + b.squared_error * b.squared_error / b.degrees);
    double const z = gap / std::sqrt(squared_error);
    return {z, student_tail(z, degrees)};
}

double together(double p, std::size_t tests) { return std::min(1.0, p * static_cast<double>(tests)); }

/// The quantities of a variable, those with the smallest p first.
std::vector<std::vector<MomentTest const*>> by_variable(JointTest const& test) {
    std::vector<std::vector<MomentTest const*>> groups;
    for (MomentTest const& quantity : test.quantities) {
        auto const found =
            std::find_if(groups.begin(), groups.end(), [&](auto const& group) { return group.front()->variable == quantity.variable; });
        if (found == groups.end())
            groups.push_back({&quantity});
        else
            found->push_back(&quantity);
    }
    for (auto& group : groups)
        std::stable_sort(group.begin(), group.end(), [](MomentTest const* a, MomentTest const* b) { return a->p < b->p; });
    return groups;
}

std::string name_of(JointTest const& test, MomentTest const& quantity) {
    return quantity.variable == no_register ? quantity.name : test.names[quantity.variable];
}

}  // namespace

JointTest compare_joint(Problem const& problem, JointTestOptions const& options) {
    JointTest test;
    test.chains = std::clamp(options.sweeps / least_sweeps, least_chains, most_chains);
    test.sweeps = std::max<std::size_t>(1, (options.sweeps + test.chains - 1) / test.chains);
    for (Variable const& variable : problem.plan.layout.variables) test.names.push_back(variable.name);

    std::size_t const quantities = Simulator(problem, options, 0).size();
    std::size_t const each = std::min(test.sweeps, most_simulations / test.chains);
    std::vector<std::vector<double>> priors(quantities, std::vector<double>(test.chains * each));
    each_chain(test.chains, options.threads, [&](std::size_t chain, std::stop_token const& failed) {
        Simulator simulator(problem, options, chain);
        for (std::size_t i = chain * each; i < (chain + 1) * each && !failed.stop_requested(); ++i) {
            simulator.simulate(prior_number + i);
            auto const& values = simulator.values();
            for (std::size_t q = 0; q < quantities; ++q) priors[q][i] = values[q];
        }
    });
    std::vector<Yardstick> yardsticks;
    for (auto const& draws : priors) yardsticks.emplace_back(draws);

    std::vector<std::vector<double>> means(quantities, std::vector<double>(test.chains));  // [quantity][chain]
    std::vector<std::vector<double>> squares = means;
    each_chain(test.chains, options.threads, [&](std::size_t chain, std::stop_token const& failed) {
        Simulator simulator(problem, options, chain);
        simulator.simulate(start_number + chain);
        for (std::size_t i = 0; i < test.sweeps && !failed.stop_requested(); ++i) {
            simulator.step(i, output_number + chain * test.sweeps + i);
            auto const& values = simulator.values();
            for (std::size_t q = 0; q < quantities; ++q) {
                double const x = yardsticks[q].bounded(values[q]);
                means[q][chain] += x / static_cast<double>(test.sweeps);
                squares[q][chain] += x * x / static_cast<double>(test.sweeps);
            }
        }
    });

    Simulator const names(problem, options, 0);
    for (std::size_t q = 0; q < quantities; ++q) {
        std::vector<double>& draws = priors[q];
        for (double& x : draws) x = yardsticks[q].bounded(x);
        Difference const mean = compare(mean_of(means[q]), mean_of(draws));
        for (double& x : draws) x *= x;
        Difference const square = compare(mean_of(squares[q]), mean_of(draws));
        MomentTest moments = names.quantity(q);
        moments.z_mean = mean.z;
        moments.z_square = square.z;
        moments.p = together(std::min(mean.p, square.p), 2);
        test.quantities.push_back(std::move(moments));
    }
    return test;
}

std::vector<Check> to_checks(JointTest const& test) {
    std::vector<Check> checks;
    auto const groups = by_variable(test);
    double const least = level / static_cast<double>(groups.size());
    for (auto const& group : groups) {
        double const p = together(group.front()->p, group.size());
        checks.push_back({"geweke", name_of(test, *group.front()), "a chain that draws outputs anew keeps the moments of the priors",
                          test.chains * test.sweeps, p, least, p >= least, true});
    }
    return checks;
}

std::string moments_text(JointTest const& test) {
    auto const groups = by_variable(test);
    std::size_t width = 0;
    for (auto const& group : groups) width = std::max(width, group.front()->name.size());
    std::string text = fmt::format("moments along {} of {}, outputs drawn anew after each, less those of the priors\n",
                                   counted(test.chains, "chain"), counted(test.sweeps, "sweep"));
    for (auto const& group : groups) {
        MomentTest const& worst = *group.front();
        std::string const others = group.size() > 1 ? fmt::format("  the worst of {}", group.size()) : "";
        text += fmt::format("{:<{}}  mean {:5.1f} standard errors, square {:5.1f}{}\n", worst.name, width, worst.z_mean, worst.z_square,
                            others);
    }
    return text;
}

std::string moments_json(JointTest const& test) {
    using Json = nlohmann::ordered_json;
    auto const number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
    Json quantities = Json::array();
    for (MomentTest const& quantity : test.quantities)
        quantities.push_back(
            {{"name", quantity.name}, {"z_mean", number(quantity.z_mean)}, {"z_square", number(quantity.z_square)}, {"p", quantity.p}});
    return Json{{"chains", test.chains}, {"sweeps", test.sweeps}, {"quantities", std::move(quantities)}}.dump(
        -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace bam
