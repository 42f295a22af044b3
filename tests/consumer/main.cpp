// The five lines of bam/bam.hpp, in a program.
#include <bam/bam.hpp>
#include <cmath>
#include <cstdio>
#include <string>

namespace {

constexpr char const* model = R"(
dims { time t }
data { x[t]; y[t] missing }
param {
  level ~ normal(0, 10)
  slope ~ normal(0, 10)
  sigma ~ half_cauchy(1)
}
observe { y[t] ~ normal(level + slope * x[t], sigma) }
table { t = day; x = x; y = y }
)";

constexpr char const* table = "day,x,y\n1,0,1.1\n2,1,2.9\n3,2,5.1\n4,3,\n5,4,8.9\n6,5,11.2\n";

}  // namespace

int main() {
    bam::Program const program = bam::Program::from_text(model);
    bam::Fit const fit = program.fit(bam::Csv{.text = table});
    bam::Quantity const slope = fit["slope"];
    std::printf("%.2f, in 90%% of the draws %.2f to %.2f\n", slope.mean, slope.q5, slope.q95);
    if (!fit.is_converged()) std::puts(fit.verdict().c_str());
    return std::abs(slope.mean - 2) < 0.2 && slope.q5 < slope.q95 ? 0 : 1;
}
