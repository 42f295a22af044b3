// Codes of this file:
//   BAM0208  a dim whose size nobody says
//   BAM0513  more entries than bam can draw
#include "layout.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "pick.hpp"

namespace bam {
namespace {

/// More would take hours a sweep and gigabytes a chain: a draw factors a matrix of that order.
constexpr std::size_t most_drawn_together = 10000;
constexpr std::size_t most_entries = 1000000;

class LayoutBuilder {
  public:
    LayoutBuilder(Model const& model, Diagnostics& diagnostics) : model_(model), diagnostics_(diagnostics), numbering_{model, {}, {}} {}

    std::optional<LaidOut> run(Derivation const& derivation) {
        add_dims();
        if (is_refused_) return std::nullopt;
        for (Conditional const& conditional : derivation.blocks) check_size(conditional);
        if (is_refused_) return std::nullopt;
        for (SymbolId symbol = 0; symbol < model_.symbols.size(); ++symbol) add_variable(symbol);
        add_keys();
        for (Factor const& factor : model_.factors) add_factor(factor);
        for (ScaleConditional const& scale : derivation.scales) add_scale(scale);
        add_decays();
        if (is_refused_) return std::nullopt;
        return LaidOut{std::move(layout_), std::move(numbering_.variables)};
    }

  private:
    void add_dims() {
        layout_.model = model_.name;
        layout_.sequence = model_.sequence;
        layout_.time = model_.time;
        for (Dim const& dim : model_.dims) {
            DimLayout result;
            result.name = dim.name;
            result.role = dim.role == Role::Labelled ? DimLayout::Role::Labelled
                                                     : (dim.role == Role::Time ? DimLayout::Role::Time : DimLayout::Role::Sequence);
            if (dim.role == Role::Labelled) {
                if (!dim.size) {
                    report(208, dim.span, fmt::format("the size of dim `{}` is not known", dim.name), advice(dim));
                    continue;
                }
                result.size = *dim.size;
                for (std::size_t i = 0; i < result.size; ++i) {
                    result.labels.push_back(i < dim.labels.size() ? dim.labels[i] : std::to_string(i + 1));
                }
            }
            layout_.dims.push_back(std::move(result));
        }
    }

    /// What data are over has the size of a list of columns, and nothing else will do.
    std::string advice(Dim const& dim) const {
        bool const has_columns = std::any_of(model_.symbols.begin(), model_.symbols.end(), [&](Symbol const& symbol) {
            return symbol.kind == SymbolKind::Data &&
                   std::any_of(symbol.dims.begin(), symbol.dims.end(), [&](DimId d) { return &model_.dims[d] == &dim; });
        });
        if (dim.is_of_table) return "its labels are the values of a column: give a table, `--data TABLE`";
        return has_columns ? fmt::format("the table section says which columns it has: `table {{ {} = [...] }}`", dim.name)
                           : fmt::format("write `{0} = 2` in dims, or say --dim {0}=2", dim.name);
    }

    /// Before anything is made that has an item per entry.
    void check_size(Conditional const& conditional) {
        Symbol const& block = model_.symbols[conditional.block];
        double entries = 1;  // sizes multiply beyond any whole number
        double together = 1;
        Dim const* largest = nullptr;
        for (DimId const d : numbering_.labelled(conditional.block)) {
            Dim const& dim = model_.dims[d];
            auto const size = static_cast<double>(numbering_.size(d));
            bool const is_joint = std::find(conditional.batch.begin(), conditional.batch.end(), d) == conditional.batch.end();
            entries *= size;
            if (is_joint) together *= size;
            if (largest == nullptr || numbering_.size(d) > *largest->size) largest = &dim;
        }
        bool const is_dense = together > static_cast<double>(most_drawn_together);
        if (!is_dense && entries <= static_cast<double>(most_entries)) return;
        std::string const what =
            is_dense ? fmt::format("{:.0f} entries of `{}` are drawn together, and {} can be", together, block.name, most_drawn_together)
                     : fmt::format("`{}` has {:.0f} entries, and can have {}", block.name, entries, most_entries);
        report(513, block.span, what, fmt::format("`{}` is {}: make it smaller", largest->name, *largest->size));
    }

    void add_variable(SymbolId id) {
        Symbol const& symbol = model_.symbols[id];
        if (symbol.kind == SymbolKind::Fixed || symbol.kind == SymbolKind::Definition) return;
        Variable variable;
        variable.kind = symbol.kind == SymbolKind::Data ? VariableKind::Data
                                                        : (symbol.kind == SymbolKind::Block ? VariableKind::Block : VariableKind::Scale);
        variable.name = symbol.name;
        variable.extent = numbering_.extent(id);
        variable.dims = symbol.dims;
        for (DimId dim : numbering_.labelled(id)) {
            variable.shape.push_back(numbering_.size(dim));
            variable.components *= numbering_.size(dim);
        }
        variable.label_dim = symbol.label_dim;
        variable.first_step = symbol.first_step;
        variable.may_be_missing = symbol.may_be_missing;
        variable.learnt_from = symbol.learnt_from;
        variable.is_categorical = model_.choice_of(id).has_value();
        variable.is_local = symbol.local_of.has_value();
        variable.is_kept = !symbol.local_of || model_.symbols[*symbol.local_of].kind != SymbolKind::Data;
        variable.span = symbol.span;
        if (symbol.kind == SymbolKind::Data) {
            for (Binding const& binding : model_.bindings) {
                bool const is_own = binding.symbol == id;
                bool const is_dim = binding.dim && model_.dims[*binding.dim].role == Role::Labelled && model_.is_over(id, binding.dim);
                if (is_own || is_dim) variable.columns = binding.columns;
            }
        }
        numbering_.variables[id] = static_cast<std::uint32_t>(layout_.variables.size());
        layout_.variables.push_back(std::move(variable));
    }

    void add_keys() {
        for (Binding const& binding : model_.bindings) {
            if (!binding.dim || binding.columns.empty()) continue;
            if (model_.dims[*binding.dim].role == Role::Sequence) layout_.sequence_column = binding.columns.front();
            if (model_.dims[*binding.dim].role == Role::Time) layout_.time_column = binding.columns.front();
        }
    }

    void add_factor(Factor const& factor) {
        FactorLayout result;
        result.target = numbering_.variables.at(factor.target);
        result.region = region(factor.region, factor.target);
        result.region.first_step = std::max(result.region.first_step, model_.symbols[factor.target].first_step);
        result.overridden_by = factor.overridden_by;
        result.is_observation = factor.is_observation;
        result.is_binary = factor.is_binary;
        result.interval = factor.interval;
        result.span = factor.span;
        for (SpreadPart const& part : factor.spread) result.spread.push_back(spread_of(part, factor.target));
        if (factor.is_categorical()) result.weights = weights_of(factor);
        layout_.factors.push_back(std::move(result));
    }

    /// The shares of what is chosen from, for every component of the target.
    std::vector<double> weights_of(Factor const& factor) const {
        std::vector<DimId> const dims = numbering_.labelled(factor.target);
        std::size_t const count = numbering_.size(dims.back());
        Node const& node = model_.terms[*factor.weights];
        std::vector<double> shares(count, 1.0);
        if (node.op == Op::Literal) shares = model_.literals[node.payload].values;
        double const sum = std::accumulate(shares.begin(), shares.end(), 0.0);
        std::vector<double> result;
        for (Entry const& entry : numbering_.entries(dims, 0)) result.push_back(shares[entry.at({dims.back(), 0})] / sum);
        return result;
    }

    SpreadLayout spread_of(SpreadPart const& part, SymbolId target) const {
        SpreadLayout result;
        result.kind = part.kind;
        Pick const pick = take_pick(model_.terms, part.value).value();  // factors.cpp lets nothing else pass
        Node const& node = model_.terms[pick.leaf];
        if (part.kind == SpreadKind::Covariance) {
            result.constant = model_.literals[node.payload].values;
            return result;
        }
        bool const is_variable =
            (node.op == Op::Param || node.op == Op::Data) && model_.symbols[static_cast<SymbolId>(node.payload)].kind != SymbolKind::Fixed;
        std::vector<DimId> dims;
        Literal const* literal = nullptr;
        if (is_variable) {
            result.variable = numbering_.variables.at(static_cast<SymbolId>(node.payload));
            dims = numbering_.labelled(static_cast<SymbolId>(node.payload));
        } else if (node.op == Op::Literal || node.op == Op::Param) {
            literal =
                &model_.literals[node.op == Op::Literal ? node.payload : *model_.symbols[static_cast<SymbolId>(node.payload)].literal];
            dims = literal->values.size() == 1 ? std::vector<DimId>{} : literal->dims;
        }
        std::vector<DimId> around;
        for (Term const member : pick.members) {
            around.push_back(Terms::labels_of(model_.terms[member]).dim);
            result.by.push_back(numbering_.variables.at(static_cast<SymbolId>(model_.terms[member].payload)));
        }
        auto const cells = numbering_.entries(numbering_.labelled(target), 0);
        for (Entry const& labels : numbering_.entries(around, 0)) {
            for (Entry entry : cells) {
                for (auto const& [axis, k] : labels) entry[axis] = k;
                std::size_t const position = numbering_.position(dims, entry, 0);
                if (is_variable)
                    result.component.push_back(static_cast<std::uint32_t>(position));
                else
                    result.constant.push_back(literal ? literal->values[position] : model_.terms.constant_value(part.value));
            }
        }
        return result;
    }

    FactorRegion region(Region const& region, SymbolId target) {
        FactorRegion result;
        result.first_step = region.first_step;
        result.last_step = region.last_step;
        std::vector<DimId> const dims = numbering_.labelled(target);
        std::map<Axis, std::size_t> wanted;
        for (Region::Labels const& label : region.labels) {
            result.span = label.span;
            if (model_.dims[label.dim].role == Role::Sequence) {
                result.sequence = label.label;
                continue;
            }
            auto const& labels = layout_.dims[label.dim].labels;
            auto const it = std::find(labels.begin(), labels.end(), label.label);
            if (it == labels.end()) throw std::logic_error("region.cpp let a label pass that its dim does not have");
            wanted[{label.dim, 0}] = static_cast<std::size_t>(it - labels.begin());
        }
        if (wanted.empty()) return result;
        for (Entry const& entry : numbering_.entries(dims, 0)) {
            result.components.push_back(
                std::all_of(wanted.begin(), wanted.end(), [&](auto const& w) { return entry.at(w.first) == w.second; }));
        }
        return result;
    }

    void add_scale(ScaleConditional const& scale) {
        ScaleLayout result;
        result.variable = numbering_.variables.at(scale.scale);
        result.spread = scale.spread;
        for (ScaleConditional::Use const& use : scale.uses) result.uses.push_back({use.factor, use.part});
        for (std::uint32_t p : scale.priors) {
            ScalePrior const& prior = model_.scale_priors[p];
            result.priors.push_back({region(prior.region, scale.scale).components, prior.family, prior.first, prior.second, {}});
            if (prior.df) result.priors.back().df = numbering_.variables.at(*prior.df);
        }
        for (std::uint32_t k = 1; k <= scale.locals.size(); ++k)
            result.locals.push_back(static_cast<std::uint32_t>(layout_.scales.size()) + k);
        layout_.scales.push_back(std::move(result));
    }

    // ---- decays ----

    /// Those of the means of observations, each once, with the largest of their factors.
    void add_decays() {
        std::map<std::uint32_t, double> factors;
        for (Factor const& factor : model_.factors) {
            if (!factor.is_observation) continue;
            for (Term term : model_.terms.postorder(std::vector<Term>{factor.mean})) {
                Node const& node = model_.terms[term];
                if (node.op != Op::Scan) continue;
                auto const decay = find_decay(node.args[0]);
                if (!decay) continue;
                double& largest = factors[decay->variable];
                largest = std::max(largest, decay->factor);
            }
        }
        for (auto const& [variable, factor] : factors) layout_.decays.push_back({variable, factor});
    }

    /// A block, alone or times numbers; nothing if the coefficient is anything else.
    std::optional<DecayLayout> find_decay(Term coefficient) const {
        Node const& node = model_.terms[coefficient];
        std::vector<Term> const parts = node.op == Op::Multiply ? node.args : std::vector<Term>{coefficient};
        std::optional<std::uint32_t> variable;
        double factor = 1;
        for (Term part : parts) {
            if (auto const size = find_size(part)) {
                factor *= *size;
                continue;
            }
            Node const& leaf = model_.terms[part];
            bool const is_block =
                leaf.op == Op::Param && leaf.lag == 0 && model_.symbols[static_cast<SymbolId>(leaf.payload)].kind == SymbolKind::Block;
            if (!is_block || variable) return std::nullopt;
            variable = numbering_.variables.at(static_cast<SymbolId>(leaf.payload));
        }
        if (!variable) return std::nullopt;
        return DecayLayout{*variable, factor};
    }

    /// The largest entry, without sign, of a term that is known.
    std::optional<double> find_size(Term term) const {
        Node const& node = model_.terms[term];
        if (node.op == Op::Constant) return std::abs(model_.terms.constant_value(term));
        Literal const* literal = nullptr;
        if (node.op == Op::Literal) literal = &model_.literals[node.payload];
        if (node.op == Op::Param) {
            Symbol const& symbol = model_.symbols[static_cast<SymbolId>(node.payload)];
            if (symbol.kind == SymbolKind::Fixed) literal = &model_.literals[*symbol.literal];
        }
        if (!literal) return std::nullopt;
        double largest = 0;
        for (double const value : literal->values) largest = std::max(largest, std::abs(value));
        return largest;
    }

    void report(int code, Span span, std::string message, std::string note) {
        diagnostics_.push_back({code, Severity::Error, std::move(message), {{span, ""}}, {std::move(note)}});
        is_refused_ = true;
    }

    Model const& model_;
    Diagnostics& diagnostics_;
    Numbering numbering_;
    Layout layout_;
    bool is_refused_ = false;
};

}  // namespace

std::optional<LaidOut> lay_out(Model const& model, Derivation const& derivation, Diagnostics& diagnostics) {
    return LayoutBuilder(model, diagnostics).run(derivation);
}

}  // namespace bam
