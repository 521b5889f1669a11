// SPDX-License-Identifier: Apache-2.0
#include "doctor/unallocated.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "claims/allocate.h"
#include "doctor/text.h"
#include "document/path.h"

namespace aliquot::doctor {
namespace {

constexpr std::size_t kShownReasons = 6;
constexpr std::size_t kShownDevices = 4;

/// What an administrator's rule taints is tainted to kube-scheduler as by the driver itself. One without a selector
/// taints nothing.
void add_taints_of_rules(const Facts& facts, claims::Cluster& cluster) {
    for (const Object& rule : facts.cluster.all("DeviceTaintRule")) {
        const auto* const selector = document::at_path(rule.body, "spec.deviceSelector");
        if (selector == nullptr) continue;
        const auto selects = [&](const char* key, const std::string& name) {
            const std::string wanted = document::text_at(*selector, key);
            return wanted.empty() || wanted == name;
        };
        const k8s::Taint taint{.key = document::text_at(rule.body, "spec.taint.key"),
                               .value = document::text_at(rule.body, "spec.taint.value"),
                               .effect = document::text_at(rule.body, "spec.taint.effect")};
        for (claims::Slice& slice : cluster.slices) {
            if (!selects("driver", slice.driver) || !selects("pool", slice.pool)) continue;
            for (claims::Device& device : slice.devices) {
                if (selects("device", device.name)) device.taints.push_back(taint);
            }
        }
    }
}

claims::Cluster claims_cluster(const Facts& facts) {
    claims::Cluster cluster;
    for (const Object& one : facts.cluster.all("ResourceSlice")) {
        cluster.slices.push_back(claims::read_slice(one.body));
    }
    add_taints_of_rules(facts, cluster);
    for (const Object& one : facts.cluster.all("DeviceClass")) {
        cluster.classes.insert_or_assign(one.name, claims::read_class(one.body));
    }
    for (const Object& one : facts.cluster.all("ResourceClaim")) {
        cluster.claims.push_back(claims::read_claim(one.body));
    }
    return cluster;
}

/// Same reasons are one line, whatever device they are of.
struct Why {
    std::string request;
    std::string reason;
    std::vector<std::string> devices;
};

struct Findings {
    std::vector<Why> reasons;
    std::set<std::string> devices;
    bool fits = false;  // some node has room
};

Findings look(const Facts& facts, const claims::Cluster& cluster, const claims::Claim& claim) {
    Findings found;
    const auto& nodes =
        facts.cluster.every_node.empty() ? facts.cluster.all("Node") : facts.cluster.every_node;
    for (const Object& node : nodes) {
        const claims::NodeView view{node.name, labels_of(node)};
        const auto answer =
            claims::allocate(cluster, view, {claim}, [] { return std::string("share"); });
        if (!answer.allocations.empty()) {
            found.fits = true;
            return found;
        }
        for (const claims::Refusal& one : answer.refusals) {
            const bool of_device = !one.device.device.empty();
            // A node that no slice reaches says nothing that the others do not.
            if (!of_device && one.reason.starts_with("no ResourceSlice")) continue;
            auto why = std::ranges::find_if(found.reasons, [&](const Why& known) {
                return known.request == one.request && known.reason == one.reason;
            });
            if (why == found.reasons.end()) {
                why = found.reasons.insert(found.reasons.end(), {one.request, one.reason, {}});
            }
            if (!of_device) continue;
            const std::string name = claims::to_text(one.device);
            if (std::ranges::find(why->devices, name) == why->devices.end()) {
                why->devices.push_back(name);
            }
            found.devices.insert(name);
        }
    }
    return found;
}

std::string devices_text(const std::vector<std::string>& devices) {
    std::vector<std::string> shown(
        devices.begin(),
        devices.begin() + static_cast<std::ptrdiff_t>(std::min(devices.size(), kShownDevices)));
    std::string text = join(shown);
    if (devices.size() > kShownDevices) {
        text += " and " + std::to_string(devices.size() - kShownDevices) + " more";
    }
    return text;
}

Evidence of_claim(const Object& claim, std::string value, std::string expected = {}) {
    return {.path = claim.path, .value = std::move(value), .expected = std::move(expected)};
}

/// What to do about the first reason.
void advise(const Object& claim, const std::string& reason, Verdict& verdict) {
    const std::string space = "kubectl -n " + claim.space + " ";
    if (reason.find("no such key") != std::string::npos) {
        verdict.note(
            "An attribute that a device lacks ends the scheduling of the whole pod: ask for the "
            "driver "
            "first (device.driver == '...' && ...), or write .?name.orValue('').");
    }
    if (reason.find("selector") != std::string::npos ||
        reason.find("attribute") != std::string::npos) {
        verdict.fix("kubectl get resourceslices -o yaml");
        verdict.note("The slices say which attributes and capacities the devices have.");
    } else if (reason.find("allocated to claim") != std::string::npos ||
               reason.find(" left") != std::string::npos) {
        verdict.fix("kubectl get resourceclaims -A");
        verdict.note("Wait, delete one of the holders, ask for a smaller share, or add a node.");
    } else if (reason.find("taint") != std::string::npos) {
        verdict.fix("kubectl get resourceslices -o yaml");
        verdict.note(
            "The driver taints devices that are not well, an administrator what a DeviceTaintRule "
            "selects; a toleration belongs to the request.");
    } else {
        verdict.fix("kubectl get deviceclasses,resourceslices && " + space +
                    "describe resourceclaim " + claim.name);
    }
}

PendingCause begin(const Object& pod, std::string message) {
    return {"SCH013", failed("Pod " + pod.id() + ": " + std::move(message))};
}

PendingCause absent(const Facts& facts, const Object& pod, const std::string& claim,
                    const std::string& made_from) {
    if (!facts.cluster.asked("ResourceClaim")) return {};
    const bool no_template =
        !made_from.empty() && facts.cluster.asked("ResourceClaimTemplate") &&
        facts.cluster.find("ResourceClaimTemplate", pod.space, made_from) == nullptr;
    std::string message = "its claim " + claim + " does not exist.";
    if (no_template)
        message = "ResourceClaimTemplate " + made_from + " of its claims does not exist.";
    if (!made_from.empty() && !no_template) {
        message = "its claim of ResourceClaimTemplate " + made_from + " has not been made yet.";
    }
    auto made = begin(pod, message);
    made.verdict.because(Evidence{.path = pod.path, .value = "spec.resourceClaims"});
    made.verdict.fix("kubectl -n " + pod.space + " get resourceclaims,resourceclaimtemplates");
    return made;
}

PendingCause unknown_class(const Facts& facts, const Object& pod, const Object& claim,
                           const claims::Claim& read) {
    if (!facts.cluster.asked("DeviceClass")) return {};
    for (const claims::Request& request : read.requests) {
        const bool any =
            std::ranges::any_of(request.subrequests, [&](const claims::SubRequest& subrequest) {
                return facts.cluster.find("DeviceClass", "", subrequest.device_class) != nullptr;
            });
        if (any || request.subrequests.empty()) continue;
        auto made =
            begin(pod, "its claim " + claim.name + " names DeviceClass " +
                           request.subrequests.front().device_class + ", which does not exist.");
        made.verdict.because(
            of_claim(claim, "ResourceClaim " + claim.id() + " without allocation"));
        made.verdict.fix("kubectl get deviceclasses");
        return made;
    }
    return {};
}

PendingCause judge_claim(const Facts& facts, const Object& pod, const Object& claim) {
    const claims::Claim read = claims::read_claim(claim.body);
    if (auto made = unknown_class(facts, pod, claim, read); !made.id.empty()) return made;
    const bool slices = facts.cluster.asked("ResourceSlice");
    if (slices && facts.cluster.all("ResourceSlice").empty()) {
        auto made = begin(pod, "its claim " + claim.name +
                                   " cannot be met: no driver published a ResourceSlice.");
        made.verdict.because(
            of_claim(claim, "ResourceClaim " + claim.id() + " without allocation"));
        made.verdict.fix("kubectl get resourceslices,deviceclasses");
        return made;
    }
    if (!slices || !facts.cluster.asked("DeviceClass")) return {};
    const Findings found = look(facts, claims_cluster(facts), read);
    if (found.fits) return {};
    if (found.reasons.empty()) {
        auto made = begin(pod, "its claim " + claim.name +
                                   " is not allocated: no device is published "
                                   "for a node of this cluster.");
        made.verdict.because(
            of_claim(claim, "ResourceClaim " + claim.id() + " without allocation"));
        made.verdict.fix("kubectl get resourceslices -o wide");
        return made;
    }
    const Why& first = found.reasons.front();
    auto made = begin(
        pod, "its claim " + claim.name + " is not allocated: request " + first.request + ": " +
                 first.reason +
                 (first.devices.empty() ? "" : " (" + devices_text(first.devices) + ")") + ".");
    for (std::size_t i = 0; i < std::min(found.reasons.size(), kShownReasons); ++i) {
        const Why& why = found.reasons[i];
        const std::string where = why.devices.empty() ? "" : devices_text(why.devices) + ": ";
        made.verdict.because(of_claim(claim, "request " + why.request + ": " + where + why.reason));
    }
    advise(claim, first.reason, made.verdict);
    return made;
}

}  // namespace

PendingCause why_unallocated(const Facts& facts, const Object& pod) {
    for (const Value& one : items_at(pod.body, {"spec", "resourceClaims"})) {
        const std::string made_from = text_at(one, {"resourceClaimTemplateName"});
        std::string name = text_at(one, {"resourceClaimName"});
        for (const Value& status : items_at(pod.body, {"status", "resourceClaimStatuses"})) {
            if (text_at(status, {"name"}) != text_at(one, {"name"})) continue;
            name = text_at(status, {"resourceClaimName"});
        }
        const Object* const claim =
            name.empty() ? nullptr : facts.cluster.find("ResourceClaim", pod.space, name);
        auto made = claim == nullptr ? absent(facts, pod, name, made_from)
                    : at_path(claim->body, {"status", "allocation"}) != nullptr
                        ? PendingCause{}
                        : judge_claim(facts, pod, *claim);
        if (!made.id.empty()) return made;
    }
    return {};
}

std::optional<Verdict> offered_by_claims(const Facts& facts) {
    const auto& slices = facts.cluster.all("ResourceSlice");
    const auto of_gpus = std::ranges::find_if(slices, [](const Object& one) {
        const std::string driver = text_at(one.body, {"spec", "driver"});
        return contains_folded(driver, "gpu") && !items_at(one.body, {"spec", "devices"}).empty();
    });
    if (of_gpus == slices.end()) return std::nullopt;
    const std::string driver = text_at(of_gpus->body, {"spec", "driver"});
    const auto slash = facts.target.name.find('/');
    const Object* const pod = facts.target.kind == Target::Kind::kPod && slash != std::string::npos
                                  ? facts.cluster.find("Pod", facts.target.name.substr(0, slash),
                                                       facts.target.name.substr(slash + 1))
                                  : nullptr;
    if (pod == nullptr || gpu_requests(*pod).empty()) return ok(driver + " offers GPUs by claims");
    auto verdict = failed("Nothing offers " + gpu_requests(*pod).begin()->first +
                          ": the GPUs of this cluster come by ResourceClaims (" + driver + ").");
    verdict.because(Evidence{.path = of_gpus->path,
                             .value = "ResourceSlice " + of_gpus->name,
                             .expected = "spec.resourceClaims in the pod"});
    verdict.fix("kubectl get deviceclasses");
    return verdict;
}

}  // namespace aliquot::doctor
