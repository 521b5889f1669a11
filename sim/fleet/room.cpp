// SPDX-License-Identifier: Apache-2.0
#include "sim/fleet/room.h"

#include <algorithm>

namespace aliquot::sim::fleet {
namespace {

double amount(const k8s::Amounts& amounts, const std::string& resource) {
    const auto found = amounts.find(resource);
    return found == amounts.end() ? 0 : found->second;
}

/// A node of which the pod's affinity names all it may go to: nothing else need be looked at.
std::optional<std::set<std::string>> named_nodes(const k8s::Pod& pod) {
    if (!pod.where.node_name.empty()) return std::set{pod.where.node_name};
    if (!pod.where.has_terms || pod.where.terms.empty()) return std::nullopt;
    std::set<std::string> names;
    for (const auto& term : pod.where.terms) {
        const auto field = std::ranges::find_if(term.fields, [](const k8s::Requirement& one) {
            return one.key == "metadata.name" && one.operation == k8s::Requirement::Operator::kIn;
        });
        if (field == term.fields.end()) return std::nullopt;
        names.insert(field->values.begin(), field->values.end());
    }
    return names;
}

}  // namespace

void Room::set_node(k8s::Node node) {
    const auto [place, is_new] = places_.try_emplace(node.name);
    const std::string name = node.name;
    place->second.node = std::move(node);
    if (!is_new) return;
    for (const auto& [uid, taken] : taken_) {
        if (taken.node == name) count(taken, 1);
    }
}

void Room::remove_node(const std::string& name) { places_.erase(name); }

void Room::count(const Taken& taken, double sign) {
    const auto place = places_.find(taken.node);
    if (place == places_.end()) return;
    for (const auto& [resource, wanted] : taken.requests)
        place->second.used[resource] += sign * wanted;
    place->second.pods += sign > 0 ? 1U : -1U;
}

void Room::take(const std::string& uid, const std::string& node, const k8s::Amounts& requests) {
    const auto known = taken_.find(uid);
    if (known != taken_.end() && known->second.node == node) return;
    give_back(uid);
    count(taken_[uid] = {.node = node, .requests = requests}, 1);
}

void Room::give_back(const std::string& uid) {
    const auto known = taken_.find(uid);
    if (known == taken_.end()) return;
    count(known->second, -1);
    taken_.erase(known);
}

std::string Room::keeps_off(const Place& place, const k8s::Pod& pod, const k8s::Amounts& requests) {
    if (place.node.is_cordoned) return "node(s) were unschedulable";
    if (!pod.where.matches(place.node.name, place.node.labels))
        return "node(s) didn't match Pod's node affinity/selector";
    const auto bad = std::ranges::find_if(place.node.taints, [&](const k8s::NodeTaint& taint) {
        return taint.keeps_away() && !k8s::tolerates(pod.tolerations, taint);
    });
    if (bad != place.node.taints.end())
        return "node(s) had untolerated taint {" + bad->key + ": " + bad->value + "}";
    if (!place.node.is_ready()) return "node(s) were not ready";
    if (place.pods + 1 > amount(place.node.allocatable, "pods")) return "Too many pods";
    for (const auto& [resource, wanted] : requests) {
        if (wanted <= 0) continue;
        if (amount(place.used, resource) + wanted > amount(place.node.allocatable, resource))
            return "Insufficient " + resource;
    }
    return {};
}

Room::Choice Room::choose(const k8s::Pod& pod) const {
    const auto requests = pod.requests();
    const auto named = named_nodes(pod);
    std::map<std::string, unsigned> reasons;
    const Place* best = nullptr;
    double most = -1;
    const auto look = [&](const Place& place) {
        const std::string why = keeps_off(place, pod, requests);
        if (!why.empty()) {
            ++reasons[why];
            return;
        }
        const double all = amount(place.node.allocatable, "cpu");
        const double left = all > 0 ? 1 - amount(place.used, "cpu") / all : 0;
        if (left > most) {
            most = left;
            best = &place;
        }
    };
    if (named) {
        for (const std::string& name : *named) {
            const auto place = places_.find(name);
            if (place != places_.end()) look(place->second);
        }
        unsigned looked = 0;
        for (const auto& [why, times] : reasons) looked += times;
        if (best == nullptr && places_.size() > looked)
            reasons["node(s) didn't match Pod's node affinity/selector"] +=
                static_cast<unsigned>(places_.size()) - looked;
    } else {
        for (const auto& [name, place] : places_) look(place);
    }
    if (best != nullptr) return {.node = best->node.name, .why = {}};
    std::string why = "0/" + std::to_string(places_.size()) + " nodes are available:";
    const char* between = " ";
    for (const auto& [reason, times] : reasons) {
        why += between + std::to_string(times) + " " + reason;
        between = ", ";
    }
    return {.node = {}, .why = why + "."};
}

}  // namespace aliquot::sim::fleet
