// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "claims/device.h"
#include "k8s/node.h"
#include "pins/pinned_pod.h"

namespace aliquot::pins {

/// What is known of a cluster at one moment.
struct World {
    std::vector<PinnedPod> pods;
    std::vector<claims::Slice> slices;
    std::vector<KnownClaim> claims;  // of everybody
    std::vector<k8s::Node> nodes;
};

struct Rules {
    /// How long kube-scheduler may say that a pod cannot have its claim's GPU before another one is chosen.
    std::chrono::seconds patience{10};
    unsigned quick_tries = 5;  // after so many each wait is twice as long, up to
    std::chrono::seconds longest_wait{300};
    bool preemption = false;  // pods of a lower priority may be evicted for one that has no GPU
};

/// One thing to be done for one pod.
struct Act {
    enum class Kind : std::uint8_t {
        kCreate,   // the claim
        kReplace,  // the claim, which is not allocated, by another one
        kEvict,    // pods of a lower priority; its claim is made when they have gone
        kSay,      // nothing; people should know why
    };
    Kind kind = Kind::kSay;
    std::string name_space;
    std::string pod;
    std::string pod_uid;
    std::string claim;
    std::string json{};  // kCreate, kReplace: of the new claim
    // kReplace: of the old one; whatever became of it since holds.
    std::string old_uid{};
    std::string old_version{};
    std::vector<std::pair<std::string, std::string>> victims{};  // kEvict: namespace and name
    std::string note{};  // one line, for an Event; empty: none
};

/// What is to be done now for pods that wait, in the order of the queue: higher priority first, then older. Pure.
std::vector<Act> decide(const World& world, const Rules& rules,
                        std::chrono::system_clock::time_point now);

}  // namespace aliquot::pins
