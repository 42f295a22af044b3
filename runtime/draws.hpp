// What a run leaves in memory before it is written: draws of every chain, and the predictive draws of every cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bam/incident.hpp"
#include "exchange.hpp"

namespace bam {

/// One column of draws: an entry of a parameter, a report, or a derived quantity.
struct DrawColumn {
    std::string name;                 ///< "W_k"
    std::vector<std::size_t> index;   ///< from 1, in the order of the declared dims; empty for a scalar
    std::vector<std::string> labels;  ///< the same as labels: "1", "dose", "Subject 3"
    bool is_identified = true;        ///< false for weights that a symmetry of the likelihood moves
    bool is_shown = true;             ///< in the terminal table without --raw
    std::size_t choice = 0;        ///< of an entry of a categorical parameter, 0 or 1 in each draw: which of its indices, from 1, says what
                                   ///< is chosen. 0 of anything else
    bool is_interchanged = false;  ///< nothing but its number tells it from another, which chains may choose differently: it has a
                                   ///< meaning in aligned draws only (align.hpp)
};

std::string csv_name(DrawColumn const& column);    ///< W_k.1.2
std::string label_name(DrawColumn const& column);  ///< W_k[1,dose]

/// Draws of one chain.
struct Chain {
    std::vector<double> values;          ///< [draw, column], row-major
    std::vector<double> log_joint;       ///< [draw]
    std::vector<double> log_likelihood;  ///< [draw]
    double warmup_seconds = 0;
    double sampling_seconds = 0;
    bool is_interrupted = false;
    std::string start;                           ///< how its first state was chosen, in words
    std::optional<ChainExchange> exchange = {};  ///< where replicas exchanged
    RungDraws rungs = {};                        ///< where they do for the evidence
    /// Of the variational backend: at the means of the factors, [column], and log density of the factors, [draw].
    std::vector<double> means = {};
    std::vector<double> log_factors = {};
    std::size_t number = 0;                ///< from 1; 0: its place among the chains
    bool is_dropped = false;               ///< numerical trouble ended it: its draws count nowhere
    std::vector<Incident> incidents = {};  ///< in the order in which each came up first
};

/// Predictive summaries of every cell of the outputs, observation noise included, in the table's units.
struct Prediction {
    std::size_t row = 0;  ///< of the table
    std::string sequence;
    std::string time;
    std::string output;
    double observed = 0;  ///< NaN where missing
    double mean = 0, sd = 0, q5 = 0, q50 = 0, q95 = 0;
};

struct Run {
    std::vector<DrawColumn> columns;
    std::vector<Chain> chains;
    std::vector<Prediction> predictions;
    std::optional<Exchange> exchange;  ///< of its chains
    std::vector<Incident> incidents;   ///< of its chains, those that were dropped too
    std::vector<std::string> notes;    ///< said at the end: predictive draws thinned, chains that differ, ...
};

}  // namespace bam
