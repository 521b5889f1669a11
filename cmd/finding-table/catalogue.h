// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::finding_table {

/// One entry of api/findings.yaml, with nothing left out.
struct Entry {
    std::string id;
    std::string severity;  // "error", "warning", "info"
    std::string tool;      // "lint" or "doctor"
    std::string what;
    std::string why;
    std::string fix;
    std::string doc;  // "docs/rules/lint.md#dpc003" unless the entry names another place
};

/// A family of ids: "DPC" and what it is about.
struct Family {
    std::string prefix;
    std::string title;
};

struct Catalogue {
    std::vector<Entry> entries;    // sorted by id
    std::vector<Family> families;  // in the file's order
};

/// Reads the catalogue and refuses whatever is not in order: unknown or missing keys, a text of
/// several lines, a wrong severity, ids out of order or of no family.
Result<Catalogue> read_catalogue(std::string_view file, std::string_view text);

/// "DPC" of "DPC003".
std::string_view prefix_of(std::string_view id);

/// The C++ source of findings::rules().
std::string write_table(const Catalogue& catalogue);

/// The Markdown page of one tool.
std::string write_page(const Catalogue& catalogue, std::string_view tool);

}  // namespace aliquot::finding_table
