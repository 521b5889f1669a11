// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "findings/finding.h"
#include "lint/facts.h"
#include "lint/file.h"

namespace aliquot::lint {

/// The text with what its findings say is mechanical. Edits of one finding are made together or not at
/// all; where two findings want the same bytes the first one wins.
struct Fixed {
    std::string text;
    std::vector<std::size_t> fixed;  // indices of the findings whose edits were made
};
Fixed apply_fixes(std::string_view original, const std::vector<findings::Finding>& findings);

/// The same of a file, without the edits that would bring a new error or warning: after each try the
/// whole file is checked again.
/// findings   of this file, those without edits are passed over
/// returns    what follows the file's byte order mark, as File::original does
std::string fixed_text(const File& file, const std::vector<findings::Finding>& findings,
                       const Facts* facts);

/// The bytes to write for such a text: with the byte order mark that the file had.
std::string as_written(const File& file, std::string_view text);

/// A unified diff of two texts; empty when they are equal.
std::string unified_diff(std::string_view name, std::string_view before, std::string_view after);

}  // namespace aliquot::lint
