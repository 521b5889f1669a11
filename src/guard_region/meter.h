// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gpu/hardware.h"
#include "guard_region/config_file.h"
#include "guard_region/ledger_file.h"
#include "guard_region/overhead_history.h"
#include "guard_region/processes.h"
#include "guard_region/truth.h"

namespace aliquot::guard_region {

/// A region that is measured. The files outlive the measurement.
struct Metered {
    std::string id;
    const LedgerFile* ledger = nullptr;  // nullptr: there is none to be read, `problem` says why
    ConfigFile* config = nullptr;
    std::string problem;
    std::vector<std::string> uuids;  // by place in the config
    /// Whether its processes are known by what is mounted (guard_region/processes.h). Else only those
    /// that have joined count as its own.
    bool by_mount = true;
};

/// One look at one region.
struct Reading {
    std::optional<LedgerView> ledger;  // empty: `problem` says why
    std::string problem;
    std::vector<DeviceReading> devices;  // by place in the config
    std::vector<SlotTruth> truths;       // as told to the guards
};

/// Looks at ledgers and driver, and tells guards what the driver says. Not thread-safe.
///
/// A look at a ledger in which nobody is costs two system calls: a process is measured from the look
/// after the one that has found it.
class Meter {
public:
    /// sensors, processes   must outlive this
    Meter(gpu::Sensors& sensors, HostProcesses& processes)
        : sensors_(sensors), processes_(processes) {}

    /// One look at all of `regions`; each device is asked once. Also says in each config that
    /// somebody measures, unless the driver answered for none of its devices.
    /// returns  by place in `regions`
    std::vector<Reading> look(std::span<const Metered> regions);

private:
    struct Answer {
        bool ok = false;
        std::vector<Held> held;  // of all processes, without slots
    };
    Answer ask(const std::string& uuid);
    void measure(const Metered& region, const Result<LedgerView>& before, Reading& reading);

    gpu::Sensors& sensors_;
    HostProcesses& processes_;
    OverheadHistory overheads_;
    std::set<std::string> used_;  // regions with processes at the last look
};

}  // namespace aliquot::guard_region
