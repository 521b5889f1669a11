// SPDX-License-Identifier: Apache-2.0
#include "pools/observe.h"

#include <algorithm>
#include <map>

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
        const auto* const condition = node.find(gate == Gate::kDriver    ? "GpusHealthy"
                                                : gate == Gate::kToolkit ? "GpuToolkitReady"
                                                                         : "GpuPluginReady");
        if (condition != nullptr && condition->status == "False") {
            return name + ": " +
                   (condition->message.empty() ? condition->reason : condition->message);
        }
    }
    return "";
}

}  // namespace

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
        one.empty = empty == node.annotations.end() ? one.seen : since(empty->second, now);
        one.leaves = document::at_path(object, {"metadata", "deletionTimestamp"}) != nullptr ||
                     std::ranges::any_of(node.taints, [](const k8s::NodeTaint& taint) {
                         return taint.key == "ToBeDeletedByClusterAutoscaler" ||
                                taint.key == "karpenter.sh/disrupted" ||
                                taint.key == "aliquot.dev/gpu-gate";
                     });
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
            if (holds_gpu(requests)) ++node.pods;
        } else if (pod.where.node_name.empty() && is_unschedulable(object) && may_take(pool, pod)) {
            seen.waiting.push_back(
                {.pod = pod.name_space + "/" + pod.name,
                 .amounts = requests,
                 .waited =
                     since(document::text_at(object, {"metadata", "creationTimestamp"}), now)});
        }
    }
    return seen;
}

}  // namespace aliquot::pools
