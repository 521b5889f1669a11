// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "guard_region/meter.h"
#include "guard_region/processes.h"

namespace aliquot::guard_region {

enum class WatchdogPolicy : std::uint8_t {
    kReport,  // tell
    kKill,    // and end the process
};

/// How far above its limit a container may be before that is told: contexts and kernels grow where
/// no guard can say no.
struct Slack {
    std::optional<double> percent;  // of the limit
    std::optional<std::uint64_t> bytes;
    /// Neither is given: 5 % of the limit, at least 256 MiB.
    [[nodiscard]] std::uint64_t of(std::uint64_t limit_bytes) const;
    friend bool operator==(const Slack&, const Slack&) = default;
};

/// Something that the watchdog found, and whom to end for it.
struct Alarm {
    enum class Kind : std::uint8_t {
        kUnguarded,  // a process has GPU memory and has not joined
        kOverLimit,  // the container holds more than limit and slack
        kLedger,     // the ledger cannot be read: the container has damaged it
    };
    Kind kind = Kind::kUnguarded;
    std::string region;
    std::string uuid;                    // empty for kLedger
    std::optional<HostProcess> process;  // kUnguarded: which; kOverLimit: the one to end
    std::uint64_t held_bytes = 0;        // by the driver: of the process, or of the container
    std::uint64_t limit_bytes = 0;
    bool kill = false;  // `process` is to be ended
};

/// Compares what the driver says with what containers may hold, look by look. What lasts for more
/// than two looks in a row is an alarm, once; ended is at most one process of a container per look,
/// and after that it has time to give back. Not thread-safe.
class Watchdog {
public:
    Watchdog(WatchdogPolicy policy, Slack slack) : policy_(policy), slack_(slack) {}

    void set(WatchdogPolicy policy, Slack slack) {
        policy_ = policy;
        slack_ = slack;
    }

    /// One look at one region.
    /// limits   bytes by place in the config; 0: none
    std::vector<Alarm> look(const std::string& region, const Reading& reading,
                            const std::vector<std::uint64_t>& limits);

    /// Forgets a region that is gone.
    void forget(const std::string& region) { regions_.erase(region); }

private:
    struct Count {
        unsigned looks = 0;
        bool told = false;
    };
    using ProcessKey = std::pair<pid_t, std::uint64_t>;
    struct Seen {
        std::map<ProcessKey, Count> unguarded;
        std::map<std::string, Count> over;  // by uuid
        Count ledger;
    };
    void look_for_unguarded(const std::string& region, const DeviceReading& device,
                            std::uint64_t limit, Seen& seen, std::map<ProcessKey, Count>& now,
                            std::vector<Alarm>& alarms) const;
    void look_at_sum(const std::string& region, const DeviceReading& device, std::uint64_t limit,
                     Seen& seen, std::vector<Alarm>& alarms) const;

    WatchdogPolicy policy_;
    Slack slack_;
    std::map<std::string, Seen> regions_;
};

}  // namespace aliquot::guard_region
