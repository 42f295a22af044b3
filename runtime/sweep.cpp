// Blocks over time inside a recurrence h[t] = c[t] h[t-1] + u[t] (math.md, 5. Decays), all steps in one backward and one forward pass.
//
// Backward, with the current values: what the cells from t on say of h[t] is exp(-(h' S h) / 2 + r' h), with
//     S[t] = C' W C + c[t+1] S[t+1] c[t+1]
//     r[t] = -C' W offset + c[t+1] (r[t+1] - S[t+1] u[t+1])          residual = C h + offset
// Forward, with h[t-1] already holding the values just drawn: h[t] = base + T θ[t], base = c0 h[t-1] + u0, T = dc/dθ h[t-1] + du/dθ, so
//     precision of θ[t] = prior + T' S T,     linear = prior + T' (r - S base)
// summed over sequences if they share θ[t]. O(cells * states^2), memory O(cells * states^2).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "block_sampler.hpp"
#include "kernels.hpp"
#include "undetermined.hpp"
#include "wide.hpp"

namespace bam {
namespace {

class SweepSampler : public BlockSampler {
  public:
    explicit SweepSampler(BlockContext const& context)
        : plan_(context.block.sweep),
          variable_(context.plan.layout.variables[context.block.variable]),
          grid_(context.inputs.bound.grid),
          factors_(context.factors),
          values_(context.state.values[context.block.variable]),
          intervals_(context.factors.intervals(context.block.variable)),
          priors_(context.plan, context.block, context.inputs, context.factors),
          runner_(plan_.pass, context.inputs, {}, has_scan(plan_.pass)),
          components_(context.block.groups.front()),
          relaxation_(context.relaxation),
          index_(index_of(context)) {
        std::size_t const states = plan_.states.size();
        for (std::size_t i = 0; i < states; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                if (reads_both(i, j)) pairs_.push_back({i, j});
            }
        }
        information_.resize(pairs_.size() * grid_.cells());
        linear_.resize(states * grid_.cells());
        auto const lanes = grid_.sequences;
        carry_information_.resize(pairs_.size() * lanes);
        carry_linear_.resize(states * lanes);
        for (auto* buffer : {&state_, &base_}) buffer->resize(states * lanes);
        zeros_.resize(lanes);
        d_ = components_.size();
        for (auto* buffer : {&tangent_, &product_}) buffer->resize(states * d_ * lanes);
        lane_sums_.resize((d_ * (d_ + 1) / 2 + d_) * lanes);
        auto const d = static_cast<Eigen::Index>(d_);
        precision_.resize(d, d);
        vector_.resize(d);
        present_.resize(d);
    }

    void draw(NormalSource& normals) override {
        priors_.update();
        run_backward();
        run_forward(normals);
    }

  private:
    struct Pair {
        std::size_t i, j;
    };

    static bool has_scan(Pass const& pass) {
        return std::any_of(pass.instructions.begin(), pass.instructions.end(), [](Instruction const& i) { return i.code == Code::Scan; });
    }

    bool reads_both(std::size_t i, std::size_t j) const {
        for (ReadoutPlan const& readout : plan_.readouts) {
            for (ReadoutRow const& row : readout.rows) {
                if (row.states[i] != no_register && row.states[j] != no_register) return true;
            }
        }
        return false;
    }

    double* information(std::size_t pair) { return information_.data() + pair * grid_.cells(); }
    double* linear(std::size_t state) { return linear_.data() + state * grid_.cells(); }

    void run_backward() {
        std::fill(information_.begin(), information_.end(), 0.0);
        std::fill(linear_.begin(), linear_.end(), 0.0);
        std::fill(carry_information_.begin(), carry_information_.end(), 0.0);
        std::fill(carry_linear_.begin(), carry_linear_.end(), 0.0);
        runner_.begin();
        auto const chunks = runner_.chunks();
        for (std::size_t k = chunks.size(); k-- > 0;) {
            runner_.run(chunks[k]);
            add_readouts(chunks[k]);
            for (std::size_t t = chunks[k].last_step; t-- > chunks[k].first_step;) step_back(t, chunks[k]);
        }
    }

    /// S += C' W C, r -= C' W offset over the cells of a chunk.
    void add_readouts(Chunk const& chunk) {
        std::size_t const n = chunk.last_cell - chunk.first_cell;
        for (ReadoutPlan const& readout : plan_.readouts) {
            double const precision = factors_.common_precision(readout.factor);
            if (precision == 0) continue;
            for (ReadoutRow const& row : readout.rows) {
                for (std::size_t p = 0; p < pairs_.size(); ++p) {
                    add_product(row.states[pairs_[p].i], row.states[pairs_[p].j], precision, information(p) + chunk.first_cell, n);
                }
                for (std::size_t i = 0; i < plan_.states.size(); ++i) {
                    add_product(row.states[i], row.offset, -precision, linear(i) + chunk.first_cell, n);
                }
            }
        }
    }

    void add_product(std::uint32_t a, std::uint32_t b, double scale, double* __restrict out, std::size_t n) const {
        if (a == no_register || b == no_register) return;
        double const* x = runner_.at(a);
        double const* y = runner_.at(b);
        for (std::size_t i = 0; i < n; ++i) out[i] += scale * x[i] * y[i];
    }

    /// Takes what step t + 1 handed down into S and r of step t, and leaves what step t hands down to t - 1.
    BAM_WIDE void step_back(std::size_t t, Chunk const& chunk) {
        std::size_t const lanes = grid_.lanes(t);
        std::size_t const cell = grid_.offsets[t];
        std::size_t const local = cell - chunk.first_cell;
        std::size_t const width = grid_.sequences;
        for (std::size_t i = 0; i < plan_.states.size(); ++i) {
            take_in(linear(i) + cell, carry_linear_.data() + i * width, lanes);
        }
        // g = r - S u, then both go through the coefficients.
        for (std::size_t p = 0; p < pairs_.size(); ++p) {
            auto const [i, j] = pairs_[p];
            double* s = information(p) + cell;
            double* handed_down = carry_information_.data() + p * width;
            double* gi = carry_linear_.data() + i * width;
            double const* ui = at(plan_.states[i].input, local);
            double const* uj = at(plan_.states[j].input, local);
            double const* ci = at(plan_.states[i].coefficient, local);
            double const* cj = at(plan_.states[j].coefficient, local);
            if (i == j) {
                hand_down(s, handed_down, ci, gi, ui, lanes);
            } else {
                hand_down(s, handed_down, ci, cj, gi, uj, carry_linear_.data() + j * width, ui, lanes);
            }
        }
        for (std::size_t i = 0; i < plan_.states.size(); ++i) {
            double const* c = at(plan_.states[i].coefficient, local);
            multiply(carry_linear_.data() + i * width, c, lanes);
        }
    }

    /// r += g, g = r
    static void take_in(double* __restrict r, double* __restrict g, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) g[i] = r[i] += g[i];
    }

    /// One pair of states, i = j. Functions of their own, since only of arguments compilers believe that they do not overlap.
    static void hand_down(double* __restrict s, double* __restrict handed_down, double const* c, double* __restrict g, double const* u,
                          std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            s[i] += handed_down[i];
            handed_down[i] = c[i] * c[i] * s[i];
            g[i] -= s[i] * u[i];
        }
    }

    /// i != j
    static void hand_down(double* __restrict s, double* __restrict handed_down, double const* ci, double const* cj, double* __restrict gi,
                          double const* uj, double* __restrict gj, double const* ui, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            s[i] += handed_down[i];
            handed_down[i] = ci[i] * cj[i] * s[i];
            gi[i] -= s[i] * uj[i];
            gj[i] -= s[i] * ui[i];
        }
    }

    static void multiply(double* __restrict out, double const* a, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) out[i] *= a[i];
    }

    /// Where a step begins; zeros for what is zero by structure.
    double const* at(std::uint32_t reg, std::size_t local) const { return reg == no_register ? zeros_.data() : runner_.at(reg) + local; }

    void run_forward(NormalSource& normals) {
        std::fill(state_.begin(), state_.end(), 0.0);
        for (Chunk const& chunk : runner_.chunks()) {
            // The first chunk is the one that the way back ran last; what is read of it does not depend on the block.
            if (chunk.first_step > 0) runner_.run(chunk);
            for (std::size_t t = chunk.first_step; t < chunk.last_step; ++t) step_forward(t, grid_.offsets[t] - chunk.first_cell, normals);
        }
    }

    BAM_WIDE void step_forward(std::size_t t, std::size_t local, NormalSource& normals) {
        std::size_t const lanes = grid_.lanes(t);
        std::size_t const width = grid_.sequences;
        std::size_t const states = plan_.states.size();
        for (std::size_t i = 0; i < states; ++i) {
            StateEntry const& entry = plan_.states[i];
            double const* h = state_.data() + i * width;
            affine(base_.data() + i * width, entry.coefficient_offset, h, entry.input_offset, local, lanes);
            for (std::size_t a = 0; a < d_; ++a) {
                affine(tangent_.data() + (i * d_ + a) * width, entry.coefficient_covariates[a], h, entry.input_covariates[a], local, lanes);
            }
        }
        if (t >= variable_.first_step) {
            sum_lanes(t, lanes);
            bool const is_shared = variable_.extent == Extent::Time;
            for (std::size_t lane = 0; lane < (is_shared ? 1 : lanes); ++lane) draw_one(is_shared ? t : grid_.cell(lane, t), lane, normals);
        }
        // The state becomes base + T θ.
        for (std::size_t i = 0; i < states; ++i) {
            double* __restrict h = base_.data() + i * width;
            for (std::size_t a = 0; a < d_; ++a) {
                double const* tangent = tangent_.data() + (i * d_ + a) * width;
                double const* theta = values_.data() + components_[a] * grid_.size(variable_.extent);
                if (variable_.extent == Extent::Time) {
                    for (std::size_t lane = 0; lane < lanes; ++lane) h[lane] += tangent[lane] * theta[t];
                } else {
                    for (std::size_t lane = 0; lane < lanes; ++lane) h[lane] += tangent[lane] * theta[grid_.cell(lane, t)];
                }
            }
        }
        state_.swap(base_);
    }

    /// out = c h + u, either of which may be zero by structure
    void affine(double* __restrict out, std::uint32_t coefficient, double const* h, std::uint32_t input, std::size_t local,
                std::size_t n) const {
        double const* c = at(coefficient, local);
        double const* u = at(input, local);
        if (coefficient == no_register) {
            std::copy_n(u, n, out);
        } else if (input == no_register) {
            for (std::size_t i = 0; i < n; ++i) out[i] = c[i] * h[i];
        } else {
            for (std::size_t i = 0; i < n; ++i) out[i] = c[i] * h[i] + u[i];
        }
    }

    /// T'ST and T'(r - S base) of every lane, added up over lanes if they share the entry.
    void sum_lanes(std::size_t t, std::size_t lanes) {
        std::size_t const width = grid_.sequences;
        std::size_t const states = plan_.states.size();
        std::size_t const cell = grid_.offsets[t];
        std::fill(product_.begin(), product_.end(), 0.0);
        std::fill(lane_sums_.begin(), lane_sums_.end(), 0.0);
        for (std::size_t p = 0; p < pairs_.size(); ++p) {
            auto const [i, j] = pairs_[p];
            double const* s = information(p) + cell;
            for (std::size_t a = 0; a < d_; ++a) {
                multiply_add(product_.data() + (i * d_ + a) * width, s, tangent_.data() + (j * d_ + a) * width, lanes);
                if (i != j) multiply_add(product_.data() + (j * d_ + a) * width, s, tangent_.data() + (i * d_ + a) * width, lanes);
            }
        }
        double* __restrict out = lane_sums_.data();
        for (std::size_t a = 0; a < d_; ++a) {
            for (std::size_t b = 0; b <= a; ++b, out += width) {
                for (std::size_t i = 0; i < states; ++i) {
                    multiply_add(out, product_.data() + (i * d_ + a) * width, tangent_.data() + (i * d_ + b) * width, lanes);
                }
            }
        }
        for (std::size_t a = 0; a < d_; ++a, out += width) {
            for (std::size_t i = 0; i < states; ++i) {
                double const* tangent = tangent_.data() + (i * d_ + a) * width;
                double const* product = product_.data() + (i * d_ + a) * width;
                double const* base = base_.data() + i * width;
                double const* r = linear(i) + cell;
                for (std::size_t lane = 0; lane < lanes; ++lane) out[lane] += tangent[lane] * r[lane] - product[lane] * base[lane];
            }
        }
        if (variable_.extent != Extent::Time) return;
        for (std::size_t k = 0; k < d_ * (d_ + 1) / 2 + d_; ++k) lane_sums_[k * width] = sum(lane_sums_.data() + k * width, lanes);
    }

    static void multiply_add(double* __restrict out, double const* a, double const* b, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) out[i] += a[i] * b[i];
    }

    void draw_one(std::size_t index, std::size_t lane, NormalSource& normals) {
        std::size_t const width = grid_.sequences;
        double const* sums = lane_sums_.data() + lane;
        auto const d = static_cast<Eigen::Index>(d_);
        for (Eigen::Index a = 0; a < d; ++a) {
            for (Eigen::Index b = 0; b <= a; ++b, sums += width) precision_(a, b) = *sums;
        }
        for (Eigen::Index a = 0; a < d; ++a, sums += width) vector_(a) = *sums;
        priors_.add_to(components_, index, precision_, vector_);
        raise_diagonal(precision_);
        for (Eigen::Index a = 0; a < d; ++a)
            note_curvature(components_[static_cast<std::size_t>(a)] * grid_.size(variable_.extent) + index, precision_(a, a));
        for (Eigen::Index a = 0; a < d; ++a)
            present_(a) = values_[components_[static_cast<std::size_t>(a)] * grid_.size(variable_.extent) + index];
        std::size_t const first = components_.front() * grid_.size(variable_.extent) + index;
        bool const is_truncated = !intervals_.empty() && intervals_[first].is_bounded();
        bool const is_drawn =
            is_truncated ? draw_truncated(precision_(0, 0), vector_(0), intervals_[first], normals)
                         : draw_normal(precision_, vector_, present_, relaxation_, normals, priors_.least_pivot(components_, index));
        if (!is_drawn) {
            double const total = std::accumulate(lane_sums_.begin(), lane_sums_.end(), 0.0);  // the factor stands in the precision
            bool const is_of_numbers = !std::isfinite(total) || priors_.determines(components_, index);
            throw NumericalTrouble(without_variance(variable_, "give it a proper prior", is_of_numbers), index_, is_of_numbers);
        }
        for (Eigen::Index a = 0; a < d; ++a)
            values_[components_[static_cast<std::size_t>(a)] * grid_.size(variable_.extent) + index] = vector_(a);
    }

    SweepPlan const& plan_;
    Variable const& variable_;
    Grid const& grid_;
    Factors const& factors_;
    std::vector<double>& values_;
    std::vector<Interval> const& intervals_;
    Priors priors_;
    PassRunner runner_;
    std::vector<std::uint32_t> components_;
    Relaxation relaxation_;
    std::size_t index_;  ///< of the block in the plan
    std::vector<Pair> pairs_;
    std::size_t d_ = 0;
    std::vector<double> information_;                       ///< S: [pair][cell]
    std::vector<double> linear_;                            ///< r: [state][cell]
    std::vector<double> carry_information_, carry_linear_;  ///< [pair or state][sequence]
    std::vector<double> zeros_;                             ///< [sequence]
    std::vector<double> state_, base_;                      ///< h[t-1], base: [state][sequence]
    std::vector<double> tangent_, product_;                 ///< T, S T: [state][entry][sequence]
    std::vector<double> lane_sums_;                         ///< lower triangle row by row, then linear: [..][sequence]
    Eigen::MatrixXd precision_;
    Eigen::VectorXd vector_, present_;
};

}  // namespace

std::unique_ptr<BlockSampler> make_sweep_sampler(BlockContext const& context) { return std::make_unique<SweepSampler>(context); }

}  // namespace bam
