// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "admission/claim_request.h"
#include "claims/claim.h"
#include "k8s/node.h"
#include "pins/pinned_pod.h"

namespace aliquot::pins {

/// A device of ours that claims may have.
struct Gpu {
    claims::DeviceId id;
    std::string node;
    std::string uuid;  // of a MIG device its GPU's
    std::string model;
    bool shared = false;                                // several claims, by size
    bool whole_gpu = true;                              // its type is "gpu", not "share" nor "mig"
    std::string mig_profile{};                          // "3g.20gb"; empty: no MIG device
    std::map<std::string, claims::Amounts> consumes{};  // of its pool: counter set, counter
    std::uint64_t memory_bytes = 0;
    std::uint64_t memory_step = 1;
    std::uint64_t used_bytes = 0;
    unsigned used_percent = 0;
    bool taken = false;               // a claim has all of it
    std::set<std::string> holders{};  // claims, "ai/aq-1"
};

/// What a request takes of a GPU.
struct Part {
    std::uint64_t bytes = 0;
    unsigned percent = 0;
};

/// What is free on the GPUs that the agents publish, by what claims hold; claims of others on our class are taken as
/// they are. Not thread-safe.
class Room {
public:
    /// Of the newest generation of each pool of one node; without those that are tainted or whose uuid is no plain text.
    Room(const std::vector<claims::Slice>& slices, const std::vector<k8s::Node>& nodes);

    /// A claim that is allocated holds what its allocation says; one that waits with a GPU of its own what its pod asks for.
    void take(const KnownClaim& claim, const admission::ClaimRequest* request);
    void give_back(const KnownClaim& claim, const admission::ClaimRequest* request);

    struct Place {
        std::vector<std::string> gpus;  // uuids, of one node
        bool consumes = false;
    };
    /// The best place by the engine of placement, on a node that the pod may go to; empty: there is none now.
    /// without   uuids that are not to be taken
    std::optional<Place> choose(const PinnedPod& pod, const std::set<std::string>& without);
    /// Whether some GPU would fit, were they all free.
    [[nodiscard]] bool could_ever(const PinnedPod& pod) const;
    /// Whether claims of a part are to name their size: any GPU is shared, or there is none to tell.
    [[nodiscard]] bool consumes() const;

    [[nodiscard]] const std::vector<Gpu>& gpus() const { return gpus_; }
    [[nodiscard]] bool fits(const Gpu& gpu, const admission::ClaimRequest& request) const;
    /// The node is there, ready, not cordoned, and takes the pod by its labels and taints.
    [[nodiscard]] bool admits(const Gpu& gpu, const scheduling::GpuPod& pod) const;
    /// `fits`, when these claims had ended: of one GPU.
    [[nodiscard]] bool fits_without(const Gpu& gpu, const admission::ClaimRequest& request,
                                    const std::vector<const KnownClaim*>& gone) const;

private:
    [[nodiscard]] static Part part_of(const Gpu& gpu, const admission::ClaimRequest& request);
    void change(const KnownClaim& claim, const admission::ClaimRequest* request, bool take);
    void change(Gpu& gpu, const Part& part, const std::string& claim, bool take);
    /// What a device takes of the counters of its pool is there.
    [[nodiscard]] bool has_counters(const Gpu& gpu) const;
    Room() = default;
    /// Of some GPUs of one pool alone.
    [[nodiscard]] Room part(std::span<const Gpu> gpus) const;
    /// Takes as many as fit, up to `request.count`, and says how many; `gpus` gets where.
    unsigned fill(const admission::ClaimRequest& request, const std::set<std::string>& without,
                  std::vector<std::string>& gpus);
    /// Several of one node, or MIG devices.
    std::optional<Place> choose_together(const PinnedPod& pod,
                                         const std::set<std::string>& without) const;
    std::optional<Place> choose_shared(const PinnedPod& pod, const std::set<std::string>& without);
    std::optional<Place> choose_whole(const PinnedPod& pod, const std::set<std::string>& without);

    std::vector<Gpu> gpus_;
    std::map<std::string, k8s::Node> nodes_;
    /// By pool, counter set and counter: what there is, and what is taken of it.
    struct Counter {
        k8s::Quantity::Nanos all = 0;
        k8s::Quantity::Nanos used = 0;
    };
    std::map<std::tuple<std::string, std::string, std::string>, Counter> counters_;
};

}  // namespace aliquot::pins
