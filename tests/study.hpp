// A model file and a table brought to a Problem, with every stage kept so that a test can look at it.
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "labels.hpp"
#include "layout.hpp"
#include "load.hpp"
#include "passes.hpp"
#include "pick.hpp"
#include "replica.hpp"
#include "source.hpp"
#include "table.hpp"

namespace bam::test {

inline std::string text_of(std::filesystem::path const& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + path.string());
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

struct Study {
    Sources sources;
    Diagnostics diagnostics;
    Model model;
    Derivation derivation;
    std::vector<Symmetry> symmetries;
    LaidOut laid_out;
    Problem problem;
};

namespace detail {

inline void require(bool holds, Study const& study) {
    if (!holds || has_error(study.diagnostics)) throw std::runtime_error(to_text(study.diagnostics, study.sources));
}

inline void finish(Study& study, std::vector<tree::File> const& files, std::string const& table_text, Choices const& choices) {
    std::uint32_t const source = study.sources.add_table("table.csv", table_text);
    auto const table = Table::parse(study.sources[source].text, source, {}, study.diagnostics);
    require(table.has_value(), study);
    auto model = check(files, study.sources, choices, study.diagnostics);
    require(model.has_value(), study);
    if (auto const columns = label_columns(*model); !columns.empty()) {
        Choices with_labels = choices;
        for (LabelColumns const& one : columns) add_labels(one, *table, with_labels.labels[one.dim], study.diagnostics);
        model = check(files, study.sources, with_labels, study.diagnostics);
        require(model.has_value(), study);
    }
    study.model = std::move(*model);
    auto derivation = derive(study.model, study.diagnostics);
    require(derivation.has_value(), study);
    study.derivation = std::move(*derivation);
    study.symmetries = symmetries(study.model);
    auto laid_out = lay_out(study.model, study.derivation, study.diagnostics);
    require(laid_out.has_value(), study);
    study.laid_out = std::move(*laid_out);
    auto bound = bind(study.laid_out.layout, *table, {}, study.diagnostics);
    require(bound.has_value(), study);
    Problem& problem = study.problem;
    auto const plan = [&] {
        problem.masks = make_masks(study.laid_out.layout, *bound);
        problem.weighted = weighted_factors(study.laid_out.layout, problem);
        problem.plan = make_plan(study.model, study.derivation, study.symmetries, study.laid_out, problem.weighted);
    };
    plan();
    for (LaggedOutput const& output : problem.plan.lagged_outputs) {
        // Missing cells that later means look back at are unknowns: they count.
        problem.augmented.emplace_back();
        for (double& value : bound->data[output.variable]) {
            problem.augmented.back().push_back(std::isnan(value));
            if (std::isnan(value)) value = 0;
        }
    }
    if (!problem.augmented.empty()) plan();
    problem.bound = std::move(*bound);
    for (auto& values : problem.bound.data) {
        for (double& value : values) {
            if (std::isnan(value)) value = 0;
        }
    }
}

}  // namespace detail

/// The variable of that name.
inline std::size_t variable_of(Study const& study, std::string const& name) {
    auto const& variables = study.problem.plan.layout.variables;
    for (std::size_t v = 0; v < variables.size(); ++v)
        if (variables[v].name == name) return v;
    throw std::runtime_error("no variable is called " + name);
}

/// A model from text.
inline std::unique_ptr<Study> study(std::string const& model_text, std::string const& table_text, Choices const& choices = {}) {
    auto result = std::make_unique<Study>();
    Reader const reader = [&](std::string const& name) { return ReadText{model_text, name, {}, {}}; };
    detail::finish(*result, load({"model.bam"}, reader, result->sources, result->diagnostics).files, table_text, choices);
    return result;
}

/// A model from a file, with what it uses.
inline std::unique_ptr<Study> study_file(std::filesystem::path const& model, std::string const& table_text, Choices const& choices = {}) {
    auto result = std::make_unique<Study>();
    detail::finish(*result, load({model.string()}, read_text, result->sources, result->diagnostics).files, table_text, choices);
    return result;
}

}  // namespace bam::test
