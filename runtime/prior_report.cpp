#include "prior_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace bam {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t widest = 44;  ///< column; longer ones push what follows to the right

std::string place(Span span, Sources const& sources) {
    return fmt::format("{}:{}", sources[span.source].name, sources.position(span.source, span.begin).line);
}

std::string place(WrittenPrior const& prior, Sources const& sources) {
    return place(prior.span, sources) + (prior.set.empty() ? "" : fmt::format(" ({})", prior.set));
}

Json to_json(WrittenPrior const& prior, Sources const& sources) {
    Position const at = sources.position(prior.span.source, prior.span.begin);
    return {{"parameter", prior.parameter},
            {"entries", prior.target},
            {"prior", prior.text.starts_with("~ ") ? prior.text.substr(2) : prior.text},
            {"file", sources[prior.span.source].name},
            {"line", at.line},
            {"column", at.column},
            {"set", prior.set.empty() ? Json(nullptr) : Json(prior.set)}};
}

Json place_json(Span span, Sources const& sources) {
    Position const at = sources.position(span.source, span.begin);
    return {{"file", sources[span.source].name}, {"line", at.line}, {"column", at.column}};
}

}  // namespace

std::string priors_text(PriorList const& list, Sources const& sources) {
    std::size_t targets = 0, statements = 0;
    for (PriorLine const& line : list.lines)
        if (line.prior.target.size() <= widest) targets = std::max(targets, line.prior.target.size());
    std::vector<std::string> written;
    for (PriorLine const& line : list.lines) {
        written.push_back(fmt::format("{:<{}} {}", line.prior.target, targets, line.prior.text));
        if (written.back().size() <= targets + widest) statements = std::max(statements, written.back().size());
    }
    std::string text;
    for (std::size_t k = 0; k < list.lines.size(); ++k) {
        PriorLine const& line = list.lines[k];
        text += fmt::format("{:<{}}  # {}", written[k], statements, place(line.prior, sources));
        if (line.is_rest) text += "; all that no other line names";
        for (WrittenPrior const& other : line.overridden) text += fmt::format("; overrides {} of {}", other.text, place(other, sources));
        text += '\n';
    }
    if (!list.unused.empty()) text += "\nno entry follows\n";
    for (PriorList::Unused const& unused : list.unused) {
        std::vector<std::string> by;
        for (Span const span : unused.taken_by) by.push_back(place(span, sources));
        text += fmt::format("  {} {}  # {}", unused.prior.target, unused.prior.text, place(unused.prior, sources));
        if (!by.empty()) text += fmt::format("; its entries are with {}", fmt::join(by, ", "));
        text += '\n';
    }
    if (!list.sets.empty()) text += "\nsets\n";
    for (PriorList::Set const& set : list.sets)
        text += fmt::format("  {}{}  # {}; {}\n", set.name, set.extends.empty() ? "" : " extends " + set.extends, place(set.span, sources),
                            set.is_chosen ? "applies" : fmt::format("not chosen, --priors {}", set.name));
    return text;
}

std::string priors_json(PriorList const& list, Diagnostics const& warnings, Sources const& sources) {
    Json json = {{"priors", Json::array()}, {"unused", Json::array()}, {"sets", Json::array()}};
    for (PriorLine const& line : list.lines) {
        Json one = to_json(line.prior, sources);
        one["is_rest"] = line.is_rest;
        one["overrides"] = Json::array();
        for (WrittenPrior const& other : line.overridden) one["overrides"].push_back(to_json(other, sources));
        json["priors"].push_back(std::move(one));
    }
    for (PriorList::Unused const& unused : list.unused) {
        Json one = to_json(unused.prior, sources);
        one["taken_by"] = Json::array();
        for (Span const span : unused.taken_by) one["taken_by"].push_back(place_json(span, sources));
        json["unused"].push_back(std::move(one));
    }
    for (PriorList::Set const& set : list.sets) {
        Json one = {{"name", set.name}, {"extends", set.extends.empty() ? Json(nullptr) : Json(set.extends)}, {"applies", set.is_chosen}};
        one.update(place_json(set.span, sources));
        json["sets"].push_back(std::move(one));
    }
    json["warnings"] = Json::parse(bam::to_json(warnings, sources));
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bam
