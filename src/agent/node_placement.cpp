// SPDX-License-Identifier: Apache-2.0
#include "agent/node_placement.h"

#include <set>

#include "gpu/replica_id.h"
#include "kube_client/object.h"

namespace aliquot::agent {
namespace {

constexpr std::chrono::milliseconds kGlance{500};  // at who holds what
constexpr char kPlanPointer[] = "/metadata/annotations/aliquot.dev~1plan";
constexpr char kCreatedPointer[] = "/metadata/creationTimestamp";

kube_client::InformerOptions pods_of(const std::string& node) {
    return {.field_selector = "spec.nodeName=" + node,
            .metadata_only = true,
            .projection =
                kube_client::keep_fields({"metadata.creationTimestamp", "metadata.annotations"})};
}

}  // namespace

scheduling::Granted granted_of(const pods::Holders& holders,
                               const std::map<std::string, std::string>& gpu_of) {
    scheduling::Granted granted;
    for (const pods::Holder& holder : holders.list) {
        for (const std::string& id : holder.ids) {
            const auto gpu = gpu_of.find(std::string(gpu::device_of(id)));
            if (gpu != gpu_of.end() && !holder.owner.pod_uid.empty())
                ++granted[holder.owner.pod_uid][holder.resource][gpu->second];
        }
    }
    return granted;
}

NodePlacement::NodePlacement(std::string node, Sources sources)
    : node_(std::move(node)),
      sources_(std::move(sources)),
      pods_(sources_.api, kube_client::resources::pods(), pods_of(node_),
            [this](const auto&, const auto& before, const auto& after) { note(before, after); }) {
    plans_.set_refresh([this] { look_for_plans(); });
}

NodePlacement::~NodePlacement() { plans_.set_refresh({}); }

void NodePlacement::start() {
    pods_.start();
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void NodePlacement::note(const kube_client::StoredObject& before,
                         const kube_client::StoredObject& after) {
    if (after == nullptr) {
        if (before != nullptr) plans_.erase(before->uid);
        return;
    }
    const auto text = kube_client::string_at(after->json, kPlanPointer);
    const auto plan = text ? scheduling::parse_plan(*text) : std::nullopt;
    const auto created = kube_client::string_at(after->json, kCreatedPointer);
    if (plan) plans_.set(after->uid, created.value_or(""), *plan, node_);
}

/// kubelet waits for this: the watch may be a moment behind it.
void NodePlacement::look_for_plans() {
    if (!pods_.state().synced) return;
    const auto page =
        sources_.api.list_page(kube_client::resources::pods(),
                               {.field_selector = "spec.nodeName=" + node_, .metadata_only = true},
                               {}, {.deadline = PlannedGrants::kLongestLook});
    if (!page) return;
    for (const kube_client::Object& one : page->items)
        note(nullptr, std::make_shared<const kube_client::Object>(one));
}

void NodePlacement::apply(const sharing::Offer& offer) {
    std::map<std::string, std::string> gpu_of;
    for (const sharing::Resource& resource : offer.resources)
        gpu_of.merge(gpus_of_devices(resource));
    {
        const std::scoped_lock lock(mutex_);
        gpu_of_.swap(gpu_of);
    }
    changed_.notify_all();
}

void NodePlacement::report(const pods::Holders& holders) {
    std::set<std::string> uids;
    for (const pods::Holder& one : holders.list) uids.insert(one.owner.pod_uid);
    plans_.note_holders(uids);
    std::string granted;
    {
        const std::scoped_lock lock(mutex_);
        granted = scheduling::to_json(granted_of(holders, gpu_of_));
    }
    sources_.tell(std::move(granted));
}

void NodePlacement::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const auto holders = sources_.holders();
        if (holders != nullptr) report(*holders);
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, kGlance, [] { return false; });
    }
}

}  // namespace aliquot::agent
