// Codes of this file:
//   BAM0508  a run that needs more memory than there is
#include "memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "evidence.hpp"
#include "tempering.hpp"

namespace bam {
namespace {

double draws_bytes(Problem const& problem, FitOptions const& options) {
    double entries = 0;
    for (Variable const& variable : problem.plan.layout.variables)
        if (variable.kind != VariableKind::Data && variable.is_kept)
            entries += static_cast<double>(variable.components * problem.bound.grid.size(variable.extent));
    auto const iterations = static_cast<double>(options.num_samples);
    double numbers = entries * iterations / static_cast<double>(options.thin);
    if (options.backend != Backend::Gibbs) return sizeof(double) * numbers;
    // Of the evidence, what every rung sees in every iteration.
    if (options.evidence)
        numbers += iterations *
                   static_cast<double>(tempering_of(problem, to_chain_options(options)).most_rungs() * sizeof(RungDraw) / sizeof(double));
    return sizeof(double) * numbers * static_cast<double>(options.chains);
}

/// Precisions and the sums that they are made of; of an entry per step or sequence, one system each.
double block_bytes(Problem const& problem, BlockPlan const& block) {
    Grid const& grid = problem.bound.grid;
    auto const systems = static_cast<double>(grid.size(problem.plan.layout.variables[block.variable].extent));
    auto const rows = static_cast<double>(std::max(grid.sequences, std::min(grid.cells(), grid.chunk_cells)));
    auto const pairs = [](double n) { return n * (n + 1) / 2; };
    double numbers = 0;
    for (auto const& group : block.groups) numbers += static_cast<double>(group.size()) * static_cast<double>(group.size()) * systems;
    for (Equations const& equations : block.equations) {
        if (!equations.kronecker) continue;
        double const left = pairs(static_cast<double>(equations.kronecker->left.size()));
        double const right = pairs(static_cast<double>(equations.kronecker->right.front().size()));
        numbers += rows * (left + right) + left * right;
    }
    // What the later cells say of the states of a recurrence: a number per pair that is read together, and cell.
    auto const states = static_cast<double>(block.sweep.states.size());
    double read = 0;
    for (ReadoutPlan const& readout : block.sweep.readouts) {
        for (ReadoutRow const& row : readout.rows)
            read += pairs(static_cast<double>(row.states.size()) -
                          static_cast<double>(std::count(row.states.begin(), row.states.end(), no_register)));
    }
    numbers += std::min(read, pairs(states)) * static_cast<double>(grid.cells() + grid.sequences);
    return sizeof(double) * numbers;
}

}  // namespace

double machine_memory() { return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)); }

std::optional<Diagnostic> find_excess(Problem const& problem, FitOptions const& options, double memory) {
    double const draws = draws_bytes(problem, options);
    std::size_t const threads = options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
    auto at_once = options.backend == Backend::Gibbs ? static_cast<double>(std::min(threads, options.chains)) : 1.0;
    if (options.backend == Backend::Gibbs)
        at_once *= static_cast<double>(tempering_of(problem, to_chain_options(options)).most_rungs() + 1);
    double blocks = 0;
    double most = 0;
    BlockPlan const* largest = nullptr;
    for (BlockPlan const& block : problem.plan.blocks) {
        double const bytes = at_once * block_bytes(problem, block);
        blocks += bytes;
        if (bytes <= most) continue;
        most = bytes;
        largest = &block;
    }
    if (draws + blocks < memory) return std::nullopt;
    constexpr double gib = 1 << 30;
    Diagnostic diagnostic{
        508,
        Severity::Error,
        fmt::format("the run would take {:.0f} GiB, and there are {:.0f} GiB of memory", (draws + blocks) / gib, memory / gib),
        {},
        {options.backend != Backend::Gibbs ? "the draws are most of it: fewer --num-samples"
         : !options.until.empty()          ? "the draws are most of it: fewer of them at most, with --max-draws"
         : options.evidence                ? "the draws, and what the replicas see for the evidence, are most of it: fewer --num-samples"
                                           : "the draws are most of it: fewer --num-samples, or every N-th of them only, with --thin N"}};
    if (blocks < draws || largest == nullptr) return diagnostic;
    std::size_t order = largest->sweep.states.size();
    for (auto const& group : largest->groups) order = std::max(order, group.size());
    Variable const& variable = problem.plan.layout.variables[largest->variable];
    diagnostic.labels = {{variable.span, fmt::format("{} {} together", order,
                                                     largest->method == PlanMethod::Sweep ? "states are followed" : "entries are drawn")}};
    diagnostic.notes = {fmt::format("the matrices from which `{}` is drawn are most of it: make its dims smaller", variable.name)};
    return diagnostic;
}

}  // namespace bam
