#include "left_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "output_unit.hpp"

namespace bam {
namespace {

Variable const& target_of(Problem const& problem, OutputCell const& cell) {
    Layout const& layout = problem.plan.layout;
    return layout.variables[layout.factors[cell.factor].target];
}

bool is_over_time(Problem const& problem, OutputCell const& cell) {
    Extent const extent = target_of(problem, cell).extent;
    return extent == Extent::Time || extent == Extent::Cell;
}

bool is_over_sequences(Problem const& problem, OutputCell const& cell) {
    Extent const extent = target_of(problem, cell).extent;
    return extent == Extent::Sequence || extent == Extent::Cell;
}

void sort_by_row(std::vector<LeftOut>& list) {
    std::sort(list.begin(), list.end(), [](LeftOut const& a, LeftOut const& b) { return a.row != b.row ? a.row < b.row : a.key < b.key; });
}

/// Cells that share a key, each with what all of them have in common.
template <class Key>
std::vector<LeftOut> together(std::vector<LeftOut> cells, Key key_of) {
    std::map<std::size_t, LeftOut> groups;
    for (LeftOut& cell : cells) {
        auto const [at, is_new] = groups.try_emplace(key_of(cell.cells.front()), cell);
        if (is_new) continue;
        LeftOut& group = at->second;
        group.cells.push_back(cell.cells.front());
        group.log_slope += cell.log_slope;
        group.step = std::max(group.step, cell.step);
        group.key += ";" + cell.key;
        if (group.time != cell.time) group.time.clear();
        if (group.output != cell.output) group.output.clear();
    }
    std::vector<LeftOut> list;
    for (auto& [key, group] : groups) list.push_back(std::move(group));
    sort_by_row(list);
    return list;
}

}  // namespace

std::vector<LeftOut> each_cell(Problem const& problem) {
    Layout const& layout = problem.plan.layout;
    Bound const& bound = problem.bound;
    std::vector<LeftOut> list;
    for (OutputCell const& cell : output_cells(problem)) {
        if (!is_observed(problem, cell)) continue;
        std::uint32_t const v = layout.factors[cell.factor].target;
        std::size_t const at = bound.grid.cell(cell.sequence, cell.step);
        LeftOut one;
        if (is_over_sequences(problem, cell)) one.sequence = bound.sequence_labels[cell.sequence];
        if (is_over_time(problem, cell)) one.time = bound.time_labels[at];
        one.output = output_name(layout, v, cell.component);
        one.row = bound.rows[at];
        one.step = cell.step;
        one.cells = {cell};
        one.log_slope = log_unit_slope(problem, v, cell.component, bound.data[v][entry_of(problem, cell)]);
        one.key = fmt::format("{}:{}", one.row, unit_key(layout, v, cell.component));
        list.push_back(std::move(one));
    }
    sort_by_row(list);
    return list;
}

std::vector<LeftOut> each_sequence(Problem const& problem) {
    std::vector<LeftOut> cells = each_cell(problem);
    for (LeftOut const& cell : cells)
        if (!is_over_sequences(problem, cell.cells.front())) return {};
    std::vector<LeftOut> list = together(std::move(cells), [](OutputCell const& cell) { return cell.sequence; });
    for (LeftOut& sequence : list) sequence.grid_sequence = sequence.cells.front().sequence;
    return list;
}

std::vector<LeftOut> each_step(Problem const& problem) {
    std::vector<LeftOut> cells = each_cell(problem);
    for (LeftOut const& cell : cells)
        if (!is_over_time(problem, cell.cells.front())) return {};
    std::size_t const steps = problem.bound.grid.steps;
    std::vector<LeftOut> list = together(std::move(cells), [steps](OutputCell const& cell) { return cell.sequence * steps + cell.step; });
    std::stable_sort(list.begin(), list.end(), [](LeftOut const& a, LeftOut const& b) { return a.step < b.step; });
    return list;
}

Problem without(Compiled const& compiled, Problem const& problem, std::vector<OutputCell> const& cells) {
    Problem rest = problem;
    Layout const& layout = problem.plan.layout;
    for (OutputCell const& cell : cells) {
        std::vector<double>& mask = rest.masks[cell.factor];
        Variable const& target = target_of(problem, cell);
        if (mask.empty()) mask.assign(target.components * problem.bound.grid.size(target.extent), 1.0);
        mask[entry_of(problem, cell)] = 0;
    }
    rest.weighted = weighted_factors(layout, rest);
    rest.plan = compiled.plan(rest.weighted);
    return rest;
}

}  // namespace bam
