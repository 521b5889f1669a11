// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "agent/guard_snapshot.h"
#include "agent/observer.h"
#include "base/result.h"
#include "gpu/hardware.h"
#include "gpu/memory_limits.h"
#include "grant/grant.h"
#include "guard_region/config_file.h"
#include "guard_region/directory.h"
#include "guard_region/estimates.h"
#include "guard_region/ledger_file.h"
#include "guard_region/meter.h"
#include "guard_region/node_socket.h"
#include "guard_region/watchdog.h"
#include "kubelet/pod_resources.h"
#include "os/clock.h"
#include "os/root.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// Gives containers with limits their guard, and watches over them: makes their regions in Allocate,
/// measures on a thread of its own, tells what it sees, removes what nobody uses any more.
///
/// complete() and snapshot() may be called by any thread, apply() by the reconcile loop.
class GuardLink {
public:
    struct Options {
        std::filesystem::path library;                        // where this program has the guard
        std::string library_base = "/var/lib/aliquot/guard";  // host paths
        std::string regions = "/run/aliquot/regions";
        std::chrono::milliseconds between_looks{500};
        std::chrono::milliseconds between_collections{10'000};
        /// How long a region may be without a container: kubelet lists a pod only when it is
        /// admitted, and its first process comes later still.
        std::chrono::milliseconds grace{120'000};
    };
    struct Sources {
        gpu::Sensors& sensors;
        gpu::MemoryLimits& kernel;  // asked only where sharing.guard.kernelLimit is true
        const Latest<Observation>& observations;
        std::function<Result<std::vector<kubelet::Holder>>()> holders;
        std::function<void(std::shared_ptr<const GuardSnapshot>)> publish;
    };

    /// root and sources must outlive this.
    GuardLink(const os::Root& root, os::Clock& clock, Sources sources, Options options);
    ~GuardLink();  // regions stay: their containers run on

    /// What holds from now on, also for containers that run.
    void apply(const sharing::GuardConfig& config, const sharing::Offer& offer);

    /// Adds to a grant what keeps its limits: a new region and the mounts for it. Nothing where no
    /// share is guarded.
    /// errors   kUnavailable: there is no guard to be had and the configuration says `fail: closed`
    Result<Done> complete(const std::string& resource, std::span<const std::string> ids,
                          grant::Grant& grant);

private:
    /// A region that is measured; of the thread alone.
    struct Tracked {
        guard_region::Record record;
        guard_region::ConfigFile config;
        guard_region::LedgerFile ledger;
        os::TimePoint since;  // that we know of it
        /// By place: what the driver's kernel module was told, and whether it may be asked again.
        std::array<std::uint64_t, abi::kRegionDevices> kernel_bytes{};
        bool kernel_refused = false;
        os::TimePoint last_held;  // when kubelet last said that a container has it, or `since`
    };
    struct Wish {
        sharing::GuardConfig config;
        sharing::Offer offer;
    };

    Result<Done> make_region(const std::string& resource, std::span<const std::string> ids,
                             grant::Grant& grant);
    Result<std::string> library_version();
    std::uint64_t context_bytes(const std::string& uuid);

    void recall();
    void run(const std::stop_token& stop);
    void listen();
    void try_again();
    void track_new();
    void change_limits();
    void look();
    void learn(const Tracked& tracked, const guard_region::Reading& reading);
    void limit_by_kernel(Tracked& tracked, const guard_region::Reading& reading);
    void raise(const guard_region::Alarm& alarm, const Tracked& tracked);
    void collect();
    bool name_holders();
    void note(GuardEvent event);

    const os::Root& root_;
    os::Root proc_;  // root_, or the machine's own where root_ has no /proc
    os::Clock& clock_;
    Sources sources_;
    Options options_;
    guard_region::Directory directory_;

    std::mutex mutex_;     // guards what follows, up to the thread's own
    std::string version_;  // of the installed guard; empty: none yet
    std::string problem_;  // why the last region could not be made; empty: it could
    os::TimePoint next_try_{};
    Wish wish_;
    bool wish_is_new_ = false;
    guard_region::ContextEstimates estimates_;
    std::unique_ptr<guard_region::NodeSocket> socket_;
    std::deque<GuardEvent> events_;

    bool kernel_limit_ = false;  // of the thread, as what follows
    guard_region::HostProcesses processes_;
    guard_region::Meter meter_;
    guard_region::Watchdog watchdog_;
    std::map<std::string, Tracked> tracked_;
    os::TimePoint next_collection_{};
    os::TimePoint next_naming_{};
    std::jthread thread_;  // last: it uses all the others
};

/// The limits of a container's devices. Pure.
/// ids   as kubelet chose them; those that `offer` does not have are left out
/// returns  by uuid; without context_bytes
std::vector<guard_region::Limits> limits_for(const sharing::Resource& resource,
                                             std::span<const std::string> ids);

/// What the guard's keeping watch needs and nothing else does: SYS_PTRACE (in which pid namespace a
/// process is), KILL (a process that goes around its guard); for limits by the kernel module
/// SYS_ADMIN, too.
std::span<const int> guard_capabilities(bool kernel_limit);

/// Whether a configuration has limits that the guard keeps.
bool needs_guard(const sharing::Sharing& sharing);

/// Where this program has the guard's library: `given`, else lib/ beside its own directory.
std::filesystem::path guard_library(const std::string& given);

}  // namespace aliquot::agent
