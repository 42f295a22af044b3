// The forward half of AdjointRunner; adjoint_backward.cpp has the other.
#include "adjoint_runner.hpp"

#include <algorithm>
#include <cmath>

namespace bam {

Gradient make_gradient(Covariances const& covariances) {
    return {std::vector<double>(covariances.components * covariances.size), std::vector<double>(covariances.same.size()),
            std::vector<double>(covariances.before.size())};
}

AdjointRunner::AdjointRunner(Pass const& pass, std::vector<WeightedOutput> outputs, Inputs const& inputs,
                             std::vector<Covariances> const& covariances, std::uint32_t variable)
    : pass_(pass),
      grid_(inputs.bound.grid),
      covariances_(covariances),
      variable_(variable),
      outputs_(std::move(outputs)),
      chunks_(make_chunks(grid_, pass.domain)) {
    std::size_t cells = 1;
    std::size_t steps = 1;
    for (Chunk const& chunk : chunks_) {
        cells = std::max(cells, chunk.last_cell - chunk.first_cell);
        steps = std::max(steps, chunk.last_step - chunk.first_step);
    }
    auto room = [&](Extent e) {
        switch (e) {
            case Extent::One: return std::size_t{1};
            case Extent::Sequence: return grid_.sequences;
            case Extent::Time: return steps;
            case Extent::Cell: return cells;
        }
        return std::size_t{1};
    };
    std::size_t const registers = pass.registers.size();
    values_.resize(registers);
    adjoints_.resize(registers);
    pointers_.assign(registers, nullptr);
    depends_.assign(registers, false);
    for (std::uint32_t reg = 0; reg < registers; ++reg) {
        Register const& r = pass.registers[reg];
        double const* base = nullptr;
        switch (r.from) {
            case From::Scratch: break;
            case From::Constant: values_[reg].assign(1, r.value); break;
            case From::Variable: {
                auto const& values = inputs.state.values[r.index].empty() ? inputs.bound.data[r.index] : inputs.state.values[r.index];
                base = values.data() + r.component * grid_.size(r.extent);
                break;
            }
            case From::Weight: base = inputs.weights[r.index].data() + r.component * grid_.size(r.extent); break;
            case From::Covariance: {
                Covariances const& c = covariances[r.index];
                base = r.lag == r.second_lag ? c.at(r.component, r.second) : c.before_at(r.component, r.second);
                break;
            }
        }
        bool const is_own = (r.from == From::Variable || r.from == From::Covariance) && r.index == variable;
        if (is_own) {
            depends_[reg] = true;
            own_.push_back(reg);
        }
        if (base == nullptr) {
            if (r.from == From::Scratch) values_[reg].assign(room(r.extent), 0.0);
            pointers_[reg] = values_[reg].data();
        } else if (!is_stepped(reg)) {
            pointers_[reg] = base;
        } else if (r.lag > 0) {
            values_[reg].assign(room(r.extent), 0.0);
            pointers_[reg] = values_[reg].data();
            lagged_.emplace_back(reg, base);
        } else {
            inputs_.push_back({reg, base});
        }
    }
    for (Instruction const& instruction : pass.instructions) {
        if (depends_[instruction.a] || depends_[instruction.b]) depends_[instruction.out] = true;
    }
    for (Instruction const& instruction : pass.instructions) {
        if (!is_stepped(instruction.out)) {
            once_.push_back(instruction);
            continue;
        }
        std::size_t carrier = SIZE_MAX;
        if (instruction.code == Code::Scan || instruction.code == Code::Shift) {
            carrier = carries_.size();
            carries_.emplace_back(grid_.sequences);
        }
        stepped_.push_back(instruction);
        carriers_.push_back(carrier);
        if (depends_[instruction.out]) {
            dependent_.push_back(instruction);
            dependent_carriers_.push_back(carrier);
        }
    }
    later_.assign(carries_.size(), std::vector<double>(grid_.sequences));
    for (std::uint32_t reg = 0; reg < registers; ++reg) {
        if (depends_[reg]) adjoints_[reg].assign(room(extent(reg)), 0.0);
    }
}

std::size_t AdjointRunner::count(Extent e, Steps steps) const {
    switch (e) {
        case Extent::One: return 1;
        case Extent::Sequence: return grid_.sequences;
        case Extent::Time: return steps.last - steps.first;
        case Extent::Cell: return grid_.offsets[steps.last] - grid_.offsets[steps.first];
    }
    return 1;
}

std::size_t AdjointRunner::offset(Extent e, std::size_t step) const {
    if (e == Extent::Time) return step - chunk_.first_step;
    return e == Extent::Cell ? grid_.offsets[step] - chunk_.first_cell : 0;
}

void AdjointRunner::begin() {
    chunk_ = {0, grid_.steps, 0, grid_.cells()};
    for (Instruction const& instruction : once_) execute(instruction, {0, grid_.steps});
    for (auto& carry : carries_) std::fill(carry.begin(), carry.end(), 0.0);
}

void AdjointRunner::run(Chunk const& chunk) {
    chunk_ = chunk;
    for (Input const& input : inputs_) {
        pointers_[input.reg] = input.base + (extent(input.reg) == Extent::Time ? chunk.first_step : chunk.first_cell);
    }
    for (auto const& [reg, base] : lagged_) {
        std::size_t const lag = pass_.registers[reg].lag;
        for (std::size_t t = chunk.first_step; t < chunk.last_step; ++t) {
            double* to = values_[reg].data() + offset(extent(reg), t);
            std::size_t const n = lanes(extent(reg), t);
            if (t < lag) {
                std::fill_n(to, n, 0.0);
            } else {
                std::copy_n(base + (extent(reg) == Extent::Time ? t - lag : grid_.offsets[t - lag]), n, to);
            }
        }
    }
    Steps const steps{chunk.first_step, chunk.last_step};
    for (std::size_t i = 0; i < stepped_.size(); ++i) {
        if (stepped_[i].code == Code::Scan) {
            scan(stepped_[i], steps, carries_[carriers_[i]]);
        } else if (stepped_[i].code == Code::Shift) {
            shift(stepped_[i], steps, carries_[carriers_[i]]);
        } else {
            execute(stepped_[i], steps);
        }
    }
}

void AdjointRunner::run_step(std::size_t t) {
    Steps const steps{t, t + 1};
    for (std::size_t i = 0; i < dependent_.size(); ++i) {
        if (dependent_[i].code == Code::Scan) {
            scan(dependent_[i], steps, carries_[dependent_carriers_[i]]);
        } else if (dependent_[i].code == Code::Shift) {
            shift(dependent_[i], steps, carries_[dependent_carriers_[i]]);
        } else {
            execute(dependent_[i], steps);
        }
    }
}

void AdjointRunner::advance(Chunk const& chunk) {
    for (std::size_t i = 0; i < stepped_.size(); ++i) {
        if (carriers_[i] == SIZE_MAX) continue;
        std::uint32_t const reg = stepped_[i].code == Code::Scan ? stepped_[i].out : stepped_[i].a;
        std::size_t const t = chunk.last_step - 1;
        std::copy_n(value(reg, t), lanes(extent(reg), t), carries_[carriers_[i]].data());
    }
}

namespace {

template <class F>
void binary(double* out, double const* a, bool a_is_one, double const* b, bool b_is_one, std::size_t n, F f) {
    for (std::size_t i = 0; i < n; ++i) f(out[i], a[a_is_one ? 0 : i], b[b_is_one ? 0 : i]);
}

}  // namespace

void AdjointRunner::execute(Instruction const& instruction, Steps steps) {
    std::uint32_t const reg = instruction.out;
    std::size_t const n = count(extent(reg), steps);
    double* out = values_[reg].data() + offset(extent(reg), steps.first);
    double const* a = value(instruction.a, steps.first);
    double const* b = value(instruction.b, steps.first);
    bool const a_is_one = extent(instruction.a) == Extent::One;
    bool const b_is_one = extent(instruction.b) == Extent::One;
    auto unary = [&](auto f) {
        for (std::size_t i = 0; i < n; ++i) out[i] = f(a[a_is_one ? 0 : i]);
    };
    switch (instruction.code) {
        case Code::Copy: copy(instruction, steps); break;
        case Code::Add: binary(out, a, a_is_one, b, b_is_one, n, [](double& o, double x, double y) { o = x + y; }); break;
        case Code::Multiply: binary(out, a, a_is_one, b, b_is_one, n, [](double& o, double x, double y) { o = x * y; }); break;
        case Code::MultiplyAdd: binary(out, a, a_is_one, b, b_is_one, n, [](double& o, double x, double y) { o += x * y; }); break;
        case Code::Scan:
        case Code::Shift: break;  // know their carry
        case Code::Exp: unary([](double x) { return std::exp(x); }); break;
        case Code::Log: unary([](double x) { return std::log(x); }); break;
        case Code::Sqrt: unary([](double x) { return std::sqrt(x); }); break;
        case Code::Abs: unary([](double x) { return std::abs(x); }); break;
        case Code::Equal: unary([&](double x) { return x == *b ? 1.0 : 0.0; }); break;
        case Code::Reciprocal: unary([](double x) { return 1 / x; }); break;
    }
}

void AdjointRunner::copy(Instruction const& instruction, Steps steps) {
    Extent const from = extent(instruction.a);
    Extent const to = extent(instruction.out);
    double* out = values_[instruction.out].data() + offset(to, steps.first);
    double const* a = value(instruction.a, steps.first);
    if (from == Extent::One) {
        std::fill_n(out, count(to, steps), *a);
    } else if (from == to) {
        std::copy_n(a, count(to, steps), out);
    } else {
        for (std::size_t t = steps.first; t < steps.last; ++t, out += grid_.lanes(t - 1)) {
            if (from == Extent::Time) {
                std::fill_n(out, grid_.lanes(t), a[t - steps.first]);
            } else {
                std::copy_n(a, grid_.lanes(t), out);
            }
        }
    }
}

/// The row of a register at the step before t.
double const* AdjointRunner::previous_row(std::uint32_t reg, std::size_t t, std::vector<double> const& carry) const {
    return t == chunk_.first_step ? carry.data() : value(reg, t - 1);
}

void AdjointRunner::scan(Instruction const& instruction, Steps steps, std::vector<double> const& carry) {
    for (std::size_t t = steps.first; t < steps.last; ++t) {
        std::size_t const n = lanes(extent(instruction.out), t);
        double* out = values_[instruction.out].data() + offset(extent(instruction.out), t);
        double const* u = value(instruction.b, t);
        bool const u_is_one = extent(instruction.b) == Extent::One;
        bool const c_is_one = extent(instruction.a) != Extent::Cell;
        if (t == 0) {
            for (std::size_t i = 0; i < n; ++i) out[i] = u[u_is_one ? 0 : i];
            continue;
        }
        double const* c = value(instruction.a, t);
        double const* previous = previous_row(instruction.out, t, carry);
        for (std::size_t i = 0; i < n; ++i) out[i] = c[c_is_one ? 0 : i] * previous[i] + u[u_is_one ? 0 : i];
    }
}

void AdjointRunner::shift(Instruction const& instruction, Steps steps, std::vector<double> const& carry) {
    for (std::size_t t = steps.first; t < steps.last; ++t) {
        std::size_t const n = lanes(extent(instruction.out), t);
        double* out = values_[instruction.out].data() + offset(extent(instruction.out), t);
        if (t == 0) {
            std::fill_n(out, n, 0.0);
        } else {
            std::copy_n(previous_row(instruction.a, t, carry), n, out);
        }
    }
}

double AdjointRunner::weighted_sum(Steps steps) const {
    double sum = 0;
    for (WeightedOutput const& output : outputs_) {
        Extent const e = extent(output.reg);
        double const* values = value(output.reg, steps.first);
        double const* weights = output.weights + (e == Extent::Time ? steps.first : (e == Extent::Cell ? grid_.offsets[steps.first] : 0));
        std::size_t const n = count(e, steps);
        // A cell without weight may have no number.
        for (std::size_t i = 0; i < n; ++i) sum += weights[i] == 0 ? 0 : weights[i] * values[i];
    }
    return sum;
}

double AdjointRunner::evaluate() {
    begin();
    double sum = 0;
    for (Chunk const& chunk : chunks_) {
        run(chunk);
        sum += weighted_sum({chunk.first_step, chunk.last_step});
        advance(chunk);
    }
    return sum;
}

}  // namespace bam
