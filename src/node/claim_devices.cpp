// SPDX-License-Identifier: Apache-2.0
#include "node/claim_devices.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/text.h"
#include "document/json.h"

namespace aliquot::node {
namespace {

using PoolName = std::pair<std::string, std::string>;  // driver, pool

std::string attribute(const claims::Device& device, const std::string& driver,
                      std::string_view name) {
    const auto found = device.attributes.find(claims::qualified(name, driver));
    const auto* const text =
        found == device.attributes.end() ? nullptr : found->second.as<std::string>();
    return text == nullptr ? std::string() : *text;
}

std::uint64_t memory_mib_of(const claims::Device& device, const std::string& driver) {
    constexpr std::int64_t kMebibyte = 1 << 20;
    const auto found = device.capacity.find(claims::qualified("memory", driver));
    const auto bytes = found == device.capacity.end() ? std::nullopt : found->second.value.ones();
    return bytes && *bytes > 0 ? static_cast<std::uint64_t>(*bytes / kMebibyte) : 0;
}

std::uint64_t gpu_memory_mib_of(const claims::Device& device, const std::string& driver) {
    const auto found = device.attributes.find(claims::qualified("memoryMiB", driver));
    const auto* const number =
        found == device.attributes.end() ? nullptr : found->second.as<std::int64_t>();
    return number != nullptr && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

/// "3Gi, 25 %": memory first, and compute as the percent that it is of our driver.
std::string takes_text(const claims::Allocated& part) {
    std::string memory;
    std::vector<std::string> others;
    for (const auto& [name, amount] : part.consumed) {
        const std::string word = claims::short_name(name, part.device.driver);
        if (word == "memory") {
            memory = amount.canonical();
        } else {
            others.push_back(amount.canonical() + (word == "compute" ? " %" : " " + word));
        }
    }
    if (!memory.empty()) others.insert(others.begin(), memory);
    return join(others);
}

class Reader {
public:
    void take(const std::vector<claims::Slice>& slices) {
        std::map<PoolName, std::int64_t> newest;
        for (const claims::Slice& slice : slices) {
            auto& generation = newest[{slice.driver, slice.pool}];
            generation = std::max(generation, slice.generation);
        }
        for (const claims::Slice& slice : slices) {
            const std::string& node = slice.reach.node_name;
            if (node.empty() || !is_gpu_driver(slice.driver)) continue;
            const PoolName pool{slice.driver, slice.pool};
            nodes_.emplace(pool, node);
            if (slice.generation != newest[pool]) continue;
            for (const auto& [set, amounts] : slice.counters) {
                for (const auto& [name, amount] : amounts) {
                    left_[{pool, set, name}] = amount.nanos();
                }
            }
            for (const claims::Device& device : slice.devices) add(node, pool, device);
        }
    }

    void take(const claims::Claim& claim) {
        if (!claim.allocation) return;
        ClaimShare share{.claim = claim.full_name(), .pods = {}, .takes = {}};
        for (const claims::Consumer& consumer : claim.reserved_for) {
            if (consumer.resource == "pods") {
                share.pods.push_back(claim.name_space + "/" + consumer.name);
            }
        }
        std::ranges::sort(share.pods);
        for (const claims::Allocated& part : claim.allocation->devices) {
            if (part.admin || !is_gpu_driver(part.device.driver)) continue;
            const auto pool = nodes_.find({part.device.driver, part.device.pool});
            const std::string& node =
                pool == nodes_.end() ? claim.allocation->node_name : pool->second;
            if (node.empty()) continue;
            share.takes = takes_text(part);
            device(node, part.device).held.push_back(share);
        }
    }

    ClaimDevices done() && {
        see_what_fits();
        for (auto& [node, devices] : made_) {
            std::ranges::sort(
                devices, {}, [](const ClaimDevice& one) { return std::tie(one.driver, one.name); });
            for (ClaimDevice& one : devices) std::ranges::sort(one.held, {}, &ClaimShare::claim);
        }
        return std::move(made_);
    }

private:
    /// How kube-scheduler reads counters: a device that several claims share takes them once.
    void see_what_fits() {
        for (const Consumer& one : consumers_) {
            if (at(one).held.empty()) continue;
            for_each_counter(one, [](auto& left, auto amount) { left -= amount; });
        }
        for (const Consumer& one : consumers_) {
            if (!at(one).held.empty()) continue;
            for_each_counter(
                one, [&](const auto& left, auto amount) { at(one).fits &= left >= amount; });
        }
    }

    void add(const std::string& node, const PoolName& pool, const claims::Device& device) {
        const std::string& driver = pool.first;
        if (!device.consumes.empty()) {
            consumers_.push_back({node, made_[node].size(), pool, &device.consumes});
        }
        const bool tainted = std::ranges::any_of(device.taints, [](const k8s::Taint& taint) {
            return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
        });
        made_[node].push_back({.driver = driver,
                               .name = device.name,
                               .kind = attribute(device, driver, "type"),
                               .uuid = attribute(device, driver, "uuid"),
                               .model = attribute(device, driver, "productName"),
                               .memory_mib = memory_mib_of(device, driver),
                               .gpu_memory_mib = gpu_memory_mib_of(device, driver),
                               .shared = device.shared,
                               .tainted = tainted,
                               .held = {}});
    }

    /// One that is not published any more is added.
    ClaimDevice& device(const std::string& node, const claims::DeviceId& id) {
        auto& devices = made_[node];
        const auto found = std::ranges::find_if(devices, [&](const ClaimDevice& one) {
            return one.driver == id.driver && one.name == id.device;
        });
        if (found != devices.end()) return *found;
        return devices.emplace_back(ClaimDevice{.driver = id.driver,
                                                .name = id.device,
                                                .kind = {},
                                                .uuid = {},
                                                .model = {},
                                                .published = false,
                                                .held = {}});
    }

    /// A device that takes from counters, by its place in the list of its node.
    struct Consumer {
        std::string node;
        std::size_t place = 0;
        PoolName pool;
        const std::map<std::string, claims::Amounts>* uses = nullptr;  // of the slices
    };
    ClaimDevice& at(const Consumer& one) { return made_[one.node][one.place]; }
    template <class Do>
    void for_each_counter(const Consumer& one, Do act) {
        for (const auto& [set, amounts] : *one.uses) {
            for (const auto& [name, amount] : amounts) {
                act(left_[{one.pool, set, name}], amount.nanos());
            }
        }
    }

    std::map<PoolName, std::string> nodes_;
    ClaimDevices made_;
    std::vector<Consumer> consumers_;
    std::map<std::tuple<PoolName, std::string, std::string>, k8s::Quantity::Nanos> left_;
};

/// The objects of a kind of resource.k8s.io/v1; none where the cluster has no such kind.
template <class T>
kube_client::Outcome<std::vector<T>> read_all(kube_client::Api& api, const char* plural,
                                              T (*read)(const document::Value&),
                                              const kube_client::Call& call) {
    const kube_client::Resource resource{"resource.k8s.io", "v1", plural, "", true};
    const auto page = api.list(resource, {.keep_managed_fields = false}, call);
    std::vector<T> all;
    if (!page && page.failure().is(kube_client::Reason::kNotFound)) return all;
    if (!page) return page.failure();
    for (const kube_client::Object& object : page->items) {
        const auto value = document::parse_json(object.json);
        if (value) all.push_back(read(*value));
    }
    return all;
}

}  // namespace

bool is_gpu_driver(std::string_view driver) { return contains_folded(driver, "gpu"); }

ClaimDevices claim_devices(const std::vector<claims::Slice>& slices,
                           const std::vector<claims::Claim>& claims) {
    Reader reader;
    reader.take(slices);
    for (const claims::Claim& claim : claims) reader.take(claim);
    return std::move(reader).done();
}

kube_client::Outcome<ClaimDevices> read_claim_devices(kube_client::Api& api,
                                                      const kube_client::Call& call) {
    const auto slices = read_all<claims::Slice>(api, "resourceslices", &claims::read_slice, call);
    if (!slices) return slices.failure();
    const auto claims = read_all<claims::Claim>(api, "resourceclaims", &claims::read_claim, call);
    if (!claims) return claims.failure();
    return claim_devices(*slices, *claims);
}

}  // namespace aliquot::node
