#include "state_dimension.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace bam {

StateDimension::StateDimension(Plan const& plan, Inputs const& inputs, Factors const& factors)
    : grid_(inputs.bound.grid), factors_(factors) {
    for (BlockPlan const& block : plan.blocks) {
        if (block.method != PlanMethod::Sweep) continue;
        auto const n = static_cast<Eigen::Index>(block.sweep.states.size());
        sweeps_.push_back(std::unique_ptr<Sweep>(new Sweep{block.sweep,
                                                           {block.sweep.pass, inputs},
                                                           std::vector<double>(block.sweep.states.size() * grid_.sequences),
                                                           Eigen::MatrixXd(n, n),
                                                           Eigen::MatrixXd(n, n)}));
    }
}

double StateDimension::at_present() {
    double sum = 0, squares = 0;
    for (auto const& sweep : sweeps_) {
        add_grams(*sweep);
        Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> const of_states(sweep->states);
        Eigen::VectorXd const roots = of_states.eigenvalues().cwiseMax(0).cwiseSqrt();
        Eigen::MatrixXd const root = of_states.eigenvectors() * roots.asDiagonal() * of_states.eigenvectors().transpose();
        Eigen::VectorXd const values =
            Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(root * sweep->readouts * root, Eigen::EigenvaluesOnly).eigenvalues().cwiseMax(0);
        sum += values.cwiseSqrt().sum();
        squares += values.sum();
    }
    return squares > 0 ? sum * sum / squares : std::nan("");
}

void StateDimension::add_grams(Sweep& sweep) {
    std::size_t const n = sweep.plan.states.size();
    std::size_t const width = grid_.sequences;
    sweep.states.setZero();
    sweep.readouts.setZero();
    std::fill(sweep.state.begin(), sweep.state.end(), 0.0);
    PassRunner& runner = sweep.runner;
    runner.begin();
    for (Chunk const& chunk : runner.chunks()) {
        runner.run(chunk);
        auto const at = [&](std::uint32_t reg, std::size_t k) {
            return reg == no_register ? 0 : runner.at(reg)[runner.is_one(reg) ? 0 : k];
        };
        for (std::size_t t = chunk.first_step; t < chunk.last_step; ++t) {
            std::size_t const local = grid_.offsets[t] - chunk.first_cell;
            for (std::size_t lane = 0; lane < grid_.lanes(t); ++lane) {
                for (std::size_t i = 0; i < n; ++i) {
                    double& h = sweep.state[i * width + lane];
                    h = at(sweep.plan.states[i].coefficient, local + lane) * h + at(sweep.plan.states[i].input, local + lane);
                }
                for (std::size_t i = 0; i < n; ++i)
                    for (std::size_t j = 0; j < n; ++j)
                        sweep.states(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) +=
                            sweep.state[i * width + lane] * sweep.state[j * width + lane];
            }
        }
        for (ReadoutPlan const& readout : sweep.plan.readouts) {
            double const precision = factors_.common_precision(readout.factor);
            for (ReadoutRow const& row : readout.rows)
                for (std::size_t i = 0; i < n; ++i)
                    for (std::size_t j = 0; j < n; ++j) {
                        if (row.states[i] == no_register || row.states[j] == no_register) continue;
                        double product = 0;
                        for (std::size_t k = 0; k < chunk.last_cell - chunk.first_cell; ++k)
                            product += at(row.states[i], k) * at(row.states[j], k);
                        sweep.readouts(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) += precision * product;
                    }
        }
    }
}

}  // namespace bam
