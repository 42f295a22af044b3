// Blocks drawn from their normal equations: all entries of a group at once, or a row at a time from the same sums (the covariates do not
// depend on the block).
#include <fmt/format.h>

#include <algorithm>

#include "block_sampler.hpp"
#include "choices.hpp"
#include "normal_equations.hpp"
#include "trouble.hpp"
#include "undetermined.hpp"

namespace bam {
namespace {

/// `is_determined`: by its prior.
[[noreturn]] void fail(BlockContext const& context, std::vector<std::uint32_t> const& components, std::size_t index,
                       Eigen::MatrixXd const& precision, Eigen::VectorXd const& linear, bool is_determined) {
    Layout const& layout = context.plan.layout;
    Variable const& variable = layout.variables[context.block.variable];
    if (!precision.allFinite()) throw TooLarge(fmt::format("the precision of `{}`", variable.name));
    throw NumericalTrouble("the full conditional of " + variable.name + " has no finite variance: " +
                               explain_undetermined(precision, components, index, variable, layout, context.inputs.bound),
                           index_of(context), is_determined || !linear.allFinite());
}

/// A block without sequence or time dim.
class JointSampler : public BlockSampler {
  public:
    explicit JointSampler(BlockContext const& context)
        : context_(context),
          block_(context.block),
          variable_(context.plan.layout.variables[context.block.variable]),
          values_(context.state.values[context.block.variable]),
          intervals_(context.factors.intervals(context.block.variable)),
          priors_(context.plan, context.block, context.inputs, context.factors),
          equations_(context.block, context.inputs, context.factors),
          relaxation_(context.relaxation) {
        row_size_ = block_.groups.front().size();
        present_.resize(static_cast<Eigen::Index>(row_size_));
        if (context.draws_rows && !variable_.is_categorical && !variable_.shape.empty() && block_.groups.size() == 1)
            row_size_ /= variable_.shape.front();
        logits_.resize(block_.groups.front().size());
        for (std::uint32_t const choice : block_.choices) choices_.emplace_back(context, choice, priors_);
    }

    void draw(NormalSource& normals) override {
        equations_.accumulate();
        draw_groups(normals);
    }

    void draw_with_choices(NormalSource& normals) override {
        equations_.accumulate();
        auto const system = [this](std::size_t g, std::size_t, Eigen::Ref<Eigen::MatrixXd> precision, Eigen::Ref<Eigen::VectorXd> linear) {
            precision = equations_.precision(g);
            raise_diagonal(precision);
            linear = equations_.linear(g);
        };
        for (IntegratedChoice& choice : choices_) choice.draw(system, normals);
        draw_groups(normals);
    }

  private:
    void draw_groups(NormalSource& normals) {
        priors_.update();
        for (std::size_t g = 0; g < block_.groups.size(); ++g) {
            auto const& components = block_.groups[g];
            Eigen::MatrixXd& precision = equations_.precision(g);
            Eigen::VectorXd& linear = equations_.linear(g);
            priors_.add_to(components, 0, precision, linear);
            raise_diagonal(precision);
            for (std::size_t i = 0; i < components.size(); ++i) {
                auto const k = static_cast<Eigen::Index>(i);
                note_curvature(components[i], precision(k, k));
            }
            if (variable_.is_categorical) {
                draw_choice(precision, linear, logits_, normals);
                for (std::size_t i = 0; i < components.size(); ++i) values_[components[i]] = linear(static_cast<Eigen::Index>(i));
                continue;
            }
            if (row_size_ < components.size()) {
                draw_rows(g, precision, linear, normals);
                continue;
            }
            for (std::size_t i = 0; i < components.size(); ++i) present_(static_cast<Eigen::Index>(i)) = values_[components[i]];
            // Entries of a truncated block are groups of their own.
            bool const is_truncated = !intervals_.empty() && intervals_[components.front()].is_bounded();
            bool const is_drawn = is_truncated
                                      ? draw_truncated(precision(0, 0), linear(0), intervals_[components.front()], normals)
                                      : draw_normal(precision, linear, present_, relaxation_, normals, priors_.least_pivot(components, 0));
            if (!is_drawn) fail(g);
            for (std::size_t i = 0; i < components.size(); ++i) values_[components[i]] = linear(static_cast<Eigen::Index>(i));
        }
    }

    /// The factor stands where the precision was, so that is summed up again.
    [[noreturn]] void fail(std::size_t g) {
        equations_.accumulate();
        priors_.add_to(block_.groups[g], 0, equations_.precision(g), equations_.linear(g));
        raise_diagonal(equations_.precision(g));
        bam::fail(context_, block_.groups[g], 0, equations_.precision(g), equations_.linear(g), priors_.determines(block_.groups[g], 0));
    }

    void draw_rows(std::size_t g, Eigen::MatrixXd& precision, Eigen::VectorXd& linear, NormalSource& normals) {
        auto const& components = block_.groups[g];
        auto const size = static_cast<Eigen::Index>(row_size_);
        for (Eigen::Index first = 0; first < linear.size(); first += size) {
            auto row = linear.segment(first, size);
            for (Eigen::Index i = first; i < first + size; ++i) {
                for (Eigen::Index j = 0; j < linear.size(); ++j) {
                    if (j >= first && j < first + size) continue;
                    double const coupling = i >= j ? precision(i, j) : precision(j, i);
                    linear(i) -= coupling * values_[components[static_cast<std::size_t>(j)]];
                }
            }
            for (Eigen::Index i = 0; i < size; ++i) present_(i) = values_[components[static_cast<std::size_t>(first + i)]];
            if (!draw_normal(precision.block(first, first, size, size), row, present_.head(size), relaxation_, normals,
                             priors_.least_pivot(components, 0)))
                fail(g);
            for (Eigen::Index i = 0; i < size; ++i) values_[components[static_cast<std::size_t>(first + i)]] = row(i);
        }
    }

    BlockContext context_;
    BlockPlan const& block_;
    Variable const& variable_;
    std::vector<double>& values_;
    std::vector<Interval> const& intervals_;
    Priors priors_;
    NormalEquations equations_;
    Relaxation relaxation_;
    std::size_t row_size_ = 0;
    Eigen::VectorXd present_;
    std::vector<double> logits_;  ///< of a choice
    std::vector<IntegratedChoice> choices_;
};

/// A block with an entry per sequence, per step or per cell, conditionally independent of one another: one small system each, summed side
/// by side.
class SpreadSampler : public BlockSampler {
  public:
    explicit SpreadSampler(BlockContext const& context)
        : context_(context),
          block_(context.block),
          variable_(context.plan.layout.variables[context.block.variable]),
          grid_(context.inputs.bound.grid),
          size_(grid_.size(variable_.extent)),
          factors_(context.factors),
          values_(context.state.values[context.block.variable]),
          intervals_(context.factors.intervals(context.block.variable)),
          priors_(context.plan, context.block, context.inputs, context.factors),
          relaxation_(context.relaxation),
          first_(first_index(variable_, grid_)) {
        for (Equations const& equations : block_.equations)
            runners_.push_back(std::make_unique<PassRunner>(equations.pass, context.inputs));
        for (auto const& group : block_.groups) {
            std::size_t const d = group.size();
            sums_.emplace_back((d * (d + 1) / 2 + d) * size_);
            auto const n = static_cast<Eigen::Index>(d);
            order_ = std::max(order_, n);
        }
        precision_.resize(order_, order_);
        linear_.resize(order_);
        present_.resize(order_);
        logits_.resize(static_cast<std::size_t>(order_));
        for (std::uint32_t const choice : block_.choices) choices_.emplace_back(context, choice, priors_);
    }

    void draw(NormalSource& normals) override {
        accumulate();
        draw_all(normals);
    }

    void draw_with_choices(NormalSource& normals) override {
        accumulate();
        auto const system = [this](std::size_t g, std::size_t index, Eigen::Ref<Eigen::MatrixXd> precision,
                                   Eigen::Ref<Eigen::VectorXd> linear) {
            sums_at(g, index, precision, linear);
            raise_diagonal(precision);
        };
        for (IntegratedChoice& choice : choices_) choice.draw(system, normals);
        draw_all(normals);
    }

  private:
    void accumulate() {
        for (auto& sums : sums_) std::fill(sums.begin(), sums.end(), 0.0);
        for (std::size_t e = 0; e < runners_.size(); ++e) accumulate(block_.equations[e], *runners_[e]);
    }

    void draw_all(NormalSource& normals) {
        priors_.update();
        for (std::size_t g = 0; g < block_.groups.size(); ++g) {
            for (std::size_t i = 0; i < size_; ++i) draw_one(g, i, normals);
        }
    }

    void accumulate(Equations const& equations, PassRunner& runner) {
        double const precision = factors_.common_precision(equations.factor);
        if (precision == 0) return;
        runner.begin();
        for (Chunk const& chunk : runner.chunks()) {
            runner.run(chunk);
            for (std::size_t g = 0; g < equations.groups.size(); ++g) {
                for (EquationRow const& row : equations.groups[g]) add_row(row, runner, chunk, precision, sums_[g]);
            }
        }
    }

    void add_row(EquationRow const& row, PassRunner const& runner, Chunk const& chunk, double precision, std::vector<double>& sums) {
        std::size_t const d = row.covariates.size();
        double* out = sums.data();
        for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t j = 0; j <= i; ++j, out += size_)
                add_products(row.covariates[i], row.covariates[j], precision, runner, chunk, out);
        }
        for (std::size_t i = 0; i < d; ++i, out += size_) add_products(row.covariates[i], row.offset, -precision, runner, chunk, out);
    }

    /// out[index of the block's extent] += scale * sum over the cells that belong to it of a * b
    void add_products(std::uint32_t a, std::uint32_t b, double scale, PassRunner const& runner, Chunk const& chunk, double* out) {
        if (a == no_register || b == no_register) return;
        double const* x = runner.at(a);
        double const* y = runner.at(b);
        Extent const domain = runner.pass().domain;
        if (domain == variable_.extent) {
            std::size_t const start = first_of(chunk, domain);
            std::size_t const n = runner.size(chunk);
            for (std::size_t i = 0; i < n; ++i) out[start + i] += scale * x[i] * y[i];
            return;
        }
        for (std::size_t t = chunk.first_step; t < chunk.last_step; ++t) {
            std::size_t const lanes = grid_.lanes(t);
            if (variable_.extent == Extent::Sequence) {
                for (std::size_t s = 0; s < lanes; ++s) out[s] += scale * x[s] * y[s];
            } else {
                double sum = 0;
                for (std::size_t s = 0; s < lanes; ++s) sum += x[s] * y[s];
                out[t] += scale * sum;
            }
            x += lanes;
            y += lanes;
        }
    }

    void draw_one(std::size_t g, std::size_t index, NormalSource& normals) {
        auto const& components = block_.groups[g];
        auto const d = static_cast<Eigen::Index>(components.size());
        auto precision = precision_.topLeftCorner(d, d);
        auto linear = linear_.head(d);
        if (index < first_) return;
        gather(g, index);
        for (Eigen::Index i = 0; i < d; ++i) note_curvature(components[static_cast<std::size_t>(i)] * size_ + index, precision(i, i));
        for (Eigen::Index i = 0; i < d; ++i) present_(i) = values_[components[static_cast<std::size_t>(i)] * size_ + index];
        if (variable_.is_categorical) {
            draw_choice(precision, linear, logits_, normals);
            for (Eigen::Index i = 0; i < d; ++i) values_[components[static_cast<std::size_t>(i)] * size_ + index] = linear(i);
            return;
        }
        std::size_t const first = components.front() * size_ + index;
        bool const is_truncated = !intervals_.empty() && intervals_[first].is_bounded();
        bool const is_drawn =
            is_truncated ? draw_truncated(precision(0, 0), linear(0), intervals_[first], normals)
                         : draw_normal(precision, linear, present_.head(d), relaxation_, normals, priors_.least_pivot(components, index));
        if (!is_drawn) {
            gather(g, index);  // the factor stands where the precision was
            fail(context_, components, index, precision, linear, priors_.determines(components, index));
        }
        for (Eigen::Index i = 0; i < d; ++i) values_[components[static_cast<std::size_t>(i)] * size_ + index] = linear(i);
    }

    /// What the data say of one group at one index.
    void sums_at(std::size_t g, std::size_t index, Eigen::Ref<Eigen::MatrixXd> precision, Eigen::Ref<Eigen::VectorXd> linear) const {
        double const* sums = sums_[g].data() + index;
        for (Eigen::Index i = 0; i < linear.size(); ++i) {
            for (Eigen::Index j = 0; j <= i; ++j, sums += size_) precision(i, j) = *sums;
        }
        for (Eigen::Index i = 0; i < linear.size(); ++i, sums += size_) linear(i) = *sums;
    }

    /// The system of one group at one index.
    void gather(std::size_t g, std::size_t index) {
        auto const d = static_cast<Eigen::Index>(block_.groups[g].size());
        sums_at(g, index, precision_.topLeftCorner(d, d), linear_.head(d));
        priors_.add_to(block_.groups[g], index, precision_.topLeftCorner(d, d), linear_.head(d));
        raise_diagonal(precision_.topLeftCorner(d, d));
    }

    BlockContext context_;
    BlockPlan const& block_;
    Variable const& variable_;
    Grid const& grid_;
    std::size_t size_;
    Factors const& factors_;
    std::vector<double>& values_;
    std::vector<Interval> const& intervals_;
    Priors priors_;
    Relaxation relaxation_;
    std::size_t first_;  ///< index that exists
    std::vector<std::unique_ptr<PassRunner>> runners_;
    std::vector<std::vector<double>> sums_;  ///< per group: lower triangle row by row, then the linear term; each [extent]
    Eigen::MatrixXd precision_;
    Eigen::VectorXd linear_, present_;
    Eigen::Index order_ = 0;
    std::vector<double> logits_;  ///< of a choice
    std::vector<IntegratedChoice> choices_;
};

}  // namespace

std::unique_ptr<BlockSampler> make_joint_sampler(BlockContext const& context) {
    if (context.plan.layout.variables[context.block.variable].extent == Extent::One) return std::make_unique<JointSampler>(context);
    return std::make_unique<SpreadSampler>(context);
}

}  // namespace bam
