// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cost_store/database.h"

namespace aliquot::cost_store {

/// What brings tables of version i to version i + 1, by i. Once released, an entry is never changed.
std::vector<std::string> migrations(const Database::Dialect& words);

}  // namespace aliquot::cost_store
