// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/resource_requests.h"

#include <array>
#include <optional>

#include "k8s/quantity.h"
#include "k8s/resource_name.h"

namespace aliquot::sim::cluster {
namespace {

using document::Value;

constexpr auto kResourceFields = std::to_array<std::string_view>({"claims", "limits", "requests"});
constexpr auto kClaimFields = std::to_array<std::string_view>({"name", "request"});
constexpr std::int64_t kMilli = 1000;
constexpr std::int64_t kMaxDevices = 100'000;

/// Of a device class, or an extended one: devices are counted.
bool is_counted(std::string_view name) {
    return k8s::is_extended_resource(name) ||
           name.starts_with("deviceclass.resource.kubernetes.io/");
}

bool is_native(std::string_view name) {
    return name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
           name.starts_with("hugepages-");
}

using Amounts = std::map<std::string, std::int64_t>;

/// `limits` or `requests`, in thousandths.
Amounts read_amounts(ObjectReader& resources, std::string_view key) {
    Amounts amounts;
    const Value* const node = resources.mapping(key);
    if (node == nullptr) return amounts;
    ObjectReader object(resources.report(), *node, resources.path_of(key), {});
    for (const auto& entry : node->entries) {
        const std::string& name = entry.first.scalar;
        const Value& value = entry.second;
        if (!is_native(name) && !is_counted(name)) {
            object.complain(name,
                            "is not a resource: cpu, memory, ephemeral-storage, hugepages-* "
                            "or an extended one such as nvidia.com/gpu");
            continue;
        }
        const auto quantity = k8s::Quantity::parse_field(value.scalar);
        const auto amount = quantity ? quantity->thousandths() : std::nullopt;
        if (value.is_mapping() || value.is_sequence() || !amount || *amount < 0) {
            object.complain(
                name, "found " + describe(value) + ", expected an amount such as 500m, 2 or 4Gi");
            continue;
        }
        if (is_counted(name) && (*amount % kMilli != 0 || *amount > kMaxDevices * kMilli)) {
            object.complain(name, "'" + value.scalar +
                                      "' must be a whole number: devices cannot be "
                                      "split by a request; to share a GPU, share it in the node's "
                                      "configuration");
            continue;
        }
        amounts[name] = *amount;
    }
    return amounts;
}

void check_requests(ObjectReader& resources, const Amounts& requests, const Amounts& limits) {
    const Value* const node = resources.mapping("requests");
    if (node == nullptr) return;
    ObjectReader object(resources.report(), *node, resources.path_of("requests"), {});
    for (const auto& request : requests) {
        const auto limit = limits.find(request.first);
        if (is_counted(request.first)) {
            if (limit == limits.end()) {
                object.complain(request.first, "there must be a limit too: move it to limits");
            } else if (limit->second != request.second) {
                object.complain(request.first, "must be equal to the limit, which is " +
                                                   std::to_string(limit->second / kMilli));
            }
        } else if (limit != limits.end() && request.second > limit->second) {
            object.complain(request.first, "is above the limit");
        }
    }
}

}  // namespace

std::vector<ContainerClaim> read_container_claims(ObjectReader& container,
                                                  const std::set<std::string>& of_pod) {
    std::vector<ContainerClaim> claims;
    const Value* const node = container.mapping("resources");
    if (node == nullptr) return claims;
    ObjectReader resources(container.report(), *node, container.path_of("resources"), {});
    const auto nodes = resources.list("claims");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        ObjectReader object(container.report(), nodes[i],
                            resources.path_of("claims") + "[" + std::to_string(i) + "]",
                            kClaimFields);
        ContainerClaim claim{.name = object.required_text("name"),
                             .request = object.text("request")};
        if (!claim.name.empty() && !of_pod.contains(claim.name)) {
            object.complain("name",
                            "there is no claim '" + claim.name + "' in this pod's resourceClaims");
        }
        claims.push_back(std::move(claim));
    }
    return claims;
}

std::map<std::string, unsigned> read_devices(ObjectReader& container) {
    std::map<std::string, unsigned> devices;
    const Value* const node = container.mapping("resources");
    if (node == nullptr) return devices;
    ObjectReader resources(container.report(), *node, container.path_of("resources"),
                           kResourceFields);
    const Amounts limits = read_amounts(resources, "limits");
    const Amounts requests = read_amounts(resources, "requests");
    check_requests(resources, requests, limits);
    for (const auto& limit : limits) {
        const auto count = static_cast<unsigned>(limit.second / kMilli);
        if (is_counted(limit.first) && count > 0) devices[limit.first] = count;
    }
    return devices;
}

}  // namespace aliquot::sim::cluster
