// Missing outputs whose earlier steps stand in means (autoregressions): each is an unknown, drawn given everything else.
#pragma once

#include <memory>
#include <vector>

#include "factors.hpp"
#include "pass_runner.hpp"
#include "plan.hpp"
#include "random.hpp"
#include "state.hpp"

namespace bam {

/// Draws the missing cells of one output, one after another in the order of the steps. With e the residuals (mean - target) of the cell's
/// own factor and of the later steps that its value reaches, de/dy = -1 in its own and the lag's coefficient in the others: y | rest is
/// normal with precision sum w (de/dy)^2.
class Augmentation {
  public:
    /// `missing`: [component][cell] of the output, true where it was not observed.
    Augmentation(LaggedOutput const& output, Plan const& plan, Inputs const& inputs, Factors const& factors, State& state,
                 std::vector<bool> missing);

    void draw(NormalSource& normals);

    /// The largest change of a cell in the last draw, in sds of the cell given everything else.
    double largest_move() const { return largest_move_; }

  private:
    struct Residual {
        std::uint32_t factor = 0;
        std::unique_ptr<PassRunner> runner;
        std::vector<double> values;  ///< [component of the target][cell]
    };
    struct Effect {
        std::uint16_t lag = 0;
        std::size_t residual = 0;  ///< index into residuals_
        std::vector<std::unique_ptr<PassRunner>> runners;
        std::vector<TermPlan const*> plans;
        std::vector<double> values;  ///< [component of the target][component of the output][cell]
    };
    void evaluate();
    void draw_cell(std::size_t component, std::size_t sequence, std::size_t step, NormalSource& normals);

    Plan const& plan_;
    Grid const& grid_;
    Factors const& factors_;
    std::uint32_t variable_;
    std::vector<double>& values_;
    std::size_t components_;
    std::vector<bool> missing_;
    std::vector<Residual> residuals_;
    std::vector<Effect> effects_;
    double largest_move_ = 0;
};

/// Adds the registers of a term to `out`, [component][cell].
void add_term(TermPlan const& plan, PassRunner& runner, Grid const& grid, std::vector<double>& out);

}  // namespace bam
