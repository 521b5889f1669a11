// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kube_client/api.h"
#include "kube_client/informer.h"
#include "scaling/directory.h"

namespace aliquot::scaling {

/// The pods of the cluster as the API server has them, kept by a watch: a few hundred bytes each.
class KubeDirectory final : public PodDirectory {
public:
    /// api   must outlive this
    explicit KubeDirectory(kube_client::Api& api);

    /// Begins to watch, on a thread of its own.
    void start() { informer_.start(); }

    [[nodiscard]] Result<Done> pods(
        const std::string& namespace_name,
        const std::function<void(const PodRecord&)>& visit) const override;

private:
    void note(const kube_client::ObjectKey& key, const kube_client::StoredObject& now);

    mutable std::mutex mutex_;
    std::map<std::string, std::map<std::string, PodRecord>> pods_;  // by namespace and name
    kube_client::Informer informer_;  // last: its thread uses the others
};

/// What there is without an API server: nothing of labels.
class NoDirectory final : public PodDirectory {
public:
    explicit NoDirectory(std::string reason) : reason_(std::move(reason)) {}
    [[nodiscard]] Result<Done> pods(
        const std::string& namespace_name,
        const std::function<void(const PodRecord&)>& visit) const override;

private:
    std::string reason_;
};

/// A pod that has not ended, of its JSON text; empty: it has, or it is no pod.
std::optional<PodRecord> read_pod(std::string_view json);

}  // namespace aliquot::scaling
