// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace aliquot::sim {

/// How a node names its cgroups: by the driver of kubelet and the runtime.
enum class CgroupForm : std::uint8_t {
    kSystemd,        // version 2, systemd driver, containerd: what most nodes have
    kSystemdCrio,    // version 2, systemd driver, CRI-O
    kSystemdDocker,  // version 2, systemd driver, Docker
    kCgroupfs,       // version 2, cgroupfs driver, containerd
    kCgroupfsCrio,   // version 2, cgroupfs driver, CRI-O
    kVersion1,       // version 1 alone, cgroupfs driver, containerd
    kHybrid,         // version 1 with an empty version 2 beside it, systemd driver, containerd
    kNested,         // a node that is itself a container: systemd driver beneath another root
    kMixed,          // kubelet uses systemd, containerd was left at cgroupfs
};
std::span<const CgroupForm> all_cgroup_forms();

enum class QualityOfService : std::uint8_t { kGuaranteed, kBurstable, kBestEffort };

/// The text of /proc/PID/cgroup of a process in a container.
/// pod_uid        with dashes, or the 32 hex digits of a static pod
/// container_id   64 hex digits
std::string cgroup_text(CgroupForm form, QualityOfService quality, std::string_view pod_uid,
                        std::string_view container_id);

/// The same of a service of the host: "sshd".
std::string host_cgroup_text(CgroupForm form, std::string_view service);

}  // namespace aliquot::sim
