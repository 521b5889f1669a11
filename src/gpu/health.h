// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gpu/hardware.h"

namespace aliquot::gpu {

/// Which Xids make a GPU unhealthy, from NVIDIA's two environment variables.
///
/// By default every Xid does but the application faults 13, 31, 43, 45, 68 and 109.
/// source   NVIDIA k8s-device-plugin, DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS
struct XidPolicy {
    bool ignore_all = false;  // DP_DISABLE_HEALTHCHECKS=all or =xids
    std::set<std::uint64_t>
        ignored;  // application faults and the numbers of DP_DISABLE_HEALTHCHECKS
    std::set<std::uint64_t> enabled;  // DP_ENABLE_HEALTHCHECKS; wins over the other two

    /// Comma lists as the variables hold them; empty text: not set. Unknown words are
    /// kInvalidInput.
    static Result<XidPolicy> from_environment(std::string_view disable, std::string_view enable);
    [[nodiscard]] bool counts(std::uint64_t xid) const;
};

/// The health of each GPU of a node over time, from events and probes. Pure: no clock, no driver.
///
/// A GPU becomes unhealthy by a counting Xid, by enumerating badly or by not answering a probe, and
/// healthy again when it answers a probe and either the driver reports recovery action 0, or (for a
/// driver without that field) it had stopped answering since, which is what a reset looks like.
/// A GPU that only failed to answer is healthy as soon as it answers again.
/// Not thread-safe.
class HealthBook {
public:
    explicit HealthBook(XidPolicy policy) : policy_(std::move(policy)) {}

    /// Each of these returns true when the health of some GPU changed.
    bool note_inventory(const Inventory& inventory);
    bool note_faults(std::span<const FaultEvent> faults);
    bool note_probes(std::span<const Probe> probes);

    [[nodiscard]] Health health_of(const Uuid& gpu) const;

private:
    struct Record {
        std::string fault;        // the counting Xid, in words; empty: none
        std::string silence;      // why it does not answer; empty: it does
        bool was_silent = false;  // has it stopped answering since `fault`?
        friend bool operator==(const Record&, const Record&) = default;
    };
    XidPolicy policy_;
    std::map<Uuid, Record> records_;
};

/// "Xid 79: GPU has fallen off the bus"; without a text for numbers that we do not know.
std::string xid_text(std::uint64_t xid);

}  // namespace aliquot::gpu
