// For what writes JSON of its own.
#pragma once

#include <nlohmann/json.hpp>

#include "exchange.hpp"

namespace bam {

/// What exchange.json has beside the hash of its run.
nlohmann::ordered_json exchange_json(Exchange const& exchange);

}  // namespace bam
