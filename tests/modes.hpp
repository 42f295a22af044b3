// Simulated problems whose posteriors have several modes: sequences of 12 steps, and little noise, or outputs that are 0 or 1.
#pragma once

#include <fmt/core.h>

#include "simulate.hpp"

namespace bam::test {

inline constexpr std::size_t modes_problems = 4;
inline constexpr std::size_t modes_sequences[modes_problems] = {12, 12, 12, 24};

/// Inputs from the standard normal; outputs are to be simulated.
inline std::string inputs_table(std::size_t sequences, std::size_t steps) {
    std::string text = "seq,t,x1,x2,x3,y1,y2\n";
    Stream stream(2, 1, 1, 1);
    for (std::size_t s = 0; s < sequences; ++s)
        for (std::size_t t = 0; t < steps; ++t) {
            double const x1 = stream.normal(), x2 = stream.normal(), x3 = stream.normal();
            text += fmt::format("{},{},{},{},{},1,1\n", s + 1, t, x1, x2, x3);
        }
    return text;
}

inline constexpr char const* modes_models[modes_problems] = {
    R"(
dims { sequence seq; time t; feat; out; unit = 2 }
data { x[seq, t, feat]; y[seq, t, out] }
param {
  W_k[unit, feat] ~ normal(0, 1)
  W_q[unit, feat] ~ normal(0, 1)
  W_v[out, feat]  ~ normal(0, 1)
  a[t > 0]        ~ normal(0.8, 0.2)
  sigma           ~ half_normal(1)
}
state { k = W_k * x[t]; q = W_q * x[t]; v = W_v * x[t]; h[t] = a[t] * h[t-1] + k * v' }
observe { y[t] ~ normal(h[t]' * q, sigma) }
table { seq = seq; t = t; feat = [x1, x2, x3]; out = [y1] }
)",
    R"(
dims { sequence seq; time t; feat; out; unit = 2 }
data { x[seq, t, feat]; y[seq, t, out] }
param {
  W_k[unit, feat] ~ normal(0, 1)
  W_q[unit, feat] ~ normal(0, 1)
  W_v[out, feat]  ~ normal(0, 1)
  a[unit, t > 0]  ~ normal(0.95, 0.03)
  a[2]            ~ normal(0.4, 0.15)
  sigma           ~ half_normal(1)
}
state { k = W_k * x[t]; q = W_q * x[t]; v = W_v * x[t]; h[t] = diag(a[t]) * h[t-1] + k * v' }
observe { y[t] ~ normal(h[t]' * q, sigma) }
table { seq = seq; t = t; feat = [one = 1, x1, x2, x3]; out = [y1, y2] }
)",
    R"(
dims { sequence seq; time t; feat; out; unit = 2 }
data { x[seq, t, feat]; y[seq, t, out] }
param {
  slow_k[unit, feat] ~ normal(0, 1)
  slow_q[unit, feat] ~ normal(0, 1)
  slow_v[out, feat]  ~ normal(0, 1)
  fast_k[unit, feat] ~ normal(0, 1)
  fast_q[unit, feat] ~ normal(0, 1)
  fast_v[out, feat]  ~ normal(0, 1)
  slow_a[t > 0]      ~ normal(0.9, 0.1)
  fast_a[t > 0]      ~ normal(0.3, 0.1)
  sigma              ~ half_normal(1)
}
state {
  g[t] = slow_a[t] * g[t-1] + (slow_k * x[t]) * (slow_v * x[t])'
  h[t] = fast_a[t] * h[t-1] + (fast_k * x[t]) * (fast_v * x[t])'
}
observe { y[t] ~ normal(g[t]' * (slow_q * x[t]) + h[t]' * (fast_q * x[t]), sigma) }
table { seq = seq; t = t; feat = [x1, x2, x3]; out = [y1] }
)",
    R"(
dims { sequence seq; time t; feat; out; unit = 2 }
data { x[seq, t, feat]; y[seq, t, out] }
param {
  W_k[unit, feat] ~ normal(0, 1)
  W_q[unit, feat] ~ normal(0, 1)
  W_v[out, feat]  ~ normal(0, 1)
  a[unit, t > 0]  ~ normal(0.95, 0.03)
  a[2]            ~ normal(0.4, 0.15)
}
state { k = W_k * x[t]; q = W_q * x[t]; v = W_v * x[t]; h[t] = diag(a[t]) * h[t-1] + k * v' }
observe { y[t] ~ bernoulli_logit(h[t]' * q) }
table { seq = seq; t = t; feat = [one = 1, x1, x2, x3]; out = [y1, y2] }
)"};

/// Parameters from their priors, but sigma 0.1, and outputs given them.
inline std::unique_ptr<Study> modes_problem(std::size_t which) {
    auto result = study(modes_models[which], inputs_table(modes_sequences[which], 12));
    Problem& problem = result->problem;
    Simulator simulator(*result, 7 + which);
    State state = Replica(problem, 1, 1, {}).state();
    simulator.parameters(state);
    for (std::size_t v = 0; v < problem.plan.layout.variables.size(); ++v)
        if (problem.plan.layout.variables[v].kind == VariableKind::Scale) state.values[v].front() = 0.1;
    simulator.outputs(problem, state);
    return result;
}

}  // namespace bam::test
