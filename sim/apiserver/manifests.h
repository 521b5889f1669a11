// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

/// Applies every object of a text as `kubectl apply --server-side --force-conflicts` does, in their
/// order, as the administrator. Returns how many.
///
/// text     YAML documents or JSON; lists are taken apart
/// errors   kInvalidInput: no YAML, a kind that is not served, or refused; the message names it
Result<unsigned> apply_manifests(ServerContext& context, std::string_view text,
                                 const std::string& name_space);

}  // namespace aliquot::sim::apiserver
