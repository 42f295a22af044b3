// From files to a plan: every pass of lang, in its order. Behind this door runtime sees no tree, no term and no derivation.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "plan.hpp"
#include "read_text.hpp"
#include "source.hpp"
#include "stated_priors.hpp"

namespace bam {

/// The stages whose results can be printed.
enum class CompileStage : std::uint8_t { Parse, Check, Plan };

struct CompileRequest {
    std::vector<std::string> files;                          ///< files of priors first, then the model
    std::map<std::string, std::size_t> dims;                 ///< sizes that replace those of the files
    std::vector<std::string> priors;                         ///< named sets that apply; later ones win
    bool learns_hyper = false;                               ///< what is marked learn() is no longer held
    std::map<std::string, std::vector<std::string>> labels;  ///< of dims whose labels are the values of columns: what the table has
    CompileStage last = CompileStage::Plan;                  ///< later stages do not run
};

/// Columns whose values are the labels of a dim.
struct LabelColumns {
    std::string dim;
    std::vector<ColumnExpr> columns;
};

/// A model before it has a table, as far as it can be told without one.
struct Outline {
    struct Dim {
        std::string name;
        DimLayout::Role role = DimLayout::Role::Labelled;
        std::optional<std::size_t> size;
    };
    enum class Kind : std::uint8_t { Input, Output, Block, Scale, Fixed };
    struct Variable {
        Kind kind = Kind::Input;
        std::string name;
        std::vector<std::uint16_t> dims;  ///< indices of `Outline::dims`
        std::size_t first_step = 0;
        std::string method;  ///< how a block is drawn, in words: "jointly", "over t"
    };
    std::string name;
    std::vector<Dim> dims;
    std::vector<Variable> variables;
    bool has_table = false;  ///< some column is bound
    Diagnostics notes;       ///< BAM0301: what the likelihood identifies only through products
};

/// A compiled model. Immutable; copies share it.
class Compiled {
  public:
    struct Parts;
    explicit Compiled(std::shared_ptr<Parts const> parts) : parts_(std::move(parts)) {}

    Outline outline() const;
    /// The dims whose labels a table has to give, and its columns that do: to be compiled again with what stands there.
    std::vector<LabelColumns> label_columns() const;
    /// Nothing, and a report of BAM0208, if the files do not say what a table is bound to.
    Layout const* layout(Diagnostics& diagnostics) const;
    /// Needs a layout. `weighted`: per factor, whether its cells differ in weight or precision.
    Plan plan(std::vector<bool> const& weighted) const;
    /// Needs a layout. `drawn`: per variable, whether it is an output whose missing cells are unknowns. Throws NoClosedForm.
    ExpectationPlan expectations(std::vector<bool> const& drawn) const;
    /// The conditionals as mathematics; of one block, or of all. BAM0505: there is no such block.
    std::optional<std::string> explain(std::optional<std::string> const& block, Diagnostics& diagnostics) const;
    std::vector<std::string> blocks() const;
    /// What the likelihood cannot see, as equations; empty if it sees everything.
    std::string symmetries() const;
    /// The prior of every entry of every parameter, and where it was said.
    PriorList priors() const;
    /// What in them looks like a slip. `steps`: of the longest sequence, if there is a table.
    Diagnostics suspicious_priors(std::optional<std::size_t> steps) const;
    /// Needs a layout.
    std::string print_plan(std::vector<bool> const& weighted) const;
    /// Every file that was read: its source by every name that it was asked for by.
    std::map<std::string, std::uint32_t> const& files() const;

  private:
    std::shared_ptr<Parts const> parts_;
};

/// A product of parameters whose expectation has no closed form under independent factors.
struct NoClosedForm : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// How far a model came. Later stages are there only if earlier ones found no error.
struct CompileResult {
    std::string tree;   ///< the files as they were parsed, printed
    std::string model;  ///< the checked model, printed
    std::optional<Compiled> compiled;
};

CompileResult compile(CompileRequest const& request, Reader const& reader, Sources& sources, Diagnostics& diagnostics);

/// A model text as everyone writes it (`bam fmt`); nothing if it does not parse.
std::optional<std::string> format_text(std::string const& name, std::string text, Sources& sources, Diagnostics& diagnostics);

}  // namespace bam
