// Tree to model. Each part has its file: declare (names), list_function (the size of decay
// banks), binding (table), priors (which statements hold), lower and value (expressions),
// recurrence, factors, kinds (blocks and scales), uses (the last look). The codes stand at the top of each.
#include "workspace.hpp"

namespace bam {

std::optional<Model> check(std::vector<tree::File> const& files, Sources const& sources, Choices const& choices, Diagnostics& diagnostics) {
    Diagnostics found;
    Workspace workspace{sources, choices, found, files};
    declare(workspace);
    size_banks(workspace);
    bind_columns(workspace);
    collect_priors(workspace);
    check_banks(workspace);
    collect_observations(workspace);
    define_all(workspace);
    settle_kinds(workspace);
    add_factors(workspace);
    check_uses(workspace);
    bool const is_sound = !has_error(found);
    diagnostics.insert(diagnostics.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    return is_sound ? std::optional(std::move(workspace.model)) : std::nullopt;
}

}  // namespace bam
