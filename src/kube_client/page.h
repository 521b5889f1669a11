// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "kube_client/api.h"

namespace aliquot::kube_client {

/// Reads a list ("PodList") as the API server answers it.
/// errors   kMalformed
Outcome<Page> read_page(std::string_view body, std::string_view what, bool keep_managed_fields);

}  // namespace aliquot::kube_client
