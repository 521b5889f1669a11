// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/claims_of_node.h"

#include <algorithm>

#include "base/text.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "sim/cluster/device_classes.h"

namespace aliquot::sim::cluster {
namespace {

void add_once(std::vector<std::string>& list, const std::string& text) {
    if (!text.empty() && std::ranges::find(list, text) == list.end()) list.push_back(text);
}

Result<Done> apply_text(sim::ApiServer& api, std::string_view text) {
    auto applied = api.apply(text);
    if (!applied) return std::move(applied).error();
    return Done{};
}

/// Under `up` every namespace is there.
void make_namespace(sim::ApiServer& api, const std::string& name) {
    if (name.empty() || api.request("GET", "/api/v1/namespaces/" + name).status == 200) return;
    (void)api.request("POST", "/api/v1/namespaces",
                      document::to_json_line(document::make_mapping(
                          {{"metadata", document::make_mapping({{"name", name}})}})));
}

/// The uuid of a MIG device that was made for the claim: its CDI name ends with a dot and the uuid.
std::string made_for(const std::string& device, const std::vector<sim::PreparedDevice>& prepared) {
    const auto found = std::ranges::find(prepared, device, &sim::PreparedDevice::device);
    if (found == prepared.end() || found->cdi_devices.empty()) return {};
    const std::string& name = found->cdi_devices.front();
    return name.substr(name.rfind('.') + 1);
}

/// Whether a container has this prepared device.
bool has(const Container& container, const BoundClaims& bound, const sim::PreparedDevice& device) {
    const auto of_claim = [&](const std::string& name) {
        const auto claim = bound.claims.find(name);
        return claim != bound.claims.end() && claim->second.uid == device.claim_uid;
    };
    const auto of_request = [&](const std::string& request) {
        return request.empty() || device.requests.empty() ||
               std::ranges::find(device.requests, request) != device.requests.end();
    };
    const auto extended = bound.requests_of_container.find(container.name);
    if (extended != bound.requests_of_container.end() && of_claim("") &&
        std::ranges::any_of(extended->second, of_request)) {
        return true;
    }
    return std::ranges::any_of(container.claims, [&](const ContainerClaim& use) {
        return of_claim(use.name) && of_request(use.request);
    });
}

}  // namespace

ClaimsOfNode::ClaimsOfNode(std::unique_ptr<sim::ApiServer> api, const std::string& node,
                           const k8s::Labels& labels)
    : api_(std::move(api)), control_(*api_, node, labels) {}

Result<std::unique_ptr<ClaimsOfNode>> ClaimsOfNode::start(
    const std::string& directory, const std::string& node, const k8s::Labels& labels,
    const std::vector<document::Value>& objects) {
    auto api = sim::ApiServer::start({.http_address = "", .directory = directory});
    if (!api) return std::move(api).error().during("API server");
    auto label_values = document::make_mapping();
    for (const auto& [key, value] : labels) document::append(label_values, key, value);
    const auto made = (*api)->request(
        "POST", "/api/v1/nodes",
        document::to_json_line(document::make_mapping(
            {{"metadata", document::make_mapping({{"name", node}, {"labels", label_values}})}})));
    if (made.status >= 300)
        return Error{ErrorCode::kInvalidInput, "node " + node + ": " + made.body};
    if (auto done = apply_text(**api, kDeviceClasses); !done) return done.error();
    for (const document::Value& object : objects) {
        make_namespace(**api, document::text_at(object, "metadata.namespace"));
        if (auto done = apply_text(**api, document::to_json_line(object)); !done)
            return done.error();
    }
    return std::unique_ptr<ClaimsOfNode>(new ClaimsOfNode(*std::move(api), node, labels));
}

bool ClaimsOfNode::is_ready(const sim::Kubelet& kubelet) {
    return !kubelet.claim_drivers().empty() && control_.has_devices();
}

const ClaimsOfNode::Served& ClaimsOfNode::served(const PodTemplate& pod) {
    const auto known = served_.find(&pod);
    if (known != served_.end()) return known->second;
    Served made{.by_claims = !pod.claims.empty(), .rest = pod};
    for (auto* containers : {&made.rest.init_containers, &made.rest.containers}) {
        for (Container& container : *containers) {
            made.by_claims |= std::erase_if(container.devices, [this](const auto& one) {
                                  return control_.serves(one.first);
                              }) > 0;
        }
    }
    return served_.emplace(&pod, std::move(made)).first->second;
}

const PodTemplate& ClaimsOfNode::without_claimed(const PodTemplate& pod) {
    return served(pod).rest;
}

bool ClaimsOfNode::uses_claims(const PodTemplate& pod) { return served(pod).by_claims; }

Result<ClaimedDevices> ClaimsOfNode::give(sim::Kubelet& kubelet, const PodIdentity& pod,
                                          const PodTemplate& wanted) {
    make_namespace(*api_, pod.pod_namespace);
    const auto bound = control_.bind(pod.pod_namespace, pod.name, wanted);
    if (!bound) return bound.error();
    std::vector<sim::ClaimReference> references;
    for (const auto& [name, reference] : bound->claims) references.push_back(reference);
    const auto prepared = kubelet.prepare_claims(bound->pod_uid, references);
    if (!prepared) return Error(prepared.error()).during("FailedPrepareDynamicResources");
    ClaimedDevices made{.pod_uid = bound->pod_uid};
    std::vector<std::string> texts;
    for (const BoundClaims::Device& device : bound->devices) {
        made.devices.push_back(device.name);
        add_once(made.gpus, device.gpu.empty() ? made_for(device.name, *prepared) : device.gpu);
        texts.push_back(device.text);
    }
    made.text = join(texts, " + ");
    std::map<std::string, std::vector<sim::ClaimUse>> uses;
    for (const auto* containers : {&wanted.init_containers, &wanted.containers}) {
        for (const Container& container : *containers) {
            for (const sim::ClaimReference& reference : references) {
                sim::ClaimUse use{reference.claim_namespace, reference.name, {}};
                for (const sim::PreparedDevice& device : *prepared) {
                    if (device.claim_uid == reference.uid && has(container, *bound, device))
                        use.devices.push_back(device);
                }
                if (use.devices.empty()) continue;
                for (const sim::PreparedDevice& device : use.devices) {
                    for (const std::string& id : device.cdi_devices)
                        add_once(made.names[container.name], id);
                }
                uses[container.name].push_back(std::move(use));
            }
        }
    }
    kubelet.use_claims(
        {.uid = bound->pod_uid, .pod_namespace = pod.pod_namespace, .name = pod.name}, uses);
    return made;
}

void ClaimsOfNode::take_back(sim::Kubelet& kubelet, const PodIdentity& pod) {
    (void)kubelet.unprepare_claims(pod.uid);
    control_.release(pod.pod_namespace, pod.name);
}

}  // namespace aliquot::sim::cluster
