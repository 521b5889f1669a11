// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "guard_region/container_regions.h"
#include "guard_region/ledger.h"
#include "k8s/cgroup.h"
#include "os/root.h"

namespace aliquot::guard_region {

/// One process of this host, as the kernel tells it.
struct HostProcess {
    pid_t pid = 0;                    // in the host's pid namespace, as NVML counts
    std::uint64_t start_ticks = 0;    // since boot
    std::uint32_t inner_pid = 0;      // in its own pid namespace
    std::uint64_t pid_namespace = 0;  // inode; 0: we may not know
    std::string region;               // of its container; empty: none
    std::string group;    // its container's control group of version 2, else its own; empty: none
    std::string command;  // at most 15 characters, of its own choice: for people only
    friend bool operator==(const HostProcess&, const HostProcess&) = default;

    /// Whether this is the process that joined with that slot.
    [[nodiscard]] bool owns(const SlotView& slot) const;
};

/// The last number of "NSpid:": the pid as the process itself sees it.
std::optional<std::uint32_t> parse_inner_pid(std::string_view status);

/// The region whose directory is mounted, of /proc/<pid>/mountinfo; empty: none. A mount that hides
/// it changes nothing; what lies on another device than `device` ("0:25") is not ours, whatever its
/// path is. Of several the one where guards look, and of these the lowest.
/// device   of the file system in which regions are; empty: any
std::string parse_region(std::string_view mountinfo, std::string_view device = {});

/// The device ("0:25") of the file system in which `path` is, of /proc/self/mountinfo.
std::string parse_device(std::string_view mountinfo, std::string_view path);

/// The id in ".../<32 hexadecimal digits>/guard" and below; empty: not such a path.
std::string region_id_in(std::string_view path);

/// Looks processes up and tells their regions. Not thread-safe.
///
/// A container of a pod is known by its control group, which it cannot leave: the group's region is
/// learned from any process in it with our mount, or told by `find`, and kept. Where there is
/// no container, a process' own mount counts, and where nothing mounts, the variable that it was
/// started with.
class HostProcesses {
public:
    /// Tells the region of a container of which no process with our mount was seen; empty: none.
    using Find = std::function<std::string(pid_t)>;

    /// root      for /proc; must outlive this
    /// regions   where they are, for system calls; empty: not known
    explicit HostProcesses(const os::Root& root, const std::string& regions = {});

    void set_find(Find find) { find_ = std::move(find); }

    /// What is known of containers; to be filled with what was learned before.
    ContainerRegions& containers() { return containers_; }

    /// Empty: there is no such process.
    std::optional<HostProcess> look(pid_t pid);

    /// All processes that have a region. Reads a few files of each process of the host.
    std::vector<HostProcess> tenants();

    /// Forgets a region that is gone.
    void forget(const std::string& region);

    /// Ends one process, if it is still the same one and in the container of its region.
    /// errors   kNotFound: it is gone; kConflict: it is in another container; kPermission
    Result<Done> kill(const HostProcess& process) const;

private:
    [[nodiscard]] std::string read(pid_t pid, std::string_view file) const;
    [[nodiscard]] std::string started_with(pid_t pid) const;
    [[nodiscard]] std::string own_word(pid_t pid, const std::string& cgroup) const;
    [[nodiscard]] const ContainerGroup* known_group(std::string_view cgroup) const;
    [[nodiscard]] bool is_own(const k8s::CgroupPlace& place) const;
    [[nodiscard]] std::string from_others(const std::string& group);
    void find_region(HostProcess& process);

    const os::Root& root_;
    std::string device_;      // of the regions
    std::string own_cgroup_;  // text
    Find find_;
    ContainerRegions containers_;
    std::map<pid_t, HostProcess> known_;                                  // those of a region
    std::map<std::string, std::chrono::steady_clock::time_point> asked_;  // by group: from_others()
};

}  // namespace aliquot::guard_region
