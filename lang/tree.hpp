// The syntax of a .bam file. One expression type and one statement type serve every section; check.cpp says what is legal where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bam/diagnostic.hpp"

namespace bam::tree {

enum class ExprKind : std::uint8_t {
    Number,  ///< 3, 0.2, 1e-3          value
    Text,    ///< "body weight"         text, without quotes (a column name that is not an identifier)
    Name,    ///< W_k                   text
    Index,   ///< x[t], a[t > 0]        text; args: the indices (any expression; Compare, Assign for `feat2 = feat`)
    Call,    ///< normal(0, sd = 1)     text; args: expressions, or Assign for named ones
    List,    ///< [1, 2], [one = 1, x]  args: expressions or Assign
    Assign,  ///< name = expression     text; args[0]; only inside (), [] of Call, Index, List. In an Index of a left-hand side `t = 0` is
             ///< one too.
    Negate,  ///< -a                    args[0]
    Transpose,  ///< a'                    args[0]
    Add,        ///< a + b                 args[0], args[1], likewise below
    Subtract,
    Multiply,
    ElementwiseMultiply,  ///< a .* b
    Divide,
    Power,         ///< a ^ b
    Equal,         ///< ==
    NotEqual,      ///< !=
    Less,          ///< <
    LessEqual,     ///< <=
    Greater,       ///< >
    GreaterEqual,  ///< >=
    Range,         ///< 1..3 (a range of labels or steps in an index)
};

struct Expr {
    ExprKind kind = ExprKind::Number;
    Span span;
    Span name_span;  ///< of `text`, for Index, Call, Assign
    std::string text;
    double value = 0;
    std::vector<Expr> args;
};

enum class StatementKind : std::uint8_t {
    Declare,  ///< lhs                      `feat`, `x[seq, t, feat]`, `y[seq, t, out] missing`, `time t`, `sequence seq`
    Define,   ///< lhs = rhs
    Sample,   ///< lhs ~ rhs
    Fixed,    ///< lhs fixed rhs
};

/// `in low..high` behind a distribution. An end that is left open has no expression.
struct Ends {
    Span span;
    std::optional<Expr> low;
    std::optional<Expr> high;
};

struct Statement {
    StatementKind kind = StatementKind::Declare;
    Span span;         ///< of the whole statement
    std::string role;  ///< a leading word: "time" or "sequence" in `time t`; else empty
    Span role_span;
    bool missing = false;      ///< a trailing `missing`
    std::string label_dim;     ///< of `group[seq] in diet`; else empty
    Span label_dim_span;       ///< with the `in`
    Expr lhs;                  ///< Name or Index
    Expr rhs;                  ///< of Define, Sample, Fixed
    std::optional<Ends> ends;  ///< of Sample
};

/// `keyword name extends base { statements }`; name and extends only on priors.
struct Section {
    Span span;
    std::string keyword;  ///< dims, data, param, state, observe, report, table, priors
    Span keyword_span;
    std::string name;  ///< empty if none
    Span name_span;
    std::string extends;  ///< empty if none
    Span extends_span;
    std::vector<Statement> statements;
};

/// use "path"
struct Use {
    Span span;
    std::string path;
    Span path_span;
};

struct File {
    std::uint32_t source = 0;
    std::optional<int> version;  ///< of the line `bam 1`
    Span version_span;
    std::string model;  ///< of the line `model NAME`; empty if none
    Span model_span;
    std::vector<Use> uses;
    std::vector<Section> sections;
};

}  // namespace bam::tree
