// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "doctor/check.h"
#include "doctor/fit.h"
#include "doctor/nodes.h"
#include "doctor/text.h"
#include "k8s/resource_name.h"

namespace aliquot::doctor {
namespace {

bool known(const Facts& facts) { return facts.cluster.asked("Pod") && facts.cluster.asked("Node"); }

Verdict not_known(const Facts& facts) { return not_read(facts, {"Pod", "Node"}); }

/// The pods that wait for this very cause.
Verdict judge_cause(const Facts& facts, std::string_view id, std::string_view well) {
    if (!known(facts)) return not_known(facts);
    std::size_t count = 0;
    Verdict found;
    for (const Object* const pod : pending_pods(facts)) {
        const auto cause = facts.pending.find(pod->id());
        if (cause == facts.pending.end() || cause->second != id) continue;
        if (++count == 1) found = why_pending(facts, *pod).verdict;
    }
    if (count == 0) return ok(std::string(well));
    if (count > 1) found.message += " (" + std::to_string(count - 1) + " more pods like it)";
    return found;
}

Verdict judge_all_held(const Facts& facts) {
    return judge_cause(facts, "SCH001", "no pod waits for a GPU that others hold");
}
Verdict judge_never_offered(const Facts& facts) {
    return judge_cause(facts, "SCH002", "every resource that is asked for is offered");
}
Verdict judge_misspelt(const Facts& facts) {
    return judge_cause(facts, "SCH003", "resource names are spelt right");
}
Verdict judge_too_many(const Facts& facts) {
    return judge_cause(facts, "SCH005", "no pod asks for more GPUs than a node has");
}
Verdict judge_taint(const Facts& facts) {
    return judge_cause(facts, "SCH006", "no pending pod meets a taint");
}
Verdict judge_selector(const Facts& facts) {
    return judge_cause(facts, "SCH007", "selectors match nodes");
}
Verdict judge_other_resource(const Facts& facts) {
    return judge_cause(facts, "SCH008", "CPU and memory keep no GPU pod waiting");
}
Verdict judge_volume(const Facts& facts) {
    return judge_cause(facts, "SCH010", "no volume, port or spread rule keeps a pod waiting");
}
Verdict judge_claim(const Facts& facts) {
    return judge_cause(facts, "SCH013", "no claim waits for a device");
}
Verdict judge_scale_up(const Facts& facts) {
    return judge_cause(facts, "SCH015", "no pod waits for an autoscaler");
}

const Said* said(const Facts& facts, std::initializer_list<std::string_view> parts) {
    for (const Said& one : facts.cluster.said) {
        if (facts.target.kind == Target::Kind::kPod && !one.pod.empty() &&
            one.pod != facts.target.name) {
            continue;
        }
        for (const std::string_view part : parts) {
            if (contains_folded(one.text, part)) return &one;
        }
    }
    return nullptr;
}

Verdict judge_one_share(const Facts& facts) {
    const Said* const line =
        said(facts, {"maximum request size for shared resources", "failRequestsGreaterThanOne"});
    if (line == nullptr)
        return known(facts) ? ok("no pod asks for several shares of a GPU") : not_known(facts);
    auto verdict = failed("Pod " + line->pod +
                          " asks for more than one share of a time-sliced GPU: the plugin "
                          "refuses it (failRequestsGreaterThanOne).");
    verdict.because(evidence_of(*line));
    verdict.edit("resources.limits: {nvidia.com/gpu: 1}", Risk::kRestartPods);
    verdict.note("Two shares give no more of the GPU than one.");
    return verdict;
}

Verdict judge_quota(const Facts& facts) {
    if (const Said* const line = said(facts, {"exceeded quota"});
        line != nullptr && (line->text.contains("gpu") || line->text.contains("nvidia"))) {
        auto verdict = failed("A quota refuses the pod: " + clip(line->text, 160));
        verdict.because(evidence_of(*line));
        verdict.fix("kubectl describe resourcequota -A | grep -A3 nvidia");
        return verdict;
    }
    for (const Object& quota : facts.cluster.all("ResourceQuota")) {
        for (const Value::Entry& entry : entries_at(quota.body, {"spec", "hard"})) {
            if (!k8s::is_nvidia_gpu(entry.first.scalar)) continue;
            auto verdict =
                warning("Quota " + quota.id() + " limits `" + entry.first.scalar +
                        "`; extended resources are counted under `requests.` only, so it limits "
                        "nothing.");
            verdict.because(Location{quota.path, entry.first.mark.line, entry.first.scalar},
                            "requests." + entry.first.scalar);
            verdict.edit("hard: {requests." + entry.first.scalar + ": \"" + entry.second.scalar +
                         "\"}");
            return verdict;
        }
    }
    return facts.cluster.asked("ResourceQuota") || facts.cluster.asked("Event")
               ? ok("no quota stands in the way")
               : not_read(facts, {"ResourceQuota"});
}

Verdict judge_runtime_class(const Facts& facts) {
    const Said* line = nullptr;
    for (const Said& one : facts.cluster.said) {
        const bool found =
            contains_folded(one.text, "runtimeclass") && contains_folded(one.text, "not found");
        if (found) line = &one;
    }
    if (line == nullptr)
        return facts.cluster.asked("Event") ? ok("no pod was refused for its RuntimeClass")
                                            : not_read(facts, {"Event"});
    auto verdict = failed("Pods are refused: their RuntimeClass does not exist.");
    verdict.because(evidence_of(*line));
    verdict.fix(
        "kubectl create -f - <<< '{\"apiVersion\":\"node.k8s.io/v1\",\"kind\":\"RuntimeClass\","
        "\"metadata\":{\"name\":\"nvidia\"},\"handler\":\"nvidia\"}'");
    return verdict;
}

Verdict judge_owner(const Facts& facts) {
    for (const Said& one : facts.cluster.said) {
        // The word as a whole: FailedCreatePodSandBox is of a pod that exists.
        if (!one.text.starts_with("FailedCreate:") && !one.text.starts_with("ReplicaFailure"))
            continue;
        // These have ids of their own.
        if (contains_folded(one.text, "exceeded quota") ||
            contains_folded(one.text, "runtimeclass"))
            continue;
        auto verdict =
            failed("A Job, CronJob or Deployment cannot create its pods: " + clip(one.text, 160));
        verdict.because(evidence_of(one));
        verdict.fix("kubectl get events -A --field-selector reason=FailedCreate");
        return verdict;
    }
    for (const char* const kind : {"Job", "Deployment", "ReplicaSet"}) {
        for (const Object& owner : facts.cluster.all(kind)) {
            for (const Value& condition : items_at(owner.body, {"status", "conditions"})) {
                const std::string type = text_at(condition, {"type"});
                const bool bad = (type == "ReplicaFailure" || type == "Failed") &&
                                 text_at(condition, {"status"}) == "True";
                if (!bad) continue;
                const std::string message = text_at(condition, {"message"});
                auto verdict =
                    failed(concat({owner.kind, " ", owner.id(), ": ", clip(message, 160)}));
                verdict.because(
                    Location{owner.path, condition.mark.line, concat({type, ": ", message})},
                    "no failure");
                verdict.fix("kubectl -n " + owner.space + " describe " + lower(owner.kind) + " " +
                            owner.name);
                return verdict;
            }
        }
    }
    return facts.cluster.asked("Event") ? ok("owners can create their pods")
                                        : not_read(facts, {"Event"});
}

Verdict judge_gate(const Facts& facts) {
    Verdict verdict = judge_cause(facts, "SCH014", "no gate holds a pod back");
    if (verdict.outcome != Outcome::kOk) return verdict;
    for (const Object& job : facts.cluster.all("Job")) {
        const Value* const suspend = at_path(job.body, {"spec", "suspend"});
        if (!is_true(suspend)) continue;
        const auto labels = labels_of(job);
        const auto queue = labels.find("kueue.x-k8s.io/queue-name");
        auto held = warning(
            "Job " + job.id() + " is suspended" +
            (queue == labels.end() ? "." : ": it waits in the queue " + queue->second + "."));
        held.because(Location{job.path, suspend->mark.line, "suspend: true"}, "false");
        held.fix(queue == labels.end() ? "kubectl -n " + job.space + " patch job " + job.name +
                                             " -p '{\"spec\":{\"suspend\":false}}'"
                                       : "kubectl -n " + job.space + " get workloads");
        return held;
    }
    return verdict;
}

Verdict judge_preempted(const Facts& facts) {
    const Said* const line = said(facts, {"Preempted by", "Preempted: "});
    if (line == nullptr)
        return facts.cluster.asked("Event") ? ok("no pod was preempted")
                                            : not_read(facts, {"Event"});
    auto verdict = warning("Pod " + line->pod + " was preempted by one of a higher priority.");
    verdict.because(evidence_of(*line));
    verdict.fix("kubectl get priorityclasses");
    return verdict;
}

/// A pod that says what it needs in our annotations, which nobody has read.
Verdict judge_annotations(const Facts& facts) {
    if (!facts.cluster.asked("Pod")) return not_read(facts, {"Pod"});
    std::size_t count = 0;
    Verdict verdict;
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (facts.target.kind == Target::Kind::kPod && pod.id() != facts.target.name) continue;
        if (is_finished(pod) || !gpu_requests(pod).empty()) continue;
        for (const char* const list : {"annotations", "labels"}) {
            for (const Value::Entry& entry : entries_at(pod.body, {"metadata", list})) {
                const std::string& key = entry.first.scalar;
                if (!key.starts_with("aliquot.dev/gpu-")) continue;
                if (++count > 1) continue;
                const bool left_out = pod.space == "kube-system" || pod.space == "aliquot-system";
                verdict = failed("Pod " + pod.id() + " asks by " + key + "=" + entry.second.scalar +
                                 ", but nothing turned that into a resource: it gets no GPU.");
                verdict.because(Location{pod.path, entry.first.mark.line,
                                         pod.id() + ": " + key + "=" + entry.second.scalar},
                                "a GPU in the limits of a container");
                verdict.fix("kubectl -n aliquot-system get deployment aliquot-controller");
                verdict.fix("kubectl get mutatingwebhookconfiguration aliquot");
                verdict.note(left_out ? "Pods of " + pod.space + " are left out on purpose."
                                      : "The webhook lets pods through when it does not answer. "
                                        "Once it does, delete the pod so that it is made again.");
            }
        }
    }
    if (count == 0) return ok("every request in annotations became a resource");
    if (count > 1) verdict.message += " (" + std::to_string(count - 1) + " more alike)";
    return verdict;
}

constexpr Check kSchedulingChecks[] = {
    {"SCH001", Level::kScheduling, false, "", judge_all_held},
    {"SCH002", Level::kScheduling, false, "", judge_never_offered},
    {"SCH003", Level::kScheduling, false, "", judge_misspelt},
    {"SCH004", Level::kScheduling, false, "", judge_one_share},
    {"SCH005", Level::kScheduling, false, "", judge_too_many},
    {"SCH006", Level::kScheduling, false, "NODE005", judge_taint},
    {"SCH007", Level::kScheduling, false, "", judge_selector},
    {"SCH008", Level::kScheduling, false, "", judge_other_resource},
    {"SCH009", Level::kScheduling, false, "", judge_quota},
    {"SCH010", Level::kScheduling, false, "", judge_volume},
    {"SCH011", Level::kScheduling, false, "RC001", judge_runtime_class},
    {"SCH012", Level::kScheduling, false, "", judge_owner},
    {"SCH013", Level::kScheduling, false, "", judge_claim},
    {"SCH014", Level::kScheduling, false, "", judge_gate},
    {"SCH015", Level::kScheduling, false, "", judge_scale_up},
    {"SCH016", Level::kScheduling, false, "", judge_preempted},
    {"SCH017", Level::kScheduling, false, "", judge_annotations},
};

}  // namespace

std::span<const Check> scheduling_checks() { return kSchedulingChecks; }

}  // namespace aliquot::doctor
