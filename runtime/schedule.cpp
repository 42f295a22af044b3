#include "schedule.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "half_t.hpp"
#include "words.hpp"

namespace bam {
namespace {

/// `a`, `W_v[conc,dose]`, `theta[seq]`: a variable, or one component of it, with the dims that its entries run over.
std::string name_of(Layout const& layout, std::uint32_t v, std::optional<std::size_t> component) {
    Variable const& variable = layout.variables[v];
    std::size_t below = variable.components;  ///< components within one index of the dims before
    std::string dims;
    bool is_worth_it = false;
    for (std::uint16_t const d : variable.dims) {
        DimLayout const& dim = layout.dims[d];
        std::string index = dim.name;
        if (dim.role == DimLayout::Role::Labelled) {
            if (component) {
                below /= dim.size;
                index = dim.labels[*component / below % dim.size];
                is_worth_it = true;
            }
        } else {
            is_worth_it = true;
        }
        dims += (dims.empty() ? "" : ",") + index;
    }
    return is_worth_it ? fmt::format("{}[{}]", variable.name, dims) : variable.name;
}

/// A group is all of the variable, one component of it, or several.
std::string group_name(Layout const& layout, std::uint32_t v, std::vector<std::uint32_t> const& group) {
    if (group.size() == layout.variables[v].components) return name_of(layout, v, std::nullopt);
    std::vector<std::string> names;
    for (std::uint32_t const component : group) names.push_back(name_of(layout, v, component));
    return fmt::format("{}", fmt::join(names, " "));
}

char const* method_of(BlockPlan const& block, Layout const& layout) {
    if (block.is_drawn_with_block) return "categorical-integrated";
    if (layout.variables[block.variable].is_categorical) return "categorical";
    switch (block.method) {
        case PlanMethod::Joint: return "gaussian-joint";
        case PlanMethod::Sweep: return "gaussian-sweep";
        case PlanMethod::Markov: return "gaussian-markov";
    }
    return "";
}

std::string method_of(ScaleLayout const& scale) {
    if (!scale.locals.empty()) return "slice";
    if (is_sliced(scale.priors.back())) return "slice";
    switch (scale.priors.back().family) {
        case ScaleFamily::HalfStudentT: return "inverse-gamma+mixture";
        case ScaleFamily::HalfNormal:
        case ScaleFamily::Exponential: return "generalised-inverse-gaussian";
        case ScaleFamily::Gamma: return "gamma";
        case ScaleFamily::PolyaGamma: return "polya-gamma";
        case ScaleFamily::InverseGamma:
        case ScaleFamily::Flat: break;
    }
    return scale.spread == SpreadKind::Precision ? "gamma" : "inverse-gamma";
}

}  // namespace

std::vector<SweepStep> sweep_steps(PreparedTable const& table) {
    Plan const& plan = table.problem.plan;
    Layout const& layout = plan.layout;
    std::vector<SweepStep> steps;
    for (BlockPlan const& block : plan.blocks)
        for (auto const& group : block.groups)
            steps.push_back({fmt::format("{}({})", method_of(block, layout), group.size()), group_name(layout, block.variable, group)});
    for (OrbitPlan const& orbit : plan.orbits)
        if (orbit.is_moved)
            steps.push_back({"orbit-move", fmt::format("{},{}", layout.variables[orbit.first].name, layout.variables[orbit.second].name)});
    for (ScaleLayout const& scale : layout.scales) steps.push_back({method_of(scale), name_of(layout, scale.variable, std::nullopt)});
    for (OutputCount const& output : table.outputs)
        steps.push_back({"predictive", fmt::format("{} ({}, {} missing)", output.name, counted(output.observed + output.missing, "cell"),
                                                   output.missing)});
    return steps;
}

std::string schedule_text(std::vector<SweepStep> const& steps) {
    std::string text;
    for (std::size_t i = 0; i < steps.size(); ++i) text += fmt::format("{}\t{}\t{}\n", i + 1, steps[i].method, steps[i].what);
    return text;
}

std::string schedule_json(std::vector<SweepStep> const& steps) {
    auto json = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < steps.size(); ++i) json.push_back({{"step", i + 1}, {"method", steps[i].method}, {"what", steps[i].what}});
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace bam
