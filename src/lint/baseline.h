// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "findings/finding.h"

namespace aliquot::lint {

/// Takes out of `findings` what an earlier `aliquot lint -o json` already has, by file, rule and message;
/// each of its entries once.
/// name     of the baseline, for errors
/// errors   kInvalidInput: the text is no such output
Result<Done> subtract_baseline(std::vector<findings::Finding>& findings, std::string_view name,
                               std::string_view text);

}  // namespace aliquot::lint
