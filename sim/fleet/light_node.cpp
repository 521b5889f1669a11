// SPDX-License-Identifier: Apache-2.0
#include "sim/fleet/light_node.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "gpu/replica_id.h"
#include "labels/labels.h"
#include "node/offer_text.h"
#include "sim/node/model.h"

namespace aliquot::sim::fleet {
namespace {

using Json = nlohmann::json;

constexpr unsigned kMostGpus = 16;
constexpr unsigned kMibShift = 20;

/// The same for the same node and GPU.
std::string uuid_of(const std::string& node, unsigned gpu) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : node) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    char text[64];
    std::snprintf(text, sizeof text, "GPU-%08x-%04x-4%03x-8%03x-%012llx",
                  static_cast<unsigned>(hash), static_cast<unsigned>(hash >> 32U) & 0xffffU,
                  static_cast<unsigned>(hash >> 48U) & 0xfffU, gpu,
                  static_cast<unsigned long long>((hash * 31 + gpu) & 0xffffffffffffU));
    return text;
}

gpu::Inventory inventory_of(const std::string& node, const Model& model, unsigned gpus) {
    gpu::Inventory made{.driver_version = "580.65.06", .cuda_version = 13'000};
    for (unsigned i = 0; i < gpus; ++i) {
        made.gpus.push_back({.index = i,
                             .uuid = {uuid_of(node, i)},
                             .minor = i,
                             .model = std::string(model.product),
                             .memory_bytes = model.memory_bytes(),
                             .compute_major = static_cast<unsigned>(model.compute_major),
                             .compute_minor = static_cast<unsigned>(model.compute_minor),
                             .pci = {.bus = i + 1},
                             .mig_capable = model.mig_devices > 0});
    }
    return made;
}

}  // namespace

Result<LightNode> LightNode::make(std::string name, const NodeShape& shape) {
    const Model* const model = find_model(shape.model);
    if (model == nullptr)
        return Error{ErrorCode::kInvalidInput, "there is no GPU model '" + shape.model + "'"};
    if (shape.gpus == 0 || shape.gpus > kMostGpus)
        return Error{ErrorCode::kInvalidInput,
                     "a node has 1 to 16 GPUs, not " + std::to_string(shape.gpus)};
    LightNode made;
    made.inventory_ = inventory_of(name, *model, shape.gpus);
    made.name_ = std::move(name);
    made.shape_ = shape;
    auto offer = sharing::make_offer(shape.sharing, made.inventory_);
    if (!offer) return offer.error();
    made.offer_ = *std::move(offer);
    made.plans_ = std::make_unique<agent::PlannedGrants>();
    return made;
}

std::string LightNode::object(const std::string& zone) const {
    Json labels{{"kubernetes.io/hostname", name_},
                {"kubernetes.io/os", "linux"},
                {"kubernetes.io/arch", "amd64"}};
    if (!zone.empty()) labels["topology.kubernetes.io/zone"] = zone;
    return dumped(Json{{"apiVersion", "v1"},
                       {"kind", "Node"},
                       {"metadata", {{"name", name_}, {"labels", labels}}}});
}

std::string LightNode::status() const {
    Json amounts{{"cpu", std::to_string(shape_.cores)},
                 {"memory", std::to_string(shape_.memory_gib) + "Gi"},
                 {"pods", std::to_string(shape_.pods)}};
    Json capacity = amounts;
    for (const sharing::Resource& resource : offer_.resources) {
        std::size_t all = 0;
        std::size_t healthy = 0;
        for (const grant::Device& device : resource.devices()) {
            ++all;
            healthy += device.healthy && agent_runs_ ? 1 : 0;
        }
        capacity[resource.name] = std::to_string(all);
        amounts[resource.name] = std::to_string(healthy);
    }
    const Json ready{{"type", "Ready"},
                     {"status", "True"},
                     {"reason", "KubeletReady"},
                     {"message", "kubelet is posting ready status"}};
    return dumped(
        Json{{"status",
              {{"capacity", capacity},
               {"allocatable", amounts},
               {"conditions", Json::array({ready})},
               {"nodeInfo", {{"kubeletVersion", "v1.36.2"}, {"operatingSystem", "linux"}}}}}});
}

std::string LightNode::told() const {
    auto gpus = node::gpu_statuses(inventory_);
    const auto offers = node::gpu_offers(offer_);
    for (node::GpuStatus& gpu : gpus) {
        const auto offered = offers.find(gpu.uuid);
        if (offered != offers.end()) gpu.offers = offered->second;
    }
    Json labels = labels::feature_labels(
        {.inventory = inventory_, .offer = offer_, .machine = {}, .pci_class = {}});
    return dumped(Json{{"metadata",
                        {{"labels", labels},
                         {"annotations",
                          {{"aliquot.dev/gpus", node::to_json(gpus)},
                           {"aliquot.dev/shares", node::to_json(node::share_statuses(offer_))},
                           {"aliquot.dev/granted", scheduling::to_json(granted())}}}}}});
}

const sharing::Resource* LightNode::find(const std::string& resource) const {
    const auto found = std::ranges::find(offer_.resources, resource, &sharing::Resource::name);
    return found == offer_.resources.end() ? nullptr : &*found;
}

std::vector<std::string> LightNode::free_ids(const sharing::Resource& resource) const {
    std::set<std::string> used;
    for (const auto& [uid, resources] : held_) {
        const auto of_resource = resources.find(resource.name);
        if (of_resource != resources.end())
            used.insert(of_resource->second.begin(), of_resource->second.end());
    }
    std::vector<std::string> ids;
    for (const grant::Device& device : resource.devices()) {
        if (device.healthy && !used.contains(device.id)) ids.push_back(device.id);
    }
    return ids;
}

Result<Done> LightNode::admit(const std::string& uid, const std::vector<Asked>& asked) {
    if (held_.contains(uid)) return Done{};
    std::map<std::string, std::set<std::string>> given;
    for (const Asked& one : asked) {
        const sharing::Resource* const resource = find(one.resource);
        auto ids =
            resource != nullptr && agent_runs_ ? free_ids(*resource) : std::vector<std::string>{};
        auto& mine = given[one.resource];
        std::erase_if(ids, [&](const std::string& id) { return mine.contains(id); });
        if (ids.size() < one.count) {
            return Error{ErrorCode::kUnavailable,
                         "Allocate failed due to requested number of devices unavailable for " +
                             one.resource + ". Requested: " + std::to_string(one.count) +
                             ", Available: " + std::to_string(ids.size()) +
                             ", which is unexpected"};
        }
        auto chosen = plans_->prefer(*resource, ids, {}, one.count);
        if (chosen.empty()) {
            const auto policy = shape_.sharing.flags.plugin.shared_devices_allocation_policy;
            chosen = sharing::prefer(*resource, {},
                                     policy.value_or(sharing::AllocationPolicy::kDistributed), ids,
                                     {}, one.count);
        }
        if (chosen.size() != one.count) {
            return Error{ErrorCode::kUnavailable,
                         "the plugin named " + std::to_string(chosen.size()) + " devices of " +
                             one.resource + ", " + std::to_string(one.count) + " were asked"};
        }
        plans_->note_granted(*resource, chosen);
        mine.insert(chosen.begin(), chosen.end());
    }
    std::erase_if(given, [](const auto& one) { return one.second.empty(); });
    if (given.empty()) return Done{};
    held_[uid] = std::move(given);
    plans_->note_holders({uid});
    return Done{};
}

bool LightNode::release(const std::string& uid) {
    if (planned_.erase(uid) > 0) plans_->erase(uid);
    return held_.erase(uid) > 0;
}

void LightNode::plan(const std::string& uid, const std::string& created,
                     const scheduling::Plan& plan) {
    if (!agent_runs_ || held_.contains(uid)) return;
    planned_.insert(uid);
    plans_->set(uid, created, plan, name_);
}

void LightNode::offer_again() {
    auto offer = sharing::make_offer(shape_.sharing, inventory_);
    if (offer) offer_ = *std::move(offer);  // health changes nothing of what it stands on
}

void LightNode::set_health(unsigned gpu, bool healthy) {
    if (gpu >= inventory_.gpus.size()) return;
    inventory_.gpus[gpu].health = healthy
                                      ? gpu::Health{}
                                      : gpu::Health{.state = gpu::Health::State::kUnhealthy,
                                                    .reason = "Xid 79: GPU has fallen off the bus",
                                                    .advice = "restart the machine"};
    offer_again();
}

void LightNode::set_agent(bool runs) {
    agent_runs_ = runs;
    plans_ = std::make_unique<agent::PlannedGrants>();
    planned_.clear();
}

scheduling::Granted LightNode::granted() const {
    scheduling::Granted granted;
    for (const auto& [uid, resources] : held_) {
        for (const auto& [resource, ids] : resources) {
            for (const std::string& id : ids)
                ++granted[uid][resource][std::string(gpu::device_of(id))];
        }
    }
    return granted;
}

}  // namespace aliquot::sim::fleet
