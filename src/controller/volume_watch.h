// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kube_client/api.h"
#include "kube_client/informer.h"
#include "scheduling/volumes.h"

namespace aliquot::controller {

/// Where the volumes of pods are: claims, volumes and storage classes of the cluster. Nothing is asked of the API
/// server before the first pod that has a claim. Thread-safe.
class VolumeWatch {
public:
    /// changed   called when something has; on another thread
    VolumeWatch(kube_client::Api& api, std::function<void()> changed);

    /// What the claims of this pod mean; empty: they are not known yet, ask again. Where they cannot be read within
    /// ten seconds (the role of an older installation does not allow it) they mean nothing.
    std::optional<std::vector<scheduling::VolumeRule>> rules_of(const scheduling::GpuPod& pod);

private:
    using Steady = std::chrono::steady_clock;
    void start();
    [[nodiscard]] bool is_synced() const;

    kube_client::Api& api_;
    const std::function<void()> changed_;
    std::mutex mutex_;
    scheduling::Volumes volumes_;  // guarded by mutex_
    std::optional<Steady::time_point> started_;
    bool was_told_ = false;
    std::unique_ptr<kube_client::Informer> claims_;  // these use the others
    std::unique_ptr<kube_client::Informer> persistent_;
    std::unique_ptr<kube_client::Informer> classes_;
};

}  // namespace aliquot::controller
