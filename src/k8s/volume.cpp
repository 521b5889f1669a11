// SPDX-License-Identifier: Apache-2.0
#include "k8s/volume.h"

#include <algorithm>

#include "document/json.h"
#include "document/path.h"
#include "k8s/quantity.h"

namespace aliquot::k8s {
namespace {

using document::Value;

constexpr std::size_t kMostClaims = 256;

std::uint64_t bytes_of(const Value& object, std::initializer_list<std::string_view> path) {
    const double value = quantity_value(document::text_at(object, path)).value_or(0);
    return value > 0 ? static_cast<std::uint64_t>(std::min(value, 1e18)) : 0;
}

std::set<std::string> modes_of(const Value& object) {
    std::set<std::string> modes;
    for (const Value& mode : document::items_at(object, {"spec", "accessModes"}))
        modes.insert(document::text_of(&mode));
    return modes;
}

Result<Value> named_object(std::string_view json, const char* what) {
    auto root = document::parse_json(json);
    if (!root) return Error(root.error()).during(what);
    if (document::text_at(*root, {"metadata", "name"}).empty())
        return Error{ErrorCode::kInvalidInput, std::string("a ") + what + " without a name"};
    return root;
}

}  // namespace

Result<VolumeClaim> parse_volume_claim(std::string_view json) {
    const auto root = named_object(json, "PersistentVolumeClaim");
    if (!root) return root.error();
    return VolumeClaim{
        .name_space = document::text_at(*root, {"metadata", "namespace"}),
        .name = document::text_at(*root, {"metadata", "name"}),
        .volume = document::text_at(*root, {"spec", "volumeName"}),
        .storage_class = document::text_at(*root, {"spec", "storageClassName"}),
        .selected_node = document::text_at(
            *root, {"metadata", "annotations", "volume.kubernetes.io/selected-node"}),
        .bytes = bytes_of(*root, {"spec", "resources", "requests", "storage"}),
        .access_modes = modes_of(*root)};
}

Result<PersistentVolume> parse_persistent_volume(std::string_view json) {
    const auto root = named_object(json, "PersistentVolume");
    if (!root) return root.error();
    PersistentVolume made{.name = document::text_at(*root, {"metadata", "name"}),
                          .storage_class = document::text_at(*root, {"spec", "storageClassName"}),
                          .bytes = bytes_of(*root, {"spec", "capacity", "storage"}),
                          .access_modes = modes_of(*root)};
    const std::string claim = document::text_at(*root, {"spec", "claimRef", "name"});
    if (!claim.empty())
        made.claim = document::text_at(*root, {"spec", "claimRef", "namespace"}) + "/" + claim;
    for (const Value& term :
         document::items_at(*root, {"spec", "nodeAffinity", "required", "nodeSelectorTerms"})) {
        made.nodes.push_back({.labels = read_requirements(term.find("matchExpressions")),
                              .fields = read_requirements(term.find("matchFields"))});
    }
    const std::string phase = document::text_at(*root, {"status", "phase"});
    made.is_available = phase.empty() || phase == "Available" || phase == "Pending";
    return made;
}

Result<StorageClass> parse_storage_class(std::string_view json) {
    const auto root = named_object(json, "StorageClass");
    if (!root) return root.error();
    StorageClass made{
        .name = document::text_at(*root, {"metadata", "name"}),
        .waits_for_pod = document::text_at(*root, {"volumeBindingMode"}) == "WaitForFirstConsumer",
        .makes_none = document::text_at(*root, {"provisioner"}) == "kubernetes.io/no-provisioner"};
    for (const Value& term : document::items_at(*root, {"allowedTopologies"})) {
        NodeSelectorTerm one;
        for (const Value& label : document::items_at(term, {"matchLabelExpressions"})) {
            Requirement requirement{.key = document::text_at(label, {"key"})};
            for (const Value& value : document::items_at(label, {"values"}))
                requirement.values.push_back(document::text_of(&value));
            one.labels.push_back(std::move(requirement));
        }
        made.topologies.push_back(std::move(one));
    }
    return made;
}

std::vector<std::string> claims_of(const Value& spec, const std::string& pod_name) {
    std::vector<std::string> names;
    for (const Value& volume : document::items_at(spec, {"volumes"})) {
        if (names.size() == kMostClaims) break;
        std::string claim = document::text_at(volume, {"persistentVolumeClaim", "claimName"});
        if (claim.empty() && volume.find("ephemeral") != nullptr)
            claim = pod_name + "-" + document::text_at(volume, {"name"});
        if (!claim.empty()) names.push_back(std::move(claim));
    }
    return names;
}

}  // namespace aliquot::k8s
