// The Gaussian prior of one block at the current state: precision and precision times mean of every entry.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "factors.hpp"
#include "pass_runner.hpp"
#include "random.hpp"

namespace bam {

class Priors {
  public:
    Priors(Plan const& plan, BlockPlan const& block, Inputs const& inputs, Factors const& factors);

    /// Recomputes what other parameters change. Costs nothing where the prior is made of numbers only.
    void update();

    /// [component][extent]; the diagonal, without `full` priors. Of a categorical prior 0 and the log weights.
    std::vector<double> const& precision() const { return precision_; }
    std::vector<double> const& linear() const { return linear_; }
    /// Adds the prior of `components` at one index of the extent to a system of that order. precision [d, d] lower triangle, linear [d].
    void add_to(std::vector<std::uint32_t> const& components, std::size_t index, Eigen::Ref<Eigen::MatrixXd> precision,
                Eigen::Ref<Eigen::VectorXd> linear) const;
    /// Whether the prior alone has a finite variance at these components and this index: then a precision that does not factor is a matter
    /// of rounding, or of numbers that are not finite.
    bool determines(std::vector<std::uint32_t> const& components, std::size_t index) const;
    /// Of draw_normal(): 0 where the prior determines them, else what rounding leaves of a pivot that is 0 (math.md, 13a. Rounding).
    double least_pivot(std::vector<std::uint32_t> const& components, std::size_t index) const;
    /// precision * x over all entries, [component][extent]; both of that size.
    void multiply(std::vector<double> const& x, std::vector<double>& out) const;

  private:
    struct Source {
        std::size_t factor = 0;
        std::vector<std::uint32_t> means;
        std::unique_ptr<PassRunner> runner;
        std::vector<double> full;  ///< of a Covariance: precision [k, k] of the last dim's entries
        bool changes = false;
    };
    void read(Source& source);

    Factors const& factors_;
    Grid const& grid_;
    Variable const& variable_;
    std::size_t size_;
    std::vector<Source> sources_;
    std::vector<double> precision_, linear_;
    bool changes_ = false;
};

/// Over-relaxation (Adler 1981): a Gaussian draw that keeps `relaxation` times the present deviation from the mean, in the coordinates in
/// which the deviation is a standard normal,
///     z' = relaxation z + sqrt(1 - relaxation^2) (fresh normal).
/// It leaves the conditional as it is for any relaxation in (-1, 1). 0 is a plain Gibbs draw; below 0 the block steps to the other side of
/// its mean, so that successive sweeps go on in one direction along a narrow ridge instead of a random walk.
struct Relaxation {
    double keep = 0;
    double fresh = 1;
    explicit Relaxation(double relaxation = 0);
};

/// Draws from the normal with this precision (lower triangle, overwritten by its factor) and linear term (overwritten by the draw).
/// `present`: the block's values, read only where the relaxation is not 0. Returns false, and draws nothing, if the precision is not
/// positive definite to rounding, or if a pivot is no more than `least_pivot` of its diagonal: given the entries before it, nothing says
/// more of that one than rounding does.
bool draw_normal(Eigen::Ref<Eigen::MatrixXd> precision, Eigen::Ref<Eigen::VectorXd> linear, Eigen::Ref<Eigen::VectorXd const> present,
                 Relaxation relaxation, NormalSource& normals, double least_pivot);

/// The same of one entry whose prior is truncated; plain, since the way to the other side of the mean may leave the interval.
bool draw_truncated(double precision, double& linear, Interval const& interval, NormalSource& normals);

}  // namespace bam
