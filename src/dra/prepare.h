// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "claims/claim.h"
#include "dra/device.h"
#include "grant/grant.h"

namespace aliquot::dra {

/// How kubelet names a claim.
struct ClaimName {
    std::string name_space;
    std::string name;
    std::string uid;
    friend bool operator==(const ClaimName&, const ClaimName&) = default;
};
/// "ai/train"; where only its uid is known "with uid 8f2c".
std::string to_text(const ClaimName& claim);

/// One device that a claim was given.
struct PreparedDevice {
    std::string request;  // without the name of a firstAvailable entry
    std::string pool;
    std::string device;
    std::string share;  // the id of its part of a consumable device; empty: all of the device
    std::string uuid;   // of the GPU or MIG device; empty: it is still to be made
    std::string gpu;    // that it is of
    std::string cdi_name;
    Device::Kind kind = Device::Kind::kGpu;
    bool admin = false;
    bool whole = false;  // nobody else may have any of this GPU (of a MIG device: of it)
    std::uint64_t memory_bytes = 0;  // that it takes of the GPU's memory; 0: not counted
    unsigned compute_percent = 0;    // that it takes of the GPU's time; 0: none is promised
    grant::Limits limits;            // that the guard keeps; none for adminAccess
    std::optional<Cut> cut{};        // of a GPU that claims cut: what is made for it
    friend bool operator==(const PreparedDevice&, const PreparedDevice&) = default;
};

/// "<uid>-0.part.GPU-8a6b", "<uid>-1.all.MIG-17c4": the name of a device for container runtimes, never used again.
/// kubelet tells it in PodResources, so it says what is held.
std::string device_name(std::string_view uid, std::size_t number, bool whole,
                        std::string_view uuid);
/// What it says, as a device plugin names devices: "GPU-8a6b::0", "MIG-17c4"; empty: it is no such name.
std::string device_id_of(std::string_view cdi_name);

/// What is kept of a claim from its Prepare to its Unprepare.
struct PreparedClaim {
    enum class State : std::uint8_t {
        kBegun,
        kPrepared,
        kLost,  // its note cannot be read; the devices are whole, `gpu` of a MIG device is itself; none: nobody knows
    };

    ClaimName claim;
    State state = State::kBegun;
    std::string boot;  // id of the boot in which it was prepared
    std::vector<PreparedDevice> devices;
    std::vector<std::string> pods;            // uids of pods that it was reserved for
    std::vector<grant::Grant::Mount> mounts;  // of the guard
    std::map<std::string, std::string> environment;
    friend bool operator==(const PreparedClaim&, const PreparedClaim&) = default;

    [[nodiscard]] bool limited() const;
    /// Whether a GPU must be cut for it.
    [[nodiscard]] bool needs_cut() const;
    [[nodiscard]] bool holds_unknown() const { return state == State::kLost && devices.empty(); }
};
/// Why nothing more is given away while claim.holds_unknown(), and what to do.
std::string holds_unknown_text(const PreparedClaim& claim);
using PreparedClaims = std::map<std::string, PreparedClaim>;  // by uid

/// What Prepare decides from.
struct PrepareInput {
    std::span<const Device> devices;  // of this node
    std::string pool;
    const PreparedClaims& prepared;
};

/// Decides what `claim` gets: limits from consumedCapacity, else from the share, else from its configuration. The
/// last line of defence against a device given twice: what does not fit beside the other claims is refused. Pure.
/// errors   kConflict: another claim with this name (its uid is another); not allocated (yet); a device that others
///          hold; kUnavailable: nothing tells what some other claim holds; kInvalidInput: configuration; kNotFound: a device that this node has not
Result<PreparedClaim> decide_prepare(const ClaimName& asked, const claims::Claim& claim,
                                     const PrepareInput& input);

/// Why `wanted` is not given while another claim has `held`; empty: nothing but the sums of what they take is. Pure.
std::string in_the_way(const PreparedDevice& wanted, const PreparedDevice& held);

/// What a container that gets this claim is given: for the guard.
std::vector<grant::Grant::Share> shares_of(const PreparedClaim& claim);

}  // namespace aliquot::dra
