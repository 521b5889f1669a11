// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "doctor/cluster_api.h"
#include "doctor/fit.h"
#include "verify/session.h"
#include "verify/test_pod.h"

namespace aliquot::verify {
namespace {

/// The last things that Events say of a pod, newest last.
std::string events_of(Session& session, const std::string& pod) {
    constexpr std::size_t kMost = 3;
    const auto page = session.api.list_page(kube_client::resources::core_events(),
                                            {.namespace_name = session.options.space,
                                             .field_selector = "involvedObject.name=" + pod,
                                             .chunk = 50,
                                             .keep_managed_fields = false},
                                            "", session.call());
    if (!page) return {};
    std::vector<std::pair<std::string, std::string>> lines;
    for (const kube_client::Object& event : page->items) {
        if (kube_client::string_at(event.json, "/involvedObject/name") != pod) continue;
        const auto at = kube_client::string_at(event.json, "/lastTimestamp");
        const auto micro = kube_client::string_at(event.json, "/eventTime");
        lines.emplace_back(at.value_or(micro.value_or("")),
                           kube_client::string_at(event.json, "/reason").value_or("") + ": " +
                               kube_client::string_at(event.json, "/message").value_or(""));
    }
    std::ranges::stable_sort(lines, {}, &std::pair<std::string, std::string>::first);
    std::string text;
    const std::size_t from = lines.size() > kMost ? lines.size() - kMost : 0;
    for (std::size_t i = from; i < lines.size(); ++i) {
        text += (text.empty() ? "" : " | ") + lines[i].second;
    }
    return text;
}

/// What doctor says of a pod that no node takes.
void ask_doctor(Session& session, const std::string& pod, Diagnosis& diagnosis) {
    doctor::Tree tree;
    tree.name = "the cluster";
    const std::string& space = session.options.space;
    if (!doctor::gather_cluster(session.api,
                                {.pod_namespace = space,
                                 .pod = pod,
                                 .kind_deadline = std::chrono::seconds(10),
                                 .whole_deadline = std::chrono::seconds(30)},
                                tree)) {
        return;
    }
    const auto facts =
        doctor::facts_of(std::move(tree), {doctor::Target::Kind::kPod, space + "/" + pod});
    const doctor::Object* const object = facts.cluster.find("Pod", space, pod);
    if (object == nullptr) return;
    const auto cause = doctor::why_pending(facts, *object);
    if (cause.id.empty()) return;
    diagnosis.message = cause.id + ": " + cause.verdict.message;
    if (!cause.verdict.fixes.empty()) diagnosis.fix = cause.verdict.fixes.front().text;
}

}  // namespace

Diagnosis diagnose(Session& session, const std::string& pod) {
    Diagnosis diagnosis{.fix = "kubectl -n " + session.options.space + " describe pod " + pod};
    const auto object = session.api.get(kube_client::resources::pods(),
                                        {session.options.space, pod}, session.call());
    if (!object) {
        diagnosis.message = object.failure().message;
        return diagnosis;
    }
    const PodState state = read_state(object->json);
    diagnosis.message = (state.waiting.empty() ? state.phase : state.waiting) +
                        (state.message.empty() ? "" : ": " + state.message);
    diagnosis.evidence = events_of(session, pod);
    if (state.waiting == "ImagePullBackOff" || state.waiting == "ErrImagePull") {
        diagnosis.fix =
            "give the image by --image REF, or bring it to the node (ctr -n k8s.io images import)";
    }
    if (!state.placed) {
        if (state.message.empty()) {
            diagnosis.message += ": no scheduler has looked at it; does one run?";
        }
        ask_doctor(session, pod, diagnosis);
    }
    return diagnosis;
}

}  // namespace aliquot::verify
