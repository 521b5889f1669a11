// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace aliquot::sim::apiserver {

extern const std::string_view kTypeText;      // types.tsv
extern const std::string_view kResourceText;  // resources.tsv

}  // namespace aliquot::sim::apiserver
