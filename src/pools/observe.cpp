// SPDX-License-Identifier: Apache-2.0
#include "pools/observe.h"

#include <algorithm>
#include <map>

#include "base/number.h"
#include "base/time_text.h"
#include "document/path.h"
#include "k8s/resource_name.h"

namespace aliquot::pools {
namespace {

using document::Value;
using std::chrono::seconds;

seconds since(const std::string& text, Instant now) {
    const auto at = parse_rfc3339(text);
    if (!at) return seconds(0);
    return std::max(seconds(0),
                    std::chrono::floor<seconds>(now - std::chrono::floor<seconds>(*at)));
}

/// source   Kubernetes: 30 seconds where the pod says nothing
seconds grace_of(const Value& pod) {
    constexpr unsigned kDefault = 30;
    constexpr unsigned kMost = 24 * 3600;
    const auto said =
        parse_number<unsigned>(document::text_at(pod, {"spec", "terminationGracePeriodSeconds"}));
    return seconds(std::min(said.value_or(kDefault), kMost));
}

bool holds_gpu(const k8s::Amounts& amounts) {
    return std::ranges::any_of(
        amounts, [](const auto& one) { return one.second > 0 && k8s::is_gpu_resource(one.first); });
}

bool is_unschedulable(const Value& pod) {
    return std::ranges::any_of(
        document::items_at(pod, {"status", "conditions"}), [](const Value& condition) {
            return document::text_at(condition, {"type"}) == "PodScheduled" &&
                   document::text_at(condition, {"status"}) == "False" &&
                   document::text_at(condition, {"reason"}) == "Unschedulable";
        });
}

/// Its only scheduling gate is ours: it waits for a node and GPU that our controller chooses, and no autoscaler looks at it.
bool is_gated(const Value& pod) {
    const auto& gates = document::items_at(pod, {"spec", "schedulingGates"});
    return gates.size() == 1 && document::text_at(gates[0], {"name"}) == "aliquot.dev/placement";
}

std::string sickness_of(const k8s::Node& node) {
    for (const k8s::NodeTaint& taint : node.taints) {
        if (taint.key == "aliquot.dev/gpu-gate")
            return "a job left its GPU dirty (" + taint.key + ")";
        if (taint.key == "aliquot.dev/gpu-unhealthy")
            return "its GPUs are unhealthy (" + taint.key + ")";
    }
    return "";
}

/// "spot" or "on-demand", by the labels of Karpenter and of the clouds' node groups.
std::string capacity_type_of(const k8s::Node& node) {
    if (const auto said = node.label("karpenter.sh/capacity-type")) return *said;
    if (const auto eks = node.label("eks.amazonaws.com/capacityType")) {
        return *eks == "SPOT" ? "spot" : "on-demand";
    }
    if (node.label("cloud.google.com/gke-spot") == "true") return "spot";
    if (node.label("kubernetes.azure.com/scalesetpriority") == "spot") return "spot";
    return "";
}

/// What our agent writes on the Node. Of the toolkit it is silent where it does not see the host.
std::string_view condition_of(Gate gate) {
    if (gate == Gate::kDriver) return "GpuHealthy";
    return gate == Gate::kToolkit ? "GpuToolkitReady" : "GpuConfigServed";
}

/// The first gate that is not passed, by what kubelet and our agent write on the Node.
std::string not_passed(const Pool& pool, const k8s::Node& node) {
    for (const Gate gate : pool.gates) {
        const std::string name(to_text(gate));
        if (gate == Gate::kDevicePlugin) {
            for (const auto& [resource, amount] : pool.node.amounts) {
                if (!k8s::is_gpu_resource(resource) || amount <= 0) continue;
                if (k8s::count_of(node.allocatable, resource) == 0) {
                    return name + ": the node offers no " + resource + " yet";
                }
            }
        }
        const auto* const condition = node.find(condition_of(gate));
        if (condition == nullptr || condition->status != "False") continue;
        if (condition->reason == "ConfigPending") continue;  // it serves, as it did before
        return name + ": " + (condition->message.empty() ? condition->reason : condition->message);
    }
    return "";
}

}  // namespace

std::vector<LeavingPod> Leaving::to_end(Instant now) const {
    constexpr seconds kOnItsWay{5};  // of the eviction to the container
    std::vector<LeavingPod> due;
    if (!notice.goes_at) return due;
    for (const LeavingPod& pod : pods) {
        if (now >= *notice.goes_at - pod.grace - kOnItsWay) due.push_back(pod);
    }
    return due;
}

bool is_member(const Pool& pool, const k8s::Node& node) {
    if (pool.selector.empty()) return node.label(std::string(kPoolLabel)) == pool.name;
    return std::ranges::all_of(
        pool.selector, [&](const auto& one) { return node.label(one.first) == one.second; });
}

Observed observe(const Pool& pool, const std::vector<Value>& nodes, const std::vector<Value>& pods,
                 Instant now) {
    Observed seen;
    std::map<std::string, std::size_t> places;
    for (const Value& object : nodes) {
        const k8s::Node node = k8s::read_node(object);
        if (!is_member(pool, node)) continue;
        PoolNode one{.name = node.name,
                     .free = node.allocatable,
                     .is_ready = node.is_ready() && !node.is_cordoned,
                     .not_passed = not_passed(pool, node)};
        one.seen = since(document::text_at(object, {"metadata", "creationTimestamp"}), now);
        const auto empty = node.annotations.find(std::string(kEmptySince));
        one.empty = empty == node.annotations.end() ? seconds(0) : since(empty->second, now);
        const bool is_deleted =
            document::at_path(object, {"metadata", "deletionTimestamp"}) != nullptr;
        if (auto notice = notice_of(node, is_deleted)) {
            one.leaves = true;
            seen.leaving.push_back({node.name, node.uid, *std::move(notice), {}});
        }
        one.sick = sickness_of(node);
        one.capacity_type = capacity_type_of(node);
        places[node.name] = seen.nodes.size();
        seen.nodes.push_back(std::move(one));
    }
    for (const Value& object : pods) {
        const k8s::Pod pod = k8s::read_pod(object);
        if (pod.is_finished() || pod.labels.contains(std::string(kPlaceholderLabel))) continue;
        const auto requests = pod.requests();
        const auto place = places.find(pod.where.node_name);
        if (place != places.end()) {
            PoolNode& node = seen.nodes[place->second];
            for (const auto& [resource, amount] : requests) {
                const auto found = node.free.find(resource);
                if (found != node.free.end()) found->second = std::max(0.0, found->second - amount);
            }
            if (!holds_gpu(requests)) continue;
            ++node.pods;
            if (!document::text_at(object, {"metadata", "deletionTimestamp"}).empty()) continue;
            for (Leaving& leaving : seen.leaving) {
                if (leaving.node != node.name) continue;
                leaving.pods.push_back({pod.name_space, pod.name, grace_of(object)});
            }
        } else if (pod.where.node_name.empty() && (is_gated(object) || is_unschedulable(object)) &&
                   may_take(pool, pod)) {
            seen.waiting.push_back(
                {.pod = pod.name_space + "/" + pod.name,
                 .amounts = requests,
                 .waited = since(document::text_at(object, {"metadata", "creationTimestamp"}), now),
                 .hidden = is_gated(object)});
        }
    }
    return seen;
}

std::vector<Value> without_held(
    std::vector<Value> pods,
    const std::function<std::string(const std::string& name_space)>& held) {
    std::map<std::string, bool> known;  // by namespace
    std::erase_if(pods, [&](const Value& pod) {
        if (!is_gated(pod) || !document::text_at(pod, {"spec", "nodeName"}).empty()) return false;
        const std::string name_space = document::text_at(pod, {"metadata", "namespace"});
        const auto found = known.find(name_space);
        if (found != known.end()) return found->second;
        return known[name_space] = !held(name_space).empty();
    });
    return pods;
}

}  // namespace aliquot::pools
