// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/review.h"
#include "controller/extender.h"
#include "controller/fit_question.h"
#include "controller/placement_options.h"

namespace aliquot::controller {

class PlacementWork;

/// The role `placement`: gated pods get nodes and GPUs in the order of the queue, and their gate is taken away
/// with one PATCH (docs/internals/placement.md). Every replica follows the cluster and knows what is booked;
/// only the leader writes. Thread-safe; a thread of its own from start() to the destructor.
class PodPlacement {
public:
    using Dependencies = PlacementWorld;
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
    /// Whether pods that do not exist yet would have places now; books nothing. Nothing: that is not known in time.
    std::optional<std::vector<FitAnswer>> ask(const FitInquiry& inquiry,
                                              std::chrono::milliseconds patience);
    /// Answers an AdmissionReview of pods/binding; BindingReviews.
    admission::Review review_binding(std::string_view body);
    /// What kube-scheduler may ask; lives as long as this.
    Extender& extender();
    /// Prometheus text.
    [[nodiscard]] std::string metrics() const;

private:
    std::unique_ptr<PlacementWork> work_;
};

}  // namespace aliquot::controller
