#include "predict.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "convergence.hpp"
#include "output_unit.hpp"
#include "polya_gamma.hpp"
#include "random.hpp"
#include "scale_family.hpp"
#include "scales.hpp"
#include "spread.hpp"
#include "words.hpp"

namespace bam {
namespace {

/// Blocks of random numbers for predictions lie above those of the parameters.
constexpr std::uint64_t predictive_block = std::uint64_t{1} << 32;

std::size_t domain_start(Extent extent, Chunk const& chunk) {
    return extent == Extent::Cell ? chunk.first_cell : (extent == Extent::Time ? chunk.first_step : 0);
}

}  // namespace

Predictor::Predictor(Problem const& problem, std::size_t chains, std::optional<std::size_t> draws, std::uint64_t seed, std::size_t most)
    : problem_(problem), seed_(seed), targets_(output_cells(problem)), most_(most), grows_(!draws), kept_(chains) {
    for (Kept& kept : kept_) kept.tails.assign(problem.plan.layout.factors.size(), std::numeric_limits<double>::infinity());
    std::size_t const of_draw = std::max<std::size_t>(1, targets_.size() * chains);
    if (!draws) {
        limit_ = std::max<std::size_t>(1, most / of_draw);
        return;
    }
    std::size_t const stride = std::max<std::size_t>(1, (of_draw * *draws + most - 1) / most);
    limit_ = (*draws + stride - 1) / stride;
    for (Kept& kept : kept_) {
        kept.stride = stride;
        kept.values.reserve(targets_.size() * limit_);
    }
}

double* Predictor::room_for(std::size_t chain, std::size_t draw) {
    Kept& kept = kept_[chain];
    std::size_t const width = targets_.size();
    if (limit_ == 0 || draw % kept.stride != 0) return nullptr;
    if (kept.draws == limit_) {
        if (!grows_) return nullptr;
        for (std::size_t d = 1; 2 * d < kept.draws; ++d)
            std::copy_n(kept.values.begin() + static_cast<std::ptrdiff_t>(2 * d * width), width,
                        kept.values.begin() + static_cast<std::ptrdiff_t>(d * width));
        kept.draws = (kept.draws + 1) / 2;
        kept.stride *= 2;
        if (draw % kept.stride != 0) return nullptr;
    }
    std::size_t const needed = ++kept.draws * width;
    if (needed > kept.values.capacity()) kept.values.reserve(std::min(2 * needed, limit_ * width));
    kept.values.resize(std::max(kept.values.size(), needed));
    return kept.values.data() + needed - width;
}

double Predictor::observed(Target const& target) const {
    std::uint32_t const variable = problem_.plan.layout.factors[target.factor].target;
    return is_observed(problem_, target) ? problem_.bound.data[variable][entry_of(problem_, target)]
                                         : std::numeric_limits<double>::quiet_NaN();
}

bool Predictor::is_binary(Target const& target) const { return problem_.plan.layout.factors[target.factor].is_binary; }

double Predictor::to_table(Target const& target, double value) const {
    return in_table_unit(problem_, problem_.plan.layout.factors[target.factor].target, target.component, value);
}

Prediction Predictor::prediction_of(Target const& target) const {
    Layout const& layout = problem_.plan.layout;
    Bound const& bound = problem_.bound;
    Prediction prediction;
    prediction.row = bound.rows[bound.grid.cell(target.sequence, target.step)];
    prediction.sequence = bound.sequence_labels[target.sequence];
    prediction.time = bound.time_labels[bound.grid.cell(target.sequence, target.step)];
    prediction.output = output_name(layout, layout.factors[target.factor].target, target.component);
    double const value = observed(target);
    prediction.observed = std::isnan(value) ? value : to_table(target, value);
    return prediction;
}

namespace {

void sort_by_row(std::vector<Prediction>& predictions) {
    std::stable_sort(predictions.begin(), predictions.end(), [](Prediction const& a, Prediction const& b) { return a.row < b.row; });
}

}  // namespace

double Predictor::tail_of(Target const& target) const {
    double tail = std::numeric_limits<double>::infinity();
    for (Kept const& kept : kept_)
        if (kept.draws > 0 && !target.is_drawn) tail = std::min(tail, kept.tails[target.factor]);
    return tail;
}

void Predictor::set_moments(Prediction& prediction, Target const& target, PredictiveMoments const& exact) const {
    std::size_t const at = entry_of(problem_, target);
    if (is_binary(target)) return;
    if (target.is_drawn) return;  // a missing cell that is drawn with the parameters
    double const mean = exact.mean[target.factor][at];
    double const variance = exact.variance[target.factor][at] + exact.noise[target.factor](target.component, target.sequence, target.step);
    if (!std::isfinite(variance)) return;
    double const sd = std::sqrt(variance);
    double const middle = to_table(target, mean);
    double const up = to_table(target, mean + sd) - middle;
    double const down = middle - to_table(target, mean - sd);
    if (!(std::abs(up - down) <= 1e-9 * (std::abs(up) + std::abs(down)))) return;
    prediction.mean = middle;
    prediction.sd = std::abs(up + down) / 2;
}

/// Of a new output that is 1 with probability `mean`: the quantile at p is the smallest value that at least p lies at or below.
void Predictor::fill_binary(Prediction& prediction) {
    double const p = prediction.mean;
    prediction.sd = std::sqrt(p * (1 - p));
    prediction.q5 = 0.05 <= 1 - p ? 0 : 1;
    prediction.q50 = 0.5 <= 1 - p ? 0 : 1;
    prediction.q95 = 0.95 <= 1 - p ? 0 : 1;
}

std::vector<Prediction> Predictor::summarize(std::vector<std::string>& notes, PredictiveMoments const* exact) const {
    std::size_t stride = 1;  // one for all: chains of different lengths may have kept more or fewer
    for (Kept const& kept : kept_) stride = std::max(stride, kept.draws > 0 ? kept.stride : 1);
    std::size_t total = 0;
    for (Kept const& kept : kept_) total += (kept.draws * kept.stride + stride - 1) / stride;
    std::vector<Prediction> predictions;
    std::map<std::string, std::size_t> without_mean;  // by output
    std::map<std::string, double> heavy_tails;
    std::vector<double> draws(total);
    for (std::size_t k = 0; k < targets_.size() && total > 0; ++k) {
        std::size_t n = 0;
        for (Kept const& kept : kept_)
            for (std::size_t d = 0; d < kept.draws; d += stride / kept.stride)
                draws[n++] = to_table(targets_[k], kept.values[d * targets_.size() + k]);
        Prediction prediction = prediction_of(targets_[k]);
        double sum = 0;
        for (double draw : draws) sum += draw;
        prediction.mean = sum / static_cast<double>(total);
        if (is_binary(targets_[k])) {
            fill_binary(prediction);
            predictions.push_back(std::move(prediction));
            continue;
        }
        double squares = 0;
        for (double draw : draws) squares += (draw - prediction.mean) * (draw - prediction.mean);
        prediction.sd = total > 1 ? std::sqrt(squares / static_cast<double>(total - 1)) : 0;
        if (!std::isfinite(prediction.mean) || !std::isfinite(prediction.sd)) {
            prediction.mean = prediction.sd = std::numeric_limits<double>::quiet_NaN();
            ++without_mean[prediction.output];
        }
        std::sort(draws.begin(), draws.end());
        prediction.q5 = sorted_quantile(draws, 0.05);
        prediction.q50 = sorted_quantile(draws, 0.5);
        prediction.q95 = sorted_quantile(draws, 0.95);
        if (exact != nullptr) set_moments(prediction, targets_[k], *exact);
        if (double const tail = tail_of(targets_[k]); tail <= 2) {
            prediction.sd = std::numeric_limits<double>::quiet_NaN();
            if (tail <= 1) prediction.mean = prediction.sd;
            auto& least = heavy_tails.try_emplace(prediction.output, tail).first->second;
            least = std::min(least, tail);
        }
        predictions.push_back(std::move(prediction));
    }
    for (auto const& [output, count] : without_mean)
        notes.push_back(
            fmt::format("{} of `{}` {} no finite mean in the unit of the table, and the cells of mean and sd are empty: the way "
                        "back from the model's unit takes some draws to infinity. The quantiles hold",
                        counted(count, "prediction"), output, count == 1 ? "has" : "have"));
    for (auto const& [output, tail] : heavy_tails)
        notes.push_back(fmt::format(
            "predictions of `{}` have no {}, and those cells are empty: the tails of the noise are as those of a student_t of {:.3g} "
            "degrees of freedom{}. The quantiles hold",
            output, tail <= 1 ? "mean and no sd" : "sd", tail,
            tail <= 1 ? ", which has no mean up to 1 and no sd up to 2" : ", which has no sd up to 2"));
    sort_by_row(predictions);
    if (stride > 1)
        notes.push_back(fmt::format("predictions use one draw in {}, to stay within {} MiB", stride, most_ * sizeof(double) >> 20));
    return predictions;
}

namespace {

/// Mean, sd and quantiles of f(x), x ~ normal(mean, sd), f monotone.
template <class F>
void fill_normal(Prediction& prediction, double mean, double sd, F f) {
    constexpr double z95 = 1.6448536269514722;
    prediction.q50 = f(mean);
    prediction.q5 = f(mean - z95 * sd);
    prediction.q95 = f(mean + z95 * sd);
    if (prediction.q5 > prediction.q95) std::swap(prediction.q5, prediction.q95);
    double const up = f(mean + sd) - prediction.q50;
    double const down = prediction.q50 - f(mean - sd);
    if (std::abs(up - down) <= 1e-9 * (std::abs(up) + std::abs(down))) {  // f is a straight line
        prediction.mean = prediction.q50;
        prediction.sd = std::abs(up + down) / 2;
        return;
    }
    // The trapezoidal rule, which for smooth f has all digits.
    constexpr int half = 128;
    constexpr double width = 1.0 / 16;
    double sum = 0, first = 0, second = 0;
    for (int i = -half; i <= half; ++i) {
        double const z = i * width;
        double const weight = std::exp(-0.5 * z * z);
        double const value = f(mean + z * sd) - prediction.q50;
        sum += weight;
        first += weight * value;
        second += weight * value * value;
    }
    prediction.mean = prediction.q50 + first / sum;
    prediction.sd = std::sqrt(std::max(0.0, second / sum - first / sum * (first / sum)));
}

}  // namespace

std::vector<Prediction> Predictor::at_point(Inputs const& inputs, Factors const& factors) const {
    CellMeans means(problem_, inputs);
    means.evaluate();
    std::vector<Prediction> predictions;
    for (Target const& target : targets_) {
        double const sd = 1 / std::sqrt(factors.precision(target.factor, target.component, target.sequence, target.step));
        predictions.push_back(prediction_of(target));
        fill_normal(predictions.back(), means.of(target), sd, [&](double value) { return to_table(target, value); });
    }
    sort_by_row(predictions);
    return predictions;
}

CellMeans::CellMeans(Problem const& problem, Inputs const& inputs) : problem_(problem), state_(inputs.state) {
    for (TermPlan const& mean : problem.plan.means)
        runners_.push_back(mean.registers.empty() ? nullptr : std::make_unique<PassRunner>(mean.pass, inputs));
    Layout const& layout = problem.plan.layout;
    means_.resize(runners_.size());
    for (std::size_t f = 0; f < runners_.size(); ++f) {
        Variable const& target = layout.variables[layout.factors[f].target];
        if (runners_[f]) means_[f].resize(target.components * problem.bound.grid.size(target.extent));
    }
}

void CellMeans::evaluate() {
    Layout const& layout = problem_.plan.layout;
    for (std::size_t f = 0; f < runners_.size(); ++f) {
        if (!runners_[f]) continue;
        Variable const& target = layout.variables[layout.factors[f].target];
        std::size_t const size = problem_.bound.grid.size(target.extent);
        runners_[f]->begin();
        for (Chunk const& chunk : runners_[f]->chunks()) {
            runners_[f]->run(chunk);
            for (std::size_t c = 0; c < target.components; ++c) {
                std::uint32_t const reg = problem_.plan.means[f].registers[c];
                if (reg == no_register) continue;
                std::copy_n(runners_[f]->at(reg), runners_[f]->size(chunk),
                            means_[f].data() + c * size + domain_start(target.extent, chunk));
            }
        }
    }
}

double CellMeans::of(Predictor::Target const& target) const {
    std::uint32_t const v = problem_.plan.layout.factors[target.factor].target;
    std::size_t const entry = entry_of(problem_, target);
    return target.is_drawn ? state_.values[v][entry] : means_[target.factor][entry];
}

double tail_of_noise(Problem const& problem, std::size_t factor, State const& state) {
    Layout const& layout = problem.plan.layout;
    double tail = std::numeric_limits<double>::infinity();
    if (!layout.factors[factor].is_observation) return tail;
    for (SpreadLayout const& spread : layout.factors[factor].spread) {
        if (!spread.variable || !layout.variables[*spread.variable].is_local) continue;
        auto const scale =
            std::find_if(layout.scales.begin(), layout.scales.end(), [&](ScaleLayout const& s) { return s.variable == *spread.variable; });
        for (std::size_t const component : spread.component)
            tail = std::min(tail, tail_power(prior_of(*scale, component, state), spread.kind, 0));
    }
    return tail;
}

double new_precision(Problem const& problem, OutputCell const& cell, Factors const& factors, State const& state, Stream& stream) {
    Layout const& layout = problem.plan.layout;
    double precision = factors.precision(cell.factor, cell.component, cell.sequence, cell.step);
    for (std::uint32_t const part : factors.learnt_parts(cell.factor)) {
        SpreadLayout const& spread = layout.factors[cell.factor].spread[part];
        if (!layout.variables[*spread.variable].is_local) continue;
        auto const scale =
            std::find_if(layout.scales.begin(), layout.scales.end(), [&](ScaleLayout const& s) { return s.variable == *spread.variable; });
        double const drawn = draw_prior(prior_of(*scale, spread.component[cell.component], state), stream);
        precision =
            factors.precision_without(part, cell.factor, cell.component, cell.sequence, cell.step) * to_precision(spread.kind, drawn);
    }
    return precision;
}

PredictionRecorder::PredictionRecorder(Predictor& predictor, Problem const& problem, Inputs const& inputs, std::size_t chain)
    : predictor_(predictor), problem_(problem), chain_(chain), means_(problem, inputs) {}

void PredictionRecorder::record(std::size_t draw, Factors const& factors) {
    double* const out = predictor_.room_for(chain_, draw);
    if (out == nullptr) return;
    means_.evaluate();
    Stream stream(predictor_.seed_, chain_ + 1, draw, predictive_block);
    for (std::size_t k = 0; k < predictor_.targets_.size(); ++k) {
        Predictor::Target const& target = predictor_.targets_[k];
        out[k] = means_.of(target);
        if (predictor_.is_binary(target))
            out[k] = logistic(out[k]);
        else if (!target.is_drawn)
            out[k] += stream.normal() / std::sqrt(new_precision(problem_, target, factors, means_.state(), stream));
    }
    std::vector<double>& tails = predictor_.kept_[chain_].tails;
    for (std::size_t f = 0; f < tails.size(); ++f) tails[f] = std::min(tails[f], tail_of_noise(problem_, f, means_.state()));
}

}  // namespace bam
