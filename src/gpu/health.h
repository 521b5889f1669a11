// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
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
/// By default those that catalog/xid.h calls a fault of the driver or of the hardware, and those it
/// does not know. A fault of an application (13, 31, 43, 68, 69, 109) is the application's; one
/// that only informs (45, 63, 92, 154, 156) degrades the GPU at most.
/// source   NVIDIA k8s-device-plugin, DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS
struct XidPolicy {
    bool ignore_all = false;          // DP_DISABLE_HEALTHCHECKS=all or =xids
    std::set<std::uint64_t> ignored;  // the numbers of DP_DISABLE_HEALTHCHECKS
    std::set<std::uint64_t> enabled;  // DP_ENABLE_HEALTHCHECKS; wins over all others

    /// Comma lists as the variables hold them; empty text: not set. Unknown words are
    /// kInvalidInput.
    static Result<XidPolicy> from_environment(std::string_view disable, std::string_view enable);
    /// What the GPU is after it: kUnhealthy, kDegraded, or kHealthy (it does not count).
    [[nodiscard]] Health::State effect(std::uint64_t xid) const;
};

/// An Xid that was reported, whether it counted or not.
struct SeenXid {
    std::uint64_t xid = 0;
    Moment at;
    std::optional<unsigned> gpu_instance;
    std::optional<unsigned> compute_instance;
};

/// How often one Xid was reported on a GPU, whether it counted or not.
struct XidCount {
    std::uint64_t xid = 0;
    std::uint64_t count = 0;  // since the agent started
    Moment last;
    friend bool operator==(const XidCount&, const XidCount&) = default;
};

/// The part of a GPU in MIG mode that a fault is about.
struct MigPart {
    unsigned gpu_instance = 0;
    std::optional<unsigned> compute_instance;  // empty: all of the GPU instance
    friend auto operator<=>(const MigPart&, const MigPart&) = default;
};

/// The health of each GPU and MIG device of a node over time, from events and probes. Pure: no
/// clock, no driver; `now` is the caller's.
///
/// A GPU becomes unhealthy by a counting Xid, by enumerating badly, by not answering a probe, when
/// the driver asks for a reset or a reboot, or when its memory can be repaired no more. It becomes
/// healthy again when it answers a probe and either the driver reports recovery action 0, or (for a
/// driver without that field) it had stopped answering since, which is what a reset looks like. A
/// GPU that only failed to answer is healthy as soon as it answers again. An Xid that names a MIG
/// instance takes only the devices of that instance; it ends as the GPU's does, or with the
/// instance. Not thread-safe.
class HealthTracker {
public:
    /// Xids kept of one GPU, newest last.
    static constexpr std::size_t kMostSeen = 16;
    static constexpr std::size_t kMostNumbers = 256;

    explicit HealthTracker(XidPolicy policy) : policy_(std::move(policy)) {}

    /// Each of these returns true when the health of some GPU or MIG device changed, or an Xid was
    /// seen.
    bool note_inventory(const Inventory& inventory, Moment now);
    bool note_faults(std::span<const FaultEvent> faults, Moment now);
    bool note_probes(std::span<const Probe> probes, Moment now);
    /// The driver as a whole cannot be used by new processes, though the GPUs may be well ("library
    /// and kernel module are of different versions"). Empty: it can.
    bool note_driver(std::string_view problem, Moment now);

    [[nodiscard]] Health health_of(const Uuid& gpu) const;
    /// Of the device itself; that of its GPU counts besides.
    [[nodiscard]] Health health_of(const Uuid& gpu, const MigDevice& device) const;
    [[nodiscard]] std::vector<SeenXid> seen_on(const Uuid& gpu) const;
    /// By number; at most kMostNumbers different ones are counted.
    [[nodiscard]] std::vector<XidCount> counted_on(const Uuid& gpu) const;

private:
    struct Fault {
        std::uint64_t xid = 0;
        Health::State effect = Health::State::kHealthy;
        Moment since;
        std::set<Uuid> devices;  // a part's, as they were known; empty: none was
    };
    struct Record {
        std::optional<Fault> fault;      // the last counting Xid of the whole GPU
        std::map<MigPart, Fault> parts;  // and of its MIG instances
        std::string silence;             // why it does not answer; empty: it does
        bool was_silent = false;         // has it stopped answering since `fault`?
        std::optional<unsigned> action;  // the driver's advice
        Condition condition;
        std::map<std::pair<unsigned, unsigned>, Uuid> devices;  // by GPU and compute instance
        std::deque<SeenXid> seen;
        std::map<std::uint64_t, XidCount> counts;
        Health health;                       // what all this adds up to
        std::map<MigPart, Health> of_parts;  // the same for `parts`
    };
    Record& record_of(const Uuid& gpu, Moment now);
    bool settle(Record& record, Moment now) const;
    [[nodiscard]] Health judge(const Record& record) const;

    XidPolicy policy_;
    std::string driver_problem_;
    std::map<Uuid, Record> records_;
};

/// What fixes a GPU that does not answer, by the words that the driver has for it.
std::string advice_for_silence(std::string_view problem);

/// "Xid 79: GPU has fallen off the bus"; without a text for numbers that we do not know.
std::string xid_text(std::uint64_t xid);

}  // namespace aliquot::gpu
