#include "factor_update.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "block_sampler.hpp"

namespace bam {
Eigen::MatrixXd covariance_of(std::vector<std::uint32_t> const& group, std::size_t index, Covariances const& covariances) {
    auto const d = static_cast<Eigen::Index>(group.size());
    Eigen::MatrixXd result(d, d);
    for (Eigen::Index i = 0; i < d; ++i) {
        for (Eigen::Index j = 0; j < d; ++j)
            result(i, j) = covariances.at(group[static_cast<std::size_t>(i)], group[static_cast<std::size_t>(j)])[index];
    }
    return result;
}

Eigen::MatrixXd earlier_of(std::vector<std::uint32_t> const& group, std::size_t index, Covariances const& covariances) {
    auto const d = static_cast<Eigen::Index>(group.size());
    Eigen::MatrixXd result(d, d);
    for (Eigen::Index i = 0; i < d; ++i) {
        for (Eigen::Index j = 0; j < d; ++j)
            result(i, j) = covariances.before_at(group[static_cast<std::size_t>(i)], group[static_cast<std::size_t>(j)])[index];
    }
    return result;
}

namespace {

/// log |V|; minus infinity where it is singular.
double log_determinant(Eigen::MatrixXd const& matrix) {
    Eigen::LLT<Eigen::MatrixXd> const factor(matrix);
    double const log = 2 * factor.matrixLLT().diagonal().array().log().sum();
    return factor.info() == Eigen::Success && std::isfinite(log) ? log : -HUGE_VAL;
}

}  // namespace

bool exists(Variable const& variable, Grid const& grid, std::size_t index) {
    if (variable.first_step == 0) return true;
    if (variable.extent == Extent::Time) return index >= variable.first_step;
    return variable.extent != Extent::Cell || index >= grid.offsets[std::min(variable.first_step, grid.steps)];
}

std::size_t length(Grid const& grid, Extent extent, std::size_t lane) {
    if (extent != Extent::Cell) return grid.steps;
    // Sequences are sorted by length: a step has lane numbers below lanes(step), which do not increase.
    std::size_t low = 0, high = grid.steps;
    while (low < high) {
        std::size_t const middle = (low + high) / 2;
        (grid.lanes(middle) > lane ? low : high) = grid.lanes(middle) > lane ? middle + 1 : middle;
    }
    return low;
}

void for_each_system(BlockPlan const& block, Variable const& variable, Grid const& grid,
                     std::function<void(std::vector<std::uint32_t> const&, std::size_t, std::optional<std::size_t>)> const& f) {
    for (auto const& group : block.groups) {
        if (block.method != PlanMethod::Markov) {
            for (std::size_t e = 0; e < grid.size(variable.extent); ++e) {
                if (exists(variable, grid, e)) f(group, e, std::nullopt);
            }
            continue;
        }
        std::size_t const lanes = variable.extent == Extent::Cell ? grid.sequences : 1;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            std::optional<std::size_t> before;
            for (std::size_t t = variable.first_step; t < length(grid, variable.extent, lane); ++t) {
                std::size_t const here = variable.extent == Extent::Cell ? grid.cell(lane, t) : t;
                f(group, here, before);
                before = here;
            }
        }
    }
}

std::vector<std::unique_ptr<AdjointRunner>> make_runners(UpdateContext const& context, std::uint32_t variable) {
    std::vector<std::unique_ptr<AdjointRunner>> runners;
    auto add = [&](Pass const& pass, std::vector<WeightedOutput> outputs) {
        bool const occurs = std::any_of(pass.registers.begin(), pass.registers.end(), [&](Register const& reg) {
            return (reg.from == From::Variable || reg.from == From::Covariance) && reg.index == variable;
        });
        if (!occurs) return;
        runners.push_back(
            std::make_unique<AdjointRunner>(pass, std::move(outputs), context.inputs, context.posterior.covariances, variable));
    };
    for (std::size_t f = 0; f < context.expectations.squares.size(); ++f) {
        if (!context.factors.is_flat(f)) add(context.expectations.squares[f].pass, context.factors.outputs(f));
    }
    for (Tilt const& tilt : context.tilts) {
        std::vector<WeightedOutput> outputs;
        std::size_t const size = tilt.weights.size() / tilt.term->registers.size();
        for (std::size_t c = 0; c < tilt.term->registers.size(); ++c) {
            if (tilt.term->registers[c] != no_register) outputs.push_back({tilt.term->registers[c], tilt.weights.data() + c * size});
        }
        add(tilt.term->pass, std::move(outputs));
    }
    return runners;
}

GaussianStep step_to_optimum(Variable const& variable, std::vector<std::uint32_t> const& group, std::size_t index, Gradient const& gradient,
                             std::vector<double>& means, Covariances& covariances) {
    auto const d = static_cast<Eigen::Index>(group.size());
    std::size_t const size = means.size() / variable.components;
    Eigen::MatrixXd precision(d, d);
    Eigen::VectorXd slope(d);
    for (Eigen::Index i = 0; i < d; ++i) {
        std::uint32_t const a = group[static_cast<std::size_t>(i)];
        slope(i) = gradient.mean[a * size + index];
        for (Eigen::Index j = 0; j <= i; ++j) {
            std::uint32_t const b = group[static_cast<std::size_t>(j)];
            // The derivative in a covariance off the diagonal is that of both places.
            precision(i, j) = precision(j, i) =
                (i == j ? 1 : 0.5) * gradient.same[covariances.pair[a * covariances.components + b] * covariances.size + index];
        }
    }
    Eigen::LLT<Eigen::MatrixXd> const factor(precision);
    if (factor.info() != Eigen::Success || !(factor.rcond() > 1e-15)) return {0, false};
    Eigen::MatrixXd const old = covariance_of(group, index, covariances);
    Eigen::MatrixXd const covariance = factor.solve(Eigen::MatrixXd::Identity(d, d));
    Eigen::VectorXd const move = factor.solve(slope) * -0.5;
    GaussianStep step;
    bool const is_point = variable.learnt_from.has_value();
    // -(F(m', V') - F(m, V)) / 2 + (log |V'| - log |V|) / 2, with tr(precision V') = d and move' precision move = -slope' move / 2.
    double const log_new = -2 * factor.matrixLLT().diagonal().array().log().sum();
    step.rise = is_point ? -0.25 * slope.dot(move)
                         : -0.5 * (static_cast<double>(d) - precision.cwiseProduct(old).sum() + 0.5 * slope.dot(move)) +
                               0.5 * (log_new - log_determinant(old));
    for (Eigen::Index i = 0; i < d; ++i) {
        std::uint32_t const a = group[static_cast<std::size_t>(i)];
        means[a * size + index] += move(i);
        for (Eigen::Index j = 0; j <= i; ++j) covariances.at(a, group[static_cast<std::size_t>(j)])[index] = covariance(i, j);
    }
    return step;
}

namespace {

/// Mean and Cholesky factor of the covariance of a system given the values one step back.
struct Given {
    Eigen::VectorXd mean;
    Eigen::MatrixXd root;
};

Given given(std::vector<std::uint32_t> const& group, std::size_t here, std::optional<std::size_t> before, std::vector<double> const& means,
            Covariances const& covariances, std::vector<double> const& values) {
    auto const d = static_cast<Eigen::Index>(group.size());
    Given result{Eigen::VectorXd(d), {}};
    Eigen::MatrixXd covariance = covariance_of(group, here, covariances);
    for (Eigen::Index i = 0; i < d; ++i) result.mean(i) = means[group[static_cast<std::size_t>(i)] * covariances.size + here];
    if (before) {
        Eigen::MatrixXd const cross = earlier_of(group, here, covariances);
        Eigen::LLT<Eigen::MatrixXd> const factor(covariance_of(group, *before, covariances));
        Eigen::VectorXd deviation(d);
        for (Eigen::Index i = 0; i < d; ++i) {
            std::size_t const at = group[static_cast<std::size_t>(i)] * covariances.size + *before;
            deviation(i) = values[at] - means[at];
        }
        result.mean += cross * factor.solve(deviation);
        covariance -= cross * factor.solve(cross.transpose());
    }
    result.root = covariance.llt().matrixL();
    return result;
}

}  // namespace

double log_factor_density(BlockPlan const& block, Variable const& variable, Grid const& grid, Posterior const& posterior,
                          std::vector<double> const& values, std::optional<std::size_t> step) {
    Covariances const& covariances = posterior.covariances[block.variable];
    double sum = 0;
    for_each_system(block, variable, grid, [&](auto const& group, std::size_t here, std::optional<std::size_t> before) {
        bool const is_there =
            !step || (variable.extent == Extent::Time ? here == *step : here >= grid.offsets[*step] && here < grid.offsets[*step + 1]);
        if (!is_there) return;
        Given const of = given(group, here, before, posterior.state.values[block.variable], covariances, values);
        Eigen::VectorXd deviation = -of.mean;
        for (Eigen::Index i = 0; i < deviation.size(); ++i)
            deviation(i) += values[group[static_cast<std::size_t>(i)] * covariances.size + here];
        of.root.triangularView<Eigen::Lower>().solveInPlace(deviation);
        sum -= 0.5 * deviation.squaredNorm() + of.root.diagonal().array().log().sum() +
               0.5 * static_cast<double>(deviation.size()) * std::log(2 * std::numbers::pi);
    });
    return sum;
}

void draw_factor(BlockPlan const& block, Variable const& variable, Grid const& grid, Posterior const& posterior, NormalSource& normals,
                 std::vector<double>& values) {
    Covariances const& covariances = posterior.covariances[block.variable];
    for_each_system(block, variable, grid, [&](auto const& group, std::size_t here, std::optional<std::size_t> before) {
        Given const of = given(group, here, before, posterior.state.values[block.variable], covariances, values);
        Eigen::VectorXd draw(of.mean.size());
        for (Eigen::Index i = 0; i < draw.size(); ++i) draw(i) = normals.normal();
        draw = of.mean + of.root.triangularView<Eigen::Lower>() * draw;
        for (Eigen::Index i = 0; i < draw.size(); ++i) values[group[static_cast<std::size_t>(i)] * covariances.size + here] = draw(i);
    });
}

double entropy(BlockPlan const& block, Variable const& variable, Grid const& grid, Covariances const& covariances) {
    double sum = 0;
    if (variable.learnt_from) return sum;
    for_each_system(block, variable, grid, [&](auto const& group, std::size_t here, std::optional<std::size_t> before) {
        Eigen::MatrixXd conditional = covariance_of(group, here, covariances);
        if (before) {
            Eigen::MatrixXd const cross = earlier_of(group, here, covariances);
            conditional -= cross * covariance_of(group, *before, covariances).llt().solve(cross.transpose());
        }
        sum += 0.5 * (log_determinant(conditional) + static_cast<double>(group.size()) * (1 + std::log(2 * std::numbers::pi)));
    });
    return sum;
}

// ---------------------------------------------------------------- blocks outside of recurrences

namespace {

[[noreturn]] void fail(Variable const& variable) {
    throw NumericalTrouble("the factor of " + variable.name +
                           " has no finite variance: the data do not determine it and its prior does not either; give it a proper prior");
}

class JointUpdate : public FactorUpdate {
  public:
    JointUpdate(UpdateContext const& context, BlockPlan const& block)
        : block_(block),
          variable_(context.problem.plan.layout.variables[block.variable]),
          grid_(context.problem.bound.grid),
          means_(context.posterior.state.values[block.variable]),
          covariances_(context.posterior.covariances[block.variable]),
          runners_(make_runners(context, block.variable)),
          gradient_(make_gradient(covariances_)) {}

    double update() override {
        for (auto* part : {&gradient_.mean, &gradient_.same}) std::fill(part->begin(), part->end(), 0.0);
        for (auto& runner : runners_) runner->differentiate(gradient_);
        double rise = 0;
        for_each_system(block_, variable_, grid_, [&](auto const& group, std::size_t index, auto) {
            GaussianStep const step = step_to_optimum(variable_, group, index, gradient_, means_, covariances_);
            if (!step.is_proper) fail(variable_);
            rise += step.rise;
        });
        // A number that is learnt has no spread: expectation maximisation.
        if (variable_.learnt_from) std::fill(covariances_.same.begin(), covariances_.same.end(), 0.0);
        return rise;
    }

  private:
    BlockPlan const& block_;
    Variable const& variable_;
    Grid const& grid_;
    std::vector<double>& means_;
    Covariances& covariances_;
    std::vector<std::unique_ptr<AdjointRunner>> runners_;
    Gradient gradient_;
};

/// Blocks over time inside a recurrence. What the later steps make of a state does not depend on the steps up to it (F is linear in the
/// moments of the state), so one pass back and one forward update all steps in turn.
class SweepUpdate : public FactorUpdate {
  public:
    SweepUpdate(UpdateContext const& context, BlockPlan const& block)
        : block_(block),
          variable_(context.problem.plan.layout.variables[block.variable]),
          grid_(context.problem.bound.grid),
          means_(context.posterior.state.values[block.variable]),
          covariances_(context.posterior.covariances[block.variable]),
          runners_(make_runners(context, block.variable)),
          gradient_(make_gradient(covariances_)) {}

    double update() override {
        for (auto* part : {&gradient_.mean, &gradient_.same}) std::fill(part->begin(), part->end(), 0.0);
        for (auto& runner : runners_) runner->look_back();
        for (auto& runner : runners_) runner->begin();
        double rise = 0;
        std::vector<Chunk> const chunks = make_chunks(grid_, Extent::Cell);
        for (Chunk const& chunk : chunks) {
            for (auto& runner : runners_) runner->run(chunk);
            for (std::size_t t = chunk.first_step; t < chunk.last_step; ++t) rise += update_step(t);
            for (auto& runner : runners_) runner->advance(chunk);
        }
        return rise;
    }

    void update_at_points() override {
        std::vector<double> kept;
        kept_ = &kept;
        kept.resize(covariances_.same.size());
        update();
        kept_ = nullptr;
        std::copy(kept.begin(), kept.end(), covariances_.same.begin());  // runners refer to the array
    }

  private:
    /// Sets the covariances of an entry aside.
    void make_point(std::size_t index) {
        for (std::size_t at = index; at < covariances_.same.size(); at += covariances_.size) {
            (*kept_)[at] = covariances_.same[at];
            covariances_.same[at] = 0;
        }
    }

    double update_step(std::size_t t) {
        for (auto& runner : runners_) runner->run_step(t);
        if (t < variable_.first_step) return 0;
        for (auto& runner : runners_) runner->differentiate_step(t, gradient_);
        double rise = 0;
        std::size_t const first = variable_.extent == Extent::Time ? t : grid_.offsets[t];
        std::size_t const count = variable_.extent == Extent::Time ? 1 : grid_.lanes(t);
        for (std::size_t index = first; index < first + count; ++index) {
            GaussianStep const step = step_to_optimum(variable_, block_.groups.front(), index, gradient_, means_, covariances_);
            if (!step.is_proper) fail(variable_);
            rise += step.rise;
            if (kept_ != nullptr) make_point(index);
        }
        for (auto& runner : runners_) runner->run_step(t);
        return rise;
    }

    BlockPlan const& block_;
    Variable const& variable_;
    Grid const& grid_;
    std::vector<double>& means_;
    Covariances& covariances_;
    std::vector<std::unique_ptr<AdjointRunner>> runners_;
    Gradient gradient_;
    std::vector<double>* kept_ = nullptr;
};

/// Blocks over time coupled to the step before. With L the Cholesky factor of the block tridiagonal precision, L[t] on the diagonal and
/// B[t] between t and t - 1, the blocks of its inverse that are needed follow backward (Takahashi, Fagan and Chin 1973): with G = B[t+1]
/// inv(L[t]),
///     V[t+1, t] = -V[t+1] G,     V[t] = inv(L[t] L[t]') + G' V[t+1] G.
class MarkovUpdate : public FactorUpdate {
  public:
    MarkovUpdate(UpdateContext const& context, BlockPlan const& block)
        : block_(block),
          variable_(context.problem.plan.layout.variables[block.variable]),
          grid_(context.problem.bound.grid),
          means_(context.posterior.state.values[block.variable]),
          covariances_(context.posterior.covariances[block.variable]),
          runners_(make_runners(context, block.variable)),
          gradient_(make_gradient(covariances_)) {}

    double update() override {
        for (auto* part : {&gradient_.mean, &gradient_.same, &gradient_.before}) std::fill(part->begin(), part->end(), 0.0);
        for (auto& runner : runners_) runner->differentiate(gradient_);
        double rise = -entropy(block_, variable_, grid_, covariances_);
        for (auto const& group : block_.groups) {
            std::size_t const lanes = variable_.extent == Extent::Cell ? grid_.sequences : 1;
            for (std::size_t lane = 0; lane < lanes; ++lane) rise += update_path(group, lane);
        }
        return rise + entropy(block_, variable_, grid_, covariances_);
    }

  private:
    std::size_t index(std::size_t lane, std::size_t step) const { return variable_.extent == Extent::Cell ? grid_.cell(lane, step) : step; }

    Eigen::MatrixXd diagonal(std::vector<std::uint32_t> const& group, std::size_t here) const {
        auto const d = static_cast<Eigen::Index>(group.size());
        Eigen::MatrixXd result(d, d);
        for (Eigen::Index i = 0; i < d; ++i) {
            for (Eigen::Index j = 0; j < d; ++j) {
                std::uint32_t const pair =
                    covariances_.pair[group[static_cast<std::size_t>(i)] * covariances_.components + group[static_cast<std::size_t>(j)]];
                result(i, j) = (i == j ? 1 : 0.5) * gradient_.same[pair * covariances_.size + here];
            }
        }
        return result;
    }

    Eigen::MatrixXd coupling(std::vector<std::uint32_t> const& group, std::size_t here) const {
        auto const d = static_cast<Eigen::Index>(group.size());
        Eigen::MatrixXd result(d, d);
        for (Eigen::Index i = 0; i < d; ++i) {
            for (Eigen::Index j = 0; j < d; ++j) {
                std::uint32_t const pair =
                    covariances_.earlier[group[static_cast<std::size_t>(i)] * covariances_.components + group[static_cast<std::size_t>(j)]];
                result(i, j) = 0.5 * gradient_.before[pair * covariances_.size + here];
            }
        }
        return result;
    }

    double update_path(std::vector<std::uint32_t> const& group, std::size_t lane) {
        auto const d = static_cast<Eigen::Index>(group.size());
        std::size_t const steps = length(grid_, variable_.extent, lane);
        std::size_t const first = variable_.first_step;
        if (steps <= first) return 0;
        std::vector<Eigen::MatrixXd> L(steps), B(steps);
        std::vector<Eigen::VectorXd> v(steps);
        double change = 0;  // of F
        for (std::size_t t = first; t < steps; ++t) {
            std::size_t const here = index(lane, t);
            Eigen::MatrixXd precision = diagonal(group, here);
            change += static_cast<double>(d) - precision.cwiseProduct(covariance_of(group, here, covariances_)).sum();
            v[t].resize(d);
            for (Eigen::Index i = 0; i < d; ++i)
                v[t](i) = -0.5 * gradient_.mean[group[static_cast<std::size_t>(i)] * covariances_.size + here];
            if (t > first) {
                Eigen::MatrixXd const E = coupling(group, here);
                change -= 2 * E.cwiseProduct(earlier_of(group, here, covariances_)).sum();
                B[t] = L[t - 1].triangularView<Eigen::Lower>().solve(E.transpose()).transpose();
                precision.noalias() -= B[t] * B[t].transpose();
                v[t].noalias() -= B[t] * v[t - 1];
            }
            Eigen::LLT<Eigen::MatrixXd> const factor(precision);
            if (factor.info() != Eigen::Success) fail(variable_);
            L[t] = factor.matrixL();
            v[t] = L[t].triangularView<Eigen::Lower>().solve(v[t]);
        }
        Eigen::MatrixXd later;
        Eigen::VectorXd move;
        for (std::size_t t = steps; t-- > first;) {
            std::size_t const here = index(lane, t);
            Eigen::MatrixXd const half = L[t].triangularView<Eigen::Lower>().solve(Eigen::MatrixXd::Identity(d, d));
            Eigen::MatrixXd covariance = half.transpose() * half;
            Eigen::VectorXd right = v[t];
            if (t + 1 < steps) {
                Eigen::MatrixXd const G = B[t + 1] * half;
                Eigen::MatrixXd const cross = -later * G;
                std::size_t const next = index(lane, t + 1);
                for (Eigen::Index i = 0; i < d; ++i) {
                    for (Eigen::Index j = 0; j < d; ++j)
                        covariances_.before_at(group[static_cast<std::size_t>(i)], group[static_cast<std::size_t>(j)])[next] = cross(i, j);
                }
                covariance += G.transpose() * later * G;
                right.noalias() -= B[t + 1].transpose() * move;
            }
            move = L[t].triangularView<Eigen::Lower>().transpose().solve(right);
            for (Eigen::Index i = 0; i < d; ++i) {
                std::size_t const at = group[static_cast<std::size_t>(i)] * covariances_.size + here;
                change += 0.5 * gradient_.mean[at] * move(i);
                means_[at] += move(i);
                for (Eigen::Index j = 0; j <= i; ++j)
                    covariances_.at(group[static_cast<std::size_t>(i)], group[static_cast<std::size_t>(j)])[here] = covariance(i, j);
            }
            later = covariance;
        }
        return -0.5 * change;
    }

    BlockPlan const& block_;
    Variable const& variable_;
    Grid const& grid_;
    std::vector<double>& means_;
    Covariances& covariances_;
    std::vector<std::unique_ptr<AdjointRunner>> runners_;
    Gradient gradient_;
};

/// Missing cells of an output. Two of them meet in one residual only if they are no farther apart than the longest look back; cells that
/// are farther apart, one component at a time, are updated together.
class OutputUpdate : public FactorUpdate {
  public:
    OutputUpdate(UpdateContext const& context, std::size_t lagged_output)
        : variable_(context.problem.plan.layout.variables[context.problem.plan.lagged_outputs[lagged_output].variable]),
          grid_(context.problem.bound.grid),
          means_(context.posterior.state.values[context.problem.plan.lagged_outputs[lagged_output].variable]),
          covariances_(context.posterior.covariances[context.problem.plan.lagged_outputs[lagged_output].variable]),
          missing_(context.problem.augmented[lagged_output]),
          runners_(make_runners(context, context.problem.plan.lagged_outputs[lagged_output].variable)),
          gradient_(make_gradient(covariances_)) {
        for (LagEffect const& effect : context.problem.plan.lagged_outputs[lagged_output].effects)
            reach_ = std::max<std::size_t>(reach_, effect.lag);
    }

    double update() override {
        double rise = 0;
        for (std::uint32_t c = 0; c < variable_.components; ++c) {
            for (std::size_t colour = 0; colour <= reach_; ++colour) rise += update_cells(c, colour);
        }
        return rise;
    }

  private:
    double update_cells(std::uint32_t component, std::size_t colour) {
        std::vector<std::size_t> cells;
        for (std::size_t t = colour; t < grid_.steps; t += reach_ + 1) {
            for (std::size_t s = 0; s < grid_.lanes(t); ++s) {
                if (missing_[component * grid_.cells() + grid_.cell(s, t)]) cells.push_back(grid_.cell(s, t));
            }
        }
        if (cells.empty()) return 0;
        for (auto* part : {&gradient_.mean, &gradient_.same}) std::fill(part->begin(), part->end(), 0.0);
        for (auto& runner : runners_) runner->differentiate(gradient_);
        double rise = 0;
        for (std::size_t cell : cells) {
            GaussianStep const step = step_to_optimum(variable_, {component}, cell, gradient_, means_, covariances_);
            if (step.is_proper) rise += step.rise;  // otherwise no statement speaks of the cell
        }
        return rise;
    }

    Variable const& variable_;
    Grid const& grid_;
    std::vector<double>& means_;
    Covariances& covariances_;
    std::vector<bool> const& missing_;
    std::vector<std::unique_ptr<AdjointRunner>> runners_;
    Gradient gradient_;
    std::size_t reach_ = 0;
};

}  // namespace

std::unique_ptr<FactorUpdate> make_joint_update(UpdateContext const& context, BlockPlan const& block) {
    return std::make_unique<JointUpdate>(context, block);
}
std::unique_ptr<FactorUpdate> make_sweep_update(UpdateContext const& context, BlockPlan const& block) {
    return std::make_unique<SweepUpdate>(context, block);
}
std::unique_ptr<FactorUpdate> make_markov_update(UpdateContext const& context, BlockPlan const& block) {
    return std::make_unique<MarkovUpdate>(context, block);
}
std::unique_ptr<FactorUpdate> make_output_update(UpdateContext const& context, std::size_t lagged_output) {
    return std::make_unique<OutputUpdate>(context, lagged_output);
}

}  // namespace bam
