// SPDX-License-Identifier: Apache-2.0
#include "admission/answer.h"

#include <algorithm>
#include <array>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_depth.h"
#include "base/json_value.h"

namespace aliquot::admission {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostWarnings = 8;
constexpr std::size_t kLongestWarning = 480;
constexpr std::size_t kLongestUid = 256;
constexpr int kAnsweredBadRequest = 400;
constexpr int kAnsweredConflict = 409;

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
    if (code == kAnsweredConflict) return "Conflict";
    return code == kAnsweredBadRequest ? "BadRequest" : "Invalid";
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

}  // namespace

Decision refused(int code, std::string message) {
    return {
        .allowed = false, .code = code, .message = std::move(message), .warnings = {}, .patch = {}};
}

Review review_by(std::string_view body, const Judge& judge) {
    if (body.size() > kMostReviewBytes) return malformed("the review is larger than 3 MiB");
    if (is_nested_deeper(body, kDeepest))
        return malformed("the review is nested deeper than 64 levels");
    try {
        const Json root = parse_json<Json>(body);
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

std::string_view to_text(ReviewResult result) {
    constexpr std::array<std::string_view, 5> kWords{"unchanged", "patched", "refused", "failed",
                                                     "malformed"};
    return kWords[static_cast<std::size_t>(result)];
}

}  // namespace aliquot::admission
