// SPDX-License-Identifier: Apache-2.0
#include "admission/review.h"

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>

#include "admission/choice.h"
#include "admission/gpu_request.h"
#include "admission/pod.h"
#include "base/base64.h"
#include "base/json_depth.h"
#include "base/json_value.h"

namespace aliquot::admission {
namespace {

using Json = nlohmann::json;

constexpr char kNodesUnknown[] = "the nodes are not known yet";
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostWarnings = 8;
constexpr std::size_t kLongestWarning = 480;
constexpr std::size_t kLongestUid = 256;
constexpr int kBadRequest = 400;
constexpr int kConflict = 409;
constexpr int kUnprocessable = 422;

Decision refused(int code, std::string message) {
    return {
        .allowed = false, .code = code, .message = std::move(message), .warnings = {}, .patch = {}};
}

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

/// Headers carry them: one line each, and not too long.
Json warnings_of(const Decision& decision) {
    Json list = Json::array();
    for (const std::string& warning : decision.warnings) {
        if (list.size() == kMostWarnings) break;
        std::string line = warning.substr(0, kLongestWarning);
        std::ranges::replace_if(
            line, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
        list.push_back(std::move(line));
    }
    return list;
}

const char* reason_of(int code) {
    if (code == kConflict) return "Conflict";
    return code == kBadRequest ? "BadRequest" : "Invalid";
}

Json response_of(const std::string& uid, const Decision& decision) {
    Json response{{"uid", uid}, {"allowed", decision.allowed}};
    if (!decision.allowed) {
        response["status"] = {{"code", decision.code},
                              {"message", decision.message},
                              {"reason", reason_of(decision.code)}};
    }
    if (!decision.patch.empty()) {
        response["patchType"] = "JSONPatch";
        response["patch"] = encode_base64(decision.patch);
    }
    if (!decision.warnings.empty()) response["warnings"] = warnings_of(decision);
    return {{"apiVersion", "admission.k8s.io/v1"},
            {"kind", "AdmissionReview"},
            {"response", std::move(response)}};
}

/// subresource   of pods; empty: pods themselves
bool is_about_new(const Json& request, const char* subresource) {
    const Json& resource = member(request, "resource");
    const std::string operation = text_at(request, "operation");
    return text_at(resource, "resource") == "pods" && text_at(resource, "group").empty() &&
           text_at(request, "subResource") == subresource && operation == "CREATE";
}

ReviewResult result_of(const Decision& decision) {
    if (!decision.allowed) return ReviewResult::kRefused;
    return decision.patch.empty() ? ReviewResult::kUnchanged : ReviewResult::kPatched;
}

Review malformed(std::string reason) {
    return {.result = ReviewResult::kMalformed, .body = std::move(reason) + "\n"};
}

Review let_through(const std::string& uid, const std::string& reason) {
    Decision failed;
    failed.warnings.push_back("aliquot: the pod is let through as it is: " + reason);
    return {.result = ReviewResult::kFailed, .body = dumped(response_of(uid, failed))};
}

/// How what is new is judged.
struct Judge {
    const char* subresource = "";  // of pods
    std::function<Decision(const Json& request)> decide;
    const char* unknown = "";  // why it cannot be judged when `decide` is empty
};

Review answer(const std::string& uid, const Json& request, const Judge& judge) {
    if (!is_about_new(request, judge.subresource)) {
        return {.result = ReviewResult::kUnchanged, .body = dumped(response_of(uid, {}))};
    }
    if (!judge.decide) return let_through(uid, judge.unknown);
    try {
        const Decision decision = judge.decide(request);
        return {.result = result_of(decision), .body = dumped(response_of(uid, decision))};
    } catch (const std::exception& problem) {
        return let_through(uid, problem.what());
    }
}

Review review_by(std::string_view body, const Judge& judge) {
    if (body.size() > kMostReviewBytes) return malformed("the review is larger than 3 MiB");
    if (is_nested_deeper(body, kDeepest))
        return malformed("the review is nested deeper than 64 levels");
    try {
        const Json root = Json::parse(body, nullptr, false);
        if (text_at(root, "kind") != "AdmissionReview") {
            return malformed("the body is no AdmissionReview");
        }
        if (const std::string version = text_at(root, "apiVersion");
            version != "admission.k8s.io/v1") {
            return malformed("the review is not of version admission.k8s.io/v1");
        }
        const Json& request = member(root, "request");
        const std::string uid = text_at(request, "uid");
        if (uid.empty() || uid.size() > kLongestUid) return malformed("the review has no uid");
        return answer(uid, request, judge);
    } catch (const std::exception& problem) {
        return malformed(std::string("the review cannot be read: ") + problem.what());
    }
}

}  // namespace

std::string_view to_text(ReviewResult result) {
    constexpr std::array<std::string_view, 5> kWords{"unchanged", "patched", "refused", "failed",
                                                     "malformed"};
    return kWords[static_cast<std::size_t>(result)];
}

Decision decide(std::string_view pod, const Cluster& cluster, const PatchOptions& options) {
    try {
        const Json json =
            is_nested_deeper(pod, kDeepest) ? Json() : Json::parse(pod, nullptr, false);
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
