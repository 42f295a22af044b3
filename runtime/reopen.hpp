// The program of a run as it was when it was fitted, from its config.json alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config.hpp"
#include "program.hpp"

namespace bam {

/// Throws Error.
std::shared_ptr<Program::Parts const> program_of(RunConfig const& config);
/// The same with one more file of priors, whose set applies last. Throws Error.
std::shared_ptr<Program::Parts const> program_with(RunConfig const& config, std::string const& priors, std::string const& set);
/// Per variable of the layout and component: what transforms of columns learnt from the table that was fitted.
std::vector<std::vector<Learnt>> learnt_of(RunConfig const& config, Layout const& layout);

/// The table that was fitted, read again where it was. Throws Error; BAM0518 with one of the hints: it came from standard input, or is
/// another now.
Csv fitted_table(RunConfig const& config, std::string const& hint_if_absent, std::string const& hint_if_changed);
/// Whether it is that table.
bool is_fitted(Csv const& table, RunConfig const& config);

/// A table that is bound as that of the run was when it was fitted.
struct FittedTable {
    std::shared_ptr<Program::Parts const> program;  ///< of bind_new: that of the run, with the labels that only this table has
    std::shared_ptr<Sources> sources;
    std::unique_ptr<PreparedTable> table;
};
/// That of the run. `given`: the table, where it is no longer where it was. Throws Error; BAM0528: it is another.
FittedTable bind_fitted(Program::Parts const& program, RunConfig const& config, std::optional<Csv> const& given, Diagnostics& diagnostics);

/// Another one, of which columns of outputs may be absent. Throws Error.
FittedTable bind_new(std::shared_ptr<Program::Parts const> const& program, RunConfig const& config, Csv const& table,
                     Diagnostics& diagnostics);

}  // namespace bam
