// Functions that give a list of numbers over a dim: the decays and weights of a position kernel, slopes of several heads (math.md, 5b).
// Codes of this file:
//   BAM0148  arguments of a function that gives a list
//   BAM0149  a list that such a function cannot give over its dim
//   BAM0164  weights of a bank whose decays are of another kernel
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "decay_bank.hpp"
#include "workspace.hpp"

namespace bam {
namespace {

using tree::Expr;
using tree::ExprKind;
using tree::Statement;

struct ListFunction {
    enum class Gives : std::uint8_t { Decays, Weights, Prior };  ///< a prior of weights is no list, but has the same arguments
    char const* name;
    std::optional<PositionKernel::Form> kernel;  ///< none: ALiBi
    Gives gives = Gives::Decays;
};
using Gives = ListFunction::Gives;

constexpr std::array list_functions{ListFunction{"ggd_decays", PositionKernel::Form::Ggd, Gives::Decays},
                                    ListFunction{"ggd_weights", PositionKernel::Form::Ggd, Gives::Weights},
                                    ListFunction{"ggd_position", PositionKernel::Form::Ggd, Gives::Prior},
                                    ListFunction{"power_decays", PositionKernel::Form::Power, Gives::Decays},
                                    ListFunction{"power_weights", PositionKernel::Form::Power, Gives::Weights},
                                    ListFunction{"power_position", PositionKernel::Form::Power, Gives::Prior},
                                    ListFunction{"alibi_decays", std::nullopt, Gives::Decays}};

ListFunction const* find_function(Expr const& expr) {
    if (expr.kind != ExprKind::Call) return nullptr;
    auto const* const it =
        std::find_if(list_functions.begin(), list_functions.end(), [&](ListFunction const& f) { return expr.text == f.name; });
    return it == list_functions.end() ? nullptr : it;
}

constexpr double usual_tolerance = 1e-3;
constexpr double usual_shared_tolerance = 0.01;  ///< of a bank for several kernels
constexpr double smallest_tolerance = 1e-4;      ///< below it a fit may end in rounding
constexpr std::size_t usual_lags = 512;
constexpr std::size_t most_lags = 10000;

struct Argument {
    char const* name;
    std::optional<double> usual;  ///< none: it must be said
    bool is_spread = false;       ///< and not a number
};

std::vector<Argument> arguments_of(ListFunction const& function) {
    if (!function.kernel) return {};
    bool const is_ggd = *function.kernel == PositionKernel::Form::Ggd;
    std::vector<Argument> arguments{{is_ggd ? "scale" : "r1", {}}, {is_ggd ? "shape" : "r2", {}}};
    if (function.gives == Gives::Prior) arguments.push_back({"sd", {}, true});
    arguments.push_back({"tolerance", usual_tolerance});
    arguments.push_back({"lags", static_cast<double>(usual_lags)});
    return arguments;
}

/// Reads the arguments of one call.
class Request {
  public:
    Request(Workspace& workspace, Expr const& call, ListFunction const& function)
        : workspace_(workspace), call_(call), function_(function) {}

    std::optional<BankRequest> run() {
        if (!sort() || !read()) return std::nullopt;
        BankRequest request;
        for (double const first : numbers_[0])
            for (double const second : numbers_[1]) request.kernels.push_back({*function_.kernel, first, second});
        std::size_t const count = numbers_.size();
        bool const is_usual = given_[count - 2] == nullptr;
        request.tolerance = is_usual && request.kernels.size() > 1 ? usual_shared_tolerance : numbers_[count - 2].front();
        request.lags = static_cast<std::size_t>(numbers_[count - 1].front());
        return request;
    }

    /// By place or by name, each at most once; those without a usual value all.
    bool sort() {
        std::vector<Argument> const known = arguments_of(function_);
        given_.assign(known.size(), nullptr);
        std::size_t position = 0;
        bool is_good = true;
        for (Expr const& arg : call_.args) {
            std::size_t at = 0;
            if (arg.kind == ExprKind::Assign)
                while (at < known.size() && arg.text != known[at].name) ++at;
            else
                at = position++;
            if (at >= known.size() || given_[at])
                is_good = false;
            else
                given_[at] = arg.kind == ExprKind::Assign ? &arg.args[0] : &arg;
        }
        std::string list;
        for (std::size_t i = 0; i < known.size(); ++i) {
            is_good = is_good && (given_[i] || known[i].usual);
            numbers_.push_back({known[i].usual.value_or(0)});
            list += fmt::format("{}{}{}", i == 0 ? "" : ", ", known[i].name, known[i].usual ? fmt::format(" = {:g}", *known[i].usual) : "");
        }
        if (is_good) return true;
        std::string const message = known.empty() ? fmt::format("{} takes no arguments", call_.text)
                                                  : fmt::format("the arguments of {} are ({})", call_.text, list);
        std::vector<std::string> notes;
        if (known.empty()) notes.push_back(hint(call_.text + "()"));
        workspace_.error(148, call_.span, message, "", std::move(notes));
        return false;
    }

    /// Of a prior.
    Expr const* sd() const { return given_[2]; }
    /// What was said of the kernel and of how well a bank holds it: `scale = 4, shape = 0.5`.
    std::string kernel_text() const {
        std::vector<Argument> const known = arguments_of(function_);
        std::string text;
        for (std::size_t i = 0; i < known.size(); ++i)
            if (given_[i] && !known[i].is_spread)
                text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", known[i].name, workspace_.text(given_[i]->span));
        return text;
    }

  private:
    bool read() {
        std::vector<Argument> const known = arguments_of(function_);
        for (std::size_t i = 0; i < given_.size(); ++i) {
            if (!given_[i] || known[i].is_spread) continue;
            Expr const& given = *given_[i];
            if (given.kind == ExprKind::List && !(i < 2 && may_be_several(given))) return false;
            numbers_[i].clear();
            std::size_t const count = given.kind == ExprKind::List ? given.args.size() : 1;
            for (std::size_t k = 0; k < count; ++k)
                if (!read_one(i, given.kind == ExprKind::List ? given.args[k] : given, known[i].name)) return false;
        }
        return true;
    }

    /// Lists are of what a kernel may be.
    bool may_be_several(Expr const& given) {
        if (function_.gives != Gives::Weights && !given.args.empty()) return true;
        Diagnostic& d = workspace_.error(148, given.span, given.args.empty() ? "a list without numbers" : "weights are those of one kernel",
                                         given.args.empty() ? "" : "this asks for those of several");
        if (!given.args.empty())
            d.notes.push_back(fmt::format("a kernel that is learnt is a prior of its weights: `w[bank] ~ {}_position(...)`",
                                          *function_.kernel == PositionKernel::Form::Ggd ? "ggd" : "power"));
        return false;
    }

    bool read_one(std::size_t i, Expr const& expr, std::string const& name) {
        auto const number = number_of(workspace_, expr, fmt::format("an argument of {}", call_.text));
        if (!number || !is_in_range(name, i, *number, expr.span)) return false;
        if (std::find(numbers_[i].begin(), numbers_[i].end(), *number) != numbers_[i].end()) {
            workspace_.error(148, expr.span, "a number twice in a list", "each kernel is there once");
            return false;
        }
        numbers_[i].push_back(*number);
        return true;
    }

    bool is_in_range(std::string const& name, std::size_t i, double number, Span span) {
        bool const is_shape = i == 1 && *function_.kernel == PositionKernel::Form::Ggd;
        if (is_shape && number > 1) {
            workspace_.error(
                148, span, "a ggd kernel of a shape above 1 is no sum of decays", "a shape is above 0 and at most 1",
                {"it falls slowly at first and faster later; a decay, and so every positive sum of decays, does the opposite"});
            return false;
        }
        if (i < 2 && !(number > 0)) {
            workspace_.error(148, span, fmt::format("an argument of {} must be greater than 0", call_.text));
            return false;
        }
        if (name == "tolerance" && !(number >= smallest_tolerance && number < 1)) {
            workspace_.error(148, span, fmt::format("a tolerance is from {:g} to 1", smallest_tolerance),
                             "the largest relative error of the kernel", {hint(fmt::format("{:g}", usual_tolerance))});
            return false;
        }
        if (name == "lags" && !(number >= 1 && number <= static_cast<double>(most_lags) && number == std::floor(number))) {
            workspace_.error(148, span, fmt::format("lags are a whole number from 1 to {}", most_lags),
                             "how far back the kernel is to hold", {hint(fmt::format("{}", usual_lags))});
            return false;
        }
        return true;
    }

    Workspace& workspace_;
    Expr const& call_;
    ListFunction const& function_;
    std::vector<Expr const*> given_;
    std::vector<std::vector<double>> numbers_;  ///< of each argument; several of what a kernel may be
};

std::string to_text(std::vector<PositionKernel> const& kernels) {
    if (kernels.size() > 1) return fmt::format("all {} kernels", kernels.size());
    PositionKernel const& kernel = kernels.front();
    bool const is_ggd = kernel.form == PositionKernel::Form::Ggd;
    return fmt::format("{}({:g}, {:g})", is_ggd ? "ggd" : "power", kernel.first, kernel.second);
}

bool is_one_exponential(BankRequest const& request) {
    PositionKernel const& kernel = request.kernels.front();
    return request.kernels.size() == 1 && kernel.form == PositionKernel::Form::Ggd && kernel.second == 1;
}

DecayBank fit(BankRequest const& request, std::size_t terms) {
    return request.kernels.size() > 1 ? fit_shared_bank(request.kernels, terms, request.lags)
                                      : fit_decay_bank(request.kernels.front(), terms, request.lags);
}

std::string advise_size(Dim const& dim, std::size_t size) { return fmt::format("write `{} = {}` in dims", dim.name, size); }

/// The smallest bank for a request, fitted once.
std::optional<DecayBank> const& smallest(Workspace& workspace, BankRequest const& request) {
    auto const [it, is_new] = workspace.smallest_banks.try_emplace(request.key());
    if (is_new)
        it->second = request.kernels.size() > 1 ? find_shared_bank(request.kernels, request.tolerance, request.lags)
                                                : find_decay_bank(request.kernels.front(), request.tolerance, request.lags);
    return it->second;
}

/// Calls `visit` on every call of a list function in an expression.
template <typename Visit>
void each_list_function(Expr const& expr, Visit const& visit) {
    if (ListFunction const* function = find_function(expr)) visit(expr, *function);
    for (Expr const& arg : expr.args) each_list_function(arg, visit);
}

}  // namespace

std::optional<DecayBank> bank_of(Workspace& workspace, Expr const& call, BankRequest const& request, DimId id) {
    Dim const& dim = workspace.model.dims[id];
    std::optional<DecayBank> const& least = smallest(workspace, request);
    auto const refuse = [&](std::string message, std::string note) {
        Diagnostic& d = workspace.error(149, call.span, std::move(message));
        d.labels.push_back({dim.span, dim.size ? fmt::format("`{}` has {}", dim.name, *dim.size) : "declared here"});
        d.notes.push_back(std::move(note));
        return std::nullopt;
    };
    if (!least)
        return refuse(
            fmt::format("no bank of up to {} decays is within {:g} of {}", most_decays, request.tolerance, to_text(request.kernels)),
            "take a larger tolerance or fewer lags");
    if (!dim.size)
        return refuse(fmt::format("the size of `{}` is not known here", dim.name),
                      fmt::format("its labels come from the table: give the bank a dim of its own, `bank = {}`", least->decays.size()));
    if (*dim.size == least->decays.size()) return *least;
    if (is_one_exponential(request)) return refuse(fmt::format("{} is one decay", to_text(request.kernels)), advise_size(dim, 1));
    if (*dim.size > most_decays) return refuse(fmt::format("a bank has at most {} decays", most_decays), advise_size(dim, most_decays));
    auto const [it, is_new] = workspace.banks.try_emplace(std::pair(request.key(), *dim.size));
    if (is_new) it->second = fit(request, *dim.size);
    DecayBank const& bank = it->second;
    if (bank.error <= request.tolerance) return bank;
    return refuse(fmt::format("{} decays are off by {:.2g} of {}, and the tolerance is {:g}", *dim.size, bank.error,
                              to_text(request.kernels), request.tolerance),
                  advise_size(dim, least->decays.size()));
}

bool is_list(Expr const& expr) {
    ListFunction const* const function = find_function(expr);
    return expr.kind == ExprKind::List || (function && function->gives != Gives::Prior);
}

std::optional<KernelPrior> kernel_prior_of(Workspace& workspace, Expr const& call) {
    Request request(workspace, call, *find_function(call));
    auto const wanted = request.run();
    if (!wanted) return std::nullopt;
    return KernelPrior{*wanted, request.sd()};
}

std::vector<std::string> list_function_names() {
    std::vector<std::string> names;
    for (ListFunction const& function : list_functions)
        if (function.gives != Gives::Prior) names.emplace_back(function.name);
    return names;
}

std::optional<std::vector<double>> list_of_function(Workspace& workspace, Expr const& call, DimId id) {
    ListFunction const& function = *find_function(call);
    Request request(workspace, call, function);
    if (function.kernel) {
        auto const wanted = request.run();
        auto const bank = wanted ? bank_of(workspace, call, *wanted, id) : std::nullopt;
        if (!bank) return std::nullopt;
        return function.gives == Gives::Weights ? bank->weights : bank->decays;
    }
    if (!request.sort()) return std::nullopt;
    Dim const& dim = workspace.model.dims[id];
    if (!dim.size) {
        Diagnostic& d = workspace.error(149, call.span, fmt::format("the size of `{}` is not known here", dim.name));
        d.labels.push_back({dim.span, "declared here"});
        d.notes.push_back(fmt::format("give it one in dims, as in `{} = 4`", dim.name));
        return std::nullopt;
    }
    std::vector<double> decays;
    for (std::size_t head = 1; head <= *dim.size; ++head)
        decays.push_back(std::exp(-std::exp2(-8 * static_cast<double>(head) / static_cast<double>(*dim.size))));
    return decays;
}

namespace {

/// A call that gives the decays of a bank, or is for their weights.
struct BankCall {
    Expr const* call = nullptr;
    ListFunction const* function = nullptr;
    DimId dim = 0;
    std::vector<double> decays;
};

/// Those of values and of means: as a spread, a list is only a size.
std::vector<BankCall> bank_calls(Workspace& workspace) {
    std::vector<BankCall> calls;
    bool const was_trial = std::exchange(workspace.is_trial, true);  // what is wrong is said when the statement is read
    for (PriorStatement const& prior : workspace.priors) {
        std::vector<DimId> const dims = workspace.labelled_dims(prior.symbol);
        bool const has_mean = prior.distribution && !prior.distribution->kernels;
        Expr const* const value = has_mean ? prior.distribution->mean : &prior.statement->rhs;
        if (!prior.is_chosen || dims.empty() || !value) continue;
        each_list_function(*value, [&](Expr const& call, ListFunction const& function) {
            if (!function.kernel) return;
            auto const request = Request(workspace, call, function).run();
            auto const bank = request ? bank_of(workspace, call, *request, dims.back()) : std::nullopt;
            if (bank) calls.push_back({&call, &function, dims.back(), bank->decays});
        });
    }
    workspace.is_trial = was_trial;
    return calls;
}

/// The call for weights with the arguments of that for decays.
std::string matching(Workspace& workspace, BankCall const& weights, BankCall const& decays) {
    Request given(workspace, *weights.call, *weights.function);
    Request wanted(workspace, *decays.call, *decays.function);
    if (!given.sort() || !wanted.sort()) return "";
    bool const is_ggd = *decays.function->kernel == PositionKernel::Form::Ggd;
    if (weights.function->gives == Gives::Weights) return fmt::format("{}_weights({})", is_ggd ? "ggd" : "power", wanted.kernel_text());
    return fmt::format("{}_position({}, sd = {})", is_ggd ? "ggd" : "power", wanted.kernel_text(), workspace.text(given.sd()->span));
}

}  // namespace

void check_banks(Workspace& workspace) {
    std::vector<BankCall> const calls = bank_calls(workspace);
    for (BankCall const& weights : calls) {
        if (weights.function->gives == Gives::Decays) continue;
        BankCall const* other = nullptr;
        bool has_own = false;
        for (BankCall const& decays : calls) {
            if (decays.function->gives != Gives::Decays || decays.dim != weights.dim) continue;
            has_own = has_own || decays.decays == weights.decays;
            other = &decays;
        }
        if (has_own || !other) continue;
        Diagnostic& d =
            workspace.error(164, weights.call->span,
                            fmt::format("these weights are not those of the decays of `{}`", workspace.model.dims[weights.dim].name),
                            "of other kernels, lags or tolerance");
        d.labels.push_back({other->call->span, "the decays"});
        auto const kernels = Request(workspace, *other->call, *other->function).run();
        bool const is_of_one = weights.function->gives == Gives::Weights && kernels && kernels->kernels.size() > 1;
        d.notes.push_back(is_of_one
                              ? std::string("those of several kernels have weights for each: `~ ggd_position(...)` chooses among them")
                              : hint(matching(workspace, weights, *other)));
        d.notes.emplace_back("or have decays of these kernels in the same set of priors");
    }
}

void size_banks(Workspace& workspace) {
    Model& model = workspace.model;
    std::map<DimId, std::size_t> sizes;
    auto const look = [&](Statement const& s) {
        Name const* const name = workspace.find(s.lhs.text);
        if (!name || name->kind != NameKind::Param || !name->is_sound) return;
        std::vector<DimId> const dims = workspace.labelled_dims(name->id);
        if (dims.empty() || model.dims[dims.back()].size) return;
        bool const has_columns = std::any_of(model.symbols.begin(), model.symbols.end(), [&](Symbol const& symbol) {
            return symbol.kind == SymbolKind::Data && std::find(symbol.dims.begin(), symbol.dims.end(), dims.back()) != symbol.dims.end();
        });
        if (has_columns) return;
        each_list_function(s.rhs, [&](Expr const& call, ListFunction const& function) {
            if (!function.kernel) return;
            auto const request = Request(workspace, call, function).run();
            if (!request) return;
            std::optional<DecayBank> const& bank = smallest(workspace, *request);
            if (bank) sizes[dims.back()] = std::max(sizes[dims.back()], bank->decays.size());
        });
    };
    bool const was_trial = std::exchange(workspace.is_trial, true);  // what is wrong is said when the statement is read
    workspace.each_statement("param", look);
    workspace.each_statement("priors", look);
    workspace.is_trial = was_trial;
    for (auto const& [dim, size] : sizes) model.dims[dim].size = size;
}

}  // namespace bam
