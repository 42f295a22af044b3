// Statements on parameters as text, for those who look at priors.
#include <algorithm>

#include "workspace.hpp"

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;
using tree::StatementKind;

/// The entries of a list, nested or not, as they are written, and how long it is at each depth.
void flatten(Workspace const& workspace, Expr const& list, std::size_t depth, StatedPrior::Argument& argument) {
    if (list.kind != ExprKind::List) {
        argument.entries.push_back(workspace.text(list.span));
        return;
    }
    if (argument.shape.size() <= depth) argument.shape.push_back(list.args.size());
    for (Expr const& entry : list.args) flatten(workspace, entry, depth + 1, argument);
}

std::string on_one_line(std::string const& text) {
    std::string line;
    for (char const c : text) {
        bool const is_blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
        if (!is_blank || (!line.empty() && line.back() != ' ')) line += is_blank ? ' ' : c;
    }
    return line;
}

}  // namespace

StatedPrior as_written(Workspace const& workspace, PriorStatement const& prior) {
    Expr const& rhs = prior.statement->rhs;
    StatedPrior stated;
    stated.symbol = prior.symbol;
    stated.region = prior.region;
    stated.target = on_one_line(workspace.code(prior.statement->lhs.span));
    stated.text = (prior.statement->kind == StatementKind::Sample ? "~ " : "fixed ") + on_one_line(workspace.code(rhs.span));
    if (prior.statement->ends) stated.interval = " " + on_one_line(workspace.code(prior.statement->ends->span));
    stated.text += stated.interval;
    stated.set = prior.set;
    stated.is_chosen = prior.is_chosen;
    stated.span = prior.statement->span;
    stated.rhs_span = rhs.span;
    bool const is_call = prior.statement->kind == StatementKind::Sample && rhs.kind == ExprKind::Call;
    if (is_call) stated.family = rhs.text;
    std::vector<DimId> rest;  // over which a list has its entries
    for (DimId const dim : workspace.labelled_dims(prior.symbol)) {
        auto const& labels = prior.region.labels;
        if (std::none_of(labels.begin(), labels.end(), [&](Region::Labels const& label) { return label.dim == dim; })) rest.push_back(dim);
    }
    auto const add = [&](Expr const& arg) {
        bool const is_named = arg.kind == ExprKind::Assign;
        Expr const& value = is_named ? arg.args[0] : arg;
        StatedPrior::Argument argument;
        // Of a covariance, of weights and of what a kernel may be, a list is one thing.
        bool const is_whole = (is_named && arg.text == "cov") || stated.family == "categorical" || stated.family == "ggd_position" ||
                              stated.family == "power_position";
        if (value.kind == ExprKind::List && !is_whole) {
            if (is_named) argument.text = arg.text + " = ";
            argument.dims = rest;
            flatten(workspace, value, 0, argument);
        } else {
            argument.text = on_one_line(workspace.code(arg.span));
        }
        stated.arguments.push_back(std::move(argument));
    };
    if (is_call)
        for (Expr const& arg : rhs.args) add(arg);
    else
        add(rhs);
    return stated;
}

}  // namespace bam
