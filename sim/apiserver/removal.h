// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

struct RemovalOptions {
    std::string policy;  // Foreground, Background, Orphan; empty: not said
    std::optional<std::int64_t> grace_seconds;
    std::string uid, resource_version;  // preconditions
    bool dry_run = false;
};
Outcome<RemovalOptions> read_removal_options(const Call& call);

/// Deletes, or marks as being deleted what has finalizers or grace.
Outcome<EntryPtr> remove_object(Call& call, const RemovalOptions& options);

}  // namespace aliquot::sim::apiserver
