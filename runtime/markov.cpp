// Blocks over time coupled to the step before (math.md, 6. Levels): precision block tridiagonal, with diagonal D[t] and couplings E[t]
// between t and t-1. One Cholesky sweep forward and one substitution back draw all steps jointly in O(T d^3) (Rue and Held 2005,
// section 2.4):
//     B[t] = E[t] inv(L[t-1])',   L[t] L[t]' = D[t] - B[t] B[t]',   v[t] = inv(L[t]) (η[t] - B[t] v[t-1])
//     θ[t] = inv(L[t])' (v[t] + z[t] - B[t+1]' θ[t+1])
#include <Eigen/Cholesky>
#include <algorithm>

#include "block_sampler.hpp"

namespace bam {
namespace {

class MarkovSampler : public BlockSampler {
  public:
    explicit MarkovSampler(BlockContext const& context)
        : block_(context.block),
          variable_(context.plan.layout.variables[context.block.variable]),
          grid_(context.inputs.bound.grid),
          size_(grid_.size(variable_.extent)),
          factors_(context.factors),
          values_(context.state.values[context.block.variable]),
          priors_(context.plan, context.block, context.inputs, context.factors),
          relaxation_(context.relaxation) {
        for (Equations const& equations : block_.equations)
            runners_.push_back(std::make_unique<PassRunner>(equations.pass, context.inputs));
        std::size_t most = 1;
        for (auto const& group : block_.groups) most = std::max(most, group.size());
        diagonal_.resize(most * most * size_);
        coupling_.resize(most * most * size_);
        linear_.resize(most * size_);
        order_ = static_cast<Eigen::Index>(most);
        for (auto* vector : {&next_, &present_, &unmoved_}) vector->resize(order_);
    }

    void draw(NormalSource& normals) override {
        priors_.update();
        for (std::size_t g = 0; g < block_.groups.size(); ++g) {
            auto const d = static_cast<Eigen::Index>(block_.groups[g].size());
            for (auto* buffer : {&diagonal_, &coupling_, &linear_}) std::fill(buffer->begin(), buffer->end(), 0.0);
            for (std::size_t e = 0; e < runners_.size(); ++e) accumulate(block_.equations[e], g, *runners_[e]);
            std::size_t const lanes = variable_.extent == Extent::Cell ? grid_.sequences : 1;
            for (std::size_t lane = 0; lane < lanes; ++lane) draw_path(block_.groups[g], d, lane, normals);
        }
    }

  private:
    using Matrix = Eigen::Map<Eigen::MatrixXd>;
    using Vector = Eigen::Map<Eigen::VectorXd>;

    std::size_t index(std::size_t lane, std::size_t step) const { return variable_.extent == Extent::Cell ? grid_.cell(lane, step) : step; }
    Matrix diagonal(std::size_t i, Eigen::Index d) { return {diagonal_.data() + i * static_cast<std::size_t>(d * d), d, d}; }
    Matrix coupling(std::size_t i, Eigen::Index d) { return {coupling_.data() + i * static_cast<std::size_t>(d * d), d, d}; }
    Vector linear(std::size_t i, Eigen::Index d) { return {linear_.data() + i * static_cast<std::size_t>(d), d}; }

    void accumulate(Equations const& equations, std::size_t g, PassRunner& runner) {
        double const precision = factors_.common_precision(equations.factor);
        if (precision == 0) return;
        bool const over_time = runner.pass().domain == Extent::Time;
        runner.begin();
        for (Chunk const& chunk : runner.chunks()) {
            runner.run(chunk);
            for (EquationRow const& row : equations.groups[g]) {
                std::size_t local = 0;
                for (std::size_t t = chunk.first_step; t < chunk.last_step; ++t) {
                    std::size_t const lanes = over_time ? 1 : grid_.lanes(t);
                    for (std::size_t lane = 0; lane < lanes; ++lane, ++local) add_cell(row, runner, local, lane, t, precision);
                }
            }
        }
    }

    void add_cell(EquationRow const& row, PassRunner const& runner, std::size_t local, std::size_t lane, std::size_t t, double precision) {
        auto value = [&](std::uint32_t reg) { return reg == no_register ? 0.0 : runner.at(reg)[runner.is_one(reg) ? 0 : local]; };
        auto const d = static_cast<Eigen::Index>(row.covariates.size());
        double const offset = value(row.offset);
        std::size_t const here = index(lane, t);
        bool const has_previous = t > 0 && !row.lagged.empty();
        std::size_t const before = has_previous ? index(lane, t - 1) : 0;
        for (Eigen::Index i = 0; i < d; ++i) {
            double const now = precision * value(row.covariates[static_cast<std::size_t>(i)]);
            double const then = has_previous ? precision * value(row.lagged[static_cast<std::size_t>(i)]) : 0;
            for (Eigen::Index j = 0; j < d; ++j) {
                double const now_j = value(row.covariates[static_cast<std::size_t>(j)]);
                diagonal(here, d)(i, j) += now * now_j;
                if (!has_previous) continue;
                double const then_j = value(row.lagged[static_cast<std::size_t>(j)]);
                diagonal(before, d)(i, j) += then * then_j;
                coupling(here, d)(i, j) += now * then_j;
            }
            linear(here, d)(i) -= now * offset;
            if (has_previous) linear(before, d)(i) -= then * offset;
        }
    }

    void draw_path(std::vector<std::uint32_t> const& components, Eigen::Index d, std::size_t lane, NormalSource& normals) {
        std::size_t const steps = variable_.extent == Extent::Cell ? grid_.length(lane) : grid_.steps;
        std::size_t const first = variable_.first_step;
        for (std::size_t t = first; t < steps; ++t) {
            std::size_t const i = index(lane, t);
            Matrix D = diagonal(i, d);
            Vector v = linear(i, d);
            priors_.add_to(components, i, D, v);
            for (Eigen::Index k = 0; k < d; ++k) note_curvature(components[static_cast<std::size_t>(k)] * size_ + i, D(k, k));
            if (t > first) {
                Matrix B = coupling(i, d);
                Matrix const L = diagonal(index(lane, t - 1), d);
                L.triangularView<Eigen::Lower>().transpose().template solveInPlace<Eigen::OnTheRight>(B);
                D.noalias() -= B * B.transpose();
                v.noalias() -= B * linear(index(lane, t - 1), d);
            }
            Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> const factor(D);
            if (factor.info() != Eigen::Success) {
                throw NumericalTrouble(
                    "the full conditional of " + variable_.name + " has no finite variance; give its first step a proper prior",
                    block_.variable);
            }
            D.triangularView<Eigen::Lower>().solveInPlace(v);
        }
        for (std::size_t t = steps; t-- > first;) {
            std::size_t const i = index(lane, t);
            Vector v = linear(i, d);
            unmoved_.head(d) = v;
            for (Eigen::Index k = 0; k < d; ++k) v(k) += deviation(components, i, t + 1 < steps ? index(lane, t + 1) : i, k, d, normals);
            for (Eigen::Index k = 0; k < d; ++k) present_(k) = values_[components[static_cast<std::size_t>(k)] * size_ + i];
            if (t + 1 < steps) v.noalias() -= coupling(index(lane, t + 1), d).transpose() * next_.head(d);
            diagonal(i, d).triangularView<Eigen::Lower>().transpose().solveInPlace(v);
            next_.head(d) = v;
            for (Eigen::Index k = 0; k < d; ++k) values_[components[static_cast<std::size_t>(k)] * size_ + i] = v(k);
        }
    }

    /// z[t] of the new path: fresh, and what the relaxation keeps of the present one, L[t]' θ[t] + B[t+1]' θ[t+1] - v[t]. `next`: index of
    /// t + 1, or `i` at the last step.
    double deviation(std::vector<std::uint32_t> const& components, std::size_t i, std::size_t next, Eigen::Index k, Eigen::Index d,
                     NormalSource& normals) {
        double const fresh = relaxation_.fresh * normals.normal();
        if (relaxation_.keep == 0) return fresh;
        double white = -unmoved_(k);
        for (Eigen::Index j = k; j < d; ++j) white += diagonal(i, d)(j, k) * values_[components[static_cast<std::size_t>(j)] * size_ + i];
        if (next != i) white += coupling(next, d).col(k).dot(present_.head(d));
        return fresh + relaxation_.keep * white;
    }

    BlockPlan const& block_;
    Variable const& variable_;
    Grid const& grid_;
    std::size_t size_;
    Factors const& factors_;
    std::vector<double>& values_;
    Priors priors_;
    Relaxation relaxation_;
    std::vector<std::unique_ptr<PassRunner>> runners_;
    std::vector<double> diagonal_;  ///< D, then L in its lower triangle: [index][d, d]
    std::vector<double> coupling_;  ///< E, then B: [index][d, d]
    std::vector<double> linear_;    ///< η, then v, then the draw: [index][d]
    Eigen::VectorXd next_;          ///< the draw one step on
    Eigen::VectorXd present_;       ///< what it was before
    Eigen::VectorXd unmoved_;       ///< v of this step
    Eigen::Index order_ = 1;
};

}  // namespace

std::unique_ptr<BlockSampler> make_markov_sampler(BlockContext const& context) { return std::make_unique<MarkovSampler>(context); }

}  // namespace bam
