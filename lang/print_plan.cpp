#include "print_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bam {
namespace {

char const* word(Extent extent) {
    switch (extent) {
        case Extent::One: return "once";
        case Extent::Sequence: return "per sequence";
        case Extent::Time: return "per step";
        case Extent::Cell: return "per cell";
    }
    return "";
}

char const* word(VariableKind kind) {
    switch (kind) {
        case VariableKind::Data: return "data";
        case VariableKind::Block: return "block";
        case VariableKind::Scale: return "scale";
    }
    return "";
}

char const* function(Code code) {
    switch (code) {
        case Code::Exp: return "exp";
        case Code::Log: return "log";
        case Code::Sqrt: return "sqrt";
        case Code::Abs: return "abs";
        case Code::Reciprocal: return "1/";
        default: return "";
    }
}

class PlanPrinter {
  public:
    explicit PlanPrinter(Plan const& plan) : plan_(plan), layout_(plan.layout) {}

    std::string run() {
        for (std::size_t v = 0; v < layout_.variables.size(); ++v) print_variable(layout_.variables[v]);
        for (std::size_t f = 0; f < layout_.factors.size(); ++f) print_factor(f);
        for (ScaleLayout const& scale : layout_.scales) print_scale(scale);
        for (BlockPlan const& block : plan_.blocks) print_block(block);
        for (std::size_t f = 0; f < plan_.residuals.size(); ++f) print_term(fmt::format("residual {}", f), plan_.residuals[f]);
        for (std::size_t f = 0; f < plan_.means.size(); ++f)
            if (!plan_.means[f].registers.empty()) print_term(fmt::format("mean {}", f), plan_.means[f]);
        for (ReportPlan const& report : plan_.reports)
            print_term(fmt::format("report {}{}", report.name, report.is_identified ? "" : " not identified"), report.term);
        for (OrbitPlan const& orbit : plan_.orbits)
            line(0, fmt::format("orbit {} {}{}{}", name(orbit.first), name(orbit.second), orbit.is_moved ? "" : ", not moved",
                                !orbit.has_dim      ? ""
                                : orbit.is_diagonal ? fmt::format(", diagonal of {}", orbit.first_slices.size())
                                                    : fmt::format(", mixing {}", orbit.first_slices.size())));
        for (InterchangePlan const& interchange : plan_.interchanges) print_interchange(interchange);
        return std::move(text_);
    }

  private:
    void print_interchange(InterchangePlan const& interchange) {
        std::string const what = interchange.dim.empty() ? "" : " along " + interchange.dim;
        line(0, fmt::format("interchange {} places{}", interchange.places.size(), what));
        for (std::size_t place = 0; place < interchange.places.size(); ++place) {
            std::vector<std::string> slices;
            for (SlicePlan const& slice : interchange.places[place])
                slices.push_back(fmt::format("{} {}", name(slice.variable), fmt::join(slice.components, " ")));
            for (SlicePlan const& slice : interchange.reports[place])
                slices.push_back(fmt::format("report {} {}", plan_.reports[slice.variable].name, fmt::join(slice.components, " ")));
            line(1, fmt::format("{}", fmt::join(slices, ", ")));
        }
        for (std::uint32_t const report : interchange.changed_reports)
            line(1, fmt::format("changes report {}", plan_.reports[report].name));
    }
    void line(std::size_t depth, std::string const& words) { text_ += std::string(2 * depth, ' ') + words + '\n'; }
    std::string const& name(std::uint32_t variable) const { return layout_.variables[variable].name; }

    void print_variable(Variable const& variable) {
        std::string dims;
        for (std::uint16_t const dim : variable.dims) dims += (dims.empty() ? "" : ",") + layout_.dims[dim].name;
        line(0, fmt::format("{} {}{}: {} of {}{}", word(variable.kind), variable.name, dims.empty() ? "" : "[" + dims + "]",
                            variable.components, word(variable.extent),
                            variable.first_step > 0 ? fmt::format(", from step {}", variable.first_step) : ""));
    }

    void print_factor(std::size_t f) {
        FactorLayout const& factor = layout_.factors[f];
        std::string words = fmt::format("factor {}: {}", f, name(factor.target));
        if (factor.is_categorical())
            words += fmt::format(" categorical({})", fmt::join(factor.weights, ", "));
        else if (factor.is_flat())
            words += " flat";
        if (factor.is_binary) words += " binary";
        words += to_text(factor.interval);
        for (SpreadLayout const& part : factor.spread) {
            words += fmt::format(" {} = ", argument_name(part.kind));
            words += part.variable ? fmt::format("{}[{}]", name(*part.variable), fmt::join(part.component, " "))
                                   : fmt::format("{}", fmt::join(part.constant, " "));
            for (std::uint32_t const label : part.by) words += " by " + name(label);
        }
        FactorRegion const& region = factor.region;
        if (region.first_step > 0) words += fmt::format(", from step {}", region.first_step);
        if (region.last_step != std::numeric_limits<std::size_t>::max()) words += fmt::format(", to step {}", region.last_step);
        if (region.sequence) words += fmt::format(", of sequence {}", *region.sequence);
        if (!region.components.empty()) words += ", components " + listed(region.components);
        if (!factor.overridden_by.empty()) words += fmt::format(", but where {} speak", fmt::join(factor.overridden_by, " "));
        line(0, words);
    }

    static std::string listed(std::vector<bool> const& components) {
        std::string list;
        for (std::size_t c = 0; c < components.size(); ++c)
            if (components[c]) list += (list.empty() ? "" : " ") + std::to_string(c);
        return list;
    }

    void print_scale(ScaleLayout const& scale) {
        std::string factors;
        for (ScaleUse const& use : scale.uses) factors += (factors.empty() ? "" : " ") + std::to_string(use.factor);
        line(0, fmt::format("scale {}: {} of factors {}", name(scale.variable), argument_name(scale.spread), factors));
        for (ScalePriorLayout const& p : scale.priors)
            line(1, "prior " + (p.df ? "gamma of " + name(*p.df) : to_text(p.family, p.first, p.second)) +
                        (p.components.empty() ? "" : ", components " + listed(p.components)));
    }

    void print_block(BlockPlan const& block) {
        char const* const method = block.method == PlanMethod::Joint ? "joint" : block.method == PlanMethod::Sweep ? "sweep" : "markov";
        std::string groups;
        for (auto const& group : block.groups) groups += fmt::format(" [{}]", fmt::join(group, " "));
        line(0, fmt::format("draw {} {}{}", name(block.variable), method, groups));
        for (PriorPlan const& p : block.priors) {
            line(1, fmt::format("prior {}: mean {}", p.factor, list(p.pass, p.means)));
            print_pass(2, p.pass);
        }
        for (Equations const& equations : block.equations) {
            line(1, fmt::format("equations {}, {}", equations.factor, word(equations.pass.domain)));
            print_pass(2, equations.pass);
            for (std::size_t g = 0; g < equations.groups.size(); ++g)
                for (EquationRow const& row : equations.groups[g]) print_row(g, row, equations.pass);
        }
        if (block.method == PlanMethod::Sweep) print_sweep(block.sweep);
    }

    void print_row(std::size_t group, EquationRow const& row, Pass const& pass) {
        std::string words = fmt::format("group {}, component {}: covariates {}", group, row.component, list(pass, row.covariates));
        if (!row.lagged.empty()) words += ", lagged " + list(pass, row.lagged);
        line(2, words + ", offset " + operand(pass, row.offset));
    }

    void print_sweep(SweepPlan const& sweep) {
        line(1, "recurrence, per cell");
        print_pass(2, sweep.pass);
        for (StateEntry const& state : sweep.states)
            line(2,
                 fmt::format("state: coefficient {}, input {}", operand(sweep.pass, state.coefficient), operand(sweep.pass, state.input)));
        for (ReadoutPlan const& readout : sweep.readouts)
            for (ReadoutRow const& row : readout.rows)
                line(2, fmt::format("readout {}: states {}, offset {}", readout.factor, list(sweep.pass, row.states),
                                    operand(sweep.pass, row.offset)));
        for (StateEntry const& state : sweep.states)
            line(2, fmt::format("state: coefficient {} + {}, input {} + {}", operand(sweep.pass, state.coefficient_offset),
                                list(sweep.pass, state.coefficient_covariates), operand(sweep.pass, state.input_offset),
                                list(sweep.pass, state.input_covariates)));
    }

    void print_term(std::string const& title, TermPlan const& term) {
        line(0, fmt::format("{}, {}: {}", title, word(term.pass.domain), list(term.pass, term.registers)));
        print_pass(1, term.pass);
    }

    void print_pass(std::size_t depth, Pass const& pass) {
        for (Instruction const& step : pass.instructions) {
            auto const at = [&](std::uint32_t reg) { return operand(pass, reg); };
            auto const put = [&](std::string const& value) { line(depth, at(step.out) + " = " + value); };
            switch (step.code) {
                case Code::Copy: put(at(step.a)); break;
                case Code::Add: put(at(step.a) + " + " + at(step.b)); break;
                case Code::Multiply: put(at(step.a) + " * " + at(step.b)); break;
                case Code::MultiplyAdd: put(at(step.out) + " + " + at(step.a) + " * " + at(step.b)); break;
                case Code::Equal: put(at(step.a) + " == " + at(step.b)); break;
                case Code::Shift: put(at(step.a) + "[t-1]"); break;
                case Code::Scan: put(fmt::format("{} * {}[t-1] + {}", at(step.a), at(step.out), at(step.b))); break;
                default: put(fmt::format("{}({})", function(step.code), at(step.a)));
            }
        }
    }

    std::string operand(Pass const& pass, std::uint32_t reg) const {
        if (reg == no_register) return "0";
        Register const& r = pass.registers[reg];
        switch (r.from) {
            case From::Scratch: return fmt::format("r{}", reg);
            case From::Constant: return fmt::format("{}", r.value);
            case From::Variable: return fmt::format("{}.{}{}", name(r.index), r.component, r.lag > 0 ? fmt::format("[t-{}]", r.lag) : "");
            case From::Weight: return fmt::format("weight{}.{}", r.index, r.component);
            case From::Covariance:
                return fmt::format("cov({0}.{1}[t-{2}], {0}.{3}[t-{4}])", name(r.index), r.component, r.lag, r.second, r.second_lag);
        }
        return "";
    }

    std::string list(Pass const& pass, std::vector<std::uint32_t> const& registers) const {
        std::string words;
        for (std::uint32_t const reg : registers) words += (words.empty() ? "" : " ") + operand(pass, reg);
        return "(" + words + ")";
    }

    Plan const& plan_;
    Layout const& layout_;
    std::string text_;
};

}  // namespace

std::string print(Plan const& plan) { return PlanPrinter(plan).run(); }

}  // namespace bam
