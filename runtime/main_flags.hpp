// Flags with values: read, checked, refused in words. What main_verbs.cpp makes verbs of.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "main_options.hpp"

namespace bam::cli {

[[noreturn]] void refuse(int code, std::string message, std::vector<std::string> notes = {});

std::vector<std::string> with_guess(std::string_view name, std::vector<std::string> const& candidates, std::vector<std::string> notes);

template <typename Number>
Number to_number(std::string const& flag, std::string const& text, Number least, Number most) {
    Number value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const is_number = error == std::errc() && end == text.data() + text.size();
    if (is_number && value >= least && value <= most) return value;
    std::string const range =
        most == std::numeric_limits<Number>::max() ? fmt::format("from {} on", least) : fmt::format("from {} to {}", least, most);
    refuse(522, fmt::format("`{} {}`: not a {}number {}", flag, text, std::is_floating_point_v<Number> ? "" : "whole ", range));
}

std::string to_path(std::string const& flag, std::string const& text);

template <typename Value>
Value to_choice(std::string const& flag, std::string const& text, std::vector<std::pair<std::string, Value>> const& choices) {
    std::vector<std::string> names;
    for (auto const& [name, value] : choices) {
        if (name == text) return value;
        names.push_back(name);
    }
    refuse(522, fmt::format("`{}={}`: there is no such choice", flag, text),
           with_guess(text, names, {fmt::format("one of {}", fmt::join(names, ", "))}));
}

using Parse = std::function<void(std::string const& flag, std::string const& text)>;

/// A flag with one value, parsed by `parse`; the last one holds.
CLI::Option* add_value(CLI::App& app, std::string const& flags, std::string const& type, std::string const& description, Parse parse);
void add_count(CLI::App& app, std::string const& flags, std::size_t& target, std::size_t least, std::size_t most,
               std::string const& description);
void add_format(CLI::App& app, Options& options);
/// --data, --separator, --decimal
void add_data_options(CLI::App& app, Options& options, std::string const& description);

}  // namespace bam::cli
