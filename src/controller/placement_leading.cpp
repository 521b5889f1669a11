// SPDX-License-Identifier: Apache-2.0
// What a replica does beside the queue: the label of who leads, and GPUs that were given to pods that were not bound.
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/log.h"
#include "controller/placement_work.h"

namespace aliquot::controller {
namespace {

using Json = nlohmann::json;

constexpr char kLeadsLabel[] = "aliquot.dev/leads";
constexpr std::chrono::seconds kTellWait{5};
constexpr std::chrono::seconds kTellAgain{2};  // after a failure

}  // namespace

/// A Service that only the leader may answer goes by this label of its pod. Two with the label do no harm: the one
/// that does not lead lets everything pass.
void PlacementWork::tell_who_leads(const std::stop_token& stop) {
    const bool is_asked = options_.strict || options_.extender.is_on();
    const bool leads = world_.elector.leads();
    const auto now = Steady::now();
    if (!is_asked || options_.pod_name.empty()) told_to_lead_ = leads;
    if (told_to_lead_ == leads || now < tell_not_before_) return;
    const Json value = leads ? Json("true") : Json();
    const Json patch{{"metadata", {{"labels", {{kLeadsLabel, value}}}}}};
    const auto done = world_.api.patch(kube_client::resources::pods(),
                                       {options_.name_space, options_.pod_name}, dumped(patch),
                                       {.kind = kube_client::PatchKind::kMerge,
                                        .write = {.field_manager = "aliquot-controller",
                                                  .call = {.deadline = kTellWait, .stop = stop}}});
    if (done) {
        told_to_lead_ = leads;
        return;
    }
    tell_not_before_ = now + kTellAgain;
    log::warning("placement.label_not_written",
                 {{"pod", options_.name_space + "/" + options_.pod_name},
                  {"reason", done.failure().message}});
}

/// What was given to pods whose Binding failed after all is free again; what had been planned for them holds again.
void PlacementWork::tend_seats() {
    for (const auto& [key, uid] : bindings_.lapsed()) {
        const auto object = pods_.store().find(key);
        const auto pod = object ? scheduling::read_gpu_pod(object->json)
                                : Result<GpuPod>(Error{ErrorCode::kNotFound, ""});
        const bool is_there = pod && pod->uid == uid;
        if (is_there && !pod->node.empty()) continue;
        books_->take_back(uid);
        log::info("placement.not_bound", {{"pod", key.namespace_name + "/" + key.name}});
        if (!is_there) continue;
        released_.erase(uid);
        note(changed_pods_, key);
    }
}

}  // namespace aliquot::controller
