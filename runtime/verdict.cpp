#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "incidents.hpp"
#include "summary.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr double least_gap = 5;        ///< nats
constexpr double least_gap_in_sd = 5;  ///< of the best chain's log joint: the two then hardly share a value
constexpr double mixing_rhat = 1.05;   ///< above it, chains disagree on where they are
constexpr double most_growth = 50;     ///< of num_samples that is worth advising
constexpr std::size_t fewest_draws = 4;

struct Moments {
    double mean = 0;
    double sd = 0;
};
Moments moments(std::span<double const> values) {
    auto const n = static_cast<double>(values.size());
    double const mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    double sum = 0;
    for (double const value : values) sum += (value - mean) * (value - mean);
    return {mean, values.size() > 1 ? std::sqrt(sum / (n - 1)) : 0};
}

/// The verdict in the making: first the facts, then the words.
class Judge {
  public:
    Judge(std::vector<SummaryRow> const& rows, Run const& run, RunLength const& length) : rows_(rows), run_(run), length_(length) {
        verdict_.draws = common_draws(run);
        verdict_.chains = run.chains.size();
        threshold_ = std::max(lowest_ess, ess_per_chain * static_cast<double>(verdict_.chains));
    }

    Verdict run() {
        for (SummaryRow const& row : rows_) weigh(row);
        if (verdict_.draws >= fewest_draws) compare_chains();
        Verdict& v = verdict_;
        bool const is_judged = v.draws >= fewest_draws || v.judged == 0;
        v.is_converged =
            is_judged && v.rhat_count == 0 && v.ess_count == 0 && v.stuck.empty() && v.not_finite.empty() && v.worse_chains.empty();
        say_verdict();
        say_conditions();
        say_chains();
        if (!v.is_converged) advise();
        return std::move(verdict_);
    }

  private:
    void weigh(SummaryRow const& row);
    void compare_chains();
    void say_verdict();
    void say_conditions();
    void say_chains();
    void advise();
    std::size_t needed_samples() const;
    bool has_choices() const {
        return std::any_of(rows_.begin(), rows_.end(), [](SummaryRow const& row) { return row.column.choice > 0; });
    }
    void say(std::string sentence) { verdict_.sentences.push_back(std::move(sentence)); }
    /// A chain by its number in the run, of which others may be missing.
    std::size_t number_of(std::size_t chain) const { return run_.chains[chain].number > 0 ? run_.chains[chain].number : chain + 1; }
    std::span<double const> log_joint(std::size_t chain) const {
        return std::span<double const>(run_.chains[chain].log_joint).last(verdict_.draws);
    }
    std::size_t kept_samples() const { return verdict_.draws * std::max<std::size_t>(length_.thin, 1); }

    std::vector<SummaryRow> const& rows_;
    Run const& run_;
    RunLength const& length_;
    Verdict verdict_;
    double threshold_ = 0;
    bool has_rhat_and_ess_ = true;  ///< of every quantity that is judged
    std::size_t capped_ = 0;
};

void Judge::weigh(SummaryRow const& row) {
    if (row.is_nearly_certain) return;
    std::string const name = label_name(row.column);
    QuantitySummary const& q = row.quantity;
    if (row.condition == Condition::NotFinite) return verdict_.not_finite.push_back(name);
    if (row.condition == Condition::Fixed) return verdict_.fixed.push_back(name);
    if (row.condition == Condition::Stuck) return verdict_.stuck.push_back(name);
    if (!row.is_identified()) {
        ++verdict_.unidentified;
        bool const is_worse = !std::isnan(q.rhat) && (!verdict_.unidentified_rhat || q.rhat > verdict_.unidentified_rhat->value);
        if (is_worse) verdict_.unidentified_rhat = {name, q.rhat};
        return;
    }
    ++verdict_.judged;
    double const ess = worst_ess(q);
    if (!std::isfinite(q.rhat) || !std::isfinite(ess)) has_rhat_and_ess_ = false;
    if (!(q.rhat <= highest_rhat)) ++verdict_.rhat_count;
    if (!(ess >= threshold_)) ++verdict_.ess_count;
    if (!std::isnan(q.rhat) && (!verdict_.rhat || q.rhat > verdict_.rhat->value)) verdict_.rhat = {name, q.rhat};
    if (!std::isnan(ess) && (!verdict_.ess || ess < verdict_.ess->value)) verdict_.ess = {name, ess};
    auto const total = static_cast<double>(verdict_.draws * verdict_.chains);
    if (total > 1 && std::max(q.ess_bulk, q.ess_tail) >= total * std::log10(total) * (1 - 1e-9)) ++capped_;
}

void Judge::compare_chains() {
    std::vector<Moments> of;
    for (std::size_t chain = 0; chain < verdict_.chains; ++chain) of.push_back(moments(log_joint(chain)));
    auto const best = std::max_element(of.begin(), of.end(), [](Moments const& a, Moments const& b) { return a.mean < b.mean; });
    verdict_.best_chain = number_of(static_cast<std::size_t>(best - of.begin()));
    for (std::size_t chain = 0; chain < of.size(); ++chain) {
        double const gap = best->mean - of[chain].mean;
        if (!(gap > least_gap) || gap < least_gap_in_sd * best->sd) continue;
        auto const draws = log_joint(chain);
        Moments const early = moments(draws.first(draws.size() / 2));
        Moments const late = moments(draws.last(draws.size() / 2));
        verdict_.worse_chains.push_back({number_of(chain), gap, late.mean - early.mean > std::max(late.sd, 1.0)});
    }
}

void Judge::say_verdict() {
    Verdict const& v = verdict_;
    std::string const chains = length_.chains > v.chains ? fmt::format(", by {} of {}", v.chains, counted(length_.chains, "chain")) : "";
    if (v.draws < fewest_draws && v.judged > 0)
        return say(fmt::format("not judged{}: {} per chain {} too few.", chains, counted(v.draws, "draw"), v.draws == 1 ? "is" : "are"));
    std::string const head = (v.is_converged ? "converged" : "not converged") + chains;
    if (v.judged == 0) return say(fmt::format("{}. No identified quantity varies.", head));
    std::string const of = v.judged == 1 ? "1 identified quantity" : fmt::format("{} identified quantities", v.judged);
    std::string const rhat = v.rhat ? fmt::format("{:.3f} ({})", v.rhat->value, v.rhat->name) : "undefined";
    std::string const ess = v.ess ? fmt::format("{:.0f} ({})", v.ess->value, v.ess->name) : "undefined";
    std::string const about_rhat = v.rhat_count == 0
                                       ? fmt::format("The worst R-hat of {} is {}", of, rhat)
                                       : fmt::format("R-hat is above {} for {} of {}, at worst {}", highest_rhat, v.rhat_count, of, rhat);
    std::string const about_ess = v.ess_count == 0
                                      ? fmt::format(", the lowest ESS {}.", ess)
                                      : fmt::format("; ESS is below {:.0f} for {}, at worst {}.", threshold_, v.ess_count, ess);
    say(fmt::format("{}. {}{}", head, about_rhat, about_ess));
}

void Judge::say_conditions() {
    Verdict const& v = verdict_;
    if (!v.not_finite.empty())
        say(fmt::format("Not finite in some draws: {}. The posterior may be improper: a flat prior, and data that say too little.",
                        first_few(v.not_finite)));
    if (!v.stuck.empty()) say(fmt::format("Stuck: {}. At least one chain never moves them.", first_few(v.stuck)));
    if (!v.fixed.empty())
        say(fmt::format("{}: {}. They are the same in every draw, and have no R-hat or ESS.",
                        has_choices() ? "Fixed by the model or by its choices" : "Fixed by the model", first_few(v.fixed)));
    if (v.unidentified > 0) {
        bool const is_one = v.unidentified == 1;
        std::string const rhat = v.unidentified_rhat ? fmt::format(" (R-hat up to {:.3f})", v.unidentified_rhat->value) : "";
        say(fmt::format("{} not identified{}: {} along a symmetry of the likelihood and {} not judged.",
                        is_one ? "1 quantity is" : fmt::format("{} quantities are", v.unidentified), rhat,
                        is_one ? "it moves" : "they move", is_one ? "is" : "are"));
    }
    if (capped_ > 0) say(fmt::format("For {} of them the ESS is the most that is ever reported: S log10(S), of S draws in all.", capped_));
}

void Judge::say_chains() {
    Verdict const& v = verdict_;
    for (WorseChain const& worse : v.worse_chains) {
        std::string const gap = fmt::format("its log joint is on average {:.1f} below that of chain {}", worse.gap, v.best_chain);
        if (worse.is_climbing)
            say(fmt::format("Chain {} was still on its way: {}, and rising.", worse.chain, gap));
        else
            say(
                fmt::format("Chain {} sits in a worse mode: {}. Unless that mode is far wider, it has next to no weight, and the rows "
                            "above mix the two.",
                            worse.chain, gap));
    }
    std::vector<std::string> interrupted;
    for (std::size_t chain = 0; chain < v.chains; ++chain)
        if (run_.chains[chain].is_interrupted) interrupted.push_back(std::to_string(number_of(chain)));
    if (!interrupted.empty())
        say(fmt::format("Interrupted: chain {}. The last {} of each chain are used.", fmt::format("{}", fmt::join(interrupted, ", ")),
                        counted(v.draws, "draw")));
    if (run_.exchange)
        for (std::string& sentence : sentences_of(*run_.exchange)) say(std::move(sentence));
    if (v.chains == 1) say("There is one chain: its halves are compared, and a mode it never met goes unseen.");
}

/// num_samples that would bring the worst quantities over the thresholds: the ESS grows with the draws, and R-hat - 1 falls with them.
std::size_t Judge::needed_samples() const {
    double growth = 1.5;
    if (verdict_.ess && verdict_.ess->value > 0) growth = std::max(growth, 1.1 * threshold_ / verdict_.ess->value);
    if (verdict_.rhat && verdict_.rhat->value > highest_rhat)
        growth = std::max(growth, (verdict_.rhat->value - 1) / (0.8 * (highest_rhat - 1)));
    if (!std::isfinite(growth) || growth > most_growth) return 0;
    double const wanted = growth * static_cast<double>(kept_samples());
    double const unit = std::pow(10.0, std::floor(std::log10(wanted)));
    return static_cast<std::size_t>(std::ceil(wanted / unit - 1e-9) * unit);
}

void Judge::advise() {
    Verdict& v = verdict_;
    auto const say_next = [&](std::string text) { v.advice.push_back(std::move(text)); };
    std::size_t const warmup = std::max<std::size_t>(4 * length_.num_warmup, 2000);
    bool const has_climbing = std::any_of(v.worse_chains.begin(), v.worse_chains.end(), [](WorseChain const& w) { return w.is_climbing; });
    bool const has_modes = std::any_of(v.worse_chains.begin(), v.worse_chains.end(), [](WorseChain const& w) { return !w.is_climbing; });
    auto const samples_flag = [&](std::size_t samples) {
        return length_.has_limit ? fmt::format("--max-draws {}", (samples + length_.thin - 1) / length_.thin)
                                 : fmt::format("--num-samples {}", samples);
    };
    if (v.draws < fewest_draws && v.judged > 0) return say_next(fmt::format("more draws, `{}`", samples_flag(1000)));
    if (!v.not_finite.empty()) say_next("give a proper prior in place of `flat()`, or a tighter one");
    if (has_climbing) say_next(fmt::format("a longer way to the posterior, `--num-warmup {}`", warmup));
    if (has_modes && run_.exchange && run_.exchange->is_while_sampling)
        say_next("more replicas, `--rungs`, of which one finds its way to the best mode");
    else if (has_modes)
        say_next("replicas that exchange to the end, `--tempering`: the worse mode then has the weight that it has in the posterior");
    if (!v.stuck.empty()) say_next(fmt::format("look at the prior of {} and at the data that bear on it", first_few({v.stuck.front()})));
    if (has_climbing || has_modes || (v.rhat_count == 0 && v.ess_count == 0)) return;
    if (length_.is_met)
        return say_next(fmt::format("a stricter condition, such as `--until \"rhat<{},ess>{:.0f}\"`", highest_rhat, threshold_));
    std::size_t const samples = has_rhat_and_ess_ ? needed_samples() : 0;
    bool const has_mixed = v.rhat && v.rhat->value <= mixing_rhat;
    if (samples > 0 && has_mixed) return say_next(fmt::format("more draws, `{}`", samples_flag(samples)));
    if (samples > 0)
        say_next(fmt::format("a longer run, `--num-warmup {} {}`", warmup, samples_flag(samples)));
    else
        say_next("more draws alone will not do");
    auto const& worst = v.rhat_count > 0 ? v.rhat : v.ess;
    if (worst)
        say_next(fmt::format("{}look at `{}`: chains differ most where the data say little; a tighter prior or a smaller model can help",
                             samples > 0 ? "if that does not do, " : "", worst->name));
}

}  // namespace

Verdict judge(std::vector<SummaryRow> const& rows, Run const& run, RunLength const& length) { return Judge(rows, run, length).run(); }

void add_incidents(Verdict& verdict, std::vector<Incident> const& incidents) {
    verdict.incidents = incidents;
    std::vector<std::string> sentences = sentences_of(incidents);
    bool const comes_first = mark_of(incidents) >= Mark::Drop;
    if (comes_first) {
        verdict.is_converged = false;
        verdict.sentences.insert(verdict.sentences.begin(), sentences.front());
    }
    verdict.sentences.insert(verdict.sentences.end(), sentences.begin() + (comes_first ? 1 : 0), sentences.end());
    for (std::string& line : advice_of(incidents)) verdict.advice.push_back(std::move(line));
}

std::string doubt_of(Verdict const& verdict) {
    std::vector<std::string> doubts = sentences_of(verdict.incidents);
    if (!verdict.is_converged && !verdict.sentences.empty() && (doubts.empty() || doubts.front() != verdict.sentences.front()))
        doubts.insert(doubts.begin(), verdict.sentences.front());
    return fmt::format("{}", fmt::join(doubts, " "));
}

std::string to_text(Verdict const& verdict) {
    std::string text;
    for (std::string const& sentence : verdict.sentences) text += (text.empty() ? "verdict: " : "  ") + sentence + '\n';
    for (std::string const& line : verdict.advice) text += "next: " + line + '\n';
    return text;
}

}  // namespace bam
