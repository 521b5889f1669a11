// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "findings/finding.h"
#include "lint/facts.h"
#include "lint/set.h"
#include "lint/source_files.h"

namespace aliquot::lint {

/// The linter over files as they lie on a disk, each with the settings that hold where it stands.
struct Run {
    std::vector<SourceFile> inputs;  // what find_source_files() found
    Set set;
    std::vector<findings::Finding> findings;

    /// The file of this name in `set`; nullptr: none.
    [[nodiscard]] const File* find(std::string_view name) const;
};

/// Reads all inputs into `set`, several at a time.
/// errors   of read_source_file(), the first one
Result<Done> read_all(Run& run);

/// path   a file of facts; empty: what `facts:` says in the settings of the first input, if anything
Result<std::optional<Facts>> load_facts(const Run& run, const std::string& path);

/// Checks `set` into `findings`, which the settings of each file then change.
void check_all(Run& run, const Facts* facts);

}  // namespace aliquot::lint
