// Codes of this file:
//   BAM0550  (warning) a name in the header of a chain's file that misleads rstan
#include "write.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "atomic_file.hpp"
#include "chain_format.hpp"
#include "summary.hpp"

namespace bam {
namespace {

constexpr std::size_t flush_bytes = std::size_t{1} << 16;

/// One line: a comment must not end early.
std::string flat(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return text;
}

/// The model's name as Stan has it.
std::string stan_name(std::string name) {
    auto const is_plain = [](char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_'; };
    std::replace_if(
        name.begin(), name.end(), [&](char c) { return !is_plain(c); }, '_');
    return name + std::string(chain_format::model_suffix);
}

/// The settings of the method, as CmdStan has them.
std::string method_text(ChainConfig const& config, std::size_t num_samples) {
    if (config.method == ChainMethod::Optimize)
        return fmt::format(
            "# method = optimize\n"
            "#   optimize\n"
            "#     algorithm = coordinate_ascent\n"
            "#     jacobian = 0 (Default)\n"
            "#     iter = {}\n"
            "#     save_iterations = 0 (Default)\n",
            config.max_passes);
    if (config.method == ChainMethod::Variational)
        return fmt::format(
            "# method = variational\n"
            "#   variational\n"
            "#     algorithm = coordinate_ascent\n"
            "#     iter = {}\n"
            "#     grad_samples = 0\n"
            "#     elbo_samples = 0\n"
            "#     eta = 1 (Default)\n"
            "#     adapt\n"
            "#       engaged = 0\n"
            "#     tol_rel_obj = {}\n"
            "#     eval_elbo = 1\n"
            "#     output_samples = {}\n",
            config.max_passes, config.tolerance, num_samples);
    return fmt::format(
        "# method = sample (Default)\n"
        "#   sample\n"
        "#     num_samples = {}\n"
        "#     num_warmup = {}\n"
        "#     save_warmup = 0 (Default)\n"
        "#     thin = {}\n"
        "#     algorithm = fixed_param\n"
        "#     metric = none\n"
        "#     num_chains = 1 (Default)\n",
        num_samples, config.num_warmup, config.thin);
}

std::string header_text(std::filesystem::path const& path, ChainConfig const& config, std::size_t num_samples) {
    std::string text = fmt::format(
        "# stan_version_major = 2\n"
        "# stan_version_minor = 36\n"
        "# stan_version_patch = 0\n"
        "# model = {}\n"
        "{}"
        "# id = {}\n"
        "# data\n"
        "#   file = {}\n"
        "# init = {}\n"
        "# random\n"
        "#   seed = {}\n"
        "# output\n"
        "#   file = {}\n"
        "#   diagnostic_file =  (Default)\n"
        "#   refresh = {}\n"
        "#   sig_figs = {}\n",
        stan_name(config.model), method_text(config, num_samples), config.chain, flat(config.data_file), flat(config.init), config.seed,
        flat(path.string()), config.refresh, config.sig_figs);
    for (auto const& [key, value] : config.more) text += fmt::format("# {}{} = {}\n", chain_format::our_prefix, key, flat(value));
    return text;
}

void append_number(fmt::memory_buffer& out, double value, int sig_figs) {
    auto const put = [&](std::string_view text) { out.append(text.data(), text.data() + text.size()); };
    if (std::isnan(value)) return put("NaN");
    if (std::isinf(value)) return put(value > 0 ? "inf" : "-inf");
    if (sig_figs >= 17) {
        fmt::format_to(std::back_inserter(out), "{}", value);
    } else {
        fmt::format_to(std::back_inserter(out), "{:.{}g}", value, sig_figs);
    }
}

/// Of a column of its own, which runs without a mark do not have.
std::string heading_of(Mark mark) { return mark == Mark::None ? "\n" : ",recovery\n"; }
std::string end_of_row(Mark mark) { return mark == Mark::None ? "\n" : fmt::format(",{}\n", word(mark)); }

void check_shape(ChainConfig const& config, std::vector<DrawColumn> const& columns, Chain const& chain) {
    std::size_t const draws = chain.log_joint.size();
    if (chain.log_likelihood.size() != draws || chain.values.size() != draws * columns.size())
        throw std::logic_error("the draws of a chain do not have the shape of their columns");
    if (config.method == ChainMethod::Variational && (chain.means.size() != columns.size() || chain.log_factors.size() != draws))
        throw std::logic_error("the factors of a chain do not have the shape of their columns");
    if (!chain.is_interrupted && !chain.is_dropped && draws != chain_format::rows(config))
        throw std::logic_error("a chain has another number of draws than was asked for");
    for (DrawColumn const& column : columns)
        if (column.name.ends_with("__") || column.name == chain_format::log_joint || column.name == chain_format::log_likelihood)
            throw std::logic_error(fmt::format("the name `{}` is reserved in files of draws", column.name));
}

void write_rows(AtomicFile& file, ChainConfig const& config, std::size_t width, Chain const& chain) {
    fmt::memory_buffer out;
    auto const put = [&](double value) {
        append_number(out, value, config.sig_figs);
        out.push_back(',');
    };
    bool const is_variational = config.method == ChainMethod::Variational;
    if (is_variational) {  // as CmdStan does: the means first, without densities
        for (int i = 0; i < 3; ++i) put(0);
        for (double const mean : chain.means) put(mean);
        put(std::nan(""));
        put(std::nan(""));
        out[out.size() - 1] = '\n';
    }
    for (std::size_t draw = 0; draw < chain.log_joint.size(); ++draw) {
        put(is_variational ? 0 : chain.log_joint[draw]);
        if (is_variational) {
            put(chain.log_joint[draw]);
            put(chain.log_factors[draw]);
        }
        if (config.method == ChainMethod::Sample) put(1);  // every Gibbs update is accepted
        for (std::size_t column = 0; column < width; ++column) put(chain.values[draw * width + column]);
        put(chain.log_joint[draw]);
        put(chain.log_likelihood[draw]);
        out[out.size() - 1] = '\n';
        if (out.size() < flush_bytes) continue;
        file.write({out.data(), out.size()});
        out.clear();
    }
    file.write({out.data(), out.size()});
}

/// RFC 4180.
std::string csv_field(std::string const& text) {
    bool const is_plain = text.find_first_of(",;\t\"\r\n") == std::string::npos && !text.starts_with(' ') && !text.ends_with(' ');
    if (is_plain) return text;
    std::string quoted = "\"";
    for (char const c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + '"';
}

std::string number_or(double value, std::string_view missing) {
    return std::isnan(value) ? std::string(missing) : fmt::format("{}", value);
}

}  // namespace

void write_chain_csv(std::filesystem::path const& path, ChainConfig const& config, std::vector<DrawColumn> const& columns,
                     Chain const& chain) {
    check_shape(config, columns, chain);
    AtomicFile file(path);
    file.write(
        header_text(path, config, chain.is_interrupted || chain.is_dropped ? chain.log_joint.size() * config.thin : config.num_samples));
    if (!chain.start.empty()) file.write(fmt::format("# {}{} = {}\n", chain_format::our_prefix, chain_format::start, flat(chain.start)));
    for (Incident const& incident : chain.incidents)
        file.write(fmt::format("# {}{} = {}\n", chain_format::our_prefix, chain_format::incident, flat(to_line(incident))));
    if (chain.is_dropped) file.write(fmt::format("# {}dropped = 1\n", chain_format::our_prefix));
    if (chain.is_interrupted) file.write(fmt::format("# {} = 1\n", chain_format::interrupted));
    file.write(chain_format::first_columns(config.method));
    for (DrawColumn const& column : columns) file.write(',' + csv_name(column));
    file.write(fmt::format(",{},{}\n", chain_format::log_joint, chain_format::log_likelihood));
    if (config.method == ChainMethod::Variational) file.write("# Stepsize adaptation complete.\n# eta = 1\n");  // readers look for it
    write_rows(file, config, columns.size(), chain);
    for (DrawColumn const& column : columns)
        if (!chain_format::is_default(column)) file.write(chain_format::describe(column) + '\n');
    file.write(
        fmt::format("# \n"
                    "#  Elapsed Time: {:.6f} seconds (Warm-up)\n"
                    "#                {:.6f} seconds (Sampling)\n"
                    "#                {:.6f} seconds (Total)\n"
                    "# \n",
                    chain.warmup_seconds, chain.sampling_seconds, chain.warmup_seconds + chain.sampling_seconds));
    file.commit();
}

std::optional<Diagnostic> find_misleading_name(std::filesystem::path const& path, ChainConfig const& config) {
    std::string const text = header_text(path, config, config.num_samples);
    constexpr std::string_view word = "thin";
    std::size_t const setting = text.find("#     thin = ");
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) {
        std::size_t const begin = text.rfind('\n', at) + 1;
        if (begin == setting) continue;
        std::string line = text.substr(begin, text.find('\n', at) - begin);
        return Diagnostic{550,
                          Severity::Warning,
                          "rstan's read_stan_csv will not read the chains: a name has \"thin\" in it",
                          {},
                          {fmt::format("it takes the line `{}` for the setting `thin`", line),
                           "another name helps; posterior, cmdstanr, cmdstanpy and ArviZ do not mind"}};
    }
    return std::nullopt;
}

void write_summary_csv(std::filesystem::path const& path, std::vector<SummaryRow> const& rows, LinearResponse const& response, Mark mark) {
    std::string text = "variable,mean,median,sd,mad,q5,q95,rhat,ess_bulk,ess_tail,mcse_mean,mcse_sd";
    if (!response.means.empty()) text += ",linear_response_mean";
    if (!response.sds.empty()) text += ",linear_response_sd";
    text += heading_of(mark);
    for (SummaryRow const& row : rows) {
        QuantitySummary const& q = row.quantity;
        text += csv_field(label_name(row.column));
        for (double const value : {q.mean, q.median, q.sd, q.mad, q.q5, q.q95, q.rhat, q.ess_bulk, q.ess_tail, q.mcse_mean, q.mcse_sd})
            text += ',' + number_or(value, "NA");
        auto const k = static_cast<std::size_t>(&row - rows.data());
        if (!response.means.empty()) text += ',' + number_or(response.mean(k), "NA");
        if (!response.sds.empty()) text += ',' + number_or(response.sd(k), "NA");
        text += end_of_row(mark);
    }
    write_file(path, text);
}

void write_mode_csv(std::filesystem::path const& path, std::vector<SummaryRow> const& rows, std::vector<double> const& sds, Mark mark) {
    std::string text = "variable,value,conditional_sd" + heading_of(mark);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        double const sd = i < sds.size() ? sds[i] : std::numeric_limits<double>::quiet_NaN();
        text += csv_field(label_name(rows[i].column)) + ',' + number_or(rows[i].quantity.mean, "NA") + ',' + number_or(sd, "NA") +
                end_of_row(mark);
    }
    write_file(path, text);
}

std::string predictions_csv(Layout const& layout, std::vector<Prediction> const& predictions, Mark mark) {
    std::string text;
    if (layout.sequence) text += csv_field(layout.dims[*layout.sequence].name) + ',';
    if (layout.time) text += csv_field(layout.dims[*layout.time].name) + ',';
    text += "output,observed,mean,sd,q5,q50,q95" + heading_of(mark);
    for (Prediction const& p : predictions) {
        if (layout.sequence) text += csv_field(p.sequence) + ',';
        if (layout.time) text += csv_field(p.time) + ',';
        text += csv_field(p.output);
        // The way to the model's units and back costs the last digit of an observed value, and Monte Carlo error far more of the others.
        text += ',' + (std::isfinite(p.observed) ? fmt::format("{:.15g}", p.observed) : number_or(p.observed, ""));
        for (double const value : {p.mean, p.sd, p.q5, p.q50, p.q95})
            text += ',' + (std::isfinite(value) ? fmt::format("{:.8g}", value) : number_or(value, ""));
        text += end_of_row(mark);
    }
    return text;
}

void write_predictions_csv(std::filesystem::path const& path, Layout const& layout, std::vector<Prediction> const& predictions, Mark mark) {
    write_file(path, predictions_csv(layout, predictions, mark));
}

}  // namespace bam
