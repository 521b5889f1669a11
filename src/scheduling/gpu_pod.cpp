// SPDX-License-Identifier: Apache-2.0
#include "scheduling/gpu_pod.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/number.h"
#include "document/json.h"
#include "document/path.h"
#include "k8s/pod.h"
#include "k8s/resource_name.h"
#include "k8s/volume.h"

namespace aliquot::scheduling {
namespace {

using document::Value;

constexpr double kMilli = 1000;
constexpr double kMib = 1024.0 * 1024.0;
constexpr std::uint64_t kMostDevices = 1024;

std::int32_t bounded(double amount) {
    constexpr double kMost = 2'000'000'000;
    return static_cast<std::int32_t>(std::clamp(amount, 0.0, kMost));
}

std::int32_t rounded_up(const k8s::Amounts& amounts, const char* resource, double unit) {
    const auto found = amounts.find(resource);
    if (found == amounts.end()) return 0;
    const double scaled = found->second / unit;
    const std::int32_t whole = bounded(scaled);
    return static_cast<double>(whole) < scaled ? whole + 1 : whole;
}

/// What runs together. An init container gets devices of those that the later ones have, or more: then the
/// one that asks for most stands for all.
std::vector<DeviceRequest> device_requests(const std::vector<k8s::Container>& containers) {
    std::vector<DeviceRequest> running;
    std::vector<DeviceRequest> beginning;
    std::map<std::string, std::uint64_t> sums;
    for (const k8s::Container& one : containers) {
        for (const auto& [resource, amount] : one.requests) {
            const auto count = static_cast<unsigned>(std::min(k8s::whole(amount), kMostDevices));
            if (count == 0 || !k8s::is_extended_resource(resource)) continue;
            const bool runs = !one.init || one.sidecar;
            if (runs) sums[resource] += count;
            (runs ? running : beginning).push_back({one.name, resource, count});
        }
    }
    for (DeviceRequest& one : beginning) {
        if (one.count <= sums[one.resource]) continue;
        std::erase_if(running, [&](const auto& other) { return other.resource == one.resource; });
        sums[one.resource] = one.count;
        running.push_back(std::move(one));
    }
    return running;
}

void read_gates(const Value& pod, GpuPod& made) {
    for (const Value& gate : document::items_at(pod, {"spec", "schedulingGates"})) {
        (document::text_at(gate, {"name"}) == admission::kPlacementGate ? made.is_gated
                                                                        : made.is_gated_else) =
            true;
    }
}

void read_condition(const Value& pod, GpuPod& made) {
    for (const Value& one : document::items_at(pod, {"status", "conditions"})) {
        if (document::text_at(one, {"type"}) != "PodScheduled") continue;
        if (document::text_at(one, {"status"}) == "True")
            made.bound_at = document::text_at(one, {"lastTransitionTime"});
        if (document::text_at(one, {"reason"}) != "Unschedulable") continue;
        made.unschedulable = document::text_at(one, {"message"});
        if (made.unschedulable.empty()) made.unschedulable = "Unschedulable";
        made.unschedulable_since = document::text_at(one, {"lastTransitionTime"});
    }
}

/// Required anti-affinity by node; that it means pods of its own kind is taken for granted.
bool is_apart(const Value* spec) {
    const auto& terms = document::items_at(
        spec, {"affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
    return std::any_of(terms.begin(), terms.end(), [](const Value& one) {
        return document::text_at(one, {"topologyKey"}) == "kubernetes.io/hostname";
    });
}

void read_owner(const Value& pod, GpuPod& made) {
    for (const Value& one : document::items_at(pod, {"metadata", "ownerReferences"})) {
        if (!document::is_true(document::at_path(one, {"controller"}))) continue;
        const std::string kind = document::text_at(one, {"kind"});
        made.owner = document::text_at(one, {"uid"});
        made.stays_put = kind == "DaemonSet" || kind == "Node";
        made.is_of_job = kind == "Job";
        return;
    }
}

/// Ours, and what autoscalers call the same.
GpuPod::Movable movable_by(const k8s::Labels& annotations) {
    const auto says = [&](const char* key, const char* value) {
        const auto found = annotations.find(key);
        return found != annotations.end() && found->second == value;
    };
    if (says(kMovableAnnotation, "false") || says("karpenter.sh/do-not-disrupt", "true") ||
        says("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"))
        return GpuPod::Movable::kNo;
    return says(kMovableAnnotation, "true") ? GpuPod::Movable::kYes : GpuPod::Movable::kUntold;
}

}  // namespace

Result<GpuPod> read_gpu_pod(std::string_view json) {
    const auto root = document::parse_json(json);
    if (!root) return Error(root.error()).during("pod");
    const k8s::Pod pod = k8s::read_pod(*root);
    GpuPod made{.uid = document::text_at(*root, {"metadata", "uid"}),
                .name_space = pod.name_space,
                .name = pod.name,
                .node = pod.where.node_name,
                .is_over = pod.is_finished(),
                .has_succeeded = pod.phase == "Succeeded",
                .created = document::text_at(*root, {"metadata", "creationTimestamp"}),
                .where = pod.where,
                .tolerations = pod.tolerations,
                .labels = pod.labels};
    if (made.uid.empty()) return Error{ErrorCode::kInvalidInput, "a Pod without metadata.uid"};
    read_gates(*root, made);
    read_condition(*root, made);
    made.is_leaving = !document::text_at(*root, {"metadata", "deletionTimestamp"}).empty();
    read_owner(*root, made);
    const Value* const spec = root->find("spec");
    if (spec != nullptr) {
        made.affinity = k8s::read_pod_affinity(*spec);
        made.claims = k8s::claims_of(*spec, made.name);
    }
    made.spreads = !made.affinity.spread.empty() || !made.affinity.ports.empty() ||
                   document::at_path(spec, {"affinity", "podAntiAffinity"}) != nullptr ||
                   document::at_path(spec, {"affinity", "podAffinity"}) != nullptr;
    made.is_apart = is_apart(spec);
    made.claim = read_gang_claim(pod, *root);
    for (const Value* const rule :
         {document::at_path(spec, {"nodeSelector"}), document::at_path(spec, {"affinity"}),
          document::at_path(spec, {"topologySpreadConstraints"}),
          document::at_path(spec, {"tolerations"})}) {
        made.rules += (rule == nullptr ? "" : document::to_json(*rule)) + "\n";
    }
    made.may_preempt = document::text_at(spec, {"preemptionPolicy"}) != "Never";
    made.priority = parse_number<std::int32_t>(document::text_at(spec, {"priority"})).value_or(0);
    const auto plan = pod.annotations.find(kPlanAnnotation);
    if (plan != pod.annotations.end()) made.plan = plan->second;
    const auto move = pod.annotations.find(kMoveAnnotation);
    if (move != pod.annotations.end()) made.move = move->second;
    made.movable = movable_by(pod.annotations);
    const k8s::Amounts requests = pod.requests();
    made.cpu_milli = rounded_up(requests, "cpu", 1 / kMilli);
    made.memory_mib = rounded_up(requests, "memory", kMib);
    made.devices = device_requests(pod.containers);
    return made;
}

std::string asked_text(const GpuPod& pod) {
    std::map<std::string, unsigned> sums;
    for (const auto& one : pod.devices) sums[one.resource] += one.count;
    std::string text;
    for (const auto& [resource, count] : sums)
        text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + resource;
    return text;
}

std::string shape_of(const GpuPod& pod, bool by_labels) {
    std::string others;
    if (by_labels || !pod.affinity.empty()) {
        others = pod.name_space;
        for (const auto& [key, value] : pod.labels) others += "\n" + key + "=" + value;
        for (const auto& port : pod.affinity.ports)
            others += "\n" + port.address + ":" + std::to_string(port.port) + port.protocol;
    }
    for (const std::string& claim : pod.claims) others += "\n" + pod.name_space + "/" + claim;
    std::string text = others + pod.rules + std::to_string(pod.priority) + "/" +
                       std::to_string(pod.cpu_milli) + "/" + std::to_string(pod.memory_mib) +
                       (pod.may_preempt ? "" : "/yields") + (pod.spreads ? "/spreads" : "") +
                       (pod.is_apart ? "/apart" : "");
    for (const auto& one : pod.devices)
        text += "\n" + one.resource + " " + std::to_string(one.count);
    return text;
}

bool comes_before(const GpuPod& a, const GpuPod& b) {
    return std::tuple(-std::int64_t{a.priority}, std::string_view(a.created),
                      std::string_view(a.name_space), std::string_view(a.name)) <
           std::tuple(-std::int64_t{b.priority}, std::string_view(b.created),
                      std::string_view(b.name_space), std::string_view(b.name));
}

}  // namespace aliquot::scheduling
