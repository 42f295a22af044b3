#include "evidence.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "convergence.hpp"

namespace bam {
namespace {

constexpr double rounding = 1e-9;  ///< of logarithms that are read to a hundredth
constexpr double most_errors = 4;  ///< that two estimates of the evidence may lie apart

/// A number of one rung, draw after draw.
std::vector<double> of_rung(RungDraws const& draws, std::size_t rung, double RungDraw::*number) {
    std::vector<double> values;
    for (std::size_t at = rung; at < draws.draws.size(); at += draws.powers.size()) values.push_back(draws.draws[at].*number);
    return values;
}

/// Of a sum whose draws add `influence` to it. Where all add the same, as where the likelihood is known, there is none.
double error_of(std::vector<double> const& influence) {
    auto const [least, most] = std::minmax_element(influence.begin(), influence.end());
    return *most - *least < rounding ? 0 : mcse_mean({influence, influence.size(), 1});
}

double mean_of(std::vector<double> const& values) {
    double sum = 0;
    for (double const x : values) sum += x;
    return sum / static_cast<double>(values.size());
}

/// log of the mean of exp(x). Adds `sign` times what each draw adds to it, about 0, to `influence`.
double log_mean_exp(std::vector<double> const& values, double sign, std::vector<double>& influence) {
    double const largest = *std::max_element(values.begin(), values.end());
    std::vector<double> weights;
    for (double const x : values) weights.push_back(std::exp(x - largest));
    double const mean = mean_of(weights);
    for (std::size_t d = 0; d < weights.size(); ++d) influence[d] += sign * (weights[d] / mean - 1);
    return largest + std::log(mean);
}

/// log Z(powers[upper]) - log Z(powers[upper + 1]) by the bridge in the middle: both rungs look half of the way.
double bridge(RungDraws const& draws, std::size_t upper, std::vector<double>& influence) {
    return log_mean_exp(of_rung(draws, upper + 1, &RungDraw::up), 1, influence) -
           log_mean_exp(of_rung(draws, upper, &RungDraw::down), -1, influence);
}

Estimate stepping_stones(RungDraws const& draws) {
    std::vector<double> influence(draws.draws.size() / draws.powers.size(), 0.0);
    double sum = 0;
    for (std::size_t r = 0; r + 1 < draws.powers.size(); ++r) sum += bridge(draws, r, influence);
    return {sum, error_of(influence)};
}

/// The integral over the power of the mean slope l' of the log likelihood at some of the rungs: over s = power^(1/4), of 4 s^3 E[l'], each
/// segment by the trapezoidal rule, corrected by the slopes at its ends, 12 s^2 E[l'] + 16 s^6 (Var[l'] + E[l'']).
double integral(RungDraws const& draws, std::vector<std::size_t> const& rungs, std::vector<double>& influence) {
    auto const place = [&](std::size_t k) { return std::pow(draws.powers[rungs[k]], 0.25); };
    double sum = 0;
    for (std::size_t k = 0; k < rungs.size(); ++k) {
        double const s = place(k);
        double const above = k > 0 ? place(k - 1) - s : 0;
        double const below = k + 1 < rungs.size() ? s - place(k + 1) : 0;
        std::vector<double> const values = of_rung(draws, rungs[k], &RungDraw::slope);
        std::vector<double> const curvatures = of_rung(draws, rungs[k], &RungDraw::curvature);
        double const mean = mean_of(values);
        double derivative = mean_of(curvatures);  // of the mean by the power
        for (double const x : values) derivative += (x - mean) * (x - mean) / static_cast<double>(values.size());
        double const correction = (above * above - below * below) / 12;
        double const of_mean = (above + below) / 2 * 4 * s * s * s + correction * 12 * s * s;
        double const of_derivative = correction * 16 * std::pow(s, 6);
        sum += of_mean * mean + of_derivative * derivative;
        for (std::size_t d = 0; d < values.size(); ++d) {
            double const off = values[d] - mean;
            influence[d] += of_mean * off + of_derivative * (off * off + curvatures[d] - derivative);
        }
    }
    return sum;
}

/// Down to the last rung above the prior, where the mean log likelihood need not be finite: the last step is a stepping stone.
Estimate thermodynamic(RungDraws const& draws) {
    std::size_t const last = draws.powers.size() - 2;
    std::size_t const length = draws.draws.size() / draws.powers.size();
    std::vector<double> influence(length, 0.0);
    std::vector<std::size_t> all, every_other;
    for (std::size_t r = 0; r <= last; ++r) all.push_back(r);
    for (std::size_t r = 0; r <= last; r += 2) every_other.push_back(r);
    if (last % 2 == 1) every_other.push_back(last);
    double const fine = integral(draws, all, influence);
    // The rule is of fourth order: twice the steps, sixteen times the error.
    std::vector<double> ignored(length, 0.0);
    double const by_rungs = last > 0 ? std::abs(fine - integral(draws, every_other, ignored)) / 15 : 0;
    double const value = fine + bridge(draws, last, influence);
    return {value, std::hypot(error_of(influence), by_rungs)};
}

Estimate pooled(std::vector<Estimate> const& of_chains) {
    auto const n = static_cast<double>(of_chains.size());
    double mean = 0, stated = 0, between = 0;
    for (Estimate const& one : of_chains) {
        mean += one.value / n;
        stated += one.error * one.error / (n * n);
    }
    for (Estimate const& one : of_chains) between += (one.value - mean) * (one.value - mean) / (n * std::max(n - 1, 1.0));
    return {mean, std::sqrt(std::max(stated, between))};
}

}  // namespace

LogEvidence log_evidence(RungDraws const& draws) { return {stepping_stones(draws), thermodynamic(draws)}; }

bool do_agree(LogEvidence const& evidence) {
    auto const& [stones, thermo] = evidence;
    double const of_digits = rounding * std::max(1.0, std::abs(stones.value));
    return std::abs(stones.value - thermo.value) <= most_errors * std::hypot(stones.error, thermo.error) + of_digits;
}

LogEvidence log_evidence(std::vector<RungDraws> const& chains) {
    std::vector<Estimate> stones, integrals;
    for (RungDraws const& chain : chains) {
        auto const [stone, thermo] = log_evidence(chain);
        stones.push_back(stone);
        integrals.push_back(thermo);
    }
    return {pooled(stones), pooled(integrals)};
}

}  // namespace bam
