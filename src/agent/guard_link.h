// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/context_book.h"
#include "agent/guard_events.h"
#include "agent/guard_ledgers.h"
#include "agent/guard_measuring.h"
#include "agent/guard_regions.h"
#include "agent/guard_turns.h"
#include "grant/grant.h"
#include "os/clock.h"
#include "os/root.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// Gives containers with limits their guard: makes their regions in Allocate. The parts that it owns
/// hand out what is shared, watch, and remove what nobody uses any more.
///
/// complete() may be called by any thread, apply() by the reconcile loop.
class GuardLink {
public:
    struct Options {
        std::filesystem::path library;                        // where this program has the guard
        std::string library_base = "/var/lib/aliquot/guard";  // host paths
        std::string regions = "/run/aliquot/regions";
        GuardMeasuring::Options measuring;
    };
    struct Sources {
        const Latest<Observation>& observations;
        GuardMeasuring::Sources measuring;
    };

    /// root, clock and sources must outlive this.
    GuardLink(const os::Root& root, os::Clock& clock, Sources sources, Options options);
    ~GuardLink();  // regions stay: their containers run on

    /// What holds from now on, also for containers that run.
    void apply(const sharing::GuardConfig& config, const sharing::Offer& offer);

    /// Adds to a grant what keeps its limits: a new region and the mounts for it. Nothing where no
    /// share is guarded.
    /// errors   kUnavailable: there is no guard to be had and the configuration says `fail: closed`
    Result<Done> complete(const std::string& resource, std::span<const std::string> ids,
                          grant::Grant& grant);

    /// Takes away the regions that complete() made for ids that begin with `prefix`. Nothing to take is success.
    Result<Done> release(const std::string& resource, const std::string& prefix);

private:
    Result<Done> make_region(const std::string& resource, std::span<const std::string> ids,
                             grant::Grant& grant);

    os::Root proc_;  // root, or the machine's own where root has no /proc
    std::atomic<bool> fail_open_{false};
    GuardRegions regions_;
    GuardLedgers ledgers_;
    GuardTurns turns_;
    GuardEvents events_;
    ContextBook contexts_;
    GuardMeasuring measuring_;  // last: its thread uses all the others
};

/// What the guard's keeping watch needs and nothing else does: SYS_PTRACE (in which pid namespace a
/// process is), KILL (a process that goes around its guard); for limits by the kernel module
/// SYS_ADMIN, too.
std::span<const int> guard_capabilities(bool kernel_limit);

/// Whether a configuration has limits that the guard keeps.
bool needs_guard(const sharing::Sharing& sharing);

/// Where this program has the guard's library: `given`, else lib/ beside its own directory.
std::filesystem::path guard_library(const std::string& given);

}  // namespace aliquot::agent
