// Codes of this file:
//   BAM0556  --until: a condition that no run can be stopped by
//   BAM0557  --warn: a condition that no run can be watched by
#include "thresholds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "report.hpp"

namespace bam {
namespace {

constexpr int exit_usage = 64;

/// One flag's value, read from the left.
class Reading {
  public:
    Reading(int code, std::string flag, std::string const& text, std::vector<ThresholdKind> const& kinds)
        : code_(code), text_(text), kinds_(kinds), sources_(std::make_shared<Sources>()) {
        sources_->add_table(std::move(flag), text);
    }

    std::vector<Threshold> run() {
        std::vector<Threshold> thresholds;
        for (std::size_t begin = 0; begin <= text_.size();) {
            std::size_t const end = std::min(text_.find(',', begin), text_.size());
            thresholds.push_back(one(begin, end));
            begin = end + 1;
        }
        return thresholds;
    }

  private:
    [[noreturn]] void refuse(std::size_t begin, std::size_t end, std::string message, std::string label, std::vector<std::string> notes) {
        Span const span{0, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
        throw Error(make_report(sources_, {{code_, Severity::Error, std::move(message), {{span, std::move(label)}}, std::move(notes)}}),
                    exit_usage);
    }

    static std::string example(ThresholdKind const& kind) {
        return fmt::format("{}{}{}{}", kind.name, kind.is_above ? '>' : '<', kind.usual, kind.is_bytes ? "M" : "");
    }

    std::string examples() const {
        std::vector<std::string> all;
        for (ThresholdKind const& kind : kinds_) all.push_back(example(kind));
        return fmt::format("say what may be asked for, such as `{}`", fmt::join(all, ","));
    }

    Threshold one(std::size_t begin, std::size_t end) {
        auto const is_blank = [&](std::size_t at) { return text_[at] == ' '; };
        while (begin < end && is_blank(begin)) ++begin;
        while (end > begin && is_blank(end - 1)) --end;
        if (begin == end) refuse(begin, end, "a condition is missing", "here", {examples()});
        std::size_t const sign = std::min(text_.find_first_of("<>", begin), end);
        std::size_t name_end = sign;
        while (name_end > begin && is_blank(name_end - 1)) --name_end;
        std::string const name = text_.substr(begin, name_end - begin);
        auto const kind = std::find_if(kinds_.begin(), kinds_.end(), [&](ThresholdKind const& one) { return one.name == name; });
        if (kind == kinds_.end()) {
            std::vector<std::string> names, notes;
            for (ThresholdKind const& one : kinds_) names.push_back(one.name);
            if (auto const near = nearest(name, names)) notes.push_back(fmt::format("did you mean `{}`?", *near));
            notes.push_back(examples());
            refuse(begin, std::max(name_end, begin + 1), fmt::format("there is no condition on `{}`", name), "unknown", std::move(notes));
        }
        std::string const advice = fmt::format("say, for example, `{}`", example(*kind));
        if (sign == end)
            refuse(begin, end, fmt::format("`{}` says nothing of how large", name), "a < or > and a number are missing", {advice});
        bool const is_above = text_[sign] == '>';
        if (is_above != kind->is_above)
            refuse(sign, sign + 1, fmt::format("`{}` goes with a {}", name, kind->is_above ? '>' : '<'), "the wrong way round", {advice});
        std::size_t number = sign + 1;
        while (number < end && is_blank(number)) ++number;
        Threshold threshold{name, is_above, 0, text_.substr(begin, end - begin)};
        auto const [stop, fault] = std::from_chars(text_.data() + number, text_.data() + end, threshold.value);
        auto rest = static_cast<std::size_t>(stop - text_.data());
        if (fault == std::errc() && kind->is_bytes && rest + 1 == end) {
            std::size_t const power = std::string_view("KMG").find(text_[rest]);
            if (power != std::string_view::npos) {
                threshold.value *= std::pow(1024.0, static_cast<double>(power + 1));
                ++rest;
            }
        }
        bool const is_number = fault == std::errc() && rest == end && threshold.value > kind->least && std::isfinite(threshold.value);
        if (!is_number)
            refuse(std::min(number, end), end,
                   fmt::format("`{}` needs a number{}", name, std::isfinite(kind->least) ? fmt::format(" above {}", kind->least) : ""),
                   number < end ? "this is none" : "here", {advice});
        return threshold;
    }

    int code_;
    std::string const& text_;
    std::vector<ThresholdKind> const& kinds_;
    std::shared_ptr<Sources> sources_;
};

}  // namespace

std::vector<Threshold> parse_thresholds(int code, std::string const& flag, std::string const& text,
                                        std::vector<ThresholdKind> const& kinds) {
    return Reading(code, flag, text, kinds).run();
}

std::vector<Threshold> parse_until(std::string const& text) {
    return parse_thresholds(556, "--until", text, {{"rhat", false, 1.01, false, 1}, {"ess", true, 400}});
}

std::vector<Threshold> parse_warn(std::string const& text) {
    return parse_thresholds(557, "--warn", text,
                            {{"memory", true, 500, true},
                             {"slow", true, 2},
                             {"elpd", false, -500, false, -HUGE_VAL},
                             {"p_waic", true, 50},
                             {"state_dimension", true, 3},
                             {"swap_rate", false, 0.1}});
}

bool asks_for_scores(std::vector<Threshold> const& warnings) {
    return std::any_of(warnings.begin(), warnings.end(), [](Threshold const& warning) {
        return warning.name == "elpd" || warning.name == "p_waic" || warning.name == "state_dimension";
    });
}

}  // namespace bam
