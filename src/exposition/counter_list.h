// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "exposition/catalogue.h"

namespace aliquot::exposition {

/// One line of a counter list that has rows.
struct Counter {
    const Family* family = nullptr;  // of api/metrics.yaml; never null
    std::string name;                // as the list has it: may be the 1.x name
    std::string type;                // "gauge", "counter", "untyped", ...
    std::string help;
};

/// NVIDIA's file of counters: which of its names are answered. It is complete, not additional.
struct CounterList {
    std::vector<Counter> counters;      // in the file's order, each name once
    std::vector<std::string> labels;    // "DCGM_FI_DRIVER_VERSION": on every row
    std::vector<std::string> warnings;  // "FILE:LINE:COLUMN: ...", at most 64
};

/// Reads `FIELD, type, help` with `#` comments, as NVIDIA's exporter does; names of the classic,
/// the 4.9 and the 1.x list. A field that NVIDIA has and we do not, or that stands twice, is a
/// warning.
/// file     for messages only
/// errors   kInvalidInput, naming FILE:LINE:COLUMN: not three columns, an unknown field (with the
///          nearest name), an unknown type, a text larger than 1 MiB, more than 4096 lines
Result<CounterList> parse_counters(std::string_view file, std::string_view text);

}  // namespace aliquot::exposition
