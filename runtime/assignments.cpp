#include "assignments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace bam {
namespace {

/// Which entry is most probable, of those that differ in the index of the choice only.
struct Assignment {
    std::string of;  ///< the other labels
    std::string label;
    double probability = -1;
};

}  // namespace

std::vector<std::string> say_assignments(std::vector<SummaryRow> const& rows, std::vector<std::string> const& left_out) {
    std::vector<std::string> names;                          // of parameters
    std::map<std::string, std::vector<Assignment>> by_name;  // in the order of the rows
    std::map<std::pair<std::string, std::string>, std::size_t> known;
    for (SummaryRow const& row : rows) {
        DrawColumn const& column = row.column;
        if (column.choice == 0 || std::find(left_out.begin(), left_out.end(), column.name) != left_out.end()) continue;
        std::vector<std::string> others = column.labels;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(column.choice) - 1);
        std::string const of = fmt::format("{}", fmt::join(others, ","));
        std::vector<Assignment>& assignments = by_name[column.name];
        if (assignments.empty()) names.push_back(column.name);
        auto const [at, is_new] = known.try_emplace({column.name, of}, assignments.size());
        if (is_new) assignments.push_back({of, {}, -1});
        Assignment& best = assignments[at->second];
        if (row.quantity.mean > best.probability) best = {of, column.labels[column.choice - 1], row.quantity.mean};
    }
    std::vector<std::string> sentences;
    for (std::string const& name : names) {
        std::vector<Assignment> unsure;
        for (Assignment const& assignment : by_name[name])
            if (assignment.probability < sure_assignment) unsure.push_back(assignment);
        std::size_t const count = by_name[name].size();
        if (unsure.empty()) {
            if (count > 1)
                sentences.push_back(fmt::format("{}: all {} are assigned with probability {} or more.", name, count, sure_assignment));
            else
                sentences.push_back(
                    fmt::format("{} is {} with probability {:.2f}.", name, by_name[name].front().label, by_name[name].front().probability));
            continue;
        }
        std::stable_sort(unsure.begin(), unsure.end(),
                         [](Assignment const& a, Assignment const& b) { return a.probability < b.probability; });
        constexpr std::size_t most = 5;
        std::vector<std::string> texts;
        for (std::size_t i = 0; i < std::min(most, unsure.size()); ++i)
            texts.push_back(
                fmt::format("{}{} ({:.2f})", unsure[i].of.empty() ? "" : unsure[i].of + " to ", unsure[i].label, unsure[i].probability));
        if (unsure.size() > most) texts.push_back(fmt::format("{} more", unsure.size() - most));
        sentences.push_back(fmt::format("{}: {} of {} assigned with a probability below {}, so that predictions mix: {}.", name,
                                        unsure.size(), count, sure_assignment, fmt::join(texts, ", ")));
    }
    return sentences;
}

}  // namespace bam
