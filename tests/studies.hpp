// The studies, each with a table that fits it.
#pragma once

#include "mean_field.hpp"
#include "study.hpp"

namespace bam::test {

inline std::filesystem::path const studies = std::filesystem::path(BAM_TEST_DIR) / "studies";

struct Case {
    char const* model;
    char const* table;
};
/// Every study once.
inline constexpr Case cases[] = {{"attention", "small"},        {"attention_skip", "small"},
                                 {"robust", "small"},           {"learnt_df", "small"},
                                 {"shrinkage", "rows"},         {"truncated", "small"},
                                 {"latent", "small"},           {"picked", "small"},
                                 {"learnt_kernel", "small"},    {"binary", "small"},
                                 {"logistic", "rows"},          {"sparse_attention", "small"},
                                 {"robust_regression", "rows"}, {"attention_unit_decay", "small"},
                                 {"two_heads", "small"},        {"attention_kernel", "small"},
                                 {"attention_uneven", "small"}, {"kernel_decays", "small"},
                                 {"selective", "small"},        {"steps", "small"},
                                 {"group_regression", "small"}, {"grouped", "groups"},
                                 {"group_noise", "groups"},     {"group_paths", "groups"},
                                 {"growth", "small"},           {"random_walk", "small"},
                                 {"levels", "small"},           {"two_gaps", "small"},
                                 {"trend", "one_series"},       {"ar", "series"},
                                 {"regression", "rows"},        {"eight_schools", "rows"}};

inline std::unique_ptr<Study> study_of(Case const& which) {
    return study_file(studies / (std::string(which.model) + ".bam"), text_of(studies / (std::string(which.table) + ".csv")));
}

inline ExpectationPlan expectations_of(Study const& study) {
    Model model = study.model;
    return plan_expectations(model, study.derivation, study.laid_out, drawn_outputs(study.problem));
}

/// A dispersed start, by its number.
inline State start_of(Study const& study, std::uint64_t start) {
    Replica replica(study.problem, 5, 1, {});
    replica.start(start);
    return replica.state();
}

}  // namespace bam::test
