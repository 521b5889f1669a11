// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "http/certificate.h"
#include "kube_client/api.h"
#include "kube_client/election.h"

namespace aliquot::controller {

struct PlacementOptions {
    bool enabled = false;
    unsigned targets = 3;  // nodes that one pod may go to; 1 to 64
    /// How long a pod that was let go may find none of its nodes free before it is made again.
    std::chrono::seconds unfit_patience{30};
    /// The first pod of the queue that has waited so long gets a node kept for it: others of its priority or a
    /// lower one get no place there; 0: never.
    std::chrono::seconds keep_after{600};
    /// After so long a waiting pod is let go without a place, so that an autoscaler sees it; 0: never.
    std::chrono::seconds release_after{0};
};

/// The role `placement`: gated pods get nodes and GPUs in the order of the queue, and their gate is taken away
/// with one PATCH (docs/internals/placement.md). Every replica follows the cluster and knows what is booked;
/// only the leader writes. Thread-safe; a thread of its own from start() to the destructor.
class PodPlacement {
public:
    struct Dependencies {
        kube_client::Api& api;
        const kube_client::Elector& elector;
        std::function<http::Instant()> now;
    };
    PodPlacement(Dependencies dependencies, const PlacementOptions& options);
    ~PodPlacement();
    PodPlacement(const PodPlacement&) = delete;
    PodPlacement& operator=(const PodPlacement&) = delete;

    void start();
    /// Writes no more.
    void stop();
    /// Something else has changed: who leads, or the clock.
    void wake();
    [[nodiscard]] bool is_synced() const;
    /// Whether a pod that asks for this resource is ours to place: some agent of ours offers it.
    [[nodiscard]] bool serves(const std::string& resource) const;
    /// Prometheus text.
    [[nodiscard]] std::string metrics() const;

private:
    class Work;
    std::unique_ptr<Work> work_;
};

}  // namespace aliquot::controller
