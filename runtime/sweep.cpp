// Blocks over time inside a recurrence h[t] = c[t] h[t-1] + u[t] (math.md, section 2), all steps in one backward and one forward pass.
//
// Backward, with the current values: what the cells from t on say of h[t] is exp(-(h' S h) / 2 + r' h), with
//     S[t] = C' W C + c[t+1] S[t+1] c[t+1]
//     r[t] = -C' W offset + c[t+1] (r[t+1] - S[t+1] u[t+1])          residual = C h + offset
// Forward, with h[t-1] already holding the values just drawn: h[t] = base + T θ[t], base = c0 h[t-1] + u0, T = dc/dθ h[t-1] + du/dθ, so
//     precision of θ[t] = prior + T' S T,     linear = prior + T' (r - S base)
// summed over sequences if they share θ[t]. O(cells * states^2), memory O(cells * states^2).
#include <algorithm>

#include "block_sampler.hpp"

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
          priors_(context.plan, context.block, context.inputs, context.factors),
          backward_(plan_.backward, context.inputs, {}, has_scan(plan_.backward)),
          forward_(plan_.forward, context.inputs),
          components_(context.block.groups.front()),
          relaxation_(context.relaxation) {
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
        backward_.begin();
        auto const chunks = backward_.chunks();
        for (std::size_t k = chunks.size(); k-- > 0;) {
            backward_.run(chunks[k]);
            add_readouts(chunks[k]);
            for (std::size_t t = chunks[k].last_step; t-- > chunks[k].first_step;) step_back(t, chunks[k]);
        }
    }

    /// S += C' W C, r -= C' W offset over the cells of a chunk.
    void add_readouts(Chunk const& chunk) {
        std::size_t const n = chunk.last_cell - chunk.first_cell;
        for (ReadoutPlan const& readout : plan_.readouts) {
            double const precision = factors_.common_precision(readout.factor);
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

    void add_product(std::uint32_t a, std::uint32_t b, double scale, double* out, std::size_t n) const {
        if (a == no_register || b == no_register) return;
        double const* x = backward_.at(a);
        double const* y = backward_.at(b);
        for (std::size_t i = 0; i < n; ++i) out[i] += scale * x[i] * y[i];
    }

    void step_back(std::size_t t, Chunk const& chunk) {
        std::size_t const lanes = grid_.lanes(t);
        std::size_t const cell = grid_.offsets[t];
        std::size_t const local = cell - chunk.first_cell;
        std::size_t const width = grid_.sequences;
        for (std::size_t p = 0; p < pairs_.size(); ++p) add(carry_information_.data() + p * width, information(p) + cell, lanes);
        for (std::size_t i = 0; i < plan_.states.size(); ++i) {
            double* g = carry_linear_.data() + i * width;
            add(g, linear(i) + cell, lanes);
            std::copy_n(linear(i) + cell, lanes, g);
        }
        // g = r - S u, then both go through the coefficients.
        for (std::size_t p = 0; p < pairs_.size(); ++p) {
            auto const [i, j] = pairs_[p];
            double const* s = information(p) + cell;
            subtract_product(s, plan_.states[j].input, local, carry_linear_.data() + i * width, lanes);
            if (i != j) subtract_product(s, plan_.states[i].input, local, carry_linear_.data() + j * width, lanes);
            double const* ci = at(backward_, plan_.states[i].coefficient, local);
            double const* cj = at(backward_, plan_.states[j].coefficient, local);
            double* carry = carry_information_.data() + p * width;
            for (std::size_t s_lane = 0; s_lane < lanes; ++s_lane) carry[s_lane] = ci && cj ? ci[s_lane] * cj[s_lane] * s[s_lane] : 0;
        }
        for (std::size_t i = 0; i < plan_.states.size(); ++i) {
            double const* c = at(backward_, plan_.states[i].coefficient, local);
            double* g = carry_linear_.data() + i * width;
            for (std::size_t lane = 0; lane < lanes; ++lane) g[lane] = c ? c[lane] * g[lane] : 0;
        }
    }

    static void add(double const* carry, double* out, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) out[i] += carry[i];
    }

    void subtract_product(double const* s, std::uint32_t input, std::size_t local, double* out, std::size_t n) const {
        double const* u = at(backward_, input, local);
        if (u == nullptr) return;
        for (std::size_t i = 0; i < n; ++i) out[i] -= s[i] * u[i];
    }

    static double const* at(PassRunner const& runner, std::uint32_t reg, std::size_t local) {
        return reg == no_register ? nullptr : runner.at(reg) + local;
    }

    void run_forward(NormalSource& normals) {
        std::fill(state_.begin(), state_.end(), 0.0);
        forward_.begin();
        for (Chunk const& chunk : forward_.chunks()) {
            forward_.run(chunk);
            for (std::size_t t = chunk.first_step; t < chunk.last_step; ++t) step_forward(t, grid_.offsets[t] - chunk.first_cell, normals);
        }
    }

    void step_forward(std::size_t t, std::size_t local, NormalSource& normals) {
        std::size_t const lanes = grid_.lanes(t);
        std::size_t const width = grid_.sequences;
        std::size_t const states = plan_.states.size();
        for (std::size_t i = 0; i < states; ++i) {
            StateEntry const& entry = plan_.states[i];
            double const* h = state_.data() + i * width;
            affine(base_.data() + i * width, at(forward_, entry.coefficient_offset, local), h, at(forward_, entry.input_offset, local),
                   lanes);
            for (std::size_t a = 0; a < d_; ++a) {
                affine(tangent_.data() + (i * d_ + a) * width, at(forward_, entry.coefficient_covariates[a], local), h,
                       at(forward_, entry.input_covariates[a], local), lanes);
            }
        }
        if (t >= variable_.first_step) {
            sum_lanes(t, lanes);
            bool const is_shared = variable_.extent == Extent::Time;
            for (std::size_t lane = 0; lane < (is_shared ? 1 : lanes); ++lane) draw_one(is_shared ? t : grid_.cell(lane, t), lane, normals);
        }
        for (std::size_t i = 0; i < states; ++i) {
            double* h = state_.data() + i * width;
            std::copy_n(base_.data() + i * width, lanes, h);
            for (std::size_t a = 0; a < d_; ++a) {
                double const* tangent = tangent_.data() + (i * d_ + a) * width;
                double const* theta = values_.data() + components_[a] * grid_.size(variable_.extent);
                for (std::size_t lane = 0; lane < lanes; ++lane) {
                    h[lane] += tangent[lane] * theta[variable_.extent == Extent::Time ? t : grid_.cell(lane, t)];
                }
            }
        }
    }

    /// out = c h + u, either of which may be zero by structure
    static void affine(double* out, double const* c, double const* h, double const* u, std::size_t n) {
        if (c && u) {
            for (std::size_t i = 0; i < n; ++i) out[i] = c[i] * h[i] + u[i];
        } else if (c) {
            for (std::size_t i = 0; i < n; ++i) out[i] = c[i] * h[i];
        } else if (u) {
            std::copy_n(u, n, out);
        } else {
            std::fill_n(out, n, 0.0);
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
        double* out = lane_sums_.data();
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
        for (std::size_t k = 0; k < d_ * (d_ + 1) / 2 + d_; ++k) {
            double* sums = lane_sums_.data() + k * width;
            for (std::size_t lane = 1; lane < lanes; ++lane) sums[0] += sums[lane];
        }
    }

    static void multiply_add(double* out, double const* a, double const* b, std::size_t n) {
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
        for (Eigen::Index a = 0; a < d; ++a)
            note_curvature(components_[static_cast<std::size_t>(a)] * grid_.size(variable_.extent) + index, precision_(a, a));
        for (Eigen::Index a = 0; a < d; ++a)
            present_(a) = values_[components_[static_cast<std::size_t>(a)] * grid_.size(variable_.extent) + index];
        if (!draw_normal(precision_, vector_, present_, relaxation_, normals)) {
            throw NumericalTrouble("the full conditional of " + variable_.name + " has no finite variance; give it a proper prior");
        }
        for (Eigen::Index a = 0; a < d; ++a)
            values_[components_[static_cast<std::size_t>(a)] * grid_.size(variable_.extent) + index] = vector_(a);
    }

    SweepPlan const& plan_;
    Variable const& variable_;
    Grid const& grid_;
    Factors const& factors_;
    std::vector<double>& values_;
    Priors priors_;
    PassRunner backward_;
    PassRunner forward_;
    std::vector<std::uint32_t> components_;
    Relaxation relaxation_;
    std::vector<Pair> pairs_;
    std::size_t d_ = 0;
    std::vector<double> information_;                       ///< S: [pair][cell]
    std::vector<double> linear_;                            ///< r: [state][cell]
    std::vector<double> carry_information_, carry_linear_;  ///< [pair or state][sequence]
    std::vector<double> state_, base_;                      ///< h[t-1], base: [state][sequence]
    std::vector<double> tangent_, product_;                 ///< T, S T: [state][entry][sequence]
    std::vector<double> lane_sums_;                         ///< lower triangle row by row, then linear: [..][sequence]
    Eigen::MatrixXd precision_;
    Eigen::VectorXd vector_, present_;
};

}  // namespace

std::unique_ptr<BlockSampler> make_sweep_sampler(BlockContext const& context) { return std::make_unique<SweepSampler>(context); }

}  // namespace bam
