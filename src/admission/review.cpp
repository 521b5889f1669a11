// SPDX-License-Identifier: Apache-2.0
#include "admission/review.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>

#include "admission/answer.h"
#include "admission/choice.h"
#include "admission/gpu_request.h"
#include "admission/pod.h"
#include "base/json_depth.h"
#include "base/json_value.h"

namespace aliquot::admission {
namespace {

using Json = nlohmann::json;

constexpr char kNodesUnknown[] = "the nodes are not known yet";
constexpr int kBadRequest = 400;
constexpr int kConflict = 409;
constexpr int kUnprocessable = 422;

Decision decide_of(const Json& pod, const Cluster& cluster, const PatchOptions& options) {
    Decision decision;
    auto facts = read_pod(pod, cluster);
    if (!facts) {
        decision.warnings.push_back("aliquot: " + facts.error().message);
        return decision;
    }
    auto requests = read_gpu_requests(*facts, cluster);
    if (!requests) return refused(kBadRequest, requests.error().message);
    Choice choice = choose(*facts, requests->gpus, cluster);
    if (!choice.miss.empty() && requests->strict) {
        return refused(kUnprocessable,
                       choice.miss +
                           " (aliquot.dev/strict is \"true\": without it the pod would be let "
                           "through without GPU)");
    }
    decision.warnings = std::move(requests->warnings);
    std::ranges::move(choice.warnings, std::back_inserter(decision.warnings));
    if (!choice.miss.empty()) {
        const bool has_own = std::ranges::any_of(
            facts->containers,
            [](const ContainerFacts& container) { return !container.gpu_resources.empty(); });
        decision.warnings.push_back(choice.miss + (has_own
                                                       ? "; what it asks for itself stays as it is"
                                                       : "; the pod gets no GPU from aliquot"));
    }
    const Json patch = make_patch(pod, *facts, *requests, choice, options, decision.warnings);
    if (!patch.empty()) decision.patch = dumped(patch);
    return decision;
}

bool asks_for_any(const Json& spec, const std::function<bool(const std::string&)>& serves) {
    for (const char* const list : {"containers", "initContainers"}) {
        const Json& containers = member(spec, list);
        if (!containers.is_array()) continue;
        for (const Json& container : containers) {
            const Json& resources = member(container, "resources");
            for (const char* const kind : {"limits", "requests"}) {
                const Json& amounts = member(resources, kind);
                if (!amounts.is_object()) continue;
                for (const auto& amount : amounts.items()) {
                    if (amount.value() != "0" && amount.value() != 0 && serves(amount.key()))
                        return true;
                }
            }
        }
    }
    return false;
}

Decision gate(const Json& pod, const std::function<bool(const std::string&)>& serves) {
    const Json& spec = member(pod, "spec");
    const Json& gates = member(spec, "schedulingGates");
    // A pod with a gate may have no node yet.
    if (!spec.is_object() || !text_at(spec, "nodeName").empty()) return {};
    for (std::size_t i = 0; gates.is_array() && i < gates.size(); ++i) {
        if (text_at(gates[i], "name") == kPlacementGate) return {};
    }
    if (!asks_for_any(spec, serves)) return {};
    const Json name = {{"name", kPlacementGate}};
    const bool has_list = gates.is_array();
    const Json patch =
        Json::array({{{"op", "add"},
                      {"path", has_list ? "/spec/schedulingGates/-" : "/spec/schedulingGates"},
                      {"value", has_list ? name : Json::array({name})}}});
    Decision decision;
    decision.patch = dumped(patch);
    return decision;
}

/// Operations that put annotations on an object.
std::string annotations_patch(const Json& object,
                              const std::map<std::string, std::string>& annotations) {
    Json patch = Json::array();
    if (!member(member(object, "metadata"), "annotations").is_object()) {
        patch.push_back(
            {{"op", "add"}, {"path", "/metadata/annotations"}, {"value", Json::object()}});
    }
    for (const auto& [key, value] : annotations) {
        const auto path = Json::json_pointer("/metadata/annotations") / key;
        patch.push_back({{"op", "add"}, {"path", path.to_string()}, {"value", value}});
    }
    return dumped(patch);
}

Decision binding(const Json& request,
                 const std::function<BindingAnswer(const BindingQuestion&)>& decide) {
    const Json& object = member(request, "object");
    const Json& metadata = member(object, "metadata");
    const Json& target = member(object, "target");
    const std::string kind = text_at(target, "kind");
    const BindingQuestion question{.name_space = text_at(request, "namespace"),
                                   .name = text_at(metadata, "name"),
                                   .uid = text_at(metadata, "uid"),
                                   .node = text_at(target, "name"),
                                   .dry_run = flag_at(request, "dryRun").value_or(false)};
    const bool is_whole = !question.name_space.empty() && !question.name.empty() &&
                          !question.node.empty() && (kind.empty() || kind == "Node");
    if (!is_whole) return {};
    const BindingAnswer answer = decide(question);
    if (!answer.allowed) return refused(kConflict, answer.message);
    Decision decision;
    if (!answer.annotations.empty()) decision.patch = annotations_patch(object, answer.annotations);
    return decision;
}

}  // namespace

Decision decide(std::string_view pod, const Cluster& cluster, const PatchOptions& options) {
    try {
        const Json json = is_nested_deeper(pod, kDeepest) ? Json() : parse_json<Json>(pod);
        return decide_of(json, cluster, options);
    } catch (const std::exception& problem) {
        Decision failed;
        failed.warnings.push_back(std::string("aliquot: ") + problem.what());
        return failed;
    }
}

Review review(std::string_view body, const Cluster* cluster, const PatchOptions& options) {
    Judge judge{.subresource = "", .decide = {}, .unknown = kNodesUnknown};
    if (cluster != nullptr) {
        judge.decide = [&](const Json& request) {
            return decide_of(member(request, "object"), *cluster, options);
        };
    }
    return review_by(body, judge);
}

Review review_gate(std::string_view body, const std::function<bool(const std::string&)>& serves) {
    Judge judge{.subresource = "", .decide = {}, .unknown = kNodesUnknown};
    if (serves)
        judge.decide = [&](const Json& request) { return gate(member(request, "object"), serves); };
    return review_by(body, judge);
}

Review review_binding(std::string_view body,
                      const std::function<BindingAnswer(const BindingQuestion&)>& decide) {
    Judge judge{.subresource = "binding", .decide = {}, .unknown = "nobody judges it"};
    if (decide) judge.decide = [&](const Json& request) { return binding(request, decide); };
    return review_by(body, judge);
}

}  // namespace aliquot::admission
