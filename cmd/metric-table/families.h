// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::metric_table {

/// One entry of api/metrics.yaml; texts as they stand there.
struct Family {
    std::string group;  // "native", ...
    std::string name;
    std::string type;  // "gauge", "counter", "info"
    std::string unit;
    std::string help;
    std::string labels;  // sets expanded: "node gpu uuid gi?"
    std::string from;
    std::string absent;
    std::string note;
    std::string split;   // "yes" or empty
    std::string field;   // digits or empty
    std::string old;     // NVIDIA's 1.x name
    std::string listed;  // "yes" or empty
    std::string now;     // the name in exporter 4.9
};

/// A name that NVIDIA has and we do not.
struct Withheld {
    std::string name;
    std::string old;
    std::string why;
};

struct Catalogue {
    std::vector<Family> families;  // in the file's order
    std::vector<Withheld> withheld;
};

/// Reads the catalogue and refuses whatever is not in order: unknown or missing keys, a text of
/// several lines, names that stand twice or that Prometheus does not allow, a wrong type, a counter
/// of ours without _total, a unit that the name does not end in, `now` that is nowhere.
Result<Catalogue> read_catalogue(std::string_view file, std::string_view text);

/// The C++ source of exposition::families() and withheld().
std::string write_table(const Catalogue& catalogue);

/// The Markdown page.
std::string write_page(const Catalogue& catalogue);

}  // namespace aliquot::metric_table
