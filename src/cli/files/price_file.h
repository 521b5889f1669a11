// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "cost/price.h"

namespace aliquot::cli {

/// Reads an own price file; an empty name is a file without prices.
/// errors   kInvalidInput: its problems, one a line
Result<cost::PriceFile> read_price_file(const std::string& name);

}  // namespace aliquot::cli
