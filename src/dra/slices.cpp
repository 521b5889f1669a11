// SPDX-License-Identifier: Apache-2.0
#include "dra/slices.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

#include "base/number.h"
#include "base/text.h"
#include "document/build.h"
#include "document/path.h"
#include "k8s/quantity.h"

namespace aliquot::dra {
namespace {

using document::make_mapping;
using document::Value;

constexpr std::size_t kPlaceDigits = 5;

/// "00001-gpu.aliquot.dev-": kube-scheduler goes by the order of names.
std::string name_prefix(std::size_t place, const std::string& node) {
    std::array<char, 16> digits{};
    std::snprintf(digits.data(), digits.size(), "%05zx", place);
    constexpr std::size_t kLongestNode = 63;  // a name takes 253 bytes; five more are appended
    return std::string(digits.data()) + "-" + std::string(kDriver) + "-" +
           node.substr(0, kLongestNode) + "-";
}

std::optional<unsigned> place_in(std::string_view name) {
    const auto dash = name.find('-');
    if (dash == std::string_view::npos || dash < kPlaceDigits) return std::nullopt;
    if (!name.substr(dash + 1).starts_with(kDriver)) return std::nullopt;
    return parse_number<unsigned>(name.substr(0, dash), 16);
}

bool same(const Value& a, const Value& b);

bool same_scalar(const Value& a, const Value& b) {
    if (a.scalar == b.scalar) return true;
    const auto left = k8s::Quantity::parse_field(a.scalar);
    const auto right = k8s::Quantity::parse_field(b.scalar);
    return left && right && left->nanos() == right->nanos();
}

/// By meaning: members in any order, amounts however they are spelt.
bool same(const Value& a, const Value& b) {
    if (a.is_mapping() != b.is_mapping() || a.is_sequence() != b.is_sequence()) return false;
    if (a.is_mapping()) {
        if (a.entries.size() != b.entries.size()) return false;
        return std::ranges::all_of(a.entries, [&](const Value::Entry& entry) {
            const Value* other = b.find(entry.first.scalar);
            return other != nullptr && same(entry.second, *other);
        });
    }
    if (a.is_sequence()) return std::ranges::equal(a.items, b.items, same);
    return same_scalar(a, b);
}

std::string name_of(const Value& device) { return document::text_at(device, "name"); }

Value* find_in(Value& mapping, std::string_view key) {
    for (Value::Entry& entry : mapping.entries) {
        if (entry.first.scalar == key) return &entry.second;
    }
    return nullptr;
}

/// The times at which taints were added, which the API server notes, belong to what we wrote.
void keep_times(Value& devices, std::span<const StoredSlice> stored) {
    std::map<std::string, const Value*> before;
    for (const StoredSlice& slice : stored) {
        for (const Value& device : document::items_at(slice.spec, {"devices"})) {
            before.emplace(name_of(device), &device);
        }
    }
    for (Value& device : devices.items) {
        const auto old = before.find(name_of(device));
        Value* taints = find_in(device, "taints");
        if (old == before.end() || taints == nullptr) continue;
        for (Value& taint : taints->items) {
            for (const Value& had : document::items_at(*old->second, {"taints"})) {
                const Value* added = had.find("timeAdded");
                const bool alike =
                    std::ranges::all_of(std::array{"key", "value", "effect"}, [&](const char* key) {
                        return document::text_at(taint, key) == document::text_at(had, key);
                    });
                if (alike && added != nullptr && taint.find("timeAdded") == nullptr) {
                    document::append(taint, "timeAdded", *added);
                }
            }
        }
    }
}

/// What one slice has: devices or counter sets.
struct Shard {
    std::string_view field = "devices";
    Value items = document::make_sequence();
};

std::vector<Shard> counter_shards(std::span<const Device> devices) {
    std::vector<Shard> shards;
    std::set<std::string> seen;
    for (const Device& one : devices) {
        for (const auto& set : one.counters) {
            if (!seen.insert(document::text_at(*set, "name")).second) continue;
            if (shards.empty() || shards.back().items.items.size() == kMostCounterSets) {
                shards.push_back({.field = "sharedCounters"});
            }
            shards.back().items.items.push_back(*set);
        }
    }
    return shards;
}

std::vector<Shard> shards_of(std::span<const Device> devices) {
    const bool fewer = std::ranges::any_of(devices, [](const Device& one) {
        return !one.counters.empty() || one.published.find("taints") != nullptr;
    });
    const std::size_t most = fewer ? kMostTaintedDevices : kMostDevices;
    std::vector<Shard> shards = counter_shards(devices);
    for (std::size_t begin = 0; begin < devices.size(); begin += most) {
        const auto part = devices.subspan(begin, std::min(most, devices.size() - begin));
        shards.push_back({.items = document::make_sequence(
                              part, [](const Device& one) { return one.published; })});
    }
    if (shards.empty()) shards.push_back({});
    return shards;
}

/// A slice's spec as we would write it.
Value spec_of(const NodeIdentity& node, std::int64_t generation, std::size_t count,
              const Shard& shard) {
    Value spec = make_mapping({{"driver", kDriver},
                               {"pool", make_mapping({{"name", node.name},
                                                      {"generation", generation},
                                                      {"resourceSliceCount", count}})},
                               {"nodeName", node.name}});
    if (!shard.items.items.empty()) {
        document::append(spec, std::string(shard.field), shard.items);
    }
    return spec;
}

Value object_of(const NodeIdentity& node, Value metadata, Value spec) {
    document::append(metadata, "ownerReferences", document::make_sequence(std::array{0}, [&](int) {
                         return make_mapping({{"apiVersion", "v1"},
                                              {"kind", "Node"},
                                              {"name", node.name},
                                              {"uid", node.uid},
                                              {"controller", true}});
                     }));
    return make_mapping({{"apiVersion", "resource.k8s.io/v1"},
                         {"kind", "ResourceSlice"},
                         {"metadata", std::move(metadata)},
                         {"spec", std::move(spec)}});
}

SliceChanges::Write write_of(const NodeIdentity& node, std::size_t place,
                             const StoredSlice* present, Value spec) {
    SliceChanges::Write write;
    if (present != nullptr) {
        write.present = *present;
        write.object = object_of(node,
                                 make_mapping({{"name", present->name},
                                               {"uid", present->uid},
                                               {"resourceVersion", present->resource_version}}),
                                 std::move(spec));
        return write;
    }
    write.object = object_of(node, make_mapping({{"generateName", name_prefix(place, node.name)}}),
                             std::move(spec));
    return write;
}

}  // namespace

StoredSlice read_stored_slice(const document::Value& object, const NodeIdentity& node) {
    StoredSlice slice{.name = document::text_at(object, "metadata.name"),
                      .uid = document::text_at(object, "metadata.uid"),
                      .resource_version = document::text_at(object, "metadata.resourceVersion")};
    const auto number = [&](std::string_view path) {
        return parse_number<std::int64_t>(document::text_at(object, path)).value_or(0);
    };
    slice.generation = number("spec.pool.generation");
    slice.count = number("spec.pool.resourceSliceCount");
    if (const Value* spec = object.find("spec")) slice.spec = *spec;
    if (document::text_at(slice.spec, "pool.name") == node.name) slice.place = place_in(slice.name);
    slice.owned = std::ranges::any_of(document::items_at(object, {"metadata", "ownerReferences"}),
                                      [&](const Value& owner) {
                                          return document::text_at(owner, "uid") == node.uid &&
                                                 document::text_at(owner, "kind") == "Node";
                                      });
    return slice;
}

SliceChanges plan_slices(const NodeIdentity& node, std::span<const Device> devices,
                         std::span<const StoredSlice> stored) {
    std::vector<Shard> shards = shards_of(devices);
    for (Shard& shard : shards) keep_times(shard.items, stored);
    std::int64_t newest = 0;
    for (const StoredSlice& slice : stored) newest = std::max(newest, slice.generation);
    SliceChanges changes;
    std::vector<const StoredSlice*> present(shards.size());
    for (const StoredSlice& slice : stored) {
        const bool useful = slice.place && *slice.place < shards.size() && slice.owned &&
                            slice.generation == newest && present[*slice.place] == nullptr;
        if (useful) {
            present[*slice.place] = &slice;
        } else {
            changes.remove.push_back(slice);
        }
    }
    std::vector<std::size_t> differing;
    std::size_t missing = 0;
    for (std::size_t place = 0; place < shards.size(); ++place) {
        if (present[place] == nullptr) {
            ++missing;
        } else if (!same(spec_of(node, newest, shards.size(), shards[place]),
                         present[place]->spec)) {
            differing.push_back(place);
        }
    }
    const bool first = missing == shards.size() && stored.empty();
    if (missing == 0 && differing.empty()) return changes;
    const bool keeps =
        missing == 0 && differing.size() == 1 &&
        present[differing.front()]->count == static_cast<std::int64_t>(shards.size());
    const std::int64_t generation = first ? 1 : keeps ? newest : newest + 1;
    for (const bool create : {false, true}) {
        for (std::size_t place = 0; place < shards.size(); ++place) {
            if ((present[place] == nullptr) != create) continue;
            if (keeps && place != differing.front()) continue;
            changes.write.push_back(
                write_of(node, place, present[place],
                         spec_of(node, generation, shards.size(), shards[place])));
        }
    }
    return changes;
}

std::vector<std::string> dropped_fields(const document::Value& written,
                                        const document::Value& stored) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kGated{
        {{"allowMultipleAllocations", "DRAConsumableCapacity"},
         {"taints", "DRADeviceTaints"},
         {"consumesCounters", "DRAPartitionableDevices"}}};
    std::vector<std::string> dropped;
    if (!document::items_at(written, {"spec", "sharedCounters"}).empty() &&
        document::items_at(stored, {"spec", "sharedCounters"}).empty()) {
        dropped.emplace_back("sharedCounters (feature gate DRAPartitionableDevices)");
    }
    const auto& kept = document::items_at(stored, {"spec", "devices"});
    for (const Value& device : document::items_at(written, {"spec", "devices"})) {
        const std::string name = name_of(device);
        const auto found =
            std::ranges::find_if(kept, [&](const Value& one) { return name_of(one) == name; });
        for (const auto& [field, gate] : kGated) {
            if (device.find(field) == nullptr) continue;
            if (found != kept.end() && found->find(field) != nullptr) continue;
            dropped.push_back(concat({field, " of ", name, " (feature gate ", gate, ")"}));
        }
    }
    return dropped;
}

document::Value probe_slice(const NodeIdentity& node, Feature feature) {
    const auto device = [&](int) {
        if (feature == Feature::kCounters) {
            return make_mapping(
                {{"name", "probe"},
                 {"consumesCounters", document::make_sequence(std::array{0}, [](int) {
                      return make_mapping(
                          {{"counterSet", "probe"},
                           {"counters",
                            make_mapping({{"slice", make_mapping({{"value", "1"}})}})}});
                  })}});
        }
        return make_mapping(
            {{"name", "probe"},
             {"allowMultipleAllocations", true},
             {"capacity",
              make_mapping({{kCompute, make_mapping({{"value", "100"},
                                                     {"requestPolicy",
                                                      make_mapping({{"default", "100"}})}})}})}});
    };
    return object_of(
        node, make_mapping({{"generateName", std::string(kDriver) + "-probe-"}}),
        spec_of(node, 1, 1, {.items = document::make_sequence(std::array{0}, device)}));
}

}  // namespace aliquot::dra
