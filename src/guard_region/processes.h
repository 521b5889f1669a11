// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guard_region/ledger.h"
#include "os/root.h"

namespace aliquot::guard_region {

/// One process of this host, as the kernel tells it.
struct HostProcess {
    pid_t pid = 0;                    // in the host's pid namespace, as NVML counts
    std::uint64_t start_ticks = 0;    // since boot
    std::uint32_t inner_pid = 0;      // in its own pid namespace
    std::uint64_t pid_namespace = 0;  // inode; 0: we may not know
    /// The region that is mounted where a guard looks for one; empty: none. A tenant cannot change
    /// that without the right to mount.
    std::string region;
    std::string cgroup;   // of cgroup v2, else of the controller that has a pod in it
    std::string command;  // at most 15 characters
    friend bool operator==(const HostProcess&, const HostProcess&) = default;

    /// Whether this is the process that joined with that slot.
    [[nodiscard]] bool owns(const SlotView& slot) const;
};

/// The last number of "NSpid:": the pid as the process itself sees it.
std::optional<std::uint32_t> parse_inner_pid(std::string_view status);

/// The region whose directory is mounted for guards, of /proc/<pid>/mountinfo; empty: none.
std::string parse_region(std::string_view mountinfo);

/// The path of a control group in /proc/<pid>/cgroup.
std::string parse_cgroup(std::string_view text);

/// The id in ".../<32 hexadecimal digits>/guard"; empty: not such a path.
std::string region_id_in(std::string_view path);

struct ProcessStat {
    std::uint64_t start_ticks = 0;
    std::string command;
};
/// One line of /proc/<pid>/stat; empty: not one, or the process has ended.
std::optional<ProcessStat> parse_stat(std::string_view line);

/// Looks processes up and remembers those that cannot change. Not thread-safe.
class HostProcesses {
public:
    /// root   for /proc; must outlive this
    explicit HostProcesses(const os::Root& root);

    /// Empty: there is no such process.
    std::optional<HostProcess> look(pid_t pid);

    /// All processes that have a region. Reads a few files of each process of the host.
    std::vector<HostProcess> tenants();

    /// Ends one process, if it is still the same one.
    /// errors   kNotFound: it is gone; kPermission
    Result<Done> kill(const HostProcess& process) const;

private:
    [[nodiscard]] std::string read(pid_t pid, std::string_view file) const;
    [[nodiscard]] std::string region_of(pid_t pid, std::string_view cgroup) const;

    const os::Root& root_;
    std::string own_cgroup_;
    std::map<pid_t, HostProcess> known_;  // those of a region
};

}  // namespace aliquot::guard_region
