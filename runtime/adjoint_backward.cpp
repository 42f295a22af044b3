// The backward half of AdjointRunner: every instruction of a pass undone in turn.
#include <algorithm>
#include <stdexcept>

#include "adjoint_runner.hpp"

namespace bam {

void AdjointRunner::clear_adjoints(Steps steps) {
    for (std::uint32_t reg = 0; reg < depends_.size(); ++reg) {
        if (depends_[reg] && is_stepped(reg)) std::fill_n(adjoint(reg, steps.first), count(extent(reg), steps), 0.0);
    }
}

void AdjointRunner::seed(Steps steps) {
    for (WeightedOutput const& output : outputs_) {
        if (!depends_[output.reg]) continue;
        Extent const e = extent(output.reg);
        double* out = adjoint(output.reg, steps.first);
        double const* weights = output.weights + (e == Extent::Time ? steps.first : (e == Extent::Cell ? grid_.offsets[steps.first] : 0));
        std::size_t const n = count(e, steps);
        for (std::size_t i = 0; i < n; ++i) out[i] += weights[i];
    }
}

/// adjoint(reg) += values * factor; a register with one number for all these steps takes the sum.
void AdjointRunner::add_to(std::uint32_t reg, double const* values, std::size_t n, Steps steps, double const* factor, bool factor_is_one) {
    if (!depends_[reg]) return;
    double* out = adjoint(reg, steps.first);
    if (count(extent(reg), steps) == 1) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += values[i] == 0 ? 0 : values[i] * (factor ? factor[factor_is_one ? 0 : i] : 1);
        *out += sum;
    } else if (factor == nullptr) {
        for (std::size_t i = 0; i < n; ++i) out[i] += values[i];
    } else {
        // A cell that does not count may have no number: 0 times it is 0.
        for (std::size_t i = 0; i < n; ++i) out[i] += values[i] == 0 ? 0 : values[i] * factor[factor_is_one ? 0 : i];
    }
}

void AdjointRunner::undo(Instruction const& instruction, Steps steps) {
    if (!depends_[instruction.out]) return;
    auto const [code, reg, a, b] = instruction;
    std::size_t const n = count(extent(reg), steps);
    double const* out = adjoint(reg, steps.first);
    switch (code) {
        case Code::Copy: undo_copy(instruction, steps); break;
        case Code::Add:  // in place (out = out + b) where a sum is accumulated
            if (a != reg) add_to(a, out, n, steps, nullptr, false);
            if (b != reg) add_to(b, out, n, steps, nullptr, false);
            break;
        case Code::Multiply:
        case Code::MultiplyAdd:
            add_to(a, out, n, steps, value(b, steps.first), extent(b) == Extent::One);
            add_to(b, out, n, steps, value(a, steps.first), extent(a) == Extent::One);
            break;
        case Code::Scan:
        case Code::Shift: break;
        case Code::Exp:
        case Code::Log:
        case Code::Sqrt:
        case Code::Abs:
        case Code::Equal:
        case Code::Reciprocal: throw std::logic_error("a parameter inside a function");  // BAM0213 before
    }
}

void AdjointRunner::undo_copy(Instruction const& instruction, Steps steps) {
    std::uint32_t const a = instruction.a;
    if (!depends_[a]) return;
    Extent const from = extent(a);
    Extent const to = extent(instruction.out);
    double const* out = adjoint(instruction.out, steps.first);
    if (from == Extent::One || from == to) {
        add_to(a, out, count(to, steps), steps, nullptr, false);
        return;
    }
    double* in = adjoint(a, steps.first);
    for (std::size_t t = steps.first; t < steps.last; ++t) {
        std::size_t const n = grid_.lanes(t);
        for (std::size_t i = 0; i < n; ++i) in[from == Extent::Time ? t - steps.first : i] += out[i];
        out += n;
    }
}

/// out[t] = c[t] out[t-1] + u[t], at one step: everything but what goes to out[t-1].
void AdjointRunner::undo_scan_step(Instruction const& instruction, std::size_t carrier, std::size_t t) {
    std::size_t const n = lanes(extent(instruction.out), t);
    Steps const step{t, t + 1};
    double const* out = adjoint(instruction.out, t);
    add_to(instruction.b, out, n, step, nullptr, false);
    if (t > 0) add_to(instruction.a, out, n, step, previous_row(instruction.out, t, carries_[carrier]), false);
}

void AdjointRunner::undo_scan(Instruction const& instruction, std::size_t carrier) {
    std::uint32_t const reg = instruction.out;
    if (!depends_[reg]) return;
    std::vector<double>& later = later_[carrier];
    for (std::size_t t = chunk_.last_step; t-- > chunk_.first_step;) {
        std::size_t const n = lanes(extent(reg), t);
        double* out = adjoint(reg, t);
        if (!later_by_step_.empty()) {
            std::copy_n(later.data(), n, later_by_step_[carrier].data() + (extent(reg) == Extent::Time ? t : grid_.offsets[t]));
        }
        for (std::size_t i = 0; i < n; ++i) out[i] += later[i];
        undo_scan_step(instruction, carrier, t);
        std::fill(later.begin(), later.end(), 0.0);
        double const* c = value(instruction.a, t);
        bool const is_one = extent(instruction.a) != Extent::Cell;
        for (std::size_t i = 0; t > 0 && i < n; ++i) later[i] = c[is_one ? 0 : i] * out[i];
    }
}

void AdjointRunner::undo_shift(Instruction const& instruction, std::size_t carrier) {
    std::uint32_t const a = instruction.a;
    if (!depends_[instruction.out]) return;
    std::vector<double>& later = later_[carrier];
    for (std::size_t t = chunk_.last_step; t-- > chunk_.first_step;) {
        std::size_t const n = lanes(extent(a), t);
        if (!later_by_step_.empty()) {
            std::copy_n(later.data(), n, later_by_step_[carrier].data() + (extent(a) == Extent::Time ? t : grid_.offsets[t]));
        }
        double* in = adjoint(a, t);
        for (std::size_t i = 0; i < n; ++i) in[i] += later[i];
        std::fill(later.begin(), later.end(), 0.0);
        if (t > 0) std::copy_n(adjoint(instruction.out, t), n, later.data());
    }
}

/// Adds the adjoint of a mean or a covariance of the variable to the gradient.
void AdjointRunner::collect(std::uint32_t reg, Steps steps, Gradient& gradient) {
    Register const& r = pass_.registers[reg];
    Covariances const& c = covariances_[variable_];
    double* out = nullptr;
    if (r.from == From::Variable) {
        out = gradient.mean.data() + r.component * c.size;
    } else if (r.lag == r.second_lag) {
        out = gradient.same.data() + c.pair[r.component * c.components + r.second] * c.size;
    } else {
        out = gradient.before.data() + c.earlier[r.component * c.components + r.second] * c.size;
    }
    if (!is_stepped(reg)) {
        for (std::size_t i = 0; i < c.size; ++i) out[i] += adjoints_[reg][i];
        return;
    }
    for (std::size_t t = std::max<std::size_t>(steps.first, r.lag); t < steps.last; ++t) {
        double const* in = adjoint(reg, t);
        double* to = out + (r.extent == Extent::Time ? t - r.lag : grid_.offsets[t - r.lag]);
        std::size_t const n = lanes(r.extent, t);
        for (std::size_t i = 0; i < n; ++i) to[i] += in[i];
    }
}

double AdjointRunner::sweep_back(Gradient* gradient, bool keeps_later) {
    double sum = 0;
    begin();
    bool const carries = !carries_.empty();
    if (carries) {
        kept_.resize(chunks_.size());
        for (std::size_t k = 0; k < chunks_.size(); ++k) {
            kept_[k] = carries_;
            run(chunks_[k]);
            advance(chunks_[k]);
        }
    }
    if (keeps_later) {
        later_by_step_.resize(carries_.size());
        for (auto& later : later_by_step_) later.resize(grid_.cells());
    }
    for (auto& later : later_) std::fill(later.begin(), later.end(), 0.0);
    for (std::uint32_t reg = 0; reg < depends_.size(); ++reg) {
        if (depends_[reg] && !is_stepped(reg)) std::fill(adjoints_[reg].begin(), adjoints_[reg].end(), 0.0);
    }
    for (std::size_t k = chunks_.size(); k-- > 0;) {
        Steps const steps{chunks_[k].first_step, chunks_[k].last_step};
        if (carries) carries_ = kept_[k];
        run(chunks_[k]);
        bool const is_stepped_pass = pass_.domain == Extent::Time || pass_.domain == Extent::Cell;
        if (is_stepped_pass) {
            sum += weighted_sum(steps);
            clear_adjoints(steps);
            seed(steps);
        }
        for (std::size_t i = stepped_.size(); i-- > 0;) {
            if (stepped_[i].code == Code::Scan) {
                undo_scan(stepped_[i], carriers_[i]);
            } else if (stepped_[i].code == Code::Shift) {
                undo_shift(stepped_[i], carriers_[i]);
            } else {
                undo(stepped_[i], steps);
            }
        }
        for (std::uint32_t reg : own_) {
            if (gradient != nullptr && is_stepped(reg)) collect(reg, steps, *gradient);
        }
    }
    Steps const all{0, grid_.steps};
    if (pass_.domain == Extent::One || pass_.domain == Extent::Sequence) {
        sum += weighted_sum(all);
        seed(all);
    }
    for (std::size_t i = once_.size(); i-- > 0;) undo(once_[i], all);
    for (std::uint32_t reg : own_) {
        if (gradient != nullptr && !is_stepped(reg)) collect(reg, all, *gradient);
    }
    return sum;
}

double AdjointRunner::differentiate(Gradient& gradient) { return sweep_back(&gradient, false); }

void AdjointRunner::look_back() {
    if (!carries_.empty()) sweep_back(nullptr, true);
}

void AdjointRunner::differentiate_step(std::size_t t, Gradient& gradient) {
    Steps const step{t, t + 1};
    clear_adjoints(step);
    seed(step);
    for (std::size_t i = dependent_.size(); i-- > 0;) {
        Instruction const& instruction = dependent_[i];
        std::size_t const carrier = dependent_carriers_[i];
        if (carrier == SIZE_MAX) {
            undo(instruction, step);
            continue;
        }
        std::uint32_t const carried = instruction.code == Code::Scan ? instruction.out : instruction.a;
        double const* later = later_by_step_[carrier].data() + (extent(carried) == Extent::Time ? t : grid_.offsets[t]);
        double* out = adjoint(carried, t);
        std::size_t const n = lanes(extent(carried), t);
        for (std::size_t k = 0; k < n; ++k) out[k] += later[k];
        if (instruction.code == Code::Scan) undo_scan_step(instruction, carrier, t);
    }
    for (std::uint32_t reg : own_) collect(reg, step, gradient);
}

}  // namespace bam
