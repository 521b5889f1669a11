// SPDX-License-Identifier: Apache-2.0
#include "verify/test_pod.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json_value.h"

namespace aliquot::verify {
namespace {

using Json = nlohmann::json;

std::vector<std::string> arguments(const TestPod& pod) {
    std::vector<std::string> words{"--expect-gpus", "1", "--hold",
                                   std::to_string(pod.hold_seconds)};
    if (pod.memory_mib > 0) {
        words.insert(words.end(), {"--expect-memory", std::to_string(pod.memory_mib) + "Mi",
                                   "--shared-by", std::string(grant::node_text(pod.mechanism))});
    }
    return words;
}

/// What the container is given, and names: a device of a resource, or the claim.
Json resources_of(const TestPod& pod) {
    Json resources{{"limits", {{"cpu", "1"}, {"memory", "2Gi"}}},
                   {"requests", {{"cpu", "10m"}, {"memory", "64Mi"}}}};
    if (pod.resource.empty()) {
        resources["claims"] = Json::array({{{"name", "gpu"}}});
    } else {
        resources["limits"][pod.resource] = "1";
    }
    return resources;
}

}  // namespace

const kube_client::Resource& claim_templates() {
    static const kube_client::Resource kResource{"resource.k8s.io", "v1", "resourceclaimtemplates",
                                                 "ResourceClaimTemplate", true};
    return kResource;
}

std::string template_json(const TestPod& pod) {
    Json exactly{{"deviceClassName", pod.claim.device_class}};
    if (!pod.claim.memory.empty()) {
        exactly["capacity"] = {
            {"requests", {{"memory", pod.claim.memory}, {"compute", pod.claim.compute}}}};
    }
    const Json request{{"name", "gpu"}, {"exactly", std::move(exactly)}};
    return dumped(
        Json{{"apiVersion", "resource.k8s.io/v1"},
             {"kind", "ResourceClaimTemplate"},
             {"metadata", {{"name", pod.name}, {"namespace", pod.space}}},
             {"spec", {{"spec", {{"devices", {{"requests", Json::array({request})}}}}}}}});
}

std::string to_json(const TestPod& pod) {
    Json spec{
        {"restartPolicy", "Never"},
        {"automountServiceAccountToken", false},
        {"enableServiceLinks", false},
        {"terminationGracePeriodSeconds", 1},
        {"tolerations", Json::array({{{"operator", "Exists"}}})},
        {"securityContext",
         {{"runAsNonRoot", pod.user != 0},
          {"runAsUser", pod.user},
          {"runAsGroup", pod.user},
          {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
        {"affinity",
         {{"nodeAffinity",
           {{"requiredDuringSchedulingIgnoredDuringExecution",
             {{"nodeSelectorTerms",
               Json::array({{{"matchFields", Json::array({{{"key", "metadata.name"},
                                                           {"operator", "In"},
                                                           {"values", {pod.node}}}})}}})}}}}}}},
        {"containers", Json::array({{{"name", "probe"},
                                     {"image", pod.image},
                                     {"imagePullPolicy", "IfNotPresent"},
                                     {"command", {"/usr/bin/aliquot-probe"}},
                                     {"args", arguments(pod)},
                                     {"resources", resources_of(pod)},
                                     {"securityContext",
                                      {{"allowPrivilegeEscalation", false},
                                       {"readOnlyRootFilesystem", true},
                                       {"capabilities", {{"drop", {"ALL"}}}}}}}})}};
    if (pod.resource.empty()) {
        spec["resourceClaims"] =
            Json::array({{{"name", "gpu"}, {"resourceClaimTemplateName", pod.name}}});
    }
    if (!pod.runtime_class.empty()) spec["runtimeClassName"] = pod.runtime_class;
    return dumped(Json{{"apiVersion", "v1"},
                       {"kind", "Pod"},
                       {"metadata",
                        {{"name", pod.name},
                         {"namespace", pod.space},
                         {"labels",
                          {{"app.kubernetes.io/name", "aliquot"},
                           {"app.kubernetes.io/component", "verify"},
                           {"app.kubernetes.io/managed-by", "aliquot"}}}}},
                       {"spec", std::move(spec)}});
}

std::optional<ProbeAnswer> read_answer(std::string_view log) {
    while (!log.empty()) {
        const auto end = std::min(log.find('\n'), log.size());
        const std::string_view line = log.substr(0, end);
        log.remove_prefix(std::min(end + 1, log.size()));
        if (!line.starts_with('{')) continue;
        const Json root = parse_json<Json>(line);
        if (!root.is_object() || !root.contains("arithmetic")) continue;
        ProbeAnswer answer{
            .driver = text_at(root, "driver"),
            .visible = flag_at(member(root, "visible"), "ok"),
            .arithmetic = flag_at(member(root, "arithmetic"), "ok"),
            .arithmetic_how = text_at(member(root, "arithmetic"), "how"),
            .elements = number_at<std::uint64_t>(member(root, "arithmetic"), "elements"),
            .share = flag_at(member(root, "share"), "ok"),
            .share_how = text_at(member(root, "share"), "how"),
            .problem = text_at(root, "problem")};
        const Json& gpus = member(root, "gpus");
        if (!gpus.is_array()) continue;
        for (const Json& gpu : gpus) {
            answer.gpus.push_back({text_at(gpu, "uuid"), text_at(gpu, "name"),
                                   number_at<std::uint64_t>(gpu, "memoryMiB")});
        }
        return answer;
    }
    return std::nullopt;
}

bool PodState::is_hopeless() const {
    constexpr std::array<std::string_view, 8> kHopeless{
        "ImagePullBackOff",     "InvalidImageName",   "ErrImageNeverPull",
        "CreateContainerError", "RunContainerError",  "CreateContainerConfigError",
        "CrashLoopBackOff",     "RegistryUnavailable"};
    return std::ranges::find(kHopeless, waiting) != kHopeless.end();
}

PodState read_state(std::string_view pod_json) {
    const Json root = parse_json<Json>(pod_json);
    const Json& status = member(root, "status");
    PodState state{.phase = text_at(status, "phase"),
                   .placed = !text_at(member(root, "spec"), "nodeName").empty(),
                   .message = text_at(status, "message")};
    if (state.message.empty()) state.message = text_at(status, "reason");
    const Json& conditions = member(status, "conditions");
    if (conditions.is_array()) {
        for (const Json& condition : conditions) {
            if (text_at(condition, "type") == "PodScheduled" &&
                text_at(condition, "status") == "False" && state.message.empty()) {
                state.message = text_at(condition, "message");
            }
        }
    }
    const Json& containers = member(status, "containerStatuses");
    if (!containers.is_array()) return state;
    for (const Json& container : containers) {
        const Json& waiting = member(member(container, "state"), "waiting");
        const Json& ended = member(member(container, "state"), "terminated");
        const Json& told = waiting.is_object() ? waiting : ended;
        if (waiting.is_object()) state.waiting = text_at(waiting, "reason");
        const std::string message = text_at(told, "message");
        if (!message.empty()) state.message = message;
    }
    return state;
}

}  // namespace aliquot::verify
