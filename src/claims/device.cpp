// SPDX-License-Identifier: Apache-2.0
#include "claims/device.h"

#include <algorithm>

#include "base/number.h"
#include "document/path.h"

namespace aliquot::claims {
namespace {

using document::items_at;
using document::text_at;
using document::text_of;

std::int64_t number_at(const document::Value& node, std::string_view path) {
    return parse_number<std::int64_t>(text_at(node, path)).value_or(0);
}

bool flag_at(const document::Value& node, std::string_view key) {
    return document::is_true(node.find(key));
}

Reach read_reach(const document::Value& node) {
    Reach reach;
    reach.node_name = text_at(node, "nodeName");
    reach.all_nodes = flag_at(node, "allNodes");
    for (const document::Value& term : items_at(node, {"nodeSelector", "nodeSelectorTerms"})) {
        reach.terms.push_back({k8s::read_requirements(term.find("matchExpressions")),
                               k8s::read_requirements(term.find("matchFields"))});
    }
    return reach;
}

cel::Value list_of(const document::Value& items, cel::Value (*make)(const document::Value&)) {
    cel::List list;
    for (const document::Value& item : items.items) list.push_back(make(item));
    return cel::Value(std::move(list));
}

cel::Value whole(const document::Value& node) {
    return cel::Value(parse_number<std::int64_t>(node.scalar).value_or(0));
}
cel::Value flag(const document::Value& node) { return cel::Value(document::is_true(&node)); }
cel::Value text(const document::Value& node) { return cel::Value(node.scalar); }
cel::Value version(const document::Value& node) {
    const auto read = cel::Semver::parse(node.scalar);
    return read ? cel::Value(*read) : cel::Value(node.scalar);
}

cel::Value read_attribute(const document::Value& node) {
    if (const auto* const one = node.find("int")) return whole(*one);
    if (const auto* const one = node.find("bool")) return flag(*one);
    if (const auto* const one = node.find("string")) return text(*one);
    if (const auto* const one = node.find("version")) return version(*one);
    if (const auto* const one = node.find("ints")) return list_of(*one, whole);
    if (const auto* const one = node.find("bools")) return list_of(*one, flag);
    if (const auto* const one = node.find("strings")) return list_of(*one, text);
    if (const auto* const one = node.find("versions")) return list_of(*one, version);
    return {};
}

std::optional<Quantity> quantity_of(const document::Value* node) {
    return node == nullptr ? std::nullopt : Quantity::parse_field(text_of(node));
}

Capacity read_capacity(const document::Value& node) {
    Capacity capacity;
    if (const auto value = quantity_of(node.find("value"))) capacity.value = *value;
    const document::Value* const policy = node.find("requestPolicy");
    if (policy == nullptr || !policy->is_mapping()) return capacity;
    RequestPolicy read;
    read.taken_by_default = quantity_of(policy->find("default"));
    for (const document::Value& one : items_at(*policy, {"validValues"})) {
        if (const auto value = quantity_of(&one)) read.values.push_back(*value);
    }
    if (const document::Value* const range = policy->find("validRange")) {
        read.min = quantity_of(range->find("min"));
        read.max = quantity_of(range->find("max"));
        read.step = quantity_of(range->find("step"));
        if (!read.min) read.min = Quantity::of(0, Quantity::Format::kDecimal);
    }
    capacity.policy = std::move(read);
    return capacity;
}

Amounts read_counters(const document::Value* mapping) {
    Amounts amounts;
    if (mapping == nullptr) return amounts;
    for (const auto& [key, counter] : mapping->entries) {
        if (const auto value = quantity_of(counter.find("value"))) {
            amounts.insert_or_assign(key.scalar, *value);
        }
    }
    return amounts;
}

std::vector<std::string> read_texts(const document::Value& node, std::string_view key) {
    std::vector<std::string> texts;
    for (const document::Value& one : items_at(node, {key})) texts.push_back(one.scalar);
    return texts;
}

Device read_device(const document::Value& node, const std::string& driver) {
    Device device;
    device.name = text_at(node, "name");
    for (const auto& [key, value] : document::entries_at(node, {"attributes"})) {
        device.attributes.insert_or_assign(qualified(key.scalar, driver), read_attribute(value));
    }
    for (const auto& [key, value] : document::entries_at(node, {"capacity"})) {
        device.capacity.insert_or_assign(qualified(key.scalar, driver), read_capacity(value));
    }
    for (const document::Value& use : items_at(node, {"consumesCounters"})) {
        device.consumes.insert_or_assign(text_at(use, "counterSet"),
                                         read_counters(use.find("counters")));
    }
    device.taints = k8s::read_taints(node.find("taints"));
    device.shared = flag_at(node, "allowMultipleAllocations");
    device.binding_conditions = read_texts(node, "bindingConditions");
    device.binding_failures = read_texts(node, "bindingFailureConditions");
    device.reach = read_reach(node);
    return device;
}

}  // namespace

std::string qualified(std::string_view name, std::string_view driver) {
    if (name.find('/') != std::string_view::npos) return std::string(name);
    return std::string(driver) + "/" + std::string(name);
}

std::string short_name(std::string_view name, std::string_view driver) {
    const bool own = name.starts_with(driver) && name.substr(driver.size()).starts_with('/');
    return std::string(own ? name.substr(driver.size() + 1) : name);
}

bool Reach::covers(const std::string& node, const k8s::Labels& labels) const {
    if (all_nodes) return true;
    if (!node_name.empty()) return node_name == node;
    return std::ranges::any_of(
        terms, [&](const k8s::NodeSelectorTerm& term) { return term.matches(node, labels); });
}

std::string to_text(const DeviceId& id) { return id.pool + "/" + id.device; }

Slice read_slice(const document::Value& object) {
    Slice slice;
    slice.name = text_at(object, "metadata.name");
    const document::Value* const spec = object.find("spec");
    if (spec == nullptr || !spec->is_mapping()) return slice;
    slice.driver = text_at(*spec, "driver");
    slice.pool = text_at(*spec, "pool.name");
    slice.generation = number_at(*spec, "pool.generation");
    slice.slices = number_at(*spec, "pool.resourceSliceCount");
    slice.reach = read_reach(*spec);
    slice.by_device = flag_at(*spec, "perDeviceNodeSelection");
    for (const document::Value& node : items_at(*spec, {"devices"})) {
        slice.devices.push_back(read_device(node, slice.driver));
    }
    for (const document::Value& set : items_at(*spec, {"sharedCounters"})) {
        slice.counters.insert_or_assign(text_at(set, "name"), read_counters(set.find("counters")));
    }
    return slice;
}

}  // namespace aliquot::claims
