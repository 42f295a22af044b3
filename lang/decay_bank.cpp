#include "decay_bank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace bam {
namespace {

using Vector = std::vector<double>;

constexpr std::size_t dense_lags = 24;    ///< of the lags that are fitted these are all taken, the later ones more and more sparsely
constexpr double spacing = 1.08;          ///< of the later ones
constexpr std::size_t most_steps = 200;   ///< of one least-squares fit
constexpr std::size_t reweightings = 60;  ///< each followed by a few steps
constexpr std::size_t steps_between = 3;
constexpr double settled = 1e-4;  ///< least squares end when a step gains less; reweighting goes on from there
constexpr std::size_t most_exchanges = 20;
constexpr std::size_t patience = 12;  ///< reweightings without a gain, then it ends
constexpr double least_log =
    -92;  ///< log of 1e-40. Nobody can tell a kernel below it from 0, and a relative fit of it takes ever more terms
constexpr double slowest_rate = 1e-6;  ///< over all lags
constexpr double fastest_rate = 35;    ///< a decay of 1e-15
constexpr double largest_log = 50;     ///< of a term relative to the kernel, so that no trial step overflows
constexpr double ridge = 1e-9;         ///< of the weights of a shared bank: its terms are much alike
constexpr double promising = 10;       ///< reweighting makes errors smaller by less than this

/// Solves (a + damping diag(a)) x = b by Cholesky, in place; false if it is not positive definite. a: [n, n], row by row.
bool solve(Vector a, double damping, Vector& b) {
    std::size_t const n = b.size();
    for (std::size_t i = 0; i < n; ++i) {
        a[i * n + i] += damping * a[i * n + i] + std::numeric_limits<double>::min();
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = a[i * n + j];
            for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0)) return false;
            a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
        b[i] /= a[i * n + i];
    }
    return true;
}

/// Solves a x = b by Gauss, rows exchanged; false if a is singular. a: [n, n], row by row.
bool solve_any(Vector a, Vector& b) {
    std::size_t const n = b.size();
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t pivot = k;
        for (std::size_t i = k + 1; i < n; ++i)
            if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
        if (!(std::abs(a[pivot * n + k]) > 0)) return false;
        for (std::size_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[pivot * n + j]);
        std::swap(b[k], b[pivot]);
        for (std::size_t i = k + 1; i < n; ++i) {
            double const times = a[i * n + k] / a[k * n + k];
            for (std::size_t j = k; j < n; ++j) a[i * n + j] -= times * a[k * n + j];
            b[i] -= times * b[k];
        }
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    return true;
}

/// A fit in progress. Parameters: n log rates (a rate is -log of a decay), then n log weights.
class Fit {
  public:
    Fit(PositionKernel const& kernel, std::size_t terms, std::size_t lags) : kernel_(kernel), terms_(terms) {
        std::size_t last = 1;
        while (last < lags && kernel.log_at(static_cast<double>(last + 1)) >= least_log) ++last;
        for (std::size_t lag = 0; lag <= last; ++lag) log_kernel_everywhere_.push_back(kernel.log_at(static_cast<double>(lag)));
        for (std::size_t lag = 0; lag < last; lag = std::max(lag + 1, lag < dense_lags ? 0 : next(lag))) add_lag(lag);
        add_lag(last);
        importance_.assign(at_.size(), 1);
        start();
    }

    void least_squares(std::size_t steps) {
        double damping = 1e-3;
        double now = loss(parameters_);
        for (std::size_t step = 0; step < steps && damping < 1e12; ++step) {
            Vector matrix;
            Vector move;
            normal_equations(matrix, move);
            Vector trial = parameters_;
            bool const is_solved = solve(matrix, damping, move);
            for (std::size_t i = 0; is_solved && i < move.size(); ++i) trial[i] -= std::clamp(move[i], -1.0, 1.0);
            keep_rates(trial);
            double const next = is_solved ? loss(trial) : std::numeric_limits<double>::infinity();
            if (next < now) {
                bool const is_settled = now - next <= settled * now;
                parameters_ = std::move(trial);
                now = next;
                damping /= 5;
                if (is_settled) return;
            } else {
                damping *= 4;
            }
        }
    }

    /// Lawson: what is far off counts more, until the largest errors are alike. Keeps the best.
    void reweight() {
        Vector best = parameters_;
        double least = error(parameters_);
        std::size_t since = 0;
        for (std::size_t round = 0; round < reweightings && since < patience; ++round) {
            Vector const errors = relative_errors(parameters_);
            double sum = 0;
            for (std::size_t i = 0; i < at_.size(); ++i) sum += importance_[i] *= std::abs(errors[i]);
            if (!(sum > 0)) break;
            for (double& importance : importance_) importance = std::max(importance * static_cast<double>(at_.size()) / sum, 1e-9);
            least_squares(steps_between);
            double const now = error(parameters_);
            ++since;
            if (now < least) {
                since = 0;
                least = now;
                best = parameters_;
            }
        }
        parameters_ = std::move(best);
    }

    /// Remez: the best of 2n parameters errs by the same amount, in turn above and below, at 2n + 1 lags. Newton steps towards that, as
    /// long as they make the largest error smaller.
    void level() {
        std::size_t const n = parameters_.size();
        double now = error(parameters_);
        for (std::size_t round = 0; round < most_exchanges; ++round) {
            std::vector<std::size_t> const lags = alternating_extrema();
            if (lags.size() != n + 1) return;
            Vector matrix((n + 1) * (n + 1));
            Vector move(n + 1);
            for (std::size_t i = 0; i <= n; ++i) {
                move[i] = 1;
                for (std::size_t j = 0; j < terms_; ++j) {
                    double const rate = std::exp(parameters_[j]);
                    auto const lag = static_cast<double>(lags[i]);
                    double const term = std::exp(parameters_[terms_ + j] - rate * lag - log_kernel_everywhere_[lags[i]]);
                    move[i] -= term;
                    matrix[i * (n + 1) + terms_ + j] = term;
                    matrix[i * (n + 1) + j] = -rate * lag * term;
                }
                matrix[i * (n + 1) + n] = i % 2 == 0 ? 1 : -1;
            }
            if (!solve_any(std::move(matrix), move)) return;
            Vector trial = parameters_;
            for (std::size_t i = 0; i < n; ++i) trial[i] += std::clamp(move[i], -1.0, 1.0);
            keep_rates(trial);
            double const next = error(trial);
            if (!(next < now)) return;
            parameters_ = std::move(trial);
            now = next;
        }
    }

    DecayBank bank() const {
        std::vector<std::size_t> order(terms_);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return parameters_[a] < parameters_[b]; });
        DecayBank bank;
        for (std::size_t const j : order) {
            bank.decays.push_back(std::exp(-std::exp(parameters_[j])));
            bank.weights.push_back(std::exp(parameters_[terms_ + j]));
        }
        bank.error = error(parameters_);
        return bank;
    }

  private:
    static std::size_t next(std::size_t lag) { return static_cast<std::size_t>(std::ceil(static_cast<double>(lag) * spacing)); }

    void add_lag(std::size_t lag) {
        at_.push_back(static_cast<double>(lag));
        log_kernel_.push_back(log_kernel_everywhere_[lag]);
    }

    /// Rates evenly spaced in their logarithm from below the slowest to above the fastest fall of the kernel; weights by a few
    /// multiplicative steps.
    void start() {
        double const last = at_.back();
        double const fastest = -kernel_.log_at(1);
        double const slowest = last > 1 ? kernel_.log_at(last - 1) - kernel_.log_at(last) : fastest;
        double const low = std::log(0.8 * slowest);
        double const high = std::log(std::max(2 * fastest, slowest));
        parameters_.assign(2 * terms_, -std::log(static_cast<double>(terms_)));
        for (std::size_t j = 0; j < terms_; ++j) {
            double const share = terms_ == 1 ? 0.5 : static_cast<double>(j) / static_cast<double>(terms_ - 1);
            parameters_[j] = low + share * (high - low);
        }
        for (int round = 0; round < 50; ++round) {
            Vector const errors = relative_errors(parameters_);
            for (std::size_t j = 0; j < terms_; ++j) {
                double hit = 0;
                double all = 0;
                for (std::size_t i = 0; i < at_.size(); ++i) {
                    double const term = relative_term(parameters_, j, i);
                    hit += term / (1 + errors[i]);
                    all += term;
                }
                if (hit > 0 && all > 0) parameters_[terms_ + j] += std::log(hit / all);
            }
        }
    }

    /// Slower than this is all the same over the lags, faster is gone after one.
    void keep_rates(Vector& parameters) const {
        for (std::size_t j = 0; j < terms_; ++j)
            parameters[j] = std::clamp(parameters[j], std::log(slowest_rate / at_.back()), std::log(fastest_rate));
    }

    /// w_j b_j^d / g(d).
    double relative_term(Vector const& parameters, std::size_t j, std::size_t i) const {
        double const log_term = parameters[terms_ + j] - std::exp(parameters[j]) * at_[i] - log_kernel_[i];
        return std::exp(std::min(log_term, largest_log));
    }

    Vector relative_errors(Vector const& parameters) const {
        Vector errors(at_.size(), -1);
        for (std::size_t i = 0; i < at_.size(); ++i)
            for (std::size_t j = 0; j < terms_; ++j) errors[i] += relative_term(parameters, j, i);
        return errors;
    }

    double loss(Vector const& parameters) const {
        Vector const errors = relative_errors(parameters);
        double sum = 0;
        for (std::size_t i = 0; i < errors.size(); ++i) sum += importance_[i] * errors[i] * errors[i];
        return sum;
    }

    void normal_equations(Vector& matrix, Vector& gradient) const {
        std::size_t const n = parameters_.size();
        matrix.assign(n * n, 0);
        gradient.assign(n, 0);
        Vector slope(n);
        for (std::size_t i = 0; i < at_.size(); ++i) {
            double error = -1;
            for (std::size_t j = 0; j < terms_; ++j) {
                double const term = relative_term(parameters_, j, i);
                error += term;
                slope[terms_ + j] = term;
                slope[j] = -std::exp(parameters_[j]) * at_[i] * term;
            }
            for (std::size_t a = 0; a < n; ++a) {
                gradient[a] += importance_[i] * slope[a] * error;
                for (std::size_t b = 0; b <= a; ++b) matrix[a * n + b] += importance_[i] * slope[a] * slope[b];
            }
        }
    }

    /// At every lag, those that are not fitted too.
    Vector errors_everywhere(Vector const& parameters) const {
        Vector errors(log_kernel_everywhere_.size(), -1);
        for (std::size_t j = 0; j < terms_; ++j) {
            double const rate = std::exp(parameters[j]);
            for (std::size_t lag = 0; lag < errors.size(); ++lag)
                errors[lag] += std::exp(parameters[terms_ + j] - rate * static_cast<double>(lag) - log_kernel_everywhere_[lag]);
        }
        return errors;
    }

    double error(Vector const& parameters) const {
        double largest = 0;
        for (double const error : errors_everywhere(parameters)) {
            if (!std::isfinite(error)) return HUGE_VAL;  // a comparison would lose it
            largest = std::max(largest, std::abs(error));
        }
        return largest;
    }

    /// The lag of the largest error of each run of errors of one sign.
    std::vector<std::size_t> alternating_extrema() const {
        Vector const errors = errors_everywhere(parameters_);
        std::vector<std::size_t> lags;
        for (std::size_t lag = 0; lag < errors.size(); ++lag) {
            bool const is_new_run = lags.empty() || (errors[lags.back()] > 0) != (errors[lag] > 0);
            if (is_new_run)
                lags.push_back(lag);
            else if (std::abs(errors[lag]) > std::abs(errors[lags.back()]))
                lags.back() = lag;
        }
        return lags;
    }

    PositionKernel kernel_;
    std::size_t terms_;
    Vector log_kernel_everywhere_;  ///< at lags 0, 1, ...
    Vector at_;                     ///< the lags that are fitted
    Vector log_kernel_;             ///< at those
    Vector importance_;
    Vector parameters_;
};

/// Decays that came out as one, as one.
DecayBank without_repeats(DecayBank bank) {
    DecayBank result;
    result.error = bank.error;
    for (std::size_t j = 0; j < bank.decays.size(); ++j) {
        if (!result.decays.empty() && bank.decays[j] == result.decays.back()) {
            result.weights.back() += bank.weights[j];
            continue;
        }
        result.decays.push_back(bank.decays[j]);
        result.weights.push_back(bank.weights[j]);
    }
    return result;
}

/// Lags at which a fit is made: all of the first, later ones ever more sparsely.
std::vector<std::size_t> sparse_lags(std::size_t last) {
    std::vector<std::size_t> lags;
    for (std::size_t lag = 0; lag < last;) {
        lags.push_back(lag);
        lag = std::max(lag + 1, lag < dense_lags ? 0 : static_cast<std::size_t>(std::ceil(static_cast<double>(lag) * spacing)));
    }
    lags.push_back(last);
    return lags;
}

/// Weights of fixed decays for one kernel.
Vector shared_weights(PositionKernel const& kernel, Vector const& decays, std::vector<std::size_t> const& lags) {
    std::size_t const n = decays.size();
    Vector matrix(n * n);
    Vector weights(n);
    Vector terms(n);
    for (std::size_t const lag : lags) {
        double const wanted = std::exp(kernel.log_at(static_cast<double>(lag)));
        for (std::size_t j = 0; j < n; ++j) terms[j] = std::pow(decays[j], static_cast<double>(lag));
        for (std::size_t i = 0; i < n; ++i) {
            weights[i] += terms[i] * wanted;
            for (std::size_t j = 0; j <= i; ++j) matrix[i * n + j] += terms[i] * terms[j];
        }
    }
    return solve(std::move(matrix), ridge, weights) ? weights : Vector(n);
}

}  // namespace

DecayBank fit_shared_bank(std::vector<PositionKernel> const& kernels, std::size_t terms, std::size_t lags) {
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    auto const last = static_cast<double>(lags);
    for (PositionKernel const& kernel : kernels) {
        high = std::max(high, -kernel.log_at(1));
        low = std::min(low, lags > 1 ? kernel.log_at(last - 1) - kernel.log_at(last) : -kernel.log_at(1));
    }
    low = std::max(low, slowest_rate / last);
    high = std::min(2 * high, fastest_rate);
    DecayBank bank;
    for (std::size_t j = 0; j < terms; ++j) {
        double const share = terms == 1 ? 0.5 : static_cast<double>(j) / static_cast<double>(terms - 1);
        bank.decays.push_back(std::exp(-std::exp(std::log(low) + share * (std::log(high) - std::log(low)))));
    }
    for (PositionKernel const& kernel : kernels) {
        Vector const weights = shared_weights(kernel, bank.decays, sparse_lags(lags));
        for (std::size_t lag = 0; lag <= lags; ++lag) {
            double sum = -std::exp(kernel.log_at(static_cast<double>(lag)));
            for (std::size_t j = 0; j < terms; ++j) sum += weights[j] * std::pow(bank.decays[j], static_cast<double>(lag));
            bank.error = std::max(bank.error, std::abs(sum));
        }
        bank.weights.insert(bank.weights.end(), weights.begin(), weights.end());
    }
    return bank;
}

std::optional<DecayBank> find_shared_bank(std::vector<PositionKernel> const& kernels, double tolerance, std::size_t lags) {
    for (std::size_t terms = 1; terms <= most_decays; ++terms)
        if (DecayBank bank = fit_shared_bank(kernels, terms, lags); bank.error <= tolerance) return bank;
    return std::nullopt;
}

double PositionKernel::log_at(double lag) const {
    return form == Form::Ggd ? -std::pow(lag / first, second) : -first * std::log1p(second * lag);
}

DecayBank fit_decay_bank(PositionKernel const& kernel, std::size_t terms, std::size_t lags) {
    if (kernel.form == PositionKernel::Form::Ggd && kernel.second == 1 && terms == 1) return {{std::exp(-1 / kernel.first)}, {1}, 0};
    Fit fit(kernel, terms, lags);
    fit.least_squares(most_steps);
    fit.reweight();
    fit.level();
    return fit.bank();
}

std::optional<DecayBank> find_decay_bank(PositionKernel const& kernel, double tolerance, std::size_t lags) {
    for (std::size_t terms = 1; terms <= most_decays; ++terms) {
        if (kernel.form == PositionKernel::Form::Ggd && kernel.second == 1) return fit_decay_bank(kernel, 1, lags);
        Fit fit(kernel, terms, lags);
        fit.least_squares(most_steps);
        if (!(fit.bank().error <= promising * tolerance)) continue;
        fit.reweight();
        fit.level();
        if (DecayBank bank = fit.bank(); bank.error <= tolerance) return without_repeats(std::move(bank));
    }
    return std::nullopt;
}

}  // namespace bam
