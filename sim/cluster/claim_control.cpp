// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/claim_control.h"

#include <algorithm>
#include <random>

#include "base/text.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::sim::cluster {
namespace {

using document::make_mapping;
using document::text_at;
using document::Value;

constexpr std::string_view kGroup = "/apis/resource.k8s.io/v1/";

std::string claims_path(const std::string& name_space) {
    return std::string(kGroup) + "namespaces/" + name_space + "/resourceclaims";
}
std::string pods_path(const std::string& name_space) {
    return "/api/v1/namespaces/" + name_space + "/pods";
}

std::string random_digits(std::size_t count) {
    thread_local std::mt19937_64 generator{std::random_device{}()};
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += kDigits[generator() % kDigits.size()];
    return text;
}

std::string random_uuid() {
    return random_digits(8) + "-" + random_digits(4) + "-4" + random_digits(3) + "-a" +
           random_digits(3) + "-" + random_digits(12);
}

Result<Value> object_of(const sim::ApiServer::Reply& reply, std::string_view what) {
    auto read = document::parse_json(reply.body);
    if (!read) return std::move(read).error();
    if (reply.status < 300) return *std::move(read);
    const ErrorCode code = reply.status == 404   ? ErrorCode::kNotFound
                           : reply.status == 409 ? ErrorCode::kConflict
                                                 : ErrorCode::kInvalidInput;
    return Error{code, concat({what, ": ", text_at(*read, "message")})};
}

Value owner_of(const Value& pod) {
    return make_mapping({{"apiVersion", "v1"},
                         {"kind", "Pod"},
                         {"name", text_at(pod, "metadata.name")},
                         {"uid", text_at(pod, "metadata.uid")},
                         {"controller", true},
                         {"blockOwnerDeletion", true}});
}

Value container_object(const Container& container) {
    auto limits = document::make_mapping();
    for (const auto& [name, count] : container.devices) {
        document::append(limits, name, std::to_string(count));
    }
    const auto uses = document::make_sequence(container.claims, [](const ContainerClaim& one) {
        return make_mapping({{"name", one.name},
                             {"request", document::only_if(!one.request.empty(), one.request)}});
    });
    return make_mapping({{"name", container.name},
                         {"image", container.image},
                         {"resources", make_mapping({{"limits", limits}, {"claims", uses}})}});
}

/// The same object with another status.
Value with_status(const Value& object, Value status) {
    Value made = object;
    std::erase_if(made.entries,
                  [](const Value::Entry& one) { return one.first.scalar == "status"; });
    document::append(made, "status", std::move(status));
    return made;
}

Value consumer_of(const Value& pod) {
    return make_mapping({{"resource", "pods"},
                         {"name", text_at(pod, "metadata.name")},
                         {"uid", text_at(pod, "metadata.uid")}});
}

std::string share_text(const claims::Allocated& device) {
    if (device.consumed.empty()) return "whole";
    std::vector<std::string> parts;
    for (const auto& [name, amount] : device.consumed) {
        parts.push_back(name == "compute"  ? amount.canonical() + " %"
                        : name == "memory" ? amount.canonical()
                                           : amount.canonical() + " " + name);
    }
    std::ranges::reverse(parts);  // memory, then compute
    return join(parts);
}

}  // namespace

ClaimControl::ClaimControl(sim::ApiServer& api, std::string node, k8s::Labels labels)
    : api_(api), node_{std::move(node), std::move(labels)} {}

std::vector<Value> ClaimControl::list(const std::string& path) {
    auto read = document::parse_json(api_.request("GET", path).body);
    return read ? document::items_at(*read, {"items"}) : std::vector<Value>{};
}

claims::Cluster ClaimControl::cluster() {
    claims::Cluster known;
    for (const Value& one : list(std::string(kGroup) + "resourceslices")) {
        known.slices.push_back(claims::read_slice(one));
    }
    for (const Value& one : list(std::string(kGroup) + "deviceclasses")) {
        claims::DeviceClass read = claims::read_class(one);
        known.classes.insert_or_assign(read.name, read);
    }
    for (const Value& one : list(std::string(kGroup) + "resourceclaims")) {
        known.claims.push_back(claims::read_claim(one));
    }
    return known;
}

bool ClaimControl::has_devices() {
    const claims::Cluster known = cluster();
    const auto pools = claims::pools_of(known.slices, node_);
    return !pools.empty() && std::ranges::all_of(pools, &claims::Pool::complete);
}

bool ClaimControl::serves(const std::string& resource) {
    return claims::class_of_extended_resource(cluster().classes, resource) != nullptr;
}

Result<BoundClaims> ClaimControl::bind(const std::string& name_space, const std::string& name,
                                       const PodTemplate& pod) {
    auto object = pod_object(name_space, name, pod);
    if (!object) return std::move(object).error();
    auto names = make_claims(*object, pod);
    if (!names) return std::move(names).error();
    auto given = give_devices(name_space, *names, *object);
    if (!given) return std::move(given).error();
    return bound(*object, *names, pod);
}

Result<Value> ClaimControl::pod_object(const std::string& name_space, const std::string& name,
                                       const PodTemplate& pod) {
    auto there = api_.request("GET", pods_path(name_space) + "/" + name);
    if (there.status == 200) return object_of(there, "Pod " + name);
    auto labels = document::make_mapping();
    for (const auto& [key, value] : pod.labels) document::append(labels, key, value);
    const auto claims = document::make_sequence(pod.claims, [](const PodClaim& one) {
        return make_mapping(
            {{"name", one.name},
             {"resourceClaimName", document::only_if(!one.claim.empty(), one.claim)},
             {"resourceClaimTemplateName",
              document::only_if(!one.claim_template.empty(), one.claim_template)}});
    });
    const Value object = make_mapping(
        {{"metadata", make_mapping({{"name", name}, {"labels", labels}})},
         {"spec",
          make_mapping(
              {{"nodeName", node_.name},
               {"containers", document::make_sequence(pod.containers, container_object)},
               {"initContainers",
                document::only_if(!pod.init_containers.empty(),
                                  document::make_sequence(pod.init_containers, container_object))},
               {"resourceClaims", claims}})}});
    return object_of(api_.request("POST", pods_path(name_space), document::to_json_line(object)),
                     "Pod " + name);
}

Result<std::vector<ClaimControl::Named>> ClaimControl::make_claims(const Value& pod_object,
                                                                   const PodTemplate& pod) {
    std::vector<Named> names;
    for (const PodClaim& claim : pod.claims) {
        if (!claim.claim.empty()) {
            names.push_back({claim.name, claim.claim});
            continue;
        }
        auto made = make_from_template(pod_object, claim);
        if (!made) return std::move(made).error();
        names.push_back({claim.name, *std::move(made)});
    }
    auto extended = make_extended(pod_object, pod);
    if (!extended) return std::move(extended).error();
    if (!extended->empty()) names.push_back({"", *std::move(extended)});
    return names;
}

Result<std::string> ClaimControl::make_from_template(const Value& pod_object,
                                                     const PodClaim& claim) {
    const std::string space = text_at(pod_object, "metadata.namespace");
    const std::string pod = text_at(pod_object, "metadata.name");
    for (const Value& one : list(claims_path(space))) {
        const bool same =
            document::text_at(one, {"metadata", "annotations",
                                    "resource.kubernetes.io/pod-claim-name"}) == claim.name;
        const auto& owners = document::items_at(one, {"metadata", "ownerReferences"});
        if (same && !owners.empty() &&
            text_at(owners.front(), "uid") == text_at(pod_object, "metadata.uid")) {
            return text_at(one, "metadata.name");
        }
    }
    const auto found =
        object_of(api_.request("GET", std::string(kGroup) + "namespaces/" + space +
                                          "/resourceclaimtemplates/" + claim.claim_template),
                  "waiting for ResourceClaimTemplate " + claim.claim_template);
    if (!found) return found.error();
    auto annotations = document::make_mapping();
    document::append(annotations, "resource.kubernetes.io/pod-claim-name", claim.name);
    const Value* const spec = document::at_path(*found, "spec.spec");
    const Value made = make_mapping(
        {{"metadata",
          make_mapping({{"generateName", pod + "-" + claim.name + "-"},
                        {"annotations", annotations},
                        {"ownerReferences", std::vector<Value>{owner_of(pod_object)}}})},
         {"spec", spec == nullptr ? document::make_mapping() : *spec}});
    const auto stored = object_of(
        api_.request("POST", claims_path(space), document::to_json_line(made)), "ResourceClaim");
    if (!stored) return stored.error();
    return text_at(*stored, "metadata.name");
}

Result<std::string> ClaimControl::make_extended(const Value& pod_object, const PodTemplate& pod) {
    const claims::Cluster known = cluster();
    auto requests = document::make_sequence();
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        std::size_t number = 0;
        for (const auto& [resource, count] : pod.containers[i].devices) {
            const auto* const served = claims::class_of_extended_resource(known.classes, resource);
            if (served == nullptr) continue;
            requests.items.push_back(
                make_mapping({{"name", "container-" + std::to_string(i) + "-request-" +
                                           std::to_string(number++)},
                              {"exactly", make_mapping({{"deviceClassName", served->name},
                                                        {"allocationMode", "ExactCount"},
                                                        {"count", count}})}}));
        }
    }
    if (requests.items.empty()) return std::string();
    const std::string space = text_at(pod_object, "metadata.namespace");
    const std::string name = text_at(pod_object, "metadata.name") + "-extended-resources";
    if (api_.request("GET", claims_path(space) + "/" + name).status == 200) return name;
    auto annotations = document::make_mapping();
    document::append(annotations, "resource.kubernetes.io/extended-resource-claim", "true");
    const Value made = make_mapping(
        {{"metadata",
          make_mapping({{"name", name},
                        {"annotations", annotations},
                        {"ownerReferences", std::vector<Value>{owner_of(pod_object)}}})},
         {"spec", make_mapping({{"devices", make_mapping({{"requests", requests}})}})}});
    const auto stored = object_of(
        api_.request("POST", claims_path(space), document::to_json_line(made)), "ResourceClaim");
    if (!stored) return stored.error();
    return name;
}

Result<Done> ClaimControl::give_devices(const std::string& name_space,
                                        const std::vector<Named>& names, const Value& pod_object) {
    std::vector<Value> objects;
    std::vector<claims::Claim> waiting;
    for (const Named& one : names) {
        auto object = object_of(api_.request("GET", claims_path(name_space) + "/" + one.claim),
                                "waiting for ResourceClaim " + one.claim);
        if (!object) return std::move(object).error();
        claims::Claim read = claims::read_claim(*object);
        if (!read.allocation) waiting.push_back(std::move(read));
        objects.push_back(*std::move(object));
    }
    const claims::Answer answer = claims::allocate(cluster(), node_, waiting, random_uuid);
    if (!waiting.empty() && answer.allocations.empty()) {
        return Error{ErrorCode::kConflict,
                     "0/1 nodes are available: 1 cannot allocate all claims: " + answer.failure};
    }
    auto allocation = answer.allocations.begin();
    for (const Value& object : objects) {
        const Value* const before = document::at_path(object, "status.allocation");
        Value now = before != nullptr ? *before : claims::write_allocation(*allocation++);
        auto users = document::make_sequence();
        users.items = document::items_at(object, {"status", "reservedFor"});
        const std::string uid = text_at(pod_object, "metadata.uid");
        const bool reserved = std::ranges::any_of(
            users.items, [&](const Value& one) { return text_at(one, "uid") == uid; });
        if (!reserved) users.items.push_back(consumer_of(pod_object));
        if (before != nullptr && reserved) continue;
        const Value changed = with_status(
            object, make_mapping({{"allocation", std::move(now)}, {"reservedFor", users}}));
        const auto stored = object_of(
            api_.request(
                "PUT", claims_path(name_space) + "/" + text_at(object, "metadata.name") + "/status",
                document::to_json_line(changed)),
            "ResourceClaim " + text_at(object, "metadata.name"));
        if (!stored) return stored.error();
    }
    return Done{};
}

Result<BoundClaims> ClaimControl::bound(const Value& pod_object, const std::vector<Named>& names,
                                        const PodTemplate& pod) {
    const std::string space = text_at(pod_object, "metadata.namespace");
    const claims::Cluster known = cluster();
    BoundClaims made{.pod_uid = text_at(pod_object, "metadata.uid")};
    const auto attribute_of = [&](const claims::DeviceId& id,
                                  const std::string& name) -> std::string {
        for (const claims::Slice& slice : known.slices) {
            if (slice.driver != id.driver || slice.pool != id.pool) continue;
            for (const claims::Device& device : slice.devices) {
                if (device.name != id.device) continue;
                const auto found = device.attributes.find(id.driver + "/" + name);
                const auto* const text =
                    found == device.attributes.end() ? nullptr : found->second.as<std::string>();
                return text == nullptr ? std::string() : *text;
            }
        }
        return {};
    };
    for (const Named& one : names) {
        const auto claim = std::ranges::find_if(known.claims, [&](const claims::Claim& other) {
            return other.name_space == space && other.name == one.claim;
        });
        if (claim == known.claims.end() || !claim->allocation) {
            return Error{ErrorCode::kConflict, "ResourceClaim " + one.claim + " has changed"};
        }
        sim::ClaimReference reference{space, claim->name, claim->uid, {}};
        for (const claims::Allocated& device : claim->allocation->devices) {
            const std::string& driver = device.device.driver;
            if (std::ranges::find(reference.drivers, driver) == reference.drivers.end()) {
                reference.drivers.push_back(driver);
            }
            const std::string profile = attribute_of(device.device, "profile");
            made.devices.push_back({one.in_pod, device.request.substr(0, device.request.find('/')),
                                    device.device.device, attribute_of(device.device, "uuid"),
                                    profile.empty() ? share_text(device) : profile});
        }
        made.claims.emplace(one.in_pod, std::move(reference));
    }
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const std::string prefix = "container-" + std::to_string(i) + "-";
        for (const BoundClaims::Device& device : made.devices) {
            if (device.claim.empty() && device.request.starts_with(prefix)) {
                made.requests_of_container[pod.containers[i].name].push_back(device.request);
            }
        }
    }
    return made;
}

void ClaimControl::release(const std::string& name_space, const std::string& name) {
    const auto pod = object_of(api_.request("GET", pods_path(name_space) + "/" + name), "Pod");
    if (!pod) return;
    const std::string uid = text_at(*pod, "metadata.uid");
    for (const Value& claim : list(claims_path(name_space))) {
        auto users = document::make_sequence();
        users.items = document::items_at(claim, {"status", "reservedFor"});
        const std::size_t before = users.items.size();
        std::erase_if(users.items, [&](const Value& one) { return text_at(one, "uid") == uid; });
        if (users.items.size() == before) continue;
        Value status = document::make_mapping();
        if (!users.items.empty()) {
            document::append(status, "allocation", *document::at_path(claim, "status.allocation"));
            document::append(status, "reservedFor", users);
        }
        const std::string path = claims_path(name_space) + "/" + text_at(claim, "metadata.name");
        (void)api_.request("PUT", path + "/status",
                           document::to_json_line(with_status(claim, std::move(status))));
        const auto& owners = document::items_at(claim, {"metadata", "ownerReferences"});
        if (!owners.empty() && text_at(owners.front(), "uid") == uid) {
            (void)api_.request("DELETE", path);
        }
    }
    (void)api_.request("DELETE", pods_path(name_space) + "/" + name + "?gracePeriodSeconds=0");
}

}  // namespace aliquot::sim::cluster
