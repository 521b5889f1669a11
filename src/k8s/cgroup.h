// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::k8s {

/// What a cgroup path tells of a pod's process.
struct CgroupPlace {
    std::string pod_uid;       // dashes, as the API spells it; or the 32 hex digits of a static pod
    std::string container_id;  // 64 hex digits; empty: not in it (the pod's own cgroup, a monitor)
    /// The path down to the container, without what it has made below; empty: there is no id.
    std::string group;
    bool unified = false;  // `group` is of the tree of version 2
    bool nested = false;   // a pod inside of another one
    friend bool operator==(const CgroupPlace&, const CgroupPlace&) = default;
};

inline constexpr std::size_t kMostCgroupBytes = 65'536;  // what lies behind is not read

/// Reads the text of /proc/PID/cgroup: version 1, 2 or both, systemd or cgroupfs driver,
/// containerd, CRI-O, Docker, kind and other roots, a reader in a cgroup namespace of its own.
/// Where a path names two pods, one inside the other, it is the inner one; a container that a
/// container has made counts as the outer one, which kubelet knows.
/// Empty: not a process of a pod. Pure.
std::optional<CgroupPlace> place_of(std::string_view cgroup_text);

/// The same, and of a process in no pod the outermost container in its path, without a pod_uid. Pure.
std::optional<CgroupPlace> container_of(std::string_view cgroup_text);

/// The paths of a text, one of each hierarchy. Pure; views into the text.
std::vector<std::string_view> paths_of(std::string_view cgroup_text);

}  // namespace aliquot::k8s
