// Local scales: what makes other distributions out of normals, one number for each entry (math.md, 7. Scales). Seen by check only.
#pragma once

#include <map>

#include "workspace.hpp"

namespace bam {

/// Makes a scale with an entry for each of the target's. Statements on several of its labels share it.
class LocalScales {
  public:
    explicit LocalScales(Workspace& workspace) : workspace_(workspace), model_(workspace.model) {}

    /// The part of the spread of a statement whose distribution has a local scale.
    SpreadPart of(PriorStatement const& stated);

  private:
    void set_df(ScalePrior& prior, tree::Expr const& df);

    Workspace& workspace_;
    Model& model_;
    std::map<tree::Statement const*, SymbolId> made_;
};

/// Makes the factor of an observation, whose one spread is a local scale, one of an output that is 0 or 1.
void make_binary(Model& model, Factor& factor);

}  // namespace bam
