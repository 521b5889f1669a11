// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/apiserver/status.h"
#include "sim/apiserver/types.h"

namespace aliquot::sim::apiserver {

/// Who writes: one line of managedFields is named by these four.
struct Manager {
    std::string name;
    bool applies = false;  // operation Apply, else Update
    std::string api_version;
    std::string subresource;
    bool leaves_status = false;  // status is none of its business
};

/// Sets metadata.managedFields of `now` after a write that is no apply.
/// before   the object as it was; null: it is new
void track_update(const Value& before, Value& now, const Type& type, const Manager& manager);

/// Server-side apply: `config` laid over `live` (null: it does not exist), with managedFields set.
/// What the manager applied before and now leaves out is taken away when nobody else owns it.
/// errors   409 with a cause for each field that another manager owns, unless `force`; 400
Outcome<Value> apply_config(const Value& live, const Value& config, const Type& type,
                            const Manager& manager, bool force, const std::string& resource,
                            const std::string& group);

/// The "kubectl" of "kubectl/v1.32.4 (linux/amd64) ...".
std::string manager_of_agent(std::string_view user_agent);

/// Same content, managedFields left out.
bool same_but_managers(const Value& left, const Value& right);

}  // namespace aliquot::sim::apiserver
