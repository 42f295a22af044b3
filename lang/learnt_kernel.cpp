// A position kernel that is learnt: `w[bank] ~ ggd_position(scale = [4, 16], shape = [0.5, 1], sd = 0.05)` is rewritten into a choice among
// kernels, `w[bank] ~ normal(weights * w_kernel, 0.05)` with `w_kernel ~ categorical()` and reports of its scale and its shape
// (math.md, 5b. Kernels of decays).
// Codes of this file:
//   BAM0163  a kernel for some entries of a bank
#include <fmt/format.h>

#include <algorithm>

#include "workspace.hpp"

namespace bam {
namespace {

class LearntKernel {
  public:
    LearntKernel(Workspace& workspace, PriorStatement const& stated)
        : workspace_(workspace), model_(workspace.model), stated_(stated), kernels_(stated.distribution->kernels->kernels) {}

    std::optional<Term> run() {
        DimId const bank_dim = model_.symbols[stated_.symbol].dims.back();
        auto const bank = bank_of(workspace_, stated_.statement->rhs, *stated_.distribution->kernels, bank_dim);
        if (!bank) return std::nullopt;
        if (!stated_.is_chosen) return model_.terms.zero();  // looked at only
        add_choice();
        Terms& terms = model_.terms;
        std::vector<double> weights;  // [decay][kernel]
        for (std::size_t j = 0; j < bank->decays.size(); ++j)
            for (std::size_t k = 0; k < kernels_.size(); ++k) weights.push_back(bank->weights[k * bank->decays.size() + j]);
        Term const all = fixed({bank_dim, dim_}, {bank->decays.size(), kernels_.size()}, std::move(weights));
        bool const is_ggd = kernels_.front().form == PositionKernel::Form::Ggd;
        report(is_ggd ? "_scale" : "_r1", &PositionKernel::first);
        report(is_ggd ? "_shape" : "_r2", &PositionKernel::second);
        return terms.contract({all, choice()}, {{dim_, 0}});
    }

  private:
    Axis axis() const { return {dim_, 0}; }
    Term choice() { return model_.terms.leaf(Op::Param, symbol_, {axis()}); }

    Term literal(std::vector<DimId> const& dims, std::vector<std::size_t> shape, std::vector<double> values) {
        model_.literals.push_back({dims, std::move(shape), std::move(values)});
        Axes axes;
        for (DimId const dim : dims) axes.push_back({dim, 0});
        return model_.terms.leaf(Op::Literal, model_.literals.size() - 1, axes);
    }

    /// The same by a name.
    Term fixed(std::vector<DimId> const& dims, std::vector<std::size_t> shape, std::vector<double> values) {
        Symbol symbol;
        symbol.kind = SymbolKind::Fixed;
        symbol.name = workspace_.free_name(model_.symbols[stated_.symbol].name + "_centres");
        symbol.span = stated_.distribution->span;
        symbol.dims = dims;
        symbol.literal = static_cast<std::uint32_t>(model_.literals.size());
        model_.literals.push_back({dims, std::move(shape), std::move(values)});
        auto const id = static_cast<SymbolId>(model_.symbols.size());
        model_.symbols.push_back(std::move(symbol));
        return model_.terms.leaf(Op::Param, id, model_.axes_of(id));
    }

    /// The kernels as a dim, and the parameter that is 1 at one of them.
    void add_choice() {
        std::string const name = workspace_.free_name(model_.symbols[stated_.symbol].name + "_kernel");
        bool const is_ggd = kernels_.front().form == PositionKernel::Form::Ggd;
        Dim dim;
        dim.name = name;
        dim.size = kernels_.size();
        for (PositionKernel const& kernel : kernels_)
            dim.labels.push_back(
                fmt::format("{} {:g} {} {:g}", is_ggd ? "scale" : "r1", kernel.first, is_ggd ? "shape" : "r2", kernel.second));
        dim.span = stated_.distribution->span;
        dim_ = static_cast<DimId>(model_.dims.size());
        model_.dims.push_back(std::move(dim));
        Symbol symbol;
        symbol.kind = SymbolKind::Block;
        symbol.name = name;
        symbol.span = stated_.distribution->span;
        symbol.dims = {dim_};
        symbol.local_of = stated_.symbol;
        symbol_ = static_cast<SymbolId>(model_.symbols.size());
        model_.symbols.push_back(std::move(symbol));
        Factor prior;
        prior.target = symbol_;
        prior.mean = model_.terms.zero();
        prior.weights = model_.terms.one();
        prior.residual = model_.terms.negate(choice());
        prior.span = stated_.statement->span;
        model_.factors.push_back(std::move(prior));
    }

    /// A number of the kernel that is chosen, where they differ in it.
    void report(char const* suffix, double PositionKernel::*of) {
        std::vector<double> values;
        for (PositionKernel const& kernel : kernels_) values.push_back(kernel.*of);
        if (std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); })) return;
        Symbol symbol;
        symbol.kind = SymbolKind::Definition;
        symbol.name = workspace_.free_name(model_.symbols[stated_.symbol].name + suffix);
        symbol.span = stated_.distribution->span;
        symbol.is_report = true;
        symbol.term = model_.terms.contract({literal({dim_}, {kernels_.size()}, std::move(values)), choice()}, {axis()});
        model_.symbols.push_back(std::move(symbol));
    }

    Workspace& workspace_;
    Model& model_;
    PriorStatement const& stated_;
    std::vector<PositionKernel> const& kernels_;
    DimId dim_ = 0;
    SymbolId symbol_ = 0;
};

}  // namespace

std::optional<Term> mean_of_learnt_kernel(Workspace& workspace, PriorStatement const& stated) {
    std::vector<DimId> const dims = workspace.labelled_dims(stated.symbol);
    bool const is_named = std::any_of(stated.region.labels.begin(), stated.region.labels.end(),
                                      [&](Region::Labels const& label) { return !dims.empty() && label.dim == dims.back(); });
    if (!dims.empty() && !is_named && dims.back() == workspace.model.symbols[stated.symbol].dims.back())
        return LearntKernel(workspace, stated).run();
    Diagnostic& d = workspace.error(163, stated.statement->lhs.span,
                                    fmt::format("`{}` has no dim of decays", workspace.model.symbols[stated.symbol].name));
    if (is_named) d.message = "a kernel is that of all decays of a bank";
    d.labels.push_back({stated.distribution->span, "the weights of a bank"});
    d.notes.emplace_back(
        "as in `dims { bank }`, `b[bank] fixed ggd_decays(...)` and `w[bank] ~ ggd_position(...)`, its last dim that of the bank");
    return std::nullopt;
}

}  // namespace bam
