#include "magnitude.hpp"

#include <cmath>

namespace bam {
namespace {

bool is_polynomial(Code code) {
    switch (code) {
        case Code::Copy:
        case Code::Add:
        case Code::Multiply:
        case Code::MultiplyAdd:
        case Code::Scan:
        case Code::Shift: return true;
        case Code::Exp:
        case Code::Log:
        case Code::Sqrt:
        case Code::Abs:
        case Code::Reciprocal:
        case Code::Equal: break;
    }
    return false;
}

bool has_operand_b(Code code) { return code == Code::Add || code == Code::Multiply || code == Code::MultiplyAdd || code == Code::Scan; }

}  // namespace

Pass with_magnitudes(Pass const& pass) {
    Pass result{pass.domain, pass.registers, {}};
    for (std::uint32_t reg = 0; reg < pass.registers.size(); ++reg) {
        Register shadow{pass.registers[reg].extent, From::Scratch};
        if (pass.registers[reg].from == From::Constant)
            shadow = {Extent::One, From::Constant, 0, 0, 0, std::abs(pass.registers[reg].value)};
        else if (pass.registers[reg].from != From::Scratch)
            result.instructions.push_back({Code::Abs, shadow_of(pass, reg), reg, reg});
        result.registers.push_back(shadow);
    }
    for (Instruction const& one : pass.instructions) {
        result.instructions.push_back(one);
        std::uint32_t const out = shadow_of(pass, one.out);
        if (is_polynomial(one.code))
            result.instructions.push_back({one.code, out, shadow_of(pass, one.a), has_operand_b(one.code) ? shadow_of(pass, one.b) : 0});
        else
            result.instructions.push_back({Code::Abs, out, one.out, one.out});
    }
    return result;
}

Magnitudes::Magnitudes(Plan const& plan, Inputs const& inputs, Factors const& factors)
    : plan_(plan), bound_(inputs.bound), factors_(factors) {
    for (std::size_t f = 0; f < plan.layout.factors.size(); ++f) {
        FactorLayout const& factor = plan.layout.factors[f];
        shadowed_.emplace_back();
        if (factor.is_flat()) continue;
        TermPlan const& term = factor.is_binary ? plan.means[f] : plan.residuals[f];
        Shadowed& shadowed = shadowed_.back();
        shadowed.pass = std::make_unique<Pass const>(with_magnitudes(term.pass));
        shadowed.runner = std::make_unique<AdjointRunner>(*shadowed.pass, std::vector<WeightedOutput>{}, inputs, none_, no_register);
        for (std::uint32_t const reg : term.registers)
            shadowed.registers.push_back(reg == no_register ? no_register : shadow_of(term.pass, reg));
    }
}

double Magnitudes::quadratic(std::size_t f) {
    double sum = 0;
    std::vector<double> const& full = factors_.covariance_precision(f);
    if (plan_.layout.factors[f].is_binary) {
        for_each_square(f, [&](double square, std::size_t, std::size_t, std::size_t) { sum += 0.25 * square; });
    } else if (full.empty()) {
        for_each_square(
            f, [&](double square, std::size_t c, std::size_t s, std::size_t t) { sum += factors_.precision(f, c, s, t) * square; });
    } else {
        // |r|' |P| |r| is at most the sum of each square times its row of |P|.
        auto const k = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(full.size()))));
        std::vector<double> rows(k, 0.0);
        for (std::size_t i = 0; i < full.size(); ++i) rows[i / k] += std::abs(full[i]);
        for_each_square(f, [&](double square, std::size_t c, std::size_t, std::size_t) { sum += rows[c % k] * square; });
    }
    return sum;
}

double Magnitudes::quadratic() {
    double total = 0;
    for (std::size_t f = 0; f < shadowed_.size(); ++f) total += quadratic(f);
    return total;
}

double expected_magnitude(ExpectedFactors const& expected, std::size_t f, Pass const& squares, Inputs const& inputs,
                          std::vector<Covariances> const& covariances) {
    if (expected.is_flat(f)) return 0;
    Pass const pass = with_magnitudes(squares);
    std::vector<WeightedOutput> outputs = expected.outputs(f);
    std::vector<std::vector<double>> weights;
    for (WeightedOutput& output : outputs) {
        std::size_t const size = inputs.bound.grid.size(squares.domain);
        weights.emplace_back(output.weights, output.weights + size);
        for (double& weight : weights.back()) weight = std::abs(weight);
        output = {shadow_of(squares, output.reg), nullptr};
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k].weights = weights[k].data();
    return AdjointRunner(pass, std::move(outputs), inputs, covariances, no_register).evaluate();
}

}  // namespace bam
