// SPDX-License-Identifier: Apache-2.0
#include "dra/device.h"

#include <algorithm>
#include <array>

#include "base/number.h"
#include "base/text.h"
#include "document/build.h"
#include "dra/counters.h"
#include "dra/joined.h"
#include "gpu/architecture.h"
#include "mig/places.h"

namespace aliquot::dra {
namespace {

using document::make_mapping;
using document::Value;

constexpr std::uint64_t kMebibyte = 1ULL << 20U;
constexpr std::size_t kLongestText = 64;   // of an attribute
constexpr std::size_t kLongestLabel = 63;  // of a name
constexpr std::string_view kStandard = "resource.kubernetes.io/";

/// "gpu-0000-65-00-0" of "0000:65:00.0".
std::string name_of(const gpu::Gpu& gpu) {
    std::string name = "gpu-" + lower(to_text(gpu.pci));
    std::ranges::replace_if(
        name, [](char c) { return c == ':' || c == '.'; }, '-');
    return name;
}

/// One that is there and one that is made for a claim at the same place have the same name.
std::string mig_name(const gpu::Gpu& gpu, const std::string& profile, unsigned start) {
    return concat({name_of(gpu), "-mig-", profile_label(profile), "-", std::to_string(start)});
}

std::string name_of(const gpu::Gpu& gpu, const gpu::MigDevice& mig) {
    std::string name = mig_name(gpu, mig.profile, mig.placement.start);
    if (mig.compute_slices < mig.gpu_slices) name += "-c" + std::to_string(mig.compute_instance);
    return name.substr(0, kLongestLabel);
}

/// "Ada Lovelace" of "ada-lovelace".
std::string architecture_text(std::string_view word) {
    std::string text(word);
    bool first = true;
    for (char& c : text) {
        if (c == '-') c = ' ';
        if (first && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
        first = c == ' ';
    }
    return text;
}

void add_text(Value& attributes, std::string_view name, std::string text) {
    if (text.empty()) return;
    text.resize(std::min(text.size(), kLongestText));
    document::append(attributes, std::string(name), make_mapping({{"string", std::move(text)}}));
}

void add_number(Value& attributes, std::string_view name, std::uint64_t number) {
    document::append(attributes, std::string(name), make_mapping({{"int", number}}));
}

void add_version(Value& attributes, std::string_view name, std::string_view version) {
    const std::string text = semantic_version(version);
    if (text.empty() || text.size() > kLongestText) return;
    document::append(attributes, std::string(name), make_mapping({{"version", text}}));
}

std::string memory_text(std::uint64_t bytes) {
    return bytes % kMebibyte == 0 ? std::to_string(bytes / kMebibyte) + "Mi"
                                  : std::to_string(bytes);
}

void add_capacity(Value& capacity, std::string_view name, std::string value) {
    document::append(capacity, std::string(name), make_mapping({{"value", std::move(value)}}));
}

Value range_policy(const std::string& all, const std::string& min, const std::string& step) {
    return make_mapping(
        {{"value", all},
         {"requestPolicy",
          make_mapping(
              {{"default", all},
               {"validRange", make_mapping({{"min", min}, {"max", all}, {"step", step}})}})}});
}

class Builder {
public:
    Builder(const gpu::Inventory& inventory, const PlaceFacts& places)
        : inventory_(inventory), places_(places) {}

    Device whole(const gpu::Gpu& gpu) const {
        Device device{.name = name_of(gpu),
                      .uuid = gpu.uuid,
                      .gpu = gpu.uuid,
                      .memory_bytes = gpu.memory_bytes,
                      .health = gpu.health};
        Value capacity = document::make_mapping();
        add_capacity(capacity, kMemory, memory_text(gpu.memory_bytes));
        device.published = published(device, gpu, "gpu", std::move(capacity), {});
        return device;
    }

    Device consumable(const gpu::Gpu& gpu) const {
        const std::uint64_t memory = gpu.memory_bytes / kMemoryStep * kMemoryStep;
        if (memory < 2 * kMemoryStep) return whole(gpu);  // one step above min must fit
        Device device{.name = name_of(gpu),
                      .uuid = gpu.uuid,
                      .gpu = gpu.uuid,
                      .memory_bytes = memory,
                      .consumable = true,
                      .health = gpu.health};
        Value capacity = document::make_mapping();
        const std::string step = memory_text(kMemoryStep);
        document::append(capacity, std::string(kMemory),
                         range_policy(memory_text(memory), step, step));
        document::append(capacity, std::string(kCompute), range_policy("100", "0", "1"));
        device.published = published(device, gpu, "gpu", std::move(capacity), {});
        return device;
    }

    /// A configuration may promise more than there is; one of another time may not add to that.
    static unsigned compute_of(const sharing::OfferedGpu& offered) {
        constexpr unsigned kAll = 100;
        unsigned sum = 0;
        for (unsigned i = 0; i < offered.replicas; ++i) {
            const auto& limits = i < offered.shares.size() ? offered.shares[i] : offered.limits;
            sum += limits.compute_percent.value_or(0);
        }
        return std::max(kAll, sum);
    }

    Device share(const sharing::OfferedGpu& offered, const gpu::Gpu& gpu, unsigned number) const {
        const grant::Limits limits =
            number < offered.shares.size() ? offered.shares[number] : offered.limits;
        Device device{.name = name_of(gpu) + "-share-" + std::to_string(number),
                      .kind = Device::Kind::kShare,
                      .uuid = gpu.uuid,
                      .gpu = gpu.uuid,
                      .memory_bytes = limits.memory_bytes.value_or(0),
                      .gpu_memory_bytes = gpu.memory_bytes,
                      .gpu_compute_percent = compute_of(offered),
                      .limits = limits,
                      .health = gpu.health};
        Value capacity = document::make_mapping();
        add_capacity(capacity, kMemory,
                     memory_text(limits.memory_bytes.value_or(gpu.memory_bytes)));
        if (limits.compute_percent) {
            add_capacity(capacity, kCompute, std::to_string(*limits.compute_percent));
        }
        device.published = published(device, gpu, "share", std::move(capacity), {});
        return device;
    }

    Device mig(const gpu::Gpu& gpu, const gpu::MigDevice& part) const {
        Device device{.name = name_of(gpu, part),
                      .kind = Device::Kind::kMig,
                      .uuid = part.uuid,
                      .gpu = gpu.uuid,
                      .memory_bytes = part.memory_bytes,
                      .health = gpu.health.ok() ? part.health : gpu.health};
        Value capacity = mig_capacity(part.memory_bytes, part.multiprocessors,
                                      gpu::MigEngines{.copy = part.copy_engines,
                                                      .decoders = part.decoders,
                                                      .encoders = part.encoders,
                                                      .jpeg = part.jpeg_engines,
                                                      .optical_flow = part.optical_flow_engines});
        device.published = published(device, gpu, "mig", std::move(capacity), part.profile);
        return device;
    }

    /// Of a GPU that claims cut: as a whole, then all that can be cut out of it. Empty: it cannot be told to an API
    /// server.
    std::vector<Device> all_cuts(const gpu::Gpu& gpu, const mig::Geometry& geometry,
                                 Device all) const {
        const std::string set = name_of(gpu);
        auto counters = counter_set(set, geometry);
        if (!counters) return {};
        const auto shared = std::make_shared<const Value>(*std::move(counters));
        std::vector<Device> devices;
        std::set<std::string> together = reset_together(inventory_, gpu);
        const Group group = group_of(together);
        together.erase(gpu.uuid.text);
        const auto along = std::make_shared<const std::set<std::string>>(std::move(together));
        const auto add = [&](Device device, std::optional<mig::Slot> slot) {
            device.counters = {shared};
            if (device.cut->is_off() == gpu.mig_enabled && !along->empty()) {
                device.reset_along = along;
                device.along_counted = group.counters != nullptr && group.alike;
            }
            Value consumed = consumed_counters(set, geometry, slot);
            if (group.counters) {
                device.counters.push_back(group.counters->set());
                consumed.items.push_back(group.counters->consumed(set, device.cut->size));
            }
            document::append(device.published, "consumesCounters", std::move(consumed));
            devices.push_back(std::move(device));
        };
        all.cut = Cut{};
        add(std::move(all), std::nullopt);
        for (const mig::Slot slot : mig::places_of(geometry)) {
            add(cut_device(gpu, geometry.profiles[slot.profile], slot.start), slot);
        }
        return devices;
    }

private:
    struct Group {
        std::shared_ptr<const JoinedCounters> counters;  // null: it cannot be counted
        bool alike = true;                               // all have one MIG mode
    };

    /// Those of the joined GPUs that claims cut.
    Group group_of(const std::set<std::string>& uuids) const {
        Group group;
        std::map<std::string, unsigned> members;
        std::set<bool> modes;
        for (const gpu::Gpu& gpu : inventory_.gpus) {
            const auto cut = places_.cut_by_claims.find(gpu.uuid);
            if (!uuids.contains(gpu.uuid.text) || cut == places_.cut_by_claims.end()) continue;
            members.emplace(name_of(gpu), cut->second.memory_slices);
            modes.insert(gpu.mig_enabled);
        }
        group.alike = modes.size() < 2;
        if (members.size() > 1) {
            group.counters = std::make_shared<const JoinedCounters>(std::move(members));
        }
        if (group.counters && !group.counters->set()) group.counters = nullptr;
        return group;
    }

    /// Made when a claim is prepared.
    Device cut_device(const gpu::Gpu& gpu, const mig::Profile& profile, unsigned start) const {
        Device device{.name = mig_name(gpu, profile.name, start).substr(0, kLongestLabel),
                      .kind = Device::Kind::kMig,
                      .gpu = gpu.uuid,
                      .memory_bytes = profile.memory_mib * kMebibyte,
                      .health = gpu.health,
                      .cut = Cut{profile.name, start, profile.size}};
        for (const gpu::MigDevice& there : gpu.mig_devices) {
            const bool same = there.placement == gpu::MigPlacement{start, profile.size};
            if (same && device.health.ok()) device.health = there.health;
        }
        Value capacity =
            mig_capacity(device.memory_bytes, profile.multiprocessors, profile.engines);
        device.published = published(device, gpu, "mig", std::move(capacity), profile.name);
        return device;
    }

    static Value mig_capacity(std::uint64_t memory_bytes, unsigned multiprocessors,
                              const std::optional<gpu::MigEngines>& engines) {
        Value capacity = document::make_mapping();
        add_capacity(capacity, kMemory, memory_text(memory_bytes));
        add_capacity(capacity, "multiprocessors", std::to_string(multiprocessors));
        if (!engines) return capacity;
        const std::array<std::pair<std::string_view, unsigned>, 5> counts{
            {{"copyEngines", engines->copy},
             {"decoders", engines->decoders},
             {"encoders", engines->encoders},
             {"jpegEngines", engines->jpeg},
             {"ofaEngines", engines->optical_flow}}};
        for (const auto& [name, count] : counts)
            add_capacity(capacity, name, std::to_string(count));
        return capacity;
    }

    Value published(const Device& device, const gpu::Gpu& gpu, std::string_view type,
                    Value capacity, const std::string& profile) const {
        Value attributes = document::make_mapping();
        add_text(attributes, "type", std::string(type));
        add_text(attributes, "uuid", device.uuid.text);
        add_number(attributes, device.kind == Device::Kind::kMig ? "parentIndex" : "index",
                   gpu.index);
        if (device.kind == Device::Kind::kMig) {
            add_text(attributes, "parentUUID", gpu.uuid.text);
            add_text(attributes, "profile", profile);
        }
        add_text(attributes, "productName", gpu.model);
        add_text(attributes, "architecture",
                 architecture_text(gpu::architecture_of(gpu.compute_major, gpu.compute_minor)));
        add_version(attributes, "cudaComputeCapability",
                    std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor));
        add_version(attributes, "driverVersion", inventory_.driver_version);
        const int cuda = inventory_.cuda_version;
        if (cuda > 0) {
            add_version(attributes, "cudaDriverVersion",
                        std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10));
        }
        const std::uint64_t memory =
            device.kind == Device::Kind::kMig ? device.memory_bytes : gpu.memory_bytes;
        add_number(attributes, "memoryMiB", memory / kMebibyte);
        const std::string standard(kStandard);
        add_text(attributes, standard + "pciBusID", lower(to_text(gpu.pci)));
        const auto root = places_.pcie_roots.find(gpu.uuid);
        if (root != places_.pcie_roots.end())
            add_text(attributes, standard + "pcieRoot", root->second);
        if (gpu.numa_node) add_number(attributes, standard + "numaNode", *gpu.numa_node);

        Value made = make_mapping({{"name", device.name},
                                   {"attributes", std::move(attributes)},
                                   {"capacity", std::move(capacity)}});
        if (device.consumable) document::append(made, "allowMultipleAllocations", true);
        if (!device.health.ok()) document::append(made, "taints", taints_of(device, gpu));
        return made;
    }

    static Value taints_of(const Device& /*device*/, const gpu::Gpu& gpu) {
        return document::make_sequence(std::array{0}, [&](int) {
            return make_mapping({{"key", kUnhealthyTaint},
                                 {"value", gpu.health.ok() ? "device" : "driver"},
                                 {"effect", "NoSchedule"}});
        });
    }

    const gpu::Inventory& inventory_;
    const PlaceFacts& places_;
};

const sharing::OfferedGpu* shares_of(const sharing::Offer& offer, const gpu::Gpu& gpu) {
    for (const sharing::Resource& resource : offer.resources) {
        for (const sharing::OfferedGpu& offered : resource.gpus) {
            if (!offered.mig && offered.gpu.uuid == gpu.uuid && offered.replicas > 1)
                return &offered;
        }
    }
    return nullptr;
}

}  // namespace

std::string_view to_text(Mode mode) {
    switch (mode) {
        case Mode::kWhole:
            return "whole";
        case Mode::kFixed:
            return "fixed";
        case Mode::kConsumable:
            return "consumable";
    }
    return "";
}

std::string semantic_version(std::string_view version) {
    constexpr std::size_t kParts = 3;
    std::string text;
    std::size_t parts = 0;
    for (const std::string_view part : split(version, '.')) {
        const auto number = parse_number<unsigned>(part);
        if (!number || parts == kParts) return {};
        text += (parts == 0 ? "" : ".") + std::to_string(*number);
        ++parts;
    }
    for (; parts < kParts; ++parts) text += ".0";
    return text;
}

std::vector<Device> devices_of(const gpu::Inventory& inventory, const sharing::Offer& offer,
                               const PlaceFacts& places, Mode mode) {
    const Builder builder(inventory, places);
    std::vector<Device> devices;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (gpu.uuid.text.empty()) continue;
        const sharing::OfferedGpu* shared = mode == Mode::kFixed ? shares_of(offer, gpu) : nullptr;
        const auto cut = places.cut_by_claims.find(gpu.uuid);
        if (cut != places.cut_by_claims.end() && shared == nullptr) {
            auto all = builder.all_cuts(
                gpu, cut->second,
                mode == Mode::kConsumable ? builder.consumable(gpu) : builder.whole(gpu));
            if (!all.empty()) {
                std::ranges::move(all, std::back_inserter(devices));
                continue;
            }
        }
        if (gpu.mig_enabled) {
            for (const gpu::MigDevice& part : gpu.mig_devices) {
                devices.push_back(builder.mig(gpu, part));
            }
            continue;
        }
        if (shared != nullptr) {
            for (unsigned number = 0; number < shared->replicas; ++number) {
                devices.push_back(builder.share(*shared, gpu, number));
            }
        } else {
            devices.push_back(mode == Mode::kConsumable ? builder.consumable(gpu)
                                                        : builder.whole(gpu));
        }
    }
    return devices;
}

}  // namespace aliquot::dra
