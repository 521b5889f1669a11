// SPDX-License-Identifier: Apache-2.0
#include "controller/pod_placement.h"

#include "controller/placement_work.h"

namespace aliquot::controller {

PodPlacement::PodPlacement(Dependencies dependencies, const PlacementOptions& options)
    : work_(std::make_unique<PlacementWork>(std::move(dependencies), options)) {}
PodPlacement::~PodPlacement() = default;
void PodPlacement::start() { work_->start(); }
void PodPlacement::stop() { work_->stop(); }
void PodPlacement::wake() { work_->wake(); }
bool PodPlacement::is_synced() const { return work_->is_synced(); }
bool PodPlacement::serves(const std::string& resource) const { return work_->serves(resource); }
std::optional<std::vector<FitAnswer>> PodPlacement::ask(const FitInquiry& inquiry,
                                                        std::chrono::milliseconds patience) {
    return work_->ask(inquiry, patience);
}
admission::Review PodPlacement::review_binding(std::string_view body) {
    return work_->bindings().review(body);
}
Extender& PodPlacement::extender() { return work_->extender(); }
std::string PodPlacement::metrics() const { return work_->metrics(); }

}  // namespace aliquot::controller
