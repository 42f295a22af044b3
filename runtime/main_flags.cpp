#include "main_flags.hpp"

namespace bam::cli {

void refuse(int code, std::string message, std::vector<std::string> notes) {
    throw Error(Diagnostic{code, Severity::Error, std::move(message), {}, std::move(notes)}, exit_usage);
}

std::vector<std::string> with_guess(std::string_view name, std::vector<std::string> const& candidates, std::vector<std::string> notes) {
    if (auto const near = nearest(name, candidates)) notes.insert(notes.begin(), fmt::format("did you mean `{}`?", *near));
    return notes;
}

std::string to_path(std::string const& flag, std::string const& text) {
    if (text.empty()) refuse(522, fmt::format("`{} \"\"`: a name is missing", flag));
    return text;
}

CLI::Option* add_value(CLI::App& app, std::string const& flags, std::string const& type, std::string const& description, Parse parse) {
    std::string const flag = flags.substr(flags.rfind(',') + 1);
    auto* const option = app.add_option_function<std::string>(
        flags, [flag, parse = std::move(parse)](std::string const& text) { parse(flag, text); }, description);
    return option->type_name(type)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_count(CLI::App& app, std::string const& flags, std::size_t& target, std::size_t least, std::size_t most,
               std::string const& description) {
    add_value(app, flags, "N", description, [&target, least, most](std::string const& flag, std::string const& text) {
        target = to_number<std::size_t>(flag, text, least, most);
    })->default_str(std::to_string(target));
}

void add_format(CLI::App& app, Options& options) {
    add_value(app, "--format", "text|json", "How results are printed", [&](std::string const& flag, std::string const& text) {
        options.format = to_choice<Format>(flag, text, {{"text", Format::Text}, {"json", Format::Json}});
    })->default_str("text");
}

void add_data_options(CLI::App& app, Options& options, std::string const& description) {
    add_value(app, "--data", "TABLE", description, [&](std::string const&, std::string const& text) { options.data = text; });
    add_value(app, "--separator", "CHAR", "What is between the table's fields: , ; | or tab (found out)",
              [&](std::string const& flag, std::string const& text) {
                  options.separator =
                      to_choice<char>(flag, text, {{",", ','}, {";", ';'}, {"|", '|'}, {"tab", '\t'}, {"\t", '\t'}, {"\\t", '\t'}});
              });
    add_value(app, "--decimal", "CHAR", "The decimal point of the table: . or , (found out)",
              [&](std::string const& flag, std::string const& text) {
                  options.decimal_point = to_choice<char>(flag, text, {{".", '.'}, {",", ','}});
              });
}

}  // namespace bam::cli
