// SPDX-License-Identifier: Apache-2.0
#include "controller/cost_facts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "k8s/node.h"
#include "k8s/pod.h"

namespace aliquot::controller {
namespace {

using Json = nlohmann::json;

constexpr double kMilli = 1'000;
constexpr double kMib = 1024.0 * 1024.0;
constexpr double kMost = 4e9;  // of a uint32_t

std::string first_of(const k8s::Labels& labels, std::initializer_list<const char*> names) {
    for (const char* const name : names) {
        if (const auto found = labels.find(name); found != labels.end()) return found->second;
    }
    return "";
}

bool is_spot(const k8s::Labels& labels) {
    return first_of(labels, {"karpenter.sh/capacity-type"}) == "spot" ||
           first_of(labels, {"eks.amazonaws.com/capacityType"}) == "SPOT" ||
           first_of(labels, {"cloud.google.com/gke-spot", "cloud.google.com/gke-preemptible"}) ==
               "true" ||
           first_of(labels, {"kubernetes.azure.com/scalesetpriority",
                             "node.kubernetes.io/lifecycle"}) == "spot";
}

std::uint32_t amount_in(const k8s::Amounts& amounts, const char* name, double factor) {
    const auto found = amounts.find(name);
    if (found == amounts.end()) return 0;
    return static_cast<std::uint32_t>(std::clamp(found->second * factor, 0.0, kMost));
}

}  // namespace

std::string queue_of(const k8s::Labels& labels) {
    return first_of(labels, {"kueue.x-k8s.io/queue-name", "aliquot.dev/queue"});
}

std::string user_of(const k8s::Labels& labels) { return first_of(labels, {"aliquot.dev/user"}); }

PodFacts pod_facts(std::string_view json) {
    PodFacts facts;
    const auto pod = k8s::parse_pod(json);
    const Json object = parse_json<Json>(json);
    if (!pod || !object.is_object()) return facts;
    facts.queue = queue_of(pod->labels);
    facts.user = user_of(pod->labels);
    facts.workflow =
        first_of(pod->labels, {"workflows.argoproj.io/workflow", "aliquot.dev/workflow"});
    facts.job = first_of(pod->labels, {"batch.kubernetes.io/job-name", "job-name"});
    facts.node = pod->where.node_name;
    facts.ended = pod->is_finished();
    for (const Json& owner : member(member(object, "metadata"), "ownerReferences")) {
        const Json& controls = member(owner, "controller");
        if (!facts.job.empty() || !controls.is_boolean() || !controls.get<bool>()) continue;
        facts.job = text_at(owner, "name");
    }
    for (const k8s::Container& one : pod->containers) {
        facts.containers[one.name] = {.cpu_milli = amount_in(one.requests, "cpu", kMilli),
                                      .memory_mib = amount_in(one.requests, "memory", 1 / kMib)};
    }
    return facts;
}

NodeFacts node_facts(std::string_view json) {
    NodeFacts facts;
    const auto node = k8s::parse_node(json);
    if (!node) return facts;
    facts.machine.name = node->name;
    facts.machine.type = first_of(
        node->labels, {"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"});
    facts.machine.region = first_of(node->labels, {"topology.kubernetes.io/region"});
    facts.machine.spot = is_spot(node->labels);
    facts.machine.labels = node->labels;
    facts.cpu_milli = amount_in(node->capacity, "cpu", kMilli);
    facts.memory_mib = amount_in(node->capacity, "memory", 1 / kMib);
    facts.ready = node->is_ready();
    facts.cordoned = node->is_cordoned;
    return facts;
}

}  // namespace aliquot::controller
