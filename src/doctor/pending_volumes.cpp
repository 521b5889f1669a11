// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/text.h"
#include "doctor/pending.h"

namespace aliquot::doctor {
namespace {

/// A part of the scheduler's message, what it means, and what to do.
struct Refusal {
    std::string_view text;
    std::string_view cause;  // ends a sentence on what keeps the pod waiting
    std::string_view fix;    // $POD, $NS are the pod's
    std::string_view note;
};

constexpr std::array<Refusal, 4> kClaims{
    {{"unbound immediate", "a volume: its claim has no volume yet.", "kubectl -n $NS describe pvc",
      "A claim stays unbound without a StorageClass that exists and can make the volume."},
     {"persistentvolumeclaim*not found", "a volume: its claim does not exist.",
      "kubectl -n $NS get pvc",
      "Make the claim in the pod's namespace, or write the name of one that is there."},
     {"persistentvolumeclaim*being deleted", "a volume: its claim is being deleted.",
      "kubectl -n $NS get pvc", "A claim goes when no pod uses it; make a new one."},
     {"persistentvolumeclaim*non-existent", "a volume: the volume of its claim is gone.",
      "kubectl -n $NS get pvc", "Delete the claim and make it again; its data are gone."}}};

constexpr std::array<Refusal, 9> kRules{
    {{"volume node affinity conflict",
      "a volume: it lies in a zone or on a node where no GPU node for the pod is.",
      "kubectl get pv -o custom-columns=NAME:.metadata.name,CLAIM:.spec.claimRef.name,"
      "WHERE:.spec.nodeAffinity.required",
      "Add a GPU node in the zone of the volume, or make the volume anew by a StorageClass with "
      "volumeBindingMode: WaitForFirstConsumer."},
     {"no available volume zone", "a volume: it lies in another zone than the GPU nodes.",
      "kubectl get pv -o wide",
      "Add a GPU node in the zone of the volume, or make the volume anew there."},
     {"find available persistent volumes", "a volume: none is left that its claim could have.",
      "kubectl -n $NS describe pvc", "Add a volume, or a StorageClass that makes one."},
     {"exceed max volume count", "a volume: the node has as many as it can attach.",
      "kubectl get volumeattachments", "Use a node with fewer volumes, or a shared file system."},
     {"have free ports", "a port: its hostPort is taken on the nodes with GPUs.",
      "kubectl -n $NS get pod $POD -o jsonpath='{..hostPort}'",
      "Leave hostPort out (a Service leads to the pod), or take another."},
     {"topology spread constraints", "its own spread rule: no node keeps the skew.",
      "kubectl -n $NS get pod $POD -o jsonpath='{.spec.topologySpreadConstraints}'",
      "whenUnsatisfiable: ScheduleAnyway, a larger maxSkew, or more nodes."},
     {"existing pods anti-affinity rules", "the anti-affinity of a pod that runs there.",
      "kubectl get pods -A -o wide", "Add a node, or change that pod's podAntiAffinity."},
     {"pod anti-affinity rules", "its own anti-affinity: a pod that it keeps away from runs there.",
      "kubectl -n $NS get pod $POD -o jsonpath='{.spec.affinity.podAntiAffinity}'",
      "Add a node, run fewer replicas, or use preferredDuringSchedulingIgnoredDuringExecution."},
     {"pod affinity rules", "its own affinity: no pod that it wants to be near runs there.",
      "kubectl -n $NS get pod $POD -o jsonpath='{.spec.affinity.podAffinity}'",
      "Start the other pod first, or use preferredDuringSchedulingIgnoredDuringExecution."}}};

std::string filled(std::string_view text, const Object& pod) {
    std::string made(text);
    for (const auto& [name, value] : {std::pair{"$POD", pod.name}, std::pair{"$NS", pod.space}}) {
        for (auto at = made.find(name); at != std::string::npos;
             at = made.find(name, at + value.size())) {
            made.replace(at, std::string_view(name).size(), value);
        }
    }
    return made;
}

/// Parts of the message in this order, letters in any case.
const Said* says_all(const Facts& facts, const Object& pod, std::string_view pattern) {
    for (const Said& said : facts.cluster.said) {
        if (said.pod != pod.id()) continue;
        const std::string text = lower(said.text);
        std::size_t at = 0;
        for (const std::string_view part : split(pattern, '*')) {
            if (at != std::string::npos) at = text.find(part, at);
        }
        if (at != std::string::npos) return &said;
    }
    return nullptr;
}

template <std::size_t Count>
PendingCause first_of(const std::array<Refusal, Count>& table, const Facts& facts,
                      const Object& pod) {
    for (const Refusal& one : table) {
        const Said* const said = says_all(facts, pod, one.text);
        if (said == nullptr) continue;
        auto made = pending_cause("SCH010", pod,
                                  "not the GPU keeps it waiting but " + std::string(one.cause));
        made.verdict.because(Evidence{.path = said->path, .line = said->line, .value = said->text});
        for (const Value& volume : items_at(pod.body, {"spec", "volumes"})) {
            const std::string claim = text_at(volume, {"persistentVolumeClaim", "claimName"});
            if (!claim.empty() && one.cause.starts_with("a volume")) {
                made.verdict.because(of_pod(pod, "persistentVolumeClaim " + claim));
            }
        }
        made.verdict.fix(filled(one.fix, pod));
        made.verdict.note(std::string(one.note));
        return made;
    }
    return {};
}

}  // namespace

PendingCause why_claim_of_volume(const Facts& facts, const Object& pod) {
    return first_of(kClaims, facts, pod);
}

PendingCause why_refused_by_rule(const Facts& facts, const Object& pod) {
    return first_of(kRules, facts, pod);
}

}  // namespace aliquot::doctor
