// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"
#include "claims/claim.h"
#include "document/path.h"

namespace aliquot::claims {
namespace {

using document::items_at;
using document::text_at;

std::vector<std::string> texts_at(const document::Value& node, std::string_view key) {
    std::vector<std::string> texts;
    for (const document::Value& one : items_at(node, {key})) texts.push_back(one.scalar);
    return texts;
}

std::vector<Selector> read_selectors(const document::Value& node) {
    std::vector<Selector> selectors;
    for (const document::Value& one : items_at(node, {"selectors"})) {
        selectors.emplace_back(text_at(one, "cel.expression"));
    }
    return selectors;
}

std::vector<Configuration> read_configurations(const document::Value& node) {
    std::vector<Configuration> list;
    for (const document::Value& one : items_at(node, {"config"})) {
        Configuration read{.requests = texts_at(one, "requests")};
        if (const document::Value* const opaque = one.find("opaque")) read.opaque = *opaque;
        list.push_back(std::move(read));
    }
    return list;
}

SubRequest read_subrequest(const document::Value& node) {
    SubRequest subrequest;
    subrequest.name = text_at(node, "name");
    subrequest.device_class = text_at(node, "deviceClassName");
    subrequest.selectors = read_selectors(node);
    subrequest.all = text_at(node, "allocationMode") == "All";
    subrequest.count = parse_number<std::int64_t>(text_at(node, "count")).value_or(1);
    subrequest.admin = document::is_true(node.find("adminAccess"));
    subrequest.tolerations = k8s::read_tolerations(node.find("tolerations"));
    if (const document::Value* const list = node.find("tolerations"))
        subrequest.tolerations_node = *list;
    for (const auto& [key, value] : document::entries_at(node, {"capacity", "requests"})) {
        if (const auto amount = Quantity::parse_field(value.scalar)) {
            subrequest.capacity.insert_or_assign(key.scalar, *amount);
        }
    }
    return subrequest;
}

Request read_request(const document::Value& node) {
    Request request{.name = text_at(node, "name")};
    if (const document::Value* const exactly = node.find("exactly")) {
        request.subrequests.push_back(read_subrequest(*exactly));
        request.subrequests.back().name.clear();
    }
    for (const document::Value& one : items_at(node, {"firstAvailable"})) {
        request.subrequests.push_back(read_subrequest(one));
    }
    return request;
}

Constraint read_constraint(const document::Value& node) {
    Constraint constraint{.requests = texts_at(node, "requests")};
    constraint.attribute = text_at(node, "matchAttribute");
    if (constraint.attribute.empty()) {
        constraint.attribute = text_at(node, "distinctAttribute");
        constraint.distinct = true;
    }
    return constraint;
}

Amounts read_amounts(const document::Value* mapping) {
    Amounts amounts;
    if (mapping == nullptr) return amounts;
    for (const auto& [key, value] : mapping->entries) {
        if (const auto amount = Quantity::parse_field(value.scalar)) {
            amounts.insert_or_assign(key.scalar, *amount);
        }
    }
    return amounts;
}

std::optional<Allocation> read_allocation(const document::Value* node) {
    if (node == nullptr || !node->is_mapping()) return std::nullopt;
    Allocation allocation;
    for (const document::Value& one : items_at(*node, {"devices", "results"})) {
        Allocated device;
        device.request = text_at(one, "request");
        device.device = {text_at(one, "driver"), text_at(one, "pool"), text_at(one, "device")};
        device.admin = document::is_true(one.find("adminAccess"));
        device.share = text_at(one, "shareID");
        device.consumed = read_amounts(one.find("consumedCapacity"));
        allocation.devices.push_back(std::move(device));
    }
    for (const document::Value& one : items_at(*node, {"devices", "config"})) {
        Configuration read{.requests = texts_at(one, "requests")};
        if (const document::Value* const opaque = one.find("opaque")) read.opaque = *opaque;
        allocation.configurations.emplace_back(text_at(one, "source"), std::move(read));
    }
    for (const document::Value& term : items_at(*node, {"nodeSelector", "nodeSelectorTerms"})) {
        for (const auto& field : k8s::read_requirements(term.find("matchFields"))) {
            if (field.values.size() == 1) allocation.node_name = field.values.front();
        }
    }
    return allocation;
}

void read_spec(const document::Value& spec, Claim& claim) {
    for (const document::Value& one : items_at(spec, {"devices", "requests"})) {
        claim.requests.push_back(read_request(one));
    }
    for (const document::Value& one : items_at(spec, {"devices", "constraints"})) {
        claim.constraints.push_back(read_constraint(one));
    }
    if (const document::Value* const devices = spec.find("devices")) {
        claim.configurations = read_configurations(*devices);
    }
}

}  // namespace

bool Constraint::covers(const std::string& request, const std::string& subrequest) const {
    if (requests.empty()) return true;
    for (const std::string& one : requests) {
        if (one == request || (!subrequest.empty() && one == request + "/" + subrequest))
            return true;
    }
    return false;
}

DeviceClass read_class(const document::Value& object) {
    DeviceClass made;
    made.name = text_at(object, "metadata.name");
    made.created = text_at(object, "metadata.creationTimestamp");
    const document::Value* const spec = object.find("spec");
    if (spec == nullptr) return made;
    made.selectors = read_selectors(*spec);
    made.configurations = read_configurations(*spec);
    made.extended_resource = text_at(*spec, "extendedResourceName");
    return made;
}

Claim read_claim(const document::Value& object) {
    Claim claim;
    claim.name_space = text_at(object, "metadata.namespace");
    claim.name = text_at(object, "metadata.name");
    claim.uid = text_at(object, "metadata.uid");
    if (const document::Value* const spec = object.find("spec")) read_spec(*spec, claim);
    claim.allocation = read_allocation(document::at_path(object, "status.allocation"));
    for (const document::Value& one : items_at(object, {"status", "reservedFor"})) {
        claim.reserved_for.push_back(
            {text_at(one, "resource"), text_at(one, "name"), text_at(one, "uid")});
    }
    return claim;
}

Claim read_template(const document::Value& object) {
    Claim claim;
    if (const document::Value* const spec = document::at_path(object, "spec.spec")) {
        read_spec(*spec, claim);
    }
    return claim;
}

}  // namespace aliquot::claims
