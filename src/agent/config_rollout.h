// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/recent_grants.h"
#include "agent/served_record.h"
#include "base/result.h"
#include "gpu/inventory.h"
#include "os/clock.h"
#include "os/root.h"
#include "pods/device_holds.h"
#include "sharing/rollout.h"

namespace aliquot::agent {

/// Brings a node from what it serves to what is configured without a GPU ever being given to two:
/// finds out who holds what, has sharing::roll_out() decide, and keeps the record of what is
/// served. kubelet is asked only while something is not as it is configured. Used by one thread.
class ConfigRollout {
public:
    struct Sources {
        RecentGrants& grants;
        pods::HoldReader::List pods;
        /// What kubelet may give away, as kubelet::PodResources::allocatable() tells.
        std::function<Result<std::vector<std::string>>(std::chrono::milliseconds)> allocatable;
    };
    struct Options {
        std::string record;  // host path
        pods::HoldOptions holds{};
        std::chrono::milliseconds first_look{20};       // while kubelet hears of withdrawn devices
        std::chrono::milliseconds between_looks{1000};  // while pods hold something
        std::chrono::milliseconds kubelet_hears{2000};  // where it does not tell what it gives away
        std::chrono::milliseconds without_answer{10'000};  // then only what is written counts
    };

    /// root and clock must outlive this. Reads the record of an earlier agent.
    ConfigRollout(const os::Root& root, os::Clock& clock, Sources sources, Options options);

    /// What is to be offered now on the way to `wanted`. Until finish(), nothing is granted of the
    /// devices that change, and the record says already how they are served then.
    /// returns  empty: pods came between; to be asked again at once
    std::optional<sharing::Rollout> begin(const sharing::Offer& wanted,
                                          const gpu::Inventory& inventory);
    /// The offer is carried out; what need not be recorded before is recorded now.
    void finish(const sharing::Offer& offer);

    [[nodiscard]] const sharing::ServedDevices& served() const { return content_.served; }
    /// Whether idle devices are between one service and the next.
    [[nodiscard]] bool is_closing() const { return closing_; }
    /// How long nothing can have changed, if nothing else is new; empty: for ever.
    [[nodiscard]] std::optional<std::chrono::milliseconds> next_look() const;

private:
    [[nodiscard]] bool is_steady(const sharing::Offer& wanted) const;
    sharing::RolloutFacts facts(const sharing::Offer& wanted, const gpu::Inventory& inventory);
    std::vector<sharing::DeviceHold> holds_of(const pods::DeviceHolds& seen);
    std::set<gpu::Uuid> withdrawn();
    [[nodiscard]] bool must_come_first(const ServedRecord::Content& next) const;
    bool commit(const sharing::Rollout& round, std::uint64_t version);
    void note(const sharing::Rollout& round);

    os::Clock& clock_;
    Sources sources_;
    Options options_;
    ServedRecord record_;
    ServedRecord::Content content_;
    pods::HoldReader reader_;
    bool looked_ = false;   // at what is written, once
    bool settled_ = false;  // the last round left nothing to do
    bool unsettled_holds_ = false;
    bool closing_ = false;
    std::string record_problem_;
    std::map<gpu::Uuid, os::TimePoint> closed_;  // devices of which nothing is offered, since when
    std::set<gpu::Uuid> offered_;                // devices that this process has ever offered
    std::vector<sharing::WaitingDevice> told_;
    std::chrono::milliseconds pause_{};
};

}  // namespace aliquot::agent
