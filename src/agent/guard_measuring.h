// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "agent/context_book.h"
#include "agent/guard_events.h"
#include "agent/guard_ledgers.h"
#include "agent/guard_regions.h"
#include "agent/guard_snapshot.h"
#include "agent/guard_turns.h"
#include "gpu/hardware.h"
#include "gpu/memory_limits.h"
#include "guard_region/config_file.h"
#include "guard_region/ledger_file.h"
#include "guard_region/meter.h"
#include "guard_region/watchdog.h"
#include "kubelet/pod_resources.h"
#include "os/clock.h"
#include "os/root.h"
#include "pods/census.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// Watches over the regions on a thread of its own: compares ledgers with the driver, tells guards
/// and the agent what it sees, changes limits, ends who goes around them, removes regions that
/// nobody uses any more.
class GuardMeasuring {
public:
    struct Options {
        std::chrono::milliseconds between_looks{500};
        std::chrono::milliseconds between_collections{10'000};
        /// How long a region may be without a container: kubelet lists a pod only when it is
        /// admitted, and its first process comes later still.
        std::chrono::milliseconds grace{120'000};
    };
    struct Sources {
        gpu::Sensors& sensors;
        gpu::MemoryLimits& kernel;  // asked only where sharing.guard.kernelLimit is true
        std::function<Result<std::vector<kubelet::Holder>>()> holders;
        std::function<void(std::shared_ptr<const GuardSnapshot>)> publish;
        /// Whose container a process is in, by its control group; may be empty.
        std::function<std::optional<pods::Owner>(pid_t)> owner_of;
    };
    /// What it works on; all must outlive it.
    struct Parts {
        const os::Root& proc;  // for /proc
        os::Clock& clock;
        GuardRegions& regions;
        GuardLedgers& ledgers;
        GuardTurns& turns;
        GuardEvents& events;
        ContextBook& contexts;
    };

    /// Starts.
    GuardMeasuring(Parts parts, Sources sources, Options options);

    /// What holds from now on, also for containers that run. Thread-safe.
    void apply(const sharing::GuardConfig& config, const sharing::Offer& offer);

private:
    /// A region that is measured.
    struct Tracked {
        guard_region::Record record;
        std::optional<guard_region::ConfigFile> config;  // both, or none: `problem` says why
        std::optional<guard_region::LedgerFile> ledger;
        std::string problem;
        guard_region::Settings assumed;  // without a config: what the configuration says now
        os::TimePoint since;             // that we know of it
        /// By place: what the driver's kernel module was told, and whether it may be asked again.
        std::array<std::uint64_t, abi::kRegionDevices> kernel_bytes{};
        bool kernel_refused = false;
        os::TimePoint last_held;  // when kubelet last said that a container has it, or `since`
    };
    struct Wanted {
        sharing::GuardConfig config;
        sharing::Offer offer;
    };

    void run(const std::stop_token& stop);
    void track_new();
    void recover_again();
    void change_limits();
    static void change_limits(Tracked& tracked, const sharing::Resource& resource);
    void look();
    void limit_by_kernel(Tracked& tracked, const guard_region::Reading& reading);
    static guard_region::Settings settings_of(const Tracked& tracked);
    static guard_region::Metered metered(Tracked& tracked);
    std::string region_of(const pods::Owner& owner) const;
    void keep_groups();
    void raise(const guard_region::Alarm& alarm, const Tracked& tracked);
    void collect();
    bool name_holders();

    Parts parts_;
    Sources sources_;
    Options options_;

    std::mutex mutex_;  // guards the wanted
    Wanted wanted_;
    bool wanted_is_new_ = false;

    // Of the thread alone:
    bool kernel_limit_ = false;
    guard_region::HostProcesses processes_;
    guard_region::Meter meter_;
    guard_region::Watchdog watchdog_;
    std::map<std::string, Tracked> tracked_;
    os::TimePoint next_collection_{};
    os::TimePoint next_naming_{};
    os::TimePoint next_recovery_{};
    std::jthread thread_;  // last: it uses all the others
};

/// The limits of a container's devices. Pure.
/// ids   as kubelet chose them; those that `offer` does not have are left out
/// returns  by uuid; without context_bytes
std::vector<guard_region::Limits> limits_for(const sharing::Resource& resource,
                                             std::span<const std::string> ids);

}  // namespace aliquot::agent
