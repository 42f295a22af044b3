#include "sbc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "convergence.hpp"
#include "record.hpp"
#include "simulation.hpp"
#include "tails.hpp"
#include "words.hpp"

namespace bam {
namespace {

constexpr double level = 0.001;            ///< of all quantities together
constexpr std::size_t least_in_bin = 10;   ///< replicates that a bin should have
constexpr std::size_t most_thin = 200;     ///< sweeps
constexpr std::size_t pilot_sweeps = 600;  ///< of a chain whose effective size says how far apart draws are
constexpr std::size_t pilots = 8;
constexpr double safety = 2;     ///< some simulated tables mix more slowly than those of the pilots
constexpr std::size_t away = 8;  ///< times `thin` sweeps before the first draw, which is not to be like the truth
constexpr std::uint64_t pilot_number = std::uint64_t{1} << 40;
constexpr std::uint64_t tie_number = std::uint64_t{1} << 44;

/// Identified columns, about `most` of them, scales first: those of a chain's file that a symmetry does not move.
std::vector<std::size_t> choose(Problem const& problem, std::vector<DrawColumn> const& columns, std::size_t most) {
    std::vector<std::size_t> scales, others;
    auto const is_scale = [&](std::string const& name) {
        auto const& variables = problem.plan.layout.variables;
        return std::any_of(variables.begin(), variables.end(),
                           [&](Variable const& v) { return v.kind == VariableKind::Scale && v.name == name; });
    };
    for (std::size_t k = 0; k < columns.size(); ++k)
        if (columns[k].is_identified) (is_scale(columns[k].name) ? scales : others).push_back(k);
    if (scales.size() > most / 2) scales.resize(most / 2);
    std::size_t const wanted = std::min(others.size(), most - 1 - scales.size());  // the last is the log likelihood
    for (std::size_t k = 0; k < wanted; ++k) scales.push_back(others[wanted == 1 ? 0 : k * (others.size() - 1) / (wanted - 1)]);
    return scales;
}

/// One simulation after another, with a problem of its own.
class Worker {
  public:
    Worker(Problem const& problem, CalibrationOptions const& options)
        : problem_(problem), options_(options), simulation_(problem_, options.seed) {}

    /// Draws of the chosen quantities, `thin` sweeps apart, the truth first: [draw][quantity].
    std::vector<std::vector<double>> run(std::uint64_t number, std::size_t draws, std::size_t thin) {
        State const& truth = simulation_.draw(number);
        Replica replica(problem_, options_.seed, number + 1, {});
        replica.set_state(truth);
        Recorder recorder(problem_, replica.inputs());
        auto const chosen = choose(problem_, recorder.columns(), options_.most_quantities);
        std::vector<double> row(recorder.columns().size());
        std::vector<std::vector<double>> result;
        auto const record = [&] {
            recorder.record(replica.state(), row.data());
            result.emplace_back();
            for (std::size_t const k : chosen) result.back().push_back(row[k]);
            result.back().push_back(replica.log_likelihood());
        };
        record();
        std::uint64_t sweep = 0;
        for (std::size_t k = 0; k + 1 < away * thin; ++k) replica.sweep(sweep++);
        for (std::size_t i = 0; i < draws; ++i) {
            for (std::size_t k = 0; k < thin; ++k) replica.sweep(sweep++);
            record();
        }
        return result;
    }

    std::vector<std::string> names() {
        Replica replica(problem_, options_.seed, 1, {});
        Recorder recorder(problem_, replica.inputs());
        std::vector<std::string> names;
        for (std::size_t const k : choose(problem_, recorder.columns(), options_.most_quantities))
            names.push_back(label_name(recorder.columns()[k]));
        names.emplace_back("log_likelihood");
        return names;
    }

  private:
    Problem problem_;
    CalibrationOptions options_;
    Simulation simulation_;
};

/// Sweeps per effective draw of the slowest quantity.
std::size_t find_thin(Worker& worker) {
    double slowest = 1;
    for (std::size_t k = 0; k < pilots; ++k) {
        auto const draws = worker.run(pilot_number + k, pilot_sweeps, 1);
        for (std::size_t q = 0; q < draws.front().size(); ++q) {
            std::vector<double> column;
            for (auto const& draw : draws) column.push_back(draw[q]);
            double const effective = ess_mean({column, column.size(), 1});
            if (effective > 0) slowest = std::max(slowest, static_cast<double>(column.size()) / effective);
        }
    }
    return std::min(most_thin, static_cast<std::size_t>(std::ceil(safety * slowest)));
}

}  // namespace

Calibration calibrate(Problem const& problem, CalibrationOptions const& options) {
    Calibration calibration;
    calibration.replicates = options.replicates;
    Worker first(problem, options);
    auto const names = first.names();
    calibration.thin = find_thin(first);
    std::vector<std::vector<std::size_t>> ranks(options.replicates);  // [replicate][quantity]
    std::mutex mutex;
    std::exception_ptr failure;
    std::size_t next = 0;
    auto const work = [&] {
        try {
            Worker worker(problem, options);
            while (true) {
                std::size_t number = 0;
                {
                    std::lock_guard const lock(mutex);
                    if (failure || next == options.replicates) return;
                    number = next++;
                }
                auto const draws = worker.run(number, options.draws, calibration.thin);
                for (std::size_t q = 0; q < names.size(); ++q) {
                    std::size_t rank = 0;
                    std::size_t ties = 0;  // of choices: broken at random
                    for (std::size_t d = 1; d < draws.size(); ++d) {
                        rank += draws[d][q] < draws[0][q] ? 1U : 0U;
                        ties += draws[d][q] == draws[0][q] ? 1U : 0U;
                    }
                    if (ties > 0)
                        rank +=
                            static_cast<std::size_t>(Stream(options.seed, number, tie_number, q).uniform() * static_cast<double>(ties + 1));
                    ranks[number].push_back(rank);
                }
            }
        } catch (...) {
            std::lock_guard const lock(mutex);
            if (!failure) failure = std::current_exception();
        }
    };
    {
        std::size_t const wanted = options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
        std::vector<std::jthread> threads;
        for (std::size_t k = 1; k < std::min(wanted, options.replicates); ++k) threads.emplace_back(work);
        work();
    }
    if (failure) std::rethrow_exception(failure);

    std::size_t bins = options.draws + 1;
    while (bins > 2 && bins % 2 == 0 && options.replicates < least_in_bin * bins) bins /= 2;
    double const expected = static_cast<double>(options.replicates) / static_cast<double>(bins);
    for (std::size_t q = 0; q < names.size(); ++q) {
        Ranks of{names[q], std::vector<std::size_t>(bins), 0, 1};
        for (auto const& replicate : ranks) ++of.counts[replicate[q] * bins / (options.draws + 1)];
        for (std::size_t const count : of.counts) {
            double const gap = static_cast<double>(count) - expected;
            of.chi_square += gap * gap / expected;
        }
        of.p = chi_square_tail(of.chi_square, static_cast<double>(bins - 1));
        calibration.quantities.push_back(std::move(of));
    }
    return calibration;
}

std::vector<Check> to_checks(Calibration const& calibration) {
    std::vector<Check> checks;
    double const least = level / static_cast<double>(std::max<std::size_t>(1, calibration.quantities.size()));
    for (Ranks const& ranks : calibration.quantities)
        checks.push_back({"calibration", ranks.name, "the rank of the truth among the draws is uniform", calibration.replicates, ranks.p,
                          least, ranks.p >= least, true});
    return checks;
}

std::string ranks_text(Calibration const& calibration) {
    constexpr std::array<char const*, 9> bars{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    std::size_t width = 0;
    std::size_t most = 1;
    for (Ranks const& ranks : calibration.quantities) {
        width = std::max(width, ranks.name.size());
        for (std::size_t const count : ranks.counts) most = std::max(most, count);
    }
    std::string text = fmt::format("ranks of the truth, {}, draws {} apart\n", counted(calibration.replicates, "simulation"),
                                   counted(calibration.thin, "sweep"));
    for (Ranks const& ranks : calibration.quantities) {
        text += fmt::format("{:<{}}  ", ranks.name, width);
        for (std::size_t const count : ranks.counts) text += bars[(count * 8 + most - 1) / most];
        text += fmt::format("  p = {:.2g}\n", ranks.p);
    }
    return text;
}

std::string ranks_svg(Calibration const& calibration) {
    constexpr double width = 300, height = 80, margin = 24, columns = 3;
    auto const rows = std::ceil(static_cast<double>(calibration.quantities.size()) / columns);
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n",
        columns * (width + margin) + margin, rows * (height + 2 * margin) + margin);
    for (std::size_t k = 0; k < calibration.quantities.size(); ++k) {
        Ranks const& ranks = calibration.quantities[k];
        auto const bins = static_cast<double>(ranks.counts.size());
        double const expected = static_cast<double>(calibration.replicates) / bins;
        double const left = margin + static_cast<double>(k % 3) * (width + margin);
        double const top = margin + static_cast<double>(k / 3) * (height + 2 * margin);
        double const unit = height / (2 * expected);
        std::string name = ranks.name;
        for (auto const& [mark, word] : {std::pair("&", "&amp;"), std::pair("<", "&lt;")})
            for (std::size_t at = 0; (at = name.find(mark, at)) != std::string::npos; at += 4) name.replace(at, 1, word);
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}, p = {:.2g}</text>\n", left, top - 4, name, ranks.p);
        for (std::size_t i = 0; i < ranks.counts.size(); ++i) {
            double const bar = std::min(height, unit * static_cast<double>(ranks.counts[i]));
            svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#88a\"/>\n",
                               left + width * static_cast<double>(i) / bins, top + height - bar, width / bins - 1, bar);
        }
        svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#a33\"/>\n", left, left + width,
                           top + height / 2);
    }
    return svg + "</svg>\n";
}

}  // namespace bam
