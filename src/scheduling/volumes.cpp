// SPDX-License-Identifier: Apache-2.0
#include "scheduling/volumes.h"

#include <algorithm>

namespace aliquot::scheduling {
namespace {

std::string full_name(const k8s::VolumeClaim& claim) { return claim.name_space + "/" + claim.name; }

VolumeRule nowhere(const std::string& claim, std::string why) {
    return {.claim = claim, .is_anywhere = false, .nodes = {}, .why = std::move(why)};
}

VolumeRule at(const std::string& claim, const std::vector<k8s::NodeSelectorTerm>& nodes,
              std::string why) {
    return {.claim = claim, .is_anywhere = nodes.empty(), .nodes = nodes, .why = std::move(why)};
}

}  // namespace

void Volumes::set_claim(k8s::VolumeClaim claim) {
    std::pair key(claim.name_space, claim.name);
    claims_[std::move(key)] = std::move(claim);
}
void Volumes::remove_claim(const std::string& name_space, const std::string& name) {
    claims_.erase({name_space, name});
}
void Volumes::set_volume(k8s::PersistentVolume volume) {
    const std::string name = volume.name;
    volumes_[name] = std::move(volume);
}
void Volumes::remove_volume(const std::string& name) { volumes_.erase(name); }
void Volumes::set_class(k8s::StorageClass storage_class) {
    const std::string name = storage_class.name;
    classes_[name] = std::move(storage_class);
}
void Volumes::remove_class(const std::string& name) { classes_.erase(name); }

VolumeRule Volumes::of_free_volumes(const k8s::VolumeClaim& claim) const {
    VolumeRule rule = nowhere(claim.name, "no free volume of class " + claim.storage_class +
                                              " is there for its claim " + claim.name);
    for (const auto& [name, volume] : volumes_) {
        const bool is_ours = volume.claim == full_name(claim);
        const bool is_free = volume.claim.empty() && volume.is_available;
        if (!is_ours && !is_free) continue;
        if (volume.storage_class != claim.storage_class || volume.bytes < claim.bytes ||
            !std::ranges::includes(volume.access_modes, claim.access_modes))
            continue;
        if (volume.nodes.empty()) return {.claim = claim.name};
        rule.nodes.insert(rule.nodes.end(), volume.nodes.begin(), volume.nodes.end());
    }
    return rule;
}

VolumeRule Volumes::rule_of(const k8s::VolumeClaim& claim) const {
    if (!claim.volume.empty()) {
        const auto volume = volumes_.find(claim.volume);
        if (volume == volumes_.end())
            return nowhere(claim.name, "the volume " + claim.volume + " of its claim " +
                                           claim.name + " does not exist");
        return at(claim.name, volume->second.nodes,
                  "the volume of its claim " + claim.name + " is on other nodes");
    }
    const auto of_class = classes_.find(claim.storage_class);
    if (of_class == classes_.end() || !of_class->second.waits_for_pod)
        return nowhere(claim.name, "its claim " + claim.name + " is not bound to a volume yet");
    if (!claim.selected_node.empty()) {
        const k8s::Requirement node{.key = "metadata.name", .values = {claim.selected_node}};
        return at(
            claim.name, {{.labels = {}, .fields = {node}}},
            "the volume of its claim " + claim.name + " is being made for " + claim.selected_node);
    }
    if (of_class->second.makes_none) return of_free_volumes(claim);
    return at(
        claim.name, of_class->second.topologies,
        "class " + claim.storage_class + " of its claim " + claim.name + " makes no volumes there");
}

std::vector<VolumeRule> Volumes::rules_of(const GpuPod& pod) const {
    std::vector<VolumeRule> rules;
    for (const std::string& name : pod.claims) {
        const auto claim = claims_.find({pod.name_space, name});
        VolumeRule rule = claim == claims_.end()
                              ? nowhere(name, "its volume claim " + name + " does not exist")
                              : rule_of(claim->second);
        if (!rule.is_anywhere) rules.push_back(std::move(rule));
    }
    return rules;
}

}  // namespace aliquot::scheduling
