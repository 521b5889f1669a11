// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/latest.h"
#include "gpu/hardware.h"
#include "gpu/health.h"
#include "os/clock.h"

namespace aliquot::agent {

/// What is known of this node's GPUs: the newest inventory, each Gpu with the health that
/// enumeration, events and probes add up to.
struct Observation {
    gpu::Inventory inventory;
    std::string driver_problem;  // why the driver as a whole does not answer; empty: it does
    std::map<gpu::Uuid, std::vector<gpu::SeenXid>> xids;  // the last ones of each GPU
    std::map<gpu::Uuid, std::vector<gpu::XidCount>> xid_counts;
    std::set<gpu::Uuid> withheld;  // GPUs that nobody shall get, though they are well
    std::string withheld_reason;
};

/// The GPUs as kubelet shall see them: those withheld are unhealthy, and their MIG devices.
gpu::Inventory offerable(const Observation& seen);

struct ObserverOptions {
    std::chrono::milliseconds probe_interval{2000};
    std::chrono::milliseconds enumerate_interval{30'000};
    std::chrono::milliseconds fault_wait{
        500};  // one wait for events; bounds how late a stop is seen
};

/// Watches the GPUs on a thread of its own and publishes what it sees. A driver that does not
/// answer changes nothing in the inventory that is served: it says nothing about the GPUs.
class Observer {
public:
    /// sensors, clock   must outlive the Observer
    Observer(gpu::Sensors& sensors, os::Clock& clock, gpu::XidPolicy policy,
             ObserverOptions options);
    ~Observer();

    /// Enumerates once on the calling thread, publishes, then starts watching.
    /// errors   what the first enumeration said; the watching has started all the same
    Result<Done> start();

    [[nodiscard]] const Latest<Observation>& observations() const { return latest_; }

    /// From now on these GPUs are withheld, and no others. Returns the version of the observation
    /// that says so. Thread-safe; waits for a look at the GPUs that is under way.
    std::uint64_t withhold(std::set<gpu::Uuid> gpus, std::string reason);
    /// Looks at the GPUs on the calling thread and publishes what is there. Returns the version.
    /// Thread-safe.
    std::uint64_t look_now();

private:
    void watch(const std::stop_token& stop);
    bool enumerate(gpu::Links links);
    bool probe();
    /// errors   the driver as a whole does not answer
    Result<bool> ask_each();
    bool look_at_instances();
    bool note_events(const std::vector<gpu::FaultEvent>& events);
    bool note_driver_problem(const Error& error);

    void publish();

    gpu::Sensors& sensors_;
    os::Clock& clock_;
    ObserverOptions options_;
    std::mutex looking_;  // guards what follows, up to latest_; held during a look, not between two
    gpu::HealthTracker book_;
    gpu::Inventory inventory_;
    std::string driver_problem_;
    std::set<gpu::Uuid> withheld_;
    std::string withheld_reason_;
    Latest<Observation> latest_;
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace aliquot::agent
