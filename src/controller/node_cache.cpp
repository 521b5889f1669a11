// SPDX-License-Identifier: Apache-2.0
#include "controller/node_cache.h"

namespace aliquot::controller {

NodeCache::NodeCache(kube::Api& api)
    : informer_(api, kube::resources::nodes(),
                {.projection = kube::keep_fields({"metadata.labels", "metadata.annotations",
                                                  "status.allocatable", "status.capacity"})},
                [this](const kube::ObjectKey& key, const kube::StoredObject& /*before*/,
                       const kube::StoredObject& now) { note(key, now); }) {}

/// Most changes of a Node are heartbeats and change nothing here.
void NodeCache::note(const kube::ObjectKey& key, const kube::StoredObject& now) {
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
