// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "kube/api.h"

namespace aliquot::kube {

/// Reads a list ("PodList") as the API server answers it.
/// errors   kMalformed
Outcome<Page> read_page(std::string_view body, std::string_view what, bool keep_managed_fields);

}  // namespace aliquot::kube
