#include "record.hpp"

#include <algorithm>
#include <limits>

namespace bam {
namespace {

/// One index of a column: its number from 1, its label, and what it contributes to the position.
struct Index {
    std::size_t number = 1;
    std::string label;
    std::size_t entry = 0;  ///< of a labelled dim: position; of the sequence dim: grid index; of time: step
};

bool holds(std::vector<std::vector<SlicePlan>> const& places, std::uint32_t number) {
    return std::any_of(places.begin(), places.end(), [&](std::vector<SlicePlan> const& place) {
        return std::any_of(place.begin(), place.end(), [&](SlicePlan const& slice) { return slice.variable == number; });
    });
}

bool is_variable_interchanged(Plan const& plan, std::uint32_t variable) {
    return std::any_of(plan.interchanges.begin(), plan.interchanges.end(),
                       [&](InterchangePlan const& interchange) { return holds(interchange.places, variable); });
}

bool is_report_interchanged(Plan const& plan, std::uint32_t report) {
    return std::any_of(plan.interchanges.begin(), plan.interchanges.end(), [&](InterchangePlan const& interchange) {
        auto const& changed = interchange.changed_reports;
        return holds(interchange.reports, report) || std::find(changed.begin(), changed.end(), report) != changed.end();
    });
}

}  // namespace

Recorder::Recorder(Problem const& problem, Inputs const& inputs) : problem_(problem) {
    Plan const& plan = problem.plan;
    auto moved = [&](std::uint32_t variable) {
        return std::any_of(plan.orbits.begin(), plan.orbits.end(),
                           [&](OrbitPlan const& o) { return o.first == variable || o.second == variable; });
    };
    for (std::uint32_t v = 0; v < plan.layout.variables.size(); ++v) {
        Variable const& variable = plan.layout.variables[v];
        if (variable.kind == VariableKind::Data || !variable.is_kept) continue;
        std::size_t const first = columns_.size();
        add(variable.name, variable.dims, variable.extent, no_register, v, variable.first_step, !moved(v),
            !moved(v) && (!variable.is_local || variable.is_categorical));
        for (std::size_t k = first; k < columns_.size(); ++k) columns_[k].is_interchanged = is_variable_interchanged(plan, v);
        if (!variable.is_categorical) continue;
        std::size_t choice = variable.dims.size();  // the last labelled dim
        while (plan.layout.dims[variable.dims[choice - 1]].role != DimLayout::Role::Labelled) --choice;
        for (std::size_t k = first; k < columns_.size(); ++k) columns_[k].choice = choice;
    }
    auto add_term = [&](TermPlan const& term) {
        Evaluated evaluated;
        evaluated.plan = &term;
        evaluated.runner = std::make_unique<PassRunner>(term.pass, inputs);
        evaluated.extent = term.pass.domain;
        evaluated.values.resize(term.registers.size() * problem.bound.grid.size(evaluated.extent));
        terms_.push_back(std::move(evaluated));
        return static_cast<std::uint32_t>(terms_.size() - 1);
    };
    for (std::uint32_t r = 0; r < plan.reports.size(); ++r) {
        ReportPlan const& report = plan.reports[r];
        std::size_t const first = columns_.size();
        std::uint32_t const term = add_term(report.term);
        add(report.name, report.dims, report.term.pass.domain, term, 0, report.first_step, report.is_identified, true);
        for (std::size_t k = first; k < columns_.size(); ++k) columns_[k].is_interchanged = is_report_interchanged(plan, r);
    }
    for (std::size_t f = 0; f < plan.means.size(); ++f) {
        if (!plan.layout.factors[f].is_observation) continue;
        add_term(plan.means[f]);
        add_means(f);
    }
}

void Recorder::add(std::string const& name, std::vector<std::uint16_t> const& dims, Extent extent, std::uint32_t term,
                   std::uint32_t variable, std::size_t first_step, bool is_identified, bool is_shown) {
    Bound const& bound = problem_.bound;
    Layout const& layout = problem_.plan.layout;
    // The last dim is the outermost loop: the list grows from the last to the first.
    std::vector<std::vector<Index>> rows{{}};
    for (std::size_t d = dims.size(); d-- > 0;) {
        DimLayout const& dim = layout.dims[dims[d]];
        std::vector<Index> indices;
        if (dim.role == DimLayout::Role::Sequence) {
            for (std::size_t k = 0; k < bound.appearance.size(); ++k)
                indices.push_back({k + 1, bound.sequence_labels[bound.appearance[k]], bound.appearance[k]});
        } else if (dim.role == DimLayout::Role::Time) {
            for (std::size_t t = first_step; t < bound.grid.steps; ++t) indices.push_back({t + 1, std::to_string(t), t});
        } else {
            for (std::size_t i = 0; i < dim.size; ++i) indices.push_back({i + 1, dim.labels[i], i});
        }
        std::vector<std::vector<Index>> longer;
        for (auto const& row : rows) {
            for (Index const& index : indices) {
                longer.push_back(row);
                longer.back().insert(longer.back().begin(), index);
            }
        }
        rows = std::move(longer);
    }
    for (auto const& row : rows) {
        DrawColumn column;
        column.name = name;
        column.is_identified = is_identified;
        column.is_shown = is_shown;
        std::size_t component = 0, sequence = 0, step = 0;
        for (std::size_t d = 0; d < dims.size(); ++d) {
            DimLayout const& dim = layout.dims[dims[d]];
            if (dim.role == DimLayout::Role::Labelled) component = component * dim.size + row[d].entry;
            if (dim.role == DimLayout::Role::Sequence) sequence = row[d].entry;
            if (dim.role == DimLayout::Role::Time) step = row[d].entry;
            column.index.push_back(row[d].number);
            column.labels.push_back(row[d].label);
        }
        if (extent == Extent::Cell && sequence >= bound.grid.lanes(step)) continue;  // the sequence has ended
        std::size_t const local = extent == Extent::Cell       ? bound.grid.cell(sequence, step)
                                  : extent == Extent::Sequence ? sequence
                                  : extent == Extent::Time     ? step
                                                               : 0;
        places_.push_back({term, variable, component * bound.grid.size(extent) + local});
        columns_.push_back(std::move(column));
    }
}

/// Every k-th observed cell of the factor's target, so that there are at most `most_means`.
void Recorder::add_means(std::size_t f) {
    Layout const& layout = problem_.plan.layout;
    FactorLayout const& factor = layout.factors[f];
    Variable const& target = layout.variables[factor.target];
    auto const term = static_cast<std::uint32_t>(terms_.size() - 1);
    std::size_t const first = columns_.size();
    add("mean_" + target.name, target.dims, target.extent, term, 0, factor.region.first_step, true, false);
    std::vector<std::size_t> observed;
    for (std::size_t k = first; k < columns_.size(); ++k) {
        if (problem_.masks[f].empty() || problem_.masks[f][places_[k].offset] > 0) observed.push_back(k);
    }
    std::size_t const stride = (observed.size() + most_means - 1) / most_means;
    std::vector<DrawColumn> columns(columns_.begin(), columns_.begin() + static_cast<std::ptrdiff_t>(first));
    std::vector<Place> places(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(first));
    for (std::size_t k = 0; k < observed.size(); k += stride) {
        columns.push_back(columns_[observed[k]]);
        places.push_back(places_[observed[k]]);
    }
    columns_ = std::move(columns);
    places_ = std::move(places);
}

Recorder::Source Recorder::source(std::size_t column) const {
    Place const& place = places_[column];
    return {place.term == no_register ? nullptr : terms_[place.term].plan, place.variable, place.offset};
}

void Recorder::evaluate(Evaluated& evaluated) const {
    Grid const& grid = problem_.bound.grid;
    std::size_t const size = grid.size(evaluated.extent);
    evaluated.runner->begin();
    for (Chunk const& chunk : evaluated.runner->chunks()) {
        evaluated.runner->run(chunk);
        std::size_t const n = evaluated.runner->size(chunk);
        std::size_t const start =
            evaluated.extent == Extent::Cell ? chunk.first_cell : (evaluated.extent == Extent::Time ? chunk.first_step : 0);
        for (std::size_t c = 0; c < evaluated.plan->registers.size(); ++c) {
            std::uint32_t const reg = evaluated.plan->registers[c];
            double* out = evaluated.values.data() + c * size + start;
            if (reg == no_register) {
                std::fill_n(out, n, 0.0);
            } else {
                std::copy_n(evaluated.runner->at(reg), n, out);
            }
        }
    }
}

void Recorder::record(State const& state, double* row) {
    for (Evaluated& evaluated : terms_) evaluate(evaluated);
    for (std::size_t k = 0; k < places_.size(); ++k) {
        Place const& place = places_[k];
        row[k] = place.term == no_register ? state.values[place.variable][place.offset] : terms_[place.term].values[place.offset];
    }
}

void Recorder::record_entries(std::vector<std::vector<double>> const& entries, double* row) const {
    for (std::size_t k = 0; k < places_.size(); ++k) {
        Place const& place = places_[k];
        row[k] = place.term == no_register ? entries[place.variable][place.offset] : std::numeric_limits<double>::quiet_NaN();
    }
}

}  // namespace bam
