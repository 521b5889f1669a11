// SPDX-License-Identifier: Apache-2.0
#include "controller/node_cache.h"

namespace aliquot::controller {

NodeCache::NodeCache(kube_client::Api& api)
    : informer_(
          api, kube_client::resources::nodes(),
          {.projection = kube_client::keep_fields({"metadata.labels", "metadata.annotations",
                                                   "status.allocatable", "status.capacity"})},
          [this](const kube_client::ObjectKey& key, const kube_client::StoredObject& /*before*/,
                 const kube_client::StoredObject& now) { note(key, now); }) {}

/// Most changes of a Node are heartbeats and change nothing here.
void NodeCache::note(const kube_client::ObjectKey& key, const kube_client::StoredObject& now) {
    auto node = now == nullptr ? std::nullopt : admission::read_node(now->json);
    const std::scoped_lock lock(mutex_);
    const auto found = nodes_.find(key.name);
    if (!node) {
        if (found == nodes_.end()) return;
        nodes_.erase(found);
    } else {
        if (found != nodes_.end() && *found->second == *node) return;
        nodes_[key.name] = std::make_shared<const admission::GpuNode>(*std::move(node));
    }
    cluster_.reset();
}

std::shared_ptr<const admission::Cluster> NodeCache::cluster() const {
    if (!is_synced()) return nullptr;
    const std::scoped_lock lock(mutex_);
    if (cluster_ == nullptr) {
        auto made = std::make_shared<admission::Cluster>();
        made->reserve(nodes_.size());
        for (const auto& [name, node] : nodes_) made->push_back(node);
        cluster_ = std::move(made);
    }
    return cluster_;
}

}  // namespace aliquot::controller
