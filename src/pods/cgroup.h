// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aliquot::pods {

/// What a cgroup path tells of a pod's process.
struct CgroupPlace {
    std::string pod_uid;       // dashes, as the API spells it; or the 32 hex digits of a static pod
    std::string container_id;  // 64 hex digits; empty: not in it (the pod's own cgroup)
    friend bool operator==(const CgroupPlace&, const CgroupPlace&) = default;
};

/// Reads the text of /proc/PID/cgroup: version 1, 2 or both, systemd or cgroupfs driver,
/// containerd, CRI-O, Docker, kind and other roots, a reader in a cgroup namespace of its own.
/// Empty: not a process of a pod. Pure.
std::optional<CgroupPlace> place_of(std::string_view cgroup_text);

}  // namespace aliquot::pods
