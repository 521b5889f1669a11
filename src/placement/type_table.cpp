// SPDX-License-Identifier: Apache-2.0
#include "placement/type_table.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace aliquot::placement {
namespace {

constexpr TypeTable::Row kUnmade = 0xFFFF'FFFF;
constexpr double kSmallest = 50;            // milli: still smaller types weigh no more than this
constexpr std::int64_t kMemorySteps = 256;  // of a device, in which rows tell free memory apart
constexpr std::int64_t kMostRoom = 1000;    // parts of tasks on one device, for the 16-bit sums

std::int32_t typical_device_mib(const NodeTable& node_table, std::uint64_t models) {
    std::int32_t most = 0;
    for (NodeId id = 0; id < node_table.size(); ++id) {
        const Node& node = node_table.node(id);
        if (node.devices > 0 && ((models >> node.model) & 1U) != 0)
            most = std::max(most, node.device_mib);
    }
    return most;
}

}  // namespace

double power_of(double x, int quarters) {
    const double root = std::sqrt(std::sqrt(x));
    const unsigned times = static_cast<unsigned>(std::abs(quarters));
    double whole = 1;
    for (unsigned i = 0; i < times / 4; ++i) whole *= x;
    for (unsigned i = 0; i < times % 4; ++i) whole *= root;
    return quarters < 0 ? 1 / whole : whole;
}

void TypeTable::reset(const NodeTable& node_table, std::span<const TaskType> types,
                      double size_exponent) {
    types_.clear();
    by_memory_ = false;
    for (const TaskType& type : types.first(std::min<std::size_t>(types.size(), kMostTypes))) {
        types_.push_back({.shape = node_table.shape_of(type.request),
                          .popularity = type.popularity,
                          .seldom = type.seldom});
        by_memory_ = by_memory_ || type.request.mib > 0;
    }
    rows_.assign(kBlockOfTypes, 0);
    starts_.clear();
    free_.clear();
    waste_.clear();
    known_.clear();
    models_.assign(node_table.model_count(), {});
    for (std::size_t model = 0; model < models_.size(); ++model) {
        Model& list = models_[model];
        list.plain.fill(kUnmade);
        for (const bool single : {true, false}) {
            for (unsigned i = 0; i < count(); ++i) {
                const Shape& shape = types_[i].shape;
                if (shape.gpus == 0 || ((shape.models >> model) & 1U) == 0) continue;
                if ((shape.gpus == 1) != single) continue;
                list.per_milli[list.types.size()] =
                    shape.cpu > 0 ? 1 / static_cast<float>(shape.cpu) : 2 * kMostSlots;
                list.per_gpu[list.types.size()] = 1 / static_cast<float>(shape.gpus);
                list.types.push_back(static_cast<std::uint8_t>(i));
                list.gpus.push_back(shape.gpus);
                list.cpu.push_back(shape.cpu);
            }
            if (single) list.singles = list.types.size();
        }
        list.blocks =
            static_cast<unsigned>((list.types.size() + kBlockOfTypes - 1) / kBlockOfTypes);
    }
    weigh(node_table, size_exponent);
    nest();
    expect_waste();
}

void TypeTable::weigh(const NodeTable& node_table, double size_exponent) {
    const int quarters = static_cast<int>(std::lround(size_exponent * 4));
    double sum = 0;
    mean_demand_ = 0;
    for (Type& type : types_) {
        const Shape& shape = type.shape;
        double part = shape.milli;
        if (shape.mig) {
            for (const MigProfile* profile : shape.profiles)
                if (profile != nullptr) part = std::max<double>(part, profile->milli);
        } else if (shape.mib > 0 && !shape.is_whole()) {
            const std::int32_t mib = typical_device_mib(node_table, shape.models);
            if (mib > 0) part = std::max(part, std::min(1000.0, 1000.0 * shape.mib / mib));
        }
        type.size = part * shape.gpus;
        type.weight = type.popularity;
        if (shape.gpus > 0)
            type.weight *= power_of(std::max(part, kSmallest) / kWholeGpu, quarters);
        sum += type.weight;
        mean_demand_ += type.popularity * type.size;
    }
    for (Type& type : types_) type.weight = sum > 0 ? type.weight / sum : 0;
}

void TypeTable::nest() {
    for (Type& type : types_) {
        for (const Type& other : types_) {
            if (other.shape.gpus == 0 || (other.shape.models & ~type.shape.models) != 0) continue;
            if (type.shape.mig &&
                (!other.shape.mig || other.shape.mig_profile != type.shape.mig_profile))
                continue;
            type.nested += other.popularity;
            type.nested_demand += other.popularity * other.size;
        }
    }
}

void TypeTable::expect_waste() {
    for (std::int32_t free = 0; free <= kWholeGpu; ++free) {
        double fitting = 0;
        double left = 0;
        for (const Type& type : types_) {
            const Shape& shape = type.shape;
            if (shape.gpus != 1 || shape.mig || shape.milli == 0 || shape.milli > free) continue;
            fitting += type.popularity;
            left += type.popularity * share_waste_[static_cast<std::size_t>(free - shape.milli)];
        }
        share_waste_[static_cast<std::size_t>(free)] = fitting > 0 ? left / fitting : free;
    }
}

TypeTable::Row TypeTable::row(const Node& node, std::uint16_t milli, std::int32_t mib, bool mig) {
    if (!mig && !by_memory_) {
        // Memory decides only whether the device counts as whole.
        const bool touched = milli == kWholeGpu && mib != node.device_mib;
        Row& plain = models_[node.model].plain[touched ? kWholeGpu + 1 : milli];
        if (plain == kUnmade) plain = make_row(node, milli, mib, false);
        return plain;
    }
    std::uint64_t key = (std::uint64_t{node.model} << 56U) | (mig ? 1ULL << 55U : 0) | milli;
    if (!mig) {
        const std::int64_t steps =
            node.device_mib > 0 ? std::int64_t{mib} * kMemorySteps / node.device_mib : 0;
        mib = static_cast<std::int32_t>(steps * node.device_mib / kMemorySteps);
        key |= (static_cast<std::uint64_t>(steps) << 12U) |
               (static_cast<std::uint64_t>(node.device_mib & 0x3FFFFFF) << 24U);
    }
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    const Row made = make_row(node, milli, mib, mig);
    known_.emplace(key, made);
    return made;
}

TypeTable::Row TypeTable::make_row(const Node& node, std::uint16_t milli, std::int32_t mib,
                                   bool mig) {
    Node one;  // a node with this device alone, to ask the node table's own test
    one.devices = 1;
    one.model = node.model;
    one.device_mib = node.device_mib;
    one.mig_devices = mig ? 1 : 0;
    one.milli[0] = milli;
    one.mib[0] = mib;
    one.memory_used = !mig && mib != node.device_mib ? 1 : 0;
    std::int64_t free = milli;
    if (mig) {
        free = kWholeGpu * (8 - std::popcount(static_cast<std::uint8_t>(milli))) / 8;
    } else if (by_memory_ && node.device_mib > 0) {
        free = std::min<std::int64_t>(free, std::int64_t{1000} * mib / node.device_mib);
    }
    const auto made = static_cast<Row>(free_.size());
    free_.push_back(static_cast<std::int32_t>(free));
    waste_.push_back(mig ? 0 : share_waste_[static_cast<std::size_t>(free)]);
    const Model& list = models_[node.model];
    const std::size_t padded = list.padded();
    starts_.push_back(static_cast<std::uint32_t>(rows_.size()) - kBlockOfTypes);
    rows_.resize(rows_.size() + 2 * padded, 0);
    std::int16_t* const usable = rows_.data() + starts_.back();
    std::int16_t* const room = usable + padded;
    for (std::size_t i = 0; i < list.types.size(); ++i) {
        const Shape& shape = types_[list.types[i]].shape;
        if (!NodeTable::device_fits(one, 0, shape)) continue;
        usable[i] = static_cast<std::int16_t>(free);
        std::int64_t parts = kMostRoom;
        if (shape.mig)
            parts = mig_room(*NodeTable::profile_on(one, shape), static_cast<std::uint8_t>(milli));
        if (shape.milli > 0) parts = std::min<std::int64_t>(parts, milli / shape.milli);
        if (shape.mib > 0) parts = std::min<std::int64_t>(parts, mib / shape.mib);
        room[i] = static_cast<std::int16_t>(parts);
    }
    return made;
}

// Below, loops over whole blocks, so that the compiler does eight entries at a time.

void TypeTable::sum_up(const Node& node, std::int16_t* sums) {
    const std::size_t count = 2 * models_[node.model].padded();
    const Row first = row(node, 0);
    std::copy_n(entries(first), count, sums);
    for (unsigned device = 1; device < node.devices; ++device) {
        const Row next = row(node, device);
        const std::int16_t* const values = entries(next);
        for (std::size_t i = 0; i < count; ++i)
            sums[i] = static_cast<std::int16_t>(sums[i] + values[i]);
    }
}

void TypeTable::exchange(std::int16_t* sums, const Exchange& node, const Model& model) {
    for (std::size_t i = 0; i < 2 * model.padded(); ++i)
        sums[i] = static_cast<std::int16_t>(node.sums[i] + node.after[i] - node.before[i]);
}

void TypeTable::limit(Finds& finds, const Model& model, std::int32_t cpu) {
    std::int16_t* const __restrict slots = finds.slots.data();
    std::int16_t* const __restrict usable = finds.usable.data();
    const std::size_t padded = model.padded();
    if (cpu < kMostExactCpu) {
        // Half a milli keeps a whole quotient whole; any other is further from the next one.
        const float some = static_cast<float>(cpu) + 0.5F;
        const float* const __restrict each = model.per_milli.data();
        for (std::size_t i = 0; i < padded; ++i) {
            const float most = some * each[i];
            const auto count = static_cast<std::int16_t>(
                static_cast<std::int32_t>(most < kMostSlots ? most : kMostSlots));
            slots[i] = slots[i] < count ? slots[i] : count;
        }
    } else {
        for (std::size_t i = 0; i < model.types.size(); ++i)
            if (model.cpu[i] > 0)
                slots[i] =
                    static_cast<std::int16_t>(std::min<std::int32_t>(slots[i], cpu / model.cpu[i]));
    }
    for (std::size_t i = 0; i < padded; ++i) usable[i] = slots[i] > 0 ? usable[i] : std::int16_t{0};
}

void TypeTable::find(Finds& finds, const Exchange& node, const Model& model, std::int32_t cpu) {
    const std::size_t padded = model.padded();
    std::int16_t* const __restrict usable = finds.usable.data();
    std::int16_t* const __restrict slots = finds.slots.data();
    for (std::size_t i = 0; i < padded; ++i) {
        const std::size_t room = padded + i;
        usable[i] = static_cast<std::int16_t>(node.sums[i] + node.after[i] - node.before[i]);
        slots[i] =
            static_cast<std::int16_t>(node.sums[room] + node.after[room] - node.before[room]);
    }
    // A task of several GPUs takes them whole: each has one part of it.
    for (std::size_t i = model.singles; i < model.types.size(); ++i)
        slots[i] = static_cast<std::int16_t>(slots[i] / model.gpus[i]);
    limit(finds, model, cpu);
}

std::size_t TypeTable::bytes() const {
    return rows_.capacity() * sizeof(std::int16_t) + free_.capacity() * 2 * sizeof(std::int32_t) +
           models_.size() * sizeof(Model) + waste_.capacity() * sizeof(double) + known_.size() * 48;
}

}  // namespace aliquot::placement
