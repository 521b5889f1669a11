// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace aliquot::sim {

/// Whether kubelet lets a plugin register `name`: an extended resource, which is "domain/name"
/// outside kubernetes.io, without the prefix "requests.", and still a qualified name with it.
bool is_extended_resource_name(std::string_view name);

}  // namespace aliquot::sim
