// SPDX-License-Identifier: Apache-2.0
#include "scaling/kube_directory.h"

#include <algorithm>

namespace aliquot::scaling {

std::optional<PodRecord> read_pod(std::string_view json) {
    auto metadata = kube_client::read_metadata(json);
    if (!metadata) return std::nullopt;
    const std::string phase = kube_client::string_at(json, "/status/phase").value_or("");
    if (phase == "Succeeded" || phase == "Failed") return std::nullopt;
    PodRecord record{.name = std::move(metadata->name),
                     .uid = std::move(metadata->uid),
                     .labels = std::move(metadata->labels)};
    const auto controller =
        std::find_if(metadata->owners.begin(), metadata->owners.end(),
                     [](const kube_client::OwnerReference& owner) { return owner.controller; });
    if (controller != metadata->owners.end()) {
        record.controller_kind = controller->kind;
        record.controller_name = controller->name;
    }
    return record;
}

KubeDirectory::KubeDirectory(kube_client::Api& api)
    : informer_(
          api, kube_client::resources::pods(),
          {.projection = kube_client::keep_fields(
               {"metadata.labels", "metadata.ownerReferences", "status.phase"})},
          [this](const kube_client::ObjectKey& key, const kube_client::StoredObject& /*before*/,
                 const kube_client::StoredObject& now) { note(key, now); }) {}

void KubeDirectory::note(const kube_client::ObjectKey& key, const kube_client::StoredObject& now) {
    auto record = now == nullptr ? std::nullopt : read_pod(now->json);
    const std::scoped_lock lock(mutex_);
    if (record) {
        pods_[key.namespace_name][key.name] = *std::move(record);
        return;
    }
    const auto space = pods_.find(key.namespace_name);
    if (space == pods_.end()) return;
    space->second.erase(key.name);
    if (space->second.empty()) pods_.erase(space);
}

Result<Done> KubeDirectory::pods(const std::string& namespace_name,
                                 const std::function<void(const PodRecord&)>& visit) const {
    const kube_client::InformerState state = informer_.state();
    if (!state.synced) {
        return Error{ErrorCode::kUnavailable,
                     "the pods' labels are not known yet: " +
                         (state.last_failure.empty() ? "the list of pods is being read"
                                                     : state.last_failure)};
    }
    const std::scoped_lock lock(mutex_);
    const auto space = pods_.find(namespace_name);
    if (space == pods_.end()) return Done{};
    for (const auto& [name, record] : space->second) visit(record);
    return Done{};
}

Result<Done> NoDirectory::pods(const std::string& /*namespace_name*/,
                               const std::function<void(const PodRecord&)>& /*visit*/) const {
    return Error{ErrorCode::kUnavailable, "the pods' labels are not known: " + reason_};
}

}  // namespace aliquot::scaling
