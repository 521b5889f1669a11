// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "findings/finding.h"
#include "sharing/config.h"

namespace aliquot::sharing {

/// A configuration without errors that a file holds.
struct FoundConfig {
    std::string where;  // "ConfigMap time-slicing-config, key any"; empty: it is the file itself
    Config config;
};

struct CheckedFile {
    std::vector<findings::Finding> findings;  // sorted
    std::vector<FoundConfig> configs;         // in the file's order
};

/// check_config_text() that also tells what it read.
CheckedFile check_config_file(std::string_view file, std::string_view text,
                              Compatibility compatibility);

/// A configuration in a few words: "time-slicing: nvidia.com/gpu in 4 shares".
std::string summary(const Config& config);

}  // namespace aliquot::sharing
