// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "placement/cluster.h"
#include "placement/request.h"

namespace aliquot::placement {

inline constexpr std::uint8_t kNoModel = 0xFF;
inline constexpr unsigned kMostModels = 64;

/// What is free on one node, in the form the scores read: one cache line, and one more for GPU memory.
struct alignas(64) Node {
    std::int32_t cpu = 0;     // milli
    std::int32_t memory = 0;  // MiB
    std::uint8_t devices = 0;
    std::uint8_t model = kNoModel;
    std::uint16_t mig_devices = 0;        // bit per device
    std::uint16_t memory_used = 0;        // bit per device: some of its memory is taken
    std::uint16_t most_free : 11 = 0;     // milli, of any one device that is not in MIG mode
    std::uint16_t whole_devices : 5 = 0;  // for which is_whole() holds
    std::int32_t device_mib = 0;          // of one device
    std::uint32_t live = 0;               // placements on it
    std::uint64_t device_sum = 0;  // sum of device_hash() of all devices: equal states, equal sums
    std::array<std::uint16_t, kMostDevices>
        milli{};  // free compute; in MIG mode: the mask of taken slices
    std::array<std::int32_t, kMostDevices> mib{};  // free memory
    std::uint32_t position = 0;                    // in rank order

    /// mib[device], without a look at the second line where nothing of it is taken.
    [[nodiscard]] std::int32_t free_mib(unsigned device) const {
        return ((memory_used >> device) & 1U) != 0 ? mib[device] : is_mig(device) ? 0 : device_mib;
    }
    [[nodiscard]] bool same_state(unsigned a, unsigned b) const {
        return milli[a] == milli[b] && is_mig(a) == is_mig(b) && free_mib(a) == free_mib(b);
    }
    /// A device of a lower index is in the same state.
    [[nodiscard]] bool is_like_earlier(unsigned device) const {
        for (unsigned i = 0; i < device; ++i)
            if (same_state(i, device)) return true;
        return false;
    }
    [[nodiscard]] bool is_mig(unsigned device) const { return ((mig_devices >> device) & 1U) != 0; }
    [[nodiscard]] bool is_whole(unsigned device) const {
        return milli[device] == kWholeGpu &&
               ((static_cast<unsigned>(memory_used) | mig_devices) >> device & 1U) == 0;
    }
};

/// A request with its names turned into numbers.
struct Shape {
    std::int32_t cpu = 0;
    std::int32_t memory = 0;
    std::uint8_t gpus = 0;
    bool mig = false;
    std::uint16_t milli = 0;
    std::int32_t mib = 0;
    std::uint64_t models = 0;  // bit i: model i; of a request without GPU: all
    std::string mig_profile;
    std::vector<const MigProfile*> profiles;  // by model; nullptr: that model has no such profile

    [[nodiscard]] bool is_share() const { return gpus == 1 && !mig && milli < kWholeGpu; }
    [[nodiscard]] bool is_whole() const { return gpus > 0 && !mig && milli == kWholeGpu; }
};

/// Devices and, for MIG, the first slice.
struct Spot {
    std::uint8_t count = 0;
    std::uint8_t mig_start = 0;
    std::array<std::uint8_t, kMostDevices> device{};
};

/// The ledger: what every node has free. Refuses what does not fit; knows nothing of scores.
class NodeTable {
public:
    Result<Done> add_geometry(MigGeometry geometry);
    Result<NodeId> add_node(NodeSpec spec);

    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] const Node& node(NodeId id) const { return nodes_[id]; }
    [[nodiscard]] Node& node(NodeId id) { return nodes_[id]; }
    [[nodiscard]] const NodeSpec& spec(NodeId id) const { return specs_[id]; }

    /// The number of a model name; kNoModel when no node has it.
    [[nodiscard]] std::uint8_t model_of(const std::string& name) const;
    [[nodiscard]] const std::string& model_name(std::uint8_t model) const { return models_[model]; }
    [[nodiscard]] std::size_t model_count() const { return models_.size(); }
    [[nodiscard]] Shape shape_of(const Request& request) const;
    /// The MIG profile that the shape names, on the model of this node; nullptr when it has none.
    [[nodiscard]] static const MigProfile* profile_on(const Node& node, const Shape& shape) {
        return node.model < shape.profiles.size() ? shape.profiles[node.model] : nullptr;
    }

    /// Whether one device takes one part of the shape.
    [[nodiscard]] static bool device_fits(const Node& node, unsigned device, const Shape& shape) {
        if (shape.mig) return mig_fits(node, device, shape);
        if (shape.milli == kWholeGpu) return node.is_whole(device);
        return node.milli[device] >= shape.milli && !node.is_mig(device) &&
               (shape.mib == 0 || node.mib[device] >= shape.mib);
    }
    /// Enough devices, CPU, memory and the right model; labels are not looked at.
    [[nodiscard]] static bool fits(const Node& node, const Shape& shape) {
        if (node.cpu < shape.cpu || node.memory < shape.memory) return false;
        if (shape.gpus == 0) return true;
        if (node.devices < shape.gpus || ((shape.models >> node.model) & 1U) == 0) return false;
        if (!shape.mig && shape.milli == kWholeGpu) return node.whole_devices >= shape.gpus;
        if (!shape.mig && shape.mib == 0 && shape.gpus == 1) return node.most_free >= shape.milli;
        unsigned wanted = shape.gpus;
        for (unsigned i = 0; i < node.devices; ++i)
            if (device_fits(node, i, shape) && --wanted == 0) return true;
        return false;
    }
    [[nodiscard]] static unsigned fitting_devices(const Node& node, const Shape& shape);
    /// Whether exactly these devices are free for it.
    [[nodiscard]] static bool fits_at(const Node& node, const Shape& shape, const Spot& spot);
    /// Lowest start that leaves the most room; the device must fit.
    [[nodiscard]] std::uint8_t mig_start(const Node& node, unsigned device,
                                         const Shape& shape) const;

    /// Leaves of `node` what is free in both states of it.
    static void keep_common(Node& node, const Node& other);

    /// The spot must fit.
    void take(NodeId id, const Shape& shape, const Spot& spot);
    void give(NodeId id, const Shape& shape, const Spot& spot);

    /// The same on a copy of a node.
    static void take_from(Node& node, const Shape& shape, const Spot& spot) {
        change(node, shape, spot, 1);
    }
    static void put_back(Node& node, const Shape& shape, const Spot& spot) {
        change(node, shape, spot, -1);
    }

    [[nodiscard]] std::int64_t capacity_milli() const { return capacity_; }
    [[nodiscard]] std::int64_t free_milli() const { return free_; }
    /// CPU that is free on nodes with GPUs.
    [[nodiscard]] std::int64_t free_cpu_beside_gpus() const { return free_cpu_; }

    /// One number per device state; the order of devices plays no part in sums of it.
    static std::uint64_t device_hash(std::uint32_t milli, std::int32_t mib, bool mig) {
        std::uint64_t x = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(mib)) << 24U) ^
                          (milli << 1U) ^ (mig ? 1U : 0U) ^ 0x5851F42D4C957F2DULL;
        x ^= x >> 30U;
        x *= 0xBF58476D1CE4E5B9ULL;
        x ^= x >> 27U;
        x *= 0x94D049BB133111EBULL;
        return x ^ (x >> 31U);
    }
    static std::uint64_t device_hash(const Node& node, unsigned device) {
        return device_hash(node.milli[device], node.free_mib(device), node.is_mig(device));
    }

private:
    static bool mig_fits(const Node& node, unsigned device, const Shape& shape);
    /// most_free and whole_devices.
    static void sum_up_free(Node& node);
    /// Moves the node's free parts; returns by how much its free compute grows, in milli.
    static std::int64_t change(Node& node, const Shape& shape, const Spot& spot, int sign);

    std::vector<Node> nodes_;
    std::vector<NodeSpec> specs_;
    std::vector<std::string> models_;
    std::unordered_map<std::string, std::uint8_t> model_ids_;
    std::unordered_map<std::string, NodeId> names_;
    std::unordered_map<std::string, MigGeometry> geometries_;
    std::int64_t capacity_ = 0;
    std::int64_t free_ = 0;
    std::int64_t free_cpu_ = 0;  // milli, of nodes with GPUs
};

/// Bits of the slices that a profile takes when it starts at `start`.
inline std::uint8_t slices_at(const MigProfile& profile, unsigned start) {
    return static_cast<std::uint8_t>(((1U << profile.width) - 1U) << start);
}

/// How many instances of a profile can still be made beside the taken slices.
unsigned mig_room(const MigProfile& profile, std::uint8_t taken);

}  // namespace aliquot::placement
