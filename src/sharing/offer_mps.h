// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "sharing/offer.h"

/// What MPS adds to offers and grants. Inside src/sharing only.
namespace aliquot::sharing {

/// Fills in the limits of `offered`, a GPU that `entry` shares by MPS: equal parts of its memory
/// and multiprocessors, unless the entry says otherwise.
/// place    of the entry, for messages
/// returns  empty, or why this GPU cannot be shared so (kUnsupported, kInvalidInput)
std::optional<Error> limit_by_mps(const std::string& place, const SharedResource& entry,
                                  OfferedGpu& offered);

/// Connects a container that is given `ids` to the control daemon of its GPU: variables and mounts.
/// Nothing where no id is of a GPU with MPS.
/// returns  empty; kInvalidInput: shares of several GPUs, which one process cannot use together
std::optional<Error> connect_to_mps(const Resource& resource, const GrantOptions& options,
                                    std::span<const std::string> ids, grant::Grant& grant);

}  // namespace aliquot::sharing
