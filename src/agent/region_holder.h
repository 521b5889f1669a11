// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "dra/names.h"
#include "dra/prepare.h"
#include "guard_region/record.h"
#include "kubelet/pod_resources.h"

namespace aliquot::agent {

/// Whether a region is that of a ResourceClaim: who prepares a claim takes its region away.
inline bool is_claim(const guard_region::Record& record) { return record.resource == dra::kDriver; }

/// Whether a container with these devices is one that the region is for; those of a claim may each have a part of it.
inline bool holds(const std::vector<std::string>& ids, const guard_region::Record& record) {
    return is_claim(record) ? std::ranges::includes(record.device_ids, ids)
                            : ids == record.device_ids;
}

/// Who holds what, claims too by the names that device plugins have for devices: for who adds up GPUs.
inline Result<std::vector<kubelet::Holder>> by_devices(
    Result<std::vector<kubelet::Holder>> holders) {
    if (!holders) return holders;
    for (kubelet::Holder& holder : *holders) {
        if (holder.resource != dra::kDriver) continue;
        for (std::string& id : holder.ids) {
            std::string device = dra::device_id_of(id);
            if (!device.empty()) id = std::move(device);
        }
    }
    return holders;
}

}  // namespace aliquot::agent
