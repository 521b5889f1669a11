// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "admission/gpu_node.h"
#include "kube_client/informer.h"

namespace aliquot::controller {

/// The nodes with GPUs, kept as the API server has them. Thread-safe; readers ask nobody.
class NodeCache {
public:
    explicit NodeCache(kube_client::Api& api);

    void start() { informer_.start(); }
    [[nodiscard]] bool is_synced() const { return informer_.state().synced; }

    /// As it stands; after a change the first reader puts it together anew. Null before the first
    /// whole list.
    [[nodiscard]] std::shared_ptr<const admission::Cluster> cluster() const;

private:
    void note(const kube_client::ObjectKey& key, const kube_client::StoredObject& now);

    mutable std::mutex mutex_;
    std::map<std::string, std::shared_ptr<const admission::GpuNode>> nodes_;
    mutable std::shared_ptr<const admission::Cluster> cluster_;  // null: to be put together
    kube_client::Informer informer_;                             // last: its thread uses the others
};

}  // namespace aliquot::controller
