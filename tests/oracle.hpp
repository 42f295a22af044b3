// The log joint density by its definition: every mean unrolled over all earlier steps, O(T^2) and slow on purpose. It reads the checked
// model only, never a Conditional or a Plan, so that a derivation cannot mark its own work.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pass_builder.hpp"
#include "study.hpp"

namespace bam::test {

class Oracle {
  public:
    explicit Oracle(Study const& study)
        : model_(study.model), problem_(study.problem), numbering_{study.model, study.laid_out.variables, {}} {}

    /// Value of a term at one cell. `entry`: its labelled axes.
    double value(Term term, Entry const& entry, std::size_t sequence, std::size_t step, State const& state) const {
        Node const& node = model_.terms[term];
        switch (node.op) {
            case Op::Constant: return model_.terms.constant_value(term);
            case Op::Literal: return literal(model_.literals[node.payload], node, entry);
            case Op::Data:
            case Op::LagData:
            case Op::Param: return leaf(node, entry, sequence, step, state);
            case Op::Shift: return step == 0 ? 0 : value(node.args[0], entry, sequence, step - 1, state);
            case Op::Previous:
            case Op::Covariance:
            case Op::Weight: return 0;
            case Op::Member: {
                // Labels of a table are numbered from 1; before the first step there is none.
                Node data = node;
                data.op = Op::Data;
                std::erase(data.axes, Terms::labels_of(node));
                return leaf(data, entry, sequence, step, state) == static_cast<double>(entry.at(Terms::labels_of(node)) + 1) ? 1 : 0;
            }
            case Op::Delta: return entry.at(node.axes[0]) == entry.at(node.axes[1]) ? 1 : 0;
            case Op::Add: {
                double sum = 0;
                for (Term arg : node.args) sum += value(arg, entry, sequence, step, state);
                return sum;
            }
            case Op::Multiply: {
                double product = 1;
                for (Term arg : node.args) product *= value(arg, entry, sequence, step, state);
                return product;
            }
            case Op::Contract: {
                std::vector<Entry> inner{entry};
                for (Axis axis : node.summed) {
                    std::vector<Entry> longer;
                    for (Entry const& e : inner) {
                        for (std::size_t i = 0; i < numbering_.size(axis.dim); ++i) {
                            longer.push_back(e);
                            longer.back()[axis] = i;
                        }
                    }
                    inner = std::move(longer);
                }
                double sum = 0;
                for (Entry const& e : inner) {
                    double product = 1;
                    for (Term arg : node.args) product *= value(arg, e, sequence, step, state);
                    sum += product;
                }
                return sum;
            }
            case Op::Scan: {
                double sum = 0;
                double path = 1;
                for (std::size_t s = step + 1; s-- > 0;) {
                    sum += path * value(node.args[1], entry, sequence, s, state);
                    if (s > 0) path *= value(node.args[0], entry, sequence, s, state);
                }
                return sum;
            }
            case Op::Apply: {
                double const x = value(node.args[0], entry, sequence, step, state);
                switch (static_cast<Function>(node.payload)) {
                    case Function::Exp: return std::exp(x);
                    case Function::Log: return std::log(x);
                    case Function::Sqrt: return std::sqrt(x);
                    case Function::Abs: return std::abs(x);
                    case Function::Reciprocal: return 1 / x;
                }
            }
        }
        return 0;
    }

    /// log p(y, parameters) up to nothing: every normal and every scale prior with its constant. At a power of the likelihood, all but
    /// log_powered() as it is.
    double log_joint(State const& state, double power = 1) const {
        double sum = 0;
        for (std::size_t f = 0; f < model_.factors.size(); ++f) sum += log_density(f, state);
        for (ScalePrior const& prior : model_.scale_priors) sum += log_prior(prior, state);
        return power == 1 ? sum : sum - (1 - power) * log_powered(state);
    }

    /// What a power of the likelihood is on: the outputs that were observed, those of 0 or 1 given their local scales.
    double log_powered(State const& state) const {
        double sum = 0;
        for (std::size_t f = 0; f < model_.factors.size(); ++f)
            if (problem_.plan.layout.factors[f].is_observation) sum += log_density(f, state, Cells::Observed);
        return sum;
    }

    /// The log likelihood of the outputs that were observed: those of 0 or 1 without local scales.
    double log_observed(State const& state) const {
        double sum = log_powered(state);
        for (std::size_t f = 0; f < model_.factors.size(); ++f) {
            Factor const& factor = model_.factors[f];
            if (!factor.is_binary) continue;
            sum -= log_density_of_binary(f, state);
            std::uint32_t const v = numbering_.variables.at(factor.target);
            for_each_counted(f, [&](Entry const& entry, std::size_t at, std::size_t sequence, std::size_t step) {
                double const odds = std::exp(value(factor.mean, entry, sequence, step, state));
                sum += std::log((problem_.bound.data[v][at] == 1 ? odds : 1) / (1 + odds));
            });
        }
        return sum;
    }

    /// Means of a factor's target at all its cells, [component][extent].
    std::vector<double> means(std::size_t f, State const& state) const {
        std::vector<double> result;
        for_each_cell(f, [&](Entry const& entry, std::size_t, std::size_t, std::size_t sequence, std::size_t step) {
            result.push_back(value(model_.factors[f].mean, entry, sequence, step, state));
        });
        return result;
    }

    /// Sum over the cells that count of squared residuals times their precision.
    double quadratic(std::size_t f, State const& state) const {
        Factor const& factor = model_.factors[f];
        if (factor.has_covariance()) {
            return quadratic_of_covariance(f, state).first;
        }
        double sum = 0;
        for_each_counted(f, [&](Entry const& entry, std::size_t, std::size_t sequence, std::size_t step) {
            double const r = value(factor.residual, entry, sequence, step, state);
            sum += r * r / variance(factor, entry, sequence, step, state);
        });
        return sum;
    }

    /// Of a cell of a factor without a covariance.
    double variance(Factor const& factor, Entry const& entry, std::size_t sequence, std::size_t step, State const& state) const {
        double product = 1;
        for (SpreadPart const& part : factor.spread) {
            double const spread = value(part.value, entry, sequence, step, state);
            product *= part.kind == SpreadKind::Sd ? spread * spread : (part.kind == SpreadKind::Variance ? spread : 1 / spread);
        }
        return product;
    }

    /// Which cells of a factor that count; missing ones that are drawn count, too.
    enum class Cells { All, Observed };

    double log_density(std::size_t f, State const& state, Cells cells = Cells::All) const {
        Factor const& factor = model_.factors[f];
        double const truncation = factor.interval.is_bounded() ? log_truncation(f, state) : 0;
        if (factor.is_categorical()) return log_choices(f, state);
        if (factor.is_flat()) return truncation;
        if (factor.is_binary) return log_density_of_binary(f, state);
        if (factor.has_covariance()) return log_density_of_covariance(f, state);
        double sum = 0;
        for_each_counted(f, [&](Entry const& entry, std::size_t at, std::size_t sequence, std::size_t step) {
            if (cells == Cells::Observed && is_drawn(factor, at)) return;
            double const r = value(factor.residual, entry, sequence, step, state);
            double const var = variance(factor, entry, sequence, step, state);
            sum += -0.5 * std::log(2 * std::numbers::pi * var) - 0.5 * r * r / var;
        });
        return sum + truncation;
    }

    /// Share of an entry of a categorical parameter: of the last labelled dim.
    double share(Factor const& factor, Entry const& entry) const {
        DimId const dim = numbering_.labelled(factor.target).back();
        Node const& node = model_.terms[*factor.weights];
        std::vector<double> weights(numbering_.size(dim), 1.0);
        if (node.op == Op::Literal) weights = model_.literals[node.payload].values;
        double sum = 0;
        for (double const weight : weights) sum += weight;
        return weights[entry.at({dim, 0})] / sum;
    }

    double log_choices(std::size_t f, State const& state) const {
        Factor const& factor = model_.factors[f];
        std::uint32_t const v = numbering_.variables.at(factor.target);
        double sum = 0;
        for_each_counted(f, [&](Entry const& entry, std::size_t at, std::size_t, std::size_t) {
            if (state.values[v][at] == 1) sum += std::log(share(factor, entry));
        });
        return sum;
    }

    /// log p(y | mean) p(w | mean) of outputs of 0 or 1 and their local scales w, without the prior of these, PG(1, 0).
    double log_density_of_binary(std::size_t f, State const& state) const {
        Factor const& factor = model_.factors[f];
        std::uint32_t const v = numbering_.variables.at(factor.target);
        double sum = 0;
        for_each_counted(f, [&](Entry const& entry, std::size_t at, std::size_t sequence, std::size_t step) {
            double const mean = value(factor.mean, entry, sequence, step, state);
            double const p = 1 / (1 + std::exp(-mean));
            sum += std::log(problem_.bound.data[v][at] == 1 ? p : 1 - p);
            double const local = value(factor.spread.front().value, entry, sequence, step, state);
            sum += log_polya_gamma_by_definition(local, mean) - log_polya_gamma_by_definition(local, 0);
        });
        return sum;
    }

    /// PG(1, c): cosh(c / 2) exp(-c^2 w / 2) times that of c = 0, an alternating series (Polson, Scott and Windle 2013, section 2).
    static double log_polya_gamma_by_definition(double w, double c) {
        double sum = 0;
        for (int n = 0; n < 200; ++n) {
            double const k = 2 * n + 1;
            sum += (n % 2 == 0 ? 1 : -1) * k * std::exp(-(k * k - 1) / (8 * w));
        }
        return std::log(std::cosh(c / 2)) - 0.5 * c * c * w + std::log(sum) - 1 / (8 * w) -
               0.5 * std::log(2 * std::numbers::pi * w * w * w);
    }

    /// Minus infinity outside of the interval, else minus the logarithm of what it has of the distribution.
    double log_truncation(std::size_t f, State const& state) const {
        Factor const& factor = model_.factors[f];
        std::uint32_t const v = numbering_.variables.at(factor.target);
        double sum = 0;
        for_each_counted(f, [&](Entry const& entry, std::size_t at, std::size_t sequence, std::size_t step) {
            auto const [low, high] = factor.interval;
            double const x = state.values[v][at];
            if (x < low || x > high) sum = -HUGE_VAL;
            if (factor.is_flat()) {
                if (factor.interval.is_finite()) sum -= std::log(high - low);
                return;
            }
            double const mean = value(factor.mean, entry, sequence, step, state);
            double const root = std::sqrt(2 * variance(factor, entry, sequence, step, state));
            sum -= std::log(0.5 * (std::erfc((low - mean) / root) - std::erfc((high - mean) / root)));
        });
        return sum;
    }

    /// Whether a scale prior is that of an entry, [component][extent], of `size` in all: it speaks of it, and no later one does.
    bool holds_at(ScalePrior const& prior, std::size_t index, std::size_t size) const {
        auto const entries = numbering_.entries(numbering_.labelled(prior.scale), 0);
        Entry const& entry = entries[index / (size / entries.size())];
        auto const speaks = [&](ScalePrior const& other) {
            return std::all_of(other.region.labels.begin(), other.region.labels.end(), [&](Region::Labels const& wanted) {
                Dim const& dim = model_.dims[wanted.dim];
                std::size_t const k = entry.at({wanted.dim, 0});
                return (k < dim.labels.size() ? dim.labels[k] : std::to_string(k + 1)) == wanted.label;
            });
        };
        return speaks(prior) && std::none_of(prior.overridden_by.begin(), prior.overridden_by.end(),
                                             [&](std::uint32_t later) { return speaks(model_.scale_priors[later]); });
    }

  private:
    bool is_drawn(Factor const& factor, std::size_t at) const {
        std::uint32_t const target = numbering_.variables.at(factor.target);
        for (std::size_t k = 0; k < problem_.augmented.size(); ++k)
            if (problem_.plan.lagged_outputs[k].variable == target) return !problem_.augmented[k].empty() && problem_.augmented[k][at];
        return false;
    }

    /// Of the cells of a factor those that count: `at` is where they stand among the values of its target.
    template <class F>
    void for_each_counted(std::size_t f, F visit) const {
        std::uint32_t const target = numbering_.variables.at(model_.factors[f].target);
        std::size_t const size = problem_.bound.grid.size(problem_.plan.layout.variables[target].extent);
        std::vector<double> const& mask = problem_.masks[f];
        for_each_cell(f, [&](Entry const& entry, std::size_t component, std::size_t index, std::size_t sequence, std::size_t step) {
            std::size_t const at = component * size + index;
            if (mask.empty() || mask[at] != 0) visit(entry, at, sequence, step);
        });
    }

    template <class F>
    void for_each_cell(std::size_t f, F visit) const {
        Factor const& factor = model_.factors[f];
        Grid const& grid = problem_.bound.grid;
        Extent const extent = numbering_.extent(factor.target);
        auto const entries = numbering_.entries(numbering_.labelled(factor.target), 0);
        for (std::size_t c = 0; c < entries.size(); ++c) {
            switch (extent) {
                case Extent::One: visit(entries[c], c, 0, 0, 0); break;
                case Extent::Sequence:
                    for (std::size_t s = 0; s < grid.sequences; ++s) visit(entries[c], c, s, s, 0);
                    break;
                case Extent::Time:
                    for (std::size_t t = 0; t < grid.steps; ++t) visit(entries[c], c, t, 0, t);
                    break;
                case Extent::Cell:
                    for (std::size_t t = 0; t < grid.steps; ++t) {
                        for (std::size_t s = 0; s < grid.lanes(t); ++s) visit(entries[c], c, grid.cell(s, t), s, t);
                    }
                    break;
            }
        }
    }

    double literal(Literal const& literal, Node const& node, Entry const& entry) const {
        if (literal.values.size() == 1) return literal.values.front();
        std::size_t position = 0;
        for (std::size_t d = 0; d < literal.dims.size(); ++d) {
            if (model_.dims[literal.dims[d]].role != Role::Labelled) continue;
            for (Axis axis : node.axes) {
                if (axis.dim == literal.dims[d]) position = position * literal.shape[d] + entry.at(axis);
            }
        }
        return literal.values[position];
    }

    double leaf(Node const& node, Entry const& entry, std::size_t sequence, std::size_t step, State const& state) const {
        auto const id = static_cast<SymbolId>(node.payload);
        Symbol const& symbol = model_.symbols[id];
        if (symbol.kind == SymbolKind::Fixed) return literal(model_.literals[*symbol.literal], node, entry);
        std::uint32_t const v = numbering_.variables.at(id);
        std::size_t lag = node.lag;
        std::size_t component = 0;
        for (DimId dim : symbol.dims) {
            if (model_.dims[dim].role != Role::Labelled) continue;
            for (Axis axis : node.axes) {
                if (axis.dim == dim) component = component * numbering_.size(dim) + entry.at(axis);
            }
        }
        if (node.op == Op::LagData) {
            for (Axis axis : node.axes) {
                if (!model_.is_over(id, axis.dim)) lag = entry.at(axis) + 1;
            }
        }
        Grid const& grid = problem_.bound.grid;
        Extent const extent = numbering_.extent(id);
        if (step < lag) return 0;
        std::size_t const t = step - lag;
        std::size_t const index =
            extent == Extent::Cell ? grid.cell(sequence, t) : (extent == Extent::Sequence ? sequence : (extent == Extent::Time ? t : 0));
        auto const& values = state.values[v].empty() ? problem_.bound.data[v] : state.values[v];
        return values[component * grid.size(extent) + index];
    }

    double log_density_of_covariance(std::size_t f, State const& state) const {
        auto const [quadratic, log_constant] = quadratic_of_covariance(f, state);
        return log_constant - 0.5 * quadratic;
    }

    /// r' inv(cov) r over all rows, and the rest of their log density.
    std::pair<double, double> quadratic_of_covariance(std::size_t f, State const& state) const {
        Factor const& factor = model_.factors[f];
        std::vector<double> const& cov = model_.literals[model_.terms[factor.spread.front().value].payload].values;
        auto const k = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(cov.size()))));
        std::vector<double> residuals;
        for_each_cell(f, [&](Entry const& entry, std::size_t, std::size_t, std::size_t sequence, std::size_t step) {
            residuals.push_back(value(factor.residual, entry, sequence, step, state));
        });
        // Gaussian elimination on [cov | r]; components of the last dim are neighbours only if the extent is one number.
        std::size_t const size = problem_.bound.grid.size(numbering_.extent(factor.target));
        double quadratic = 0;
        double log_constant = 0;
        for (std::size_t first = 0; first < residuals.size() / size; first += k) {
            for (std::size_t i = 0; i < size; ++i) {
                if (!problem_.masks[f].empty() && problem_.masks[f][first * size + i] == 0) continue;
                std::vector<double> a(cov);
                std::vector<double> b(k);
                for (std::size_t j = 0; j < k; ++j) b[j] = residuals[(first + j) * size + i];
                std::vector<double> const r(b);
                double log_determinant = 0;
                for (std::size_t p = 0; p < k; ++p) {
                    log_determinant += std::log(a[p * k + p]);
                    for (std::size_t q = p + 1; q < k; ++q) {
                        double const factor_qp = a[q * k + p] / a[p * k + p];
                        for (std::size_t j = 0; j < k; ++j) a[q * k + j] -= factor_qp * a[p * k + j];
                        b[q] -= factor_qp * b[p];
                    }
                }
                for (std::size_t p = k; p-- > 0;) {
                    for (std::size_t q = p + 1; q < k; ++q) b[p] -= a[p * k + q] * b[q];
                    b[p] /= a[p * k + p];
                }
                log_constant -= 0.5 * (static_cast<double>(k) * std::log(2 * std::numbers::pi) + log_determinant);
                for (std::size_t j = 0; j < k; ++j) quadratic += r[j] * b[j];
            }
        }
        return {quadratic, log_constant};
    }

    double log_prior(ScalePrior const& prior, State const& state) const {
        double sum = 0;
        double const df = prior.df ? state.values[numbering_.variables.at(*prior.df)].front() : 0;
        double const a = prior.df ? df / 2 : prior.first;
        double const b = prior.df ? df / 2 : prior.second;
        std::vector<double> const& values = state.values[numbering_.variables.at(prior.scale)];
        for (std::size_t i = 0; i < values.size(); ++i) {
            double const x = values[i];
            if (!holds_at(prior, i, values.size())) continue;
            switch (prior.family) {
                case ScaleFamily::PolyaGamma: sum += log_polya_gamma_by_definition(x, 0); break;
                case ScaleFamily::Flat: break;
                case ScaleFamily::HalfStudentT:
                    sum += std::log(2) + std::lgamma((a + 1) / 2) - std::lgamma(a / 2) - 0.5 * std::log(a * std::numbers::pi * b * b) -
                           (a + 1) / 2 * std::log(1 + x * x / (a * b * b));
                    break;
                case ScaleFamily::Exponential: sum += std::log(a) - a * x; break;
                case ScaleFamily::HalfNormal:
                    sum += std::log(2) - 0.5 * std::log(2 * std::numbers::pi * a * a) - x * x / (2 * a * a);
                    break;
                case ScaleFamily::InverseGamma: sum += a * std::log(b) - std::lgamma(a) - (a + 1) * std::log(x) - b / x; break;
                case ScaleFamily::Gamma: sum += a * std::log(b) - std::lgamma(a) + (a - 1) * std::log(x) - b * x; break;
            }
        }
        return sum;
    }

    Model const& model_;
    Problem const& problem_;
    Numbering numbering_;
};

}  // namespace bam::test
