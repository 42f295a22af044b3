#include "checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "words.hpp"

namespace bam {

void CheckList::add(char const* name, std::string const& of, char const* claim, double violation, double tolerance, std::size_t count) {
    auto it = std::find_if(checks_.begin(), checks_.end(), [&](Check const& check) { return check.name == name && check.of == of; });
    if (it == checks_.end()) it = checks_.insert(it, {name, of, claim, 0, 0, tolerance, true, false});
    it->count += count;
    if (std::isnan(violation)) violation = std::numeric_limits<double>::infinity();
    it->worst = std::max(it->worst, violation);
    it->tolerance = std::max(it->tolerance, tolerance);
    it->passed = it->passed && violation <= tolerance;
}

bool has_passed(std::vector<Check> const& checks) {
    return std::all_of(checks.begin(), checks.end(), [](Check const& check) { return check.passed; });
}

std::string checks_text(std::vector<Check> const& checks) {
    std::size_t name = 0, of = 0, count = 0;
    for (Check const& check : checks) {
        name = std::max(name, check.name.size());
        of = std::max(of, check.of.size());
        count = std::max(count, std::to_string(check.count).size());
    }
    std::string text;
    std::size_t failed = 0;
    for (Check const& check : checks) {
        failed += check.passed ? 0 : 1;
        std::string const found = check.is_p ? fmt::format("p = {:.2g}, not below {:.0e}", check.worst, check.tolerance)
                                             : fmt::format("worst {:.1e} of {:.0e}", check.worst, check.tolerance);
        text += fmt::format("{:<{}}  {:<{}}  {:>{}} times  {}  {}\n", check.name, name, check.of, of, check.count, count, found,
                            check.passed ? "holds" : "FAILS: " + check.claim);
    }
    return text + (failed == 0 ? fmt::format("verified: {} hold\n", counted(checks.size(), "check"))
                               : fmt::format("not verified: {} of {} fail\n", failed, counted(checks.size(), "check")));
}

std::string checks_json(std::vector<Check> const& checks) {
    using Json = nlohmann::ordered_json;
    Json list = Json::array();
    for (Check const& check : checks)
        list.push_back({{"name", check.name},
                        {"of", check.of},
                        {"claim", check.claim},
                        {"count", check.count},
                        {"worst", std::isfinite(check.worst) ? Json(check.worst) : Json(nullptr)},
                        {"tolerance", check.tolerance},
                        {"passed", check.passed}});
    return Json{{"passed", has_passed(checks)}, {"checks", std::move(list)}}.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bam
