// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot::bundle {

struct RedactedLine {
    std::string text;
    /// Its last key is a secret's and has no value: what is further in beneath it is that.
    bool open = false;
};

/// One line without its break; each secret in it is "***". Knows nothing of the lines around it.
RedactedLine redacted_line(std::string_view line);

}  // namespace aliquot::bundle
