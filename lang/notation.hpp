// Terms as a statistician reads them: `sum[unit] h[t,unit,out] q[t,unit]`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"

namespace bam {

/// Writes terms of one model. A term that a definition names, under whatever names of its axes, is written by that name; a recurrence that
/// none names is called S1, S2, ... and keeps its name from one term to the next. Axes are written as their dims; where two axes over one
/// dim meet, one has a prime.
class Notation {
  public:
    /// Keeps a copy of the terms there are by now; terms made later cannot be written.
    explicit Notation(Model const& model);

    std::string text(Term term);
    /// `h[t,unit,out] = a[t] h[t-1,unit,out] + k[t,unit] v[t,out]`: a definition and what it stands for.
    std::string definition(SymbolId symbol);
    /// What the recurrences S1, S2, ... that were written since the last call stand for, an equation each.
    std::vector<std::string> take_where();
    /// A symbol with its dims, `W_k[unit,feat]`.
    std::string declaration(SymbolId symbol) const;

  private:
    enum class Level { Sum, Product, Atom };
    using Signed = std::pair<bool, std::string>;  ///< is it negative, and the text without its sign
    /// A term with its axes called copy 0, 1, ... of their dims, and what they were called.
    struct Canonical {
        Term term = 0;
        std::map<Axis, Axis> actual;
    };
    struct Named {
        SymbolId symbol = 0;
        Axes order;
    };

    std::string write(Term term, Level level);
    std::string write_sum(Node const& node);
    Signed write_signed(Term term);
    std::string write_product(std::vector<Term> const& factors);
    std::string write_contract(Node const& node);
    std::string write_label(Node const& member) const;
    bool is_picked(Node const& node) const;
    std::string write_leaf(Node const& node);
    std::string write_literal(Literal const& literal) const;
    std::string write_recurrence(std::string const& name, Axes const& order, Node const& scan);
    std::string write_scan(Term term);
    std::string write_function(Node const& node);
    std::string indexed(std::string const& name, Axes const& order, std::string const& step = {}) const;
    std::string name_of(Axis axis) const;
    void add_names(Axes const& axes);
    Canonical canonical(Term term);
    std::optional<Named> find_definition(Term term);
    Axes reading_order(Term term) const;
    std::string weight_name(std::uint64_t factor) const;
    int rank(Term term);

    Model const& model_;
    Terms terms_;
    std::map<Axis, std::string> names_;  ///< of the axes in scope
    std::map<Term, SymbolId> definitions_;
    std::map<Term, std::string> recurrences_;  ///< unnamed ones, canonical
    std::vector<Term> where_;
    std::optional<Term> root_;  ///< not written by its own name
};

/// One term, with its unnamed recurrences spelled out after `where`.
std::string to_text(Model const& model, Term term);

}  // namespace bam
