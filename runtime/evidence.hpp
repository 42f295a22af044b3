// The log evidence log p(y) from a ladder that goes down to the prior (math.md, 9c. The log evidence): two estimates from the same draws.
#pragma once

#include <cstddef>
#include <vector>

namespace bam {

/// What the replica at a rung says of the log likelihood l at other powers; without binary outputs that is L times the power.
struct RungDraw {
    double up = 0;         ///< l half way to the rung above, less l here
    double down = 0;       ///< the same, to the rung below
    double slope = 0;      ///< the derivative of l by the power, here
    double curvature = 0;  ///< the second one
};

/// What a chain's ladder saw while its draws counted.
struct RungDraws {
    std::vector<double> powers;   ///< per rung: falling, the first 1, the last 0
    std::vector<RungDraw> draws;  ///< [draw][rung]
};

/// An estimate and its Monte Carlo standard error.
struct Estimate {
    double value = 0;
    double error = 0;
};

struct LogEvidence {
    Estimate stepping_stones;
    Estimate thermodynamic;  ///< its error has a share for the rungs being finitely many
};

/// Of one chain. At least 4 draws and 2 rungs. Errors from the autocovariance of what each draw of all rungs together adds to the estimate,
/// so that exchanges, which make rungs depend on one another, are in them.
LogEvidence log_evidence(RungDraws const& draws);

/// Whether the two estimates are as near to each other as their errors say. Both are of the same draws, so that their errors go together
/// and this is generous: it finds ladders that are too coarse for one of them.
bool do_agree(LogEvidence const& evidence);

/// The mean over chains, which are independent. The error is the larger one of that which the chains state and that by which they differ.
LogEvidence log_evidence(std::vector<RungDraws> const& chains);

}  // namespace bam
