// The derivation as mathematics: what is printed here is what runs.
#include <fmt/core.h>

#include <algorithm>

#include "notation.hpp"
#include "passes.hpp"
#include "print_model.hpp"
#include "sliced.hpp"

namespace bam {
namespace {

class Explainer {
  public:
    explicit Explainer(Model const& model) : model_(model), notation_(model) {}

    std::string block(Conditional const& conditional) {
        text_.clear();
        switch (conditional.method) {
            case Method::Joint: model_.choice_of(conditional.block) ? choice(conditional) : joint(conditional); break;
            case Method::Markov: markov(conditional); break;
            case Method::Sweep: sweep(conditional); break;
        }
        return text_;
    }

    std::string scale(ScaleConditional const& scale) {
        text_.clear();
        Symbol const& symbol = model_.symbols[scale.scale];
        std::string const name = notation_.declaration(scale.scale);
        if (!scale.locals.empty()) return degrees_of_freedom(scale, name);
        line(0, fmt::format("{} | rest", name));
        if (!scale.uses.empty() && model_.factors[scale.uses.front().factor].is_binary) {
            line(1,
                 fmt::format("one for each observed cell of {}:", notation_.declaration(model_.factors[scale.uses.front().factor].target)));
            line(1, fmt::format("{} | rest  ~  polya_gamma(1, mean)", symbol.name));
            return text_;
        }
        line(1, fmt::format("n = counting cells, S = sum of {}", squares(scale)));
        for (std::uint32_t p : scale.priors) {
            ScalePrior const& prior = model_.scale_priors[p];
            std::string const where = to_text(model_, prior.region);
            std::string const text = prior.df ? fmt::format("gamma({0}/2, {0}/2)", model_.symbols[*prior.df].name)
                                     : prior.family == ScaleFamily::Flat ? "flat"
                                                                         : to_text(prior.family, prior.first, prior.second);
            line(1, fmt::format("prior {}{}", text, where));
            line(1, conditional_of_scale(prior, symbol.name));
        }
        return text_;
    }

  private:
    std::string degrees_of_freedom(ScaleConditional const& scale, std::string const& name) {
        line(0, fmt::format("{} | rest but its local scales", name));
        line(1, "n = counting cells, each with S = " + squares(scale.locals));
        ScalePrior const& prior = model_.scale_priors[scale.priors.front()];
        line(1, "prior " + to_text(prior.family, prior.first, prior.second));
        line(1, fmt::format("density of {0}  ~  prior * product over cells of student_t({0}, 0, 1) at the root of S, by slices in log {0}",
                            name));
        return text_;
    }

    std::string squares(std::vector<SymbolId> const& locals) {
        std::string text;
        for (Factor const& factor : model_.factors) {
            for (std::uint32_t part = 0; part < factor.spread.size(); ++part) {
                Node const& node = model_.terms[factor.spread[part].value];
                bool const is_one =
                    node.op == Op::Param && std::find(locals.begin(), locals.end(), static_cast<SymbolId>(node.payload)) != locals.end();
                if (!is_one) continue;
                text += (text.empty() ? "" : " and ") + ("(mean - target)^2" + precision(factor, part)) + ", over " +
                        notation_.declaration(factor.target);
            }
        }
        return text;
    }

    void line(int depth, std::string const& text) { text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + text + "\n"; }

    std::string dims(std::vector<DimId> const& list) const {
        std::string text;
        for (DimId dim : list) text += (text.empty() ? "" : ", ") + model_.dims[dim].name;
        return text;
    }

    /// `(mean - target)^2, over y and z`, with the rest of the precision where the scale is a part of it.
    std::string squares(ScaleConditional const& scale) {
        bool const is_alone = std::all_of(scale.uses.begin(), scale.uses.end(),
                                          [&](ScaleConditional::Use const& use) { return model_.factors[use.factor].spread.size() == 1; });
        std::string text = is_alone ? "(mean - target)^2, over " : "";
        for (std::size_t i = 0; i < scale.uses.size(); ++i) {
            Factor const& factor = model_.factors[scale.uses[i].factor];
            if (i > 0) text += " and ";
            if (!is_alone) text += "(mean - target)^2" + precision(factor, scale.uses[i].part) + ", over ";
            text += notation_.declaration(factor.target);
        }
        return text;
    }

    /// ` * 1/sigma^2` for each part of a factor's precision but one.
    std::string precision(Factor const& factor, std::size_t left_out) {
        std::string text;
        for (std::size_t part = 0; part < factor.spread.size(); ++part)
            if (part != left_out) text += " * " + precision(factor.spread[part]);
        return text;
    }

    std::string precision(SpreadPart const& part) {
        std::string const scale = part.kind == SpreadKind::Covariance ? "cov" : notation_.text(part.value);
        switch (part.kind) {
            case SpreadKind::Sd: return model_.terms.is_constant(part.value, 1) ? "1" : fmt::format("1/{}^2", scale);
            case SpreadKind::Variance: return fmt::format("1/{}", scale);
            case SpreadKind::Precision: return scale;
            case SpreadKind::Covariance: return "inv(cov)";
        }
        return "1";
    }

    /// Precision of a factor's cells.
    std::string precision(Factor const& factor) {
        if (factor.is_flat()) return "0";
        std::string text;
        for (SpreadPart const& part : factor.spread) {
            std::string const one = precision(part);
            if (one != "1" || factor.spread.size() == 1) text += (text.empty() ? "" : " * ") + one;
        }
        return text.empty() ? "1" : text;
    }

    void heading(Conditional const& conditional, std::string const& how) {
        bool const is_truncated =
            std::any_of(conditional.contributions.begin(), conditional.contributions.end(),
                        [&](Contribution const& c) { return c.is_prior && model_.factors[c.factor].interval.is_bounded(); });
        line(0, fmt::format("{} | rest  ~  normal(m, inv(L)){}, {}", notation_.declaration(conditional.block),
                            is_truncated ? " in the interval of its prior" : "", how));
    }

    void where() {
        for (std::string const& equation : notation_.take_where()) line(3, "where " + equation);
    }

    void priors(Conditional const& conditional) {
        for (Contribution const& contribution : conditional.contributions) {
            if (!contribution.is_prior) continue;
            Factor const& factor = model_.factors[contribution.factor];
            line(1, fmt::format("prior{}: mean {}, precision {}{}{}", to_text(model_, factor.region), notation_.text(factor.mean),
                                precision(factor), factor.interval.is_bounded() ? "," : "", to_text(factor.interval)));
            where();
        }
    }

    /// What is normal about the mean: `target`, of a binary output `(target - 1/2) / w`.
    static std::string target(Factor const& factor) { return factor.is_binary ? "(target - 1/2)/w" : "target"; }

    /// residual = mean - target = J θ + e
    void contribution(Contribution const& contribution, std::string const& block) {
        Factor const& factor = model_.factors[contribution.factor];
        line(1, fmt::format("from {}{}:  mean - {} = J {} + e", notation_.declaration(factor.target), to_text(model_, factor.region),
                            target(factor), block));
        line(2, "J = " + notation_.text(contribution.covariates));
        where();
        if (contribution.lagged != model_.terms.zero()) {
            line(2, fmt::format("K = {}   of {} one step back", notation_.text(contribution.lagged), block));
            where();
        }
        line(2, "e = " + notation_.text(contribution.offset));
        where();
        line(2, "w = " + precision(factor) + "   where the cell counts, else 0");
    }

    void joint(Conditional const& conditional) {
        std::string const& name = model_.symbols[conditional.block].name;
        std::string how = conditional.joint.empty() ? "one entry at a time" : fmt::format("all of [{}] jointly", dims(conditional.joint));
        if (!conditional.batch.empty()) how += fmt::format(", each [{}] apart", dims(conditional.batch));
        if (conditional.joint.empty() && conditional.batch.empty()) how = "a scalar";
        heading(conditional, how);
        priors(conditional);
        for (Contribution const& c : conditional.contributions) {
            if (!c.is_prior) contribution(c, name);
        }
        line(1, "L = prior precision + sum w J J'");
        line(1, "L m = prior precision * prior mean - sum w J e");
        cost(conditional);
    }

    void choice(Conditional const& conditional) {
        std::string const& name = model_.symbols[conditional.block].name;
        std::string const& dim = model_.dims[*model_.choice_of(conditional.block)].name;
        std::string const how = conditional.batch.empty() ? "" : fmt::format(", each [{}] apart", dims(conditional.batch));
        line(0, fmt::format("{} | rest  ~  categorical(p): 1 at one {}, 0 at the others{}", notation_.declaration(conditional.block), dim,
                            how));
        for (Contribution const& c : conditional.contributions) {
            if (!c.is_prior) {
                contribution(c, name);
                continue;
            }
            Factor const& factor = model_.factors[c.factor];
            bool const is_even = model_.terms[*factor.weights].op == Op::Constant;
            line(1, fmt::format("prior{}: weight[{}] = {}", to_text(model_, factor.region), dim,
                                is_even ? "1" : notation_.text(*factor.weights)));
            where();
        }
        if (conditional.drawn_with) {
            std::string const& block = model_.symbols[*conditional.drawn_with].name;
            line(
                1,
                fmt::format(
                    "drawn with {0} integrated out, and {0} next:  L, r of {0} without its prior;  Q its prior precision, m its prior mean",
                    block));
            line(1, fmt::format(
                        "p[{0}] = weight[{0}] exp((r + Q m)' inv(L + Q) (r + Q m) / 2 - m' Q m / 2) with the m of {0}, divided by its sum",
                        dim));
            return cost(conditional);
        }
        line(1, "L = sum w J J',  r = - sum w J e");
        line(1, fmt::format("p[{0}] = weight[{0}] exp(r[{0}] - L[{0},{0}] / 2), divided by its sum", dim));
        cost(conditional);
    }

    void markov(Conditional const& conditional) {
        std::string const& name = model_.symbols[conditional.block].name;
        heading(conditional, fmt::format("all steps jointly{}",
                                         conditional.batch.empty() ? "" : fmt::format(", each [{}] apart", dims(conditional.batch))));
        priors(conditional);
        for (Contribution const& c : conditional.contributions) {
            if (!c.is_prior) contribution(c, name);
        }
        line(1, "L is block tridiagonal: L[t,t] += w J J',  L[t-1,t-1] += w K K',  L[t,t-1] += w J K'");
        line(1, "L m = prior precision * prior mean - sum w (J at t, K at t-1) e");
        cost(conditional);
    }

    void sweep(Conditional const& conditional) {
        std::string const& name = model_.symbols[conditional.block].name;
        std::string const t = model_.dims[*model_.time].name;
        heading(conditional, fmt::format("one step after another{}",
                                         conditional.batch.empty() ? "" : fmt::format(", each [{}] apart", dims(conditional.batch))));
        priors(conditional);
        for (std::size_t s = 0; s < conditional.states.size(); ++s) {
            SweptState const& state = conditional.states[s];
            std::string const h = notation_.text(state.scan);
            line(1, fmt::format("{} = T {}[{}] + base", h, name, t));
            where();
            line(2, fmt::format("T = ({}) {}[{}-1]{}", notation_.text(state.coefficient_covariates), state_name(state.scan), t,
                                state.input_covariates == model_.terms.zero() ? "" : " + " + notation_.text(state.input_covariates)));
            line(2, fmt::format("base = {}{}",
                                state.coefficient_offset == model_.terms.zero()
                                    ? ""
                                    : "(" + notation_.text(state.coefficient_offset) + ") " + state_name(state.scan) + "[" + t + "-1] + ",
                                notation_.text(state.input_offset)));
            where();
        }
        for (Readout const& readout : conditional.readouts) {
            Factor const& factor = model_.factors[readout.factor];
            line(1, fmt::format("from {}{}:  mean - {} = C h + e", notation_.declaration(factor.target), to_text(model_, factor.region),
                                target(factor)));
            for (Term read : readout.states) line(2, "C = " + notation_.text(read));
            line(2, "e = " + notation_.text(readout.offset));
            line(2, "w = " + precision(factor) + "   where the cell counts, else 0");
            where();
        }
        line(1, fmt::format("backward:  S[{0}] = sum w C C' + c[{0}+1] S[{0}+1] c[{0}+1]", t));
        line(1, fmt::format(
                    "           r[{0}] = -sum w C e + c[{0}+1] (r[{0}+1] - S[{0}+1] u[{0}+1])      h[{0}] = c[{0}] h[{0}-1] + u[{0}]", t));
        line(1, "forward:   L = prior precision + sum T' S T");
        line(1, "           L m = prior precision * prior mean + sum T' (r - S base)");
        cost(conditional);
    }

    std::string state_name(Term scan) const {
        auto const it = model_.names.find(scan);
        return it == model_.names.end() ? "h" : model_.symbols[it->second].name;
    }

    void cost(Conditional const& conditional) {
        std::string d = conditional.joint.empty() ? "1" : "";
        for (DimId dim : conditional.joint) d += (d.empty() ? "" : " ") + model_.dims[dim].name;
        switch (conditional.method) {
            case Method::Joint: line(1, fmt::format("cost: cells x d^2 with d = {}, linear in the length of the sequences", d)); break;
            case Method::Markov: line(1, fmt::format("cost: cells x d^3 with d = {}, linear in the length of the sequences", d)); break;
            case Method::Sweep: line(1, "cost: cells x (entries of h)^2, linear in the length of the sequences"); break;
        }
    }

    /// The name of the variable that makes a half-t two inverse gammas: one that the model does not use.
    std::string auxiliary() const {
        for (char const* const name : {"b", "g", "z", "b_", "g_"}) {
            bool const is_taken =
                std::any_of(model_.symbols.begin(), model_.symbols.end(), [&](Symbol const& symbol) { return symbol.name == name; });
            if (!is_taken) return name;
        }
        return "b__";
    }

    std::string conditional_of_scale(ScalePrior const& prior, std::string const& name) const {
        std::string const variance =
            prior.spread == SpreadKind::Sd ? name + "^2" : (prior.spread == SpreadKind::Precision ? "1/" + name : name);
        switch (prior.family) {
            case ScaleFamily::Flat: {
                std::string const shape =
                    prior.spread == SpreadKind::Sd ? "(n - 1)/2" : (prior.spread == SpreadKind::Variance ? "n/2 - 1" : "n/2 + 1");
                return fmt::format("{} | rest  ~  inverse_gamma({}, S/2)", variance, shape);
            }
            case ScaleFamily::HalfStudentT: {
                double const df = prior.first;
                if (df >= least_sliced_df)
                    return fmt::format(
                        "{0} | rest  ~  x^((1 - n)/2 - 1) exp(-S/x/2) (1 + x/({1} {2}^2))^(-({1} + 1)/2), by slices in log x", variance, df,
                        prior.second);
                std::string const times = df == 1 ? "" : fmt::format("{}/", df);
                return fmt::format(
                    "{0} | rest, {1}  ~  inverse_gamma((n + {2})/2, {3}{1} + S/2),   {1} | {0}  ~  inverse_gamma({4}, 1/{5}^2 + {3}({0}))",
                    variance, auxiliary(), df, times.empty() ? "1/" : times, (df + 1) / 2, prior.second);
            }
            case ScaleFamily::HalfNormal:
                return fmt::format("{} | rest  ~  generalised inverse Gaussian, x^((1 - n)/2 - 1) exp(-(x/{}^2 + S/x)/2)", variance,
                                   prior.first);
            case ScaleFamily::Exponential:
                return fmt::format("{} | rest  ~  generalised inverse Gaussian, x^((2 - n)/2 - 1) exp(-({} x + S/x)/2)", variance,
                                   2 * prior.first);
            case ScaleFamily::PolyaGamma: break;  // of binary outputs: said before
            case ScaleFamily::InverseGamma:
            case ScaleFamily::Gamma:
                if (prior.df)
                    return fmt::format("{0} | rest  ~  inverse_gamma({1}/2 + n/2, {1}/2 + S/2)", variance, model_.symbols[*prior.df].name);
                return fmt::format("{} | rest  ~  inverse_gamma({} + n/2, {} + S/2)", variance, prior.first, prior.second);
        }
        return {};
    }

    Model const& model_;
    Notation notation_;
    std::string text_;
};

}  // namespace

std::string explain(Model const& model, Derivation const& derivation, std::optional<std::string> const& block) {
    Explainer explainer(model);
    std::string text;
    auto is_wanted = [&](SymbolId symbol) { return !block || model.symbols[symbol].name == *block; };
    auto append = [&](std::string const& part) { text += (text.empty() ? "" : "\n") + part; };
    for (Conditional const& conditional : derivation.blocks) {
        if (is_wanted(conditional.block)) append(explainer.block(conditional));
    }
    for (ScaleConditional const& scale : derivation.scales) {
        if (is_wanted(scale.scale)) append(explainer.scale(scale));
    }
    return text;
}

}  // namespace bam
