// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::mps {

/// Which process, also after its pid has been given to another one.
struct ProcessId {
    pid_t pid = 0;
    std::uint64_t start_ticks = 0;  // since boot, field 22 of /proc/<pid>/stat
    friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

struct ProcessFacts {
    ProcessId id;
    std::string name;  // at most 15 characters
    pid_t group = 0;
};

/// Empty: there is no such process (one that has ended and waits for its parent is none).
std::optional<ProcessFacts> look_at_process(pid_t pid);
bool is_alive(const ProcessId& id);

/// Is it a control daemon or a server of MPS? By its name, as far as the kernel keeps it.
bool is_of_mps(const ProcessFacts& process);

/// MPS processes of a process group: what a control daemon leaves behind.
std::vector<ProcessId> mps_processes_of_group(pid_t group);

/// One stat line of /proc, read; empty: not one.
std::optional<ProcessFacts> parse_stat(std::string_view line);

/// The pod that a process belongs to, by its control group.
struct PodName {
    std::string uid;        // "8f0c...": metadata.uid; empty: the process is of no pod
    std::string container;  // id, as the runtime has it
    friend bool operator==(const PodName&, const PodName&) = default;
};
/// Reads /proc/<pid>/cgroup, of both versions and both drivers (systemd, cgroupfs).
PodName parse_cgroup(std::string_view text);
PodName pod_of_process(pid_t pid);

}  // namespace aliquot::mps
