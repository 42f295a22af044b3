#include "pass_runner.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace bam {
namespace {

/// Whether the instruction adds to, or is, a sum of products of its operands.
bool is_sum(Pass const& pass, Instruction const& instruction) {
    Extent const extent = pass.registers[instruction.out].extent;
    Extent const from = pass.registers[instruction.a].extent;
    return instruction.code == Code::Add || instruction.code == Code::Multiply || instruction.code == Code::MultiplyAdd ||
           (instruction.code == Code::Copy && (from == extent || from == Extent::One));
}

template <class F>
void unary(double* out, double const* a, bool a_is_one, std::size_t n, F f) {
    for (std::size_t i = 0; i < n; ++i) out[i] = f(a[a_is_one ? 0 : i]);
}

/// out = c x + u
void add_product(double* __restrict out, double const* c, double const* x, double const* u, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = c[i] * x[i] + u[i];
}

void add_scaled(double* __restrict out, double c, double const* x, double const* u, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = c * x[i] + u[i];
}

constexpr double one = 1;

/// Numbers of a line of the cache; registers begin with one, so that few reads go over two.
constexpr std::size_t line = 8;

std::size_t whole_lines(std::size_t n) { return (n + line - 1) / line * line; }

double* first_line(double* at) {
    auto const past = reinterpret_cast<std::uintptr_t>(at) / sizeof(double) % line;
    return past == 0 ? at : at + (line - past);
}

}  // namespace

State make_state(Layout const& layout, Grid const& grid) {
    State state;
    state.values.resize(layout.variables.size());
    state.auxiliaries.resize(layout.variables.size());
    for (std::size_t v = 0; v < layout.variables.size(); ++v) {
        Variable const& variable = layout.variables[v];
        if (variable.kind == VariableKind::Data) continue;
        std::size_t const size = variable.components * grid.size(variable.extent);
        state.values[v].assign(size, variable.kind == VariableKind::Scale ? 1.0 : 0.0);
        if (variable.kind == VariableKind::Scale) state.auxiliaries[v].assign(size, 1.0);
    }
    return state;
}

std::vector<Chunk> make_chunks(Grid const& grid, Extent domain, bool whole) {
    if (domain != Extent::Time && domain != Extent::Cell) return {{0, grid.steps, 0, grid.cells()}};
    std::vector<Chunk> chunks;
    for (std::size_t t = 0; t < grid.steps;) {
        Chunk chunk{t, t, grid.offsets[t], grid.offsets[t]};
        do {
            chunk.last_cell = grid.offsets[++chunk.last_step];
        } while (chunk.last_step < grid.steps &&
                 (whole || chunk.last_cell - chunk.first_cell + grid.lanes(chunk.last_step) <= grid.chunk_cells));
        chunks.push_back(chunk);
        t = chunk.last_step;
    }
    return chunks;
}

PassRunner::PassRunner(Pass const& pass, Inputs const& inputs, std::vector<std::vector<std::uint32_t>> const& runs, bool whole)
    : pass_(pass), grid_(inputs.bound.grid), chunks_(make_chunks(grid_, pass.domain, whole)) {
    bool const is_stepped = pass.domain == Extent::Time || pass.domain == Extent::Cell;
    for (Chunk const& chunk : chunks_) {
        capacity_ = std::max({capacity_, std::size_t{1}, size(chunk, pass.domain), size(chunk, is_stepped ? Extent::Time : Extent::One)});
    }
    capacity_ = whole_lines(capacity_);

    // Scratch: the runs first, each consecutive, then the rest.
    std::vector<std::size_t> slot(pass.registers.size(), SIZE_MAX);
    std::size_t next = 0;
    auto place = [&](std::uint32_t reg) {
        Register const& r = pass.registers[reg];
        if (slot[reg] != SIZE_MAX || r.from == From::Variable || r.from == From::Weight) return;
        slot[reg] = next;
        std::size_t const size =
            r.extent == Extent::Sequence ? std::max(capacity_, grid_.sequences) : (r.extent == Extent::One ? 1 : capacity_);
        next += whole_lines(size);
    };
    for (auto const& run : runs) {
        for (std::uint32_t reg : run) place(reg);
    }
    for (std::uint32_t reg = 0; reg < pass.registers.size(); ++reg) place(reg);
    scratch_.assign(next + line - 1, 0.0);
    double* const scratch = first_line(scratch_.data());
    outs_.assign(pass.registers.size(), nullptr);
    pointers_.assign(pass.registers.size(), nullptr);
    for (std::uint32_t reg = 0; reg < pass.registers.size(); ++reg) {
        Register const& r = pass.registers[reg];
        if (slot[reg] != SIZE_MAX) {
            outs_[reg] = scratch + slot[reg];
            pointers_[reg] = outs_[reg];
            if (r.from == From::Constant) *outs_[reg] = r.value;
            continue;
        }
        std::vector<double> const* values = &inputs.weights[r.from == From::Weight ? r.index : 0];
        if (r.from == From::Variable) {
            values = inputs.state.values[r.index].empty() ? &inputs.bound.data[r.index] : &inputs.state.values[r.index];
        }
        Input const input{reg, values->data() + r.component * grid_.size(r.extent), r.extent};
        pointers_[reg] = input.base;
        if (r.lag > 0) {
            lagged_.push_back({input, std::vector<double>(grid_.size(r.extent)), r.lag});
        } else if (r.extent == Extent::Time || r.extent == Extent::Cell) {
            inputs_.push_back(input);
        }
    }
    for (Lagged const& l : lagged_) pointers_[l.source.reg] = l.values.data();
    one_ = static_cast<std::uint32_t>(pointers_.size());
    pointers_.push_back(&one);
    for (Instruction const& instruction : pass.instructions) add_operation(instruction);
}

/// Instructions that add to one register, one after another, are one sum.
void PassRunner::add_operation(Instruction const& instruction) {
    Extent const extent = pass_.registers[instruction.out].extent;
    auto& operations = extent == Extent::One || extent == Extent::Sequence ? once_ : chunked_;
    if (!is_sum(pass_, instruction)) {
        operations.push_back({instruction, extent, {}, std::vector<double>(instruction.code == Code::Scan ? grid_.sequences : 0)});
        return;
    }
    bool const is_product = instruction.code == Code::Multiply || instruction.code == Code::MultiplyAdd;
    bool const adds = instruction.code == Code::MultiplyAdd || (instruction.code == Code::Add && instruction.a == instruction.out);
    bool const goes_on = adds && !operations.empty() && operations.back().instruction.out == instruction.out;
    if (!goes_on) operations.push_back({{adds ? Code::MultiplyAdd : Code::Multiply, instruction.out, 0, 0}, extent, {}, {}});
    auto& summands = operations.back().summands;
    if (is_product) {
        summands.push_back(summand(extent, instruction.a, instruction.b));
        return;
    }
    if (!adds) summands.push_back(summand(extent, instruction.a, one_));
    if (instruction.code == Code::Add) summands.push_back(summand(extent, instruction.b, one_));
}

Summand PassRunner::summand(Extent extent, std::uint32_t a, std::uint32_t b) const {
    auto is_number = [&](std::uint32_t reg) { return reg == one_ || (is_one(reg) && extent != Extent::One); };
    if (is_number(a) && is_number(b)) return {Summand::Form::Constant, a, b};
    if (b == one_) return {Summand::Form::Single, a, b};
    if (is_number(a)) return {Summand::Form::Scaled, a, b};
    if (is_number(b)) return {Summand::Form::Scaled, b, a};
    return {Summand::Form::Product, a, b};
}

std::size_t PassRunner::size(Chunk const& chunk, Extent extent) const {
    switch (extent) {
        case Extent::One: return 1;
        case Extent::Sequence: return grid_.sequences;
        case Extent::Time: return chunk.last_step - chunk.first_step;
        case Extent::Cell: return chunk.last_cell - chunk.first_cell;
    }
    return 1;
}

void PassRunner::look_back(std::size_t first_step, std::size_t last_step) {
    for (Lagged& lagged : lagged_) {
        double const* from = lagged.source.base;
        double* to = lagged.values.data();
        for (std::size_t t = first_step; t < last_step; ++t) {
            std::size_t const width = lagged.source.extent == Extent::Time ? 1 : grid_.lanes(t);
            std::size_t const here = lagged.source.extent == Extent::Time ? t : grid_.offsets[t];
            if (t < lagged.lag) {
                std::fill_n(to + here, width, 0.0);
            } else {
                std::size_t const there = lagged.source.extent == Extent::Time ? t - lagged.lag : grid_.offsets[t - lagged.lag];
                std::copy_n(from + there, width, to + here);
            }
        }
    }
}

void PassRunner::begin() {
    look_back(0, grid_.steps);
    Chunk const all{0, grid_.steps, 0, grid_.cells()};
    for (Operation& operation : once_) execute(operation, all);
}

void PassRunner::run(Chunk const& chunk) {
    for (Input const& input : inputs_) {
        pointers_[input.reg] = input.base + (input.extent == Extent::Time ? chunk.first_step : chunk.first_cell);
    }
    for (Lagged const& lagged : lagged_) {
        pointers_[lagged.source.reg] = lagged.values.data() + (lagged.source.extent == Extent::Time ? chunk.first_step : chunk.first_cell);
    }
    for (Operation& operation : chunked_) execute(operation, chunk);
}

void PassRunner::execute(Operation& operation, Chunk const& chunk) {
    Instruction const& instruction = operation.instruction;
    std::size_t const n = size(chunk, operation.extent);
    double* const out = outs_[instruction.out];
    double const* const a = pointers_[instruction.a];
    bool const a_is_one = is_one(instruction.a);
    switch (instruction.code) {
        case Code::Copy: copy(instruction, chunk); break;
        case Code::Add:
        case Code::Multiply: sum_products(out, false, operation.summands, pointers_.data(), n); break;
        case Code::MultiplyAdd: sum_products(out, true, operation.summands, pointers_.data(), n); break;
        case Code::Scan: scan(instruction, chunk, operation.carry); break;
        case Code::Shift: break;
        case Code::Exp: unary(out, a, a_is_one, n, [](double x) { return std::exp(x); }); break;
        case Code::Log: unary(out, a, a_is_one, n, [](double x) { return std::log(x); }); break;
        case Code::Sqrt: unary(out, a, a_is_one, n, [](double x) { return std::sqrt(x); }); break;
        case Code::Abs: unary(out, a, a_is_one, n, [](double x) { return std::abs(x); }); break;
        case Code::Equal: unary(out, a, a_is_one, n, [b = *pointers_[instruction.b]](double x) { return x == b ? 1.0 : 0.0; }); break;
        case Code::Reciprocal: unary(out, a, a_is_one, n, [](double x) { return 1 / x; }); break;
    }
}

/// out = a, spread over sequences or over time.
void PassRunner::copy(Instruction const& instruction, Chunk const& chunk) {
    double* out = outs_[instruction.out];
    double const* a = pointers_[instruction.a];
    Extent const from = pass_.registers[instruction.a].extent;
    for (std::size_t t = chunk.first_step; t < chunk.last_step; ++t) {
        std::size_t const lanes = grid_.lanes(t);
        if (from == Extent::Time) {
            std::fill_n(out, lanes, *a++);
        } else {
            std::copy_n(a, lanes, out);
        }
        out += lanes;
    }
}

void PassRunner::scan(Instruction const& instruction, Chunk const& chunk, std::vector<double>& carry) {
    bool const over_time = pass_.registers[instruction.out].extent == Extent::Time;
    Extent const coefficient = pass_.registers[instruction.a].extent;
    double* out = outs_[instruction.out];
    double const* c = pointers_[instruction.a];
    double const* u = pointers_[instruction.b];
    double const* previous = carry.data();
    std::size_t width = 0;
    for (std::size_t t = chunk.first_step; t < chunk.last_step; ++t) {
        width = over_time ? 1 : grid_.lanes(t);
        if (t == 0) {
            std::copy_n(u, width, out);
        } else if (coefficient == Extent::Cell) {
            add_product(out, c, previous, u, width);
        } else {
            add_scaled(out, *c, previous, u, width);
        }
        previous = out;
        out += width;
        c += coefficient == Extent::Cell ? width : (coefficient == Extent::Time ? 1 : 0);
        u += width;
    }
    if (chunk.last_step < grid_.steps) std::copy_n(previous, width, carry.data());
}

}  // namespace bam
