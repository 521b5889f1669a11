// SPDX-License-Identifier: Apache-2.0
#include "controller/token_gate.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/log.h"
#include "base/text.h"

namespace aliquot::controller {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kPatience{5};
constexpr int kGood = 200;
constexpr int kNobody = 401;
constexpr int kMayNot = 403;
constexpr int kCannotTell = 503;

kube_client::Resource token_reviews() {
    return {.group = "authentication.k8s.io",
            .version = "v1",
            .plural = "tokenreviews",
            .kind = "TokenReview",
            .namespaced = false};
}

kube_client::Resource access_reviews() {
    return {.group = "authorization.k8s.io",
            .version = "v1",
            .plural = "subjectaccessreviews",
            .kind = "SubjectAccessReview",
            .namespaced = false};
}

/// What the API server says of a review; null: it could not be asked.
Json status_of_review(kube_client::Api& api, const kube_client::Resource& kind, Json spec) {
    const Json review{{"apiVersion", kind.api_version()},
                      {"kind", kind.kind},
                      {"metadata", Json::object()},
                      {"spec", std::move(spec)}};
    kube_client::WriteOptions options;
    options.call.deadline = kPatience;
    const auto answer = api.create(kind, "", dumped(review), options);
    if (!answer) {
        log::warning("page.review_failed",
                     {{"kind", kind.kind}, {"why", answer.failure().message}});
        return {};
    }
    return member(Json::parse(answer->json, nullptr, false), "status");
}

/// Of an Authorization header "Bearer TOKEN"; empty: none.
std::string bearer(std::string_view authorization) {
    constexpr std::string_view kScheme = "Bearer ";
    if (!starts_with_folded(authorization, kScheme)) return {};
    return std::string(trim(authorization.substr(kScheme.size())));
}

http::Response refusal(int status) {
    http::Response answer{.status = status};
    switch (status) {
        case kNobody:
            answer.body = "a token of this cluster is needed, such as kubectl create token makes\n";
            answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"aliquot\"");
            break;
        case kMayNot:
            answer.body = "this page is for who may list nodes and the pods of all namespaces\n";
            answer.headers.emplace_back("WWW-Authenticate", "Bearer error=\"insufficient_scope\"");
            break;
        default:
            answer.body = "the API server cannot be asked who this is; try again\n";
            answer.headers.emplace_back("Retry-After", "5");
    }
    return answer;
}

}  // namespace

TokenGate::TokenGate(kube_client::Api& api, std::function<Steady()> now)
    : api_(api), now_(std::move(now)) {}

int TokenGate::ask(const std::string& token) {
    const Json known = status_of_review(api_, token_reviews(), {{"token", token}});
    if (known.is_null()) return kCannotTell;
    if (!flag_at(known, "authenticated").value_or(false)) return kNobody;
    const Json& user = member(known, "user");
    Json subject{{"user", text_at(user, "username")}, {"uid", text_at(user, "uid")}};
    for (const char* const field : {"groups", "extra"}) {
        if (const Json& value = member(user, field); !value.is_null()) subject[field] = value;
    }
    for (const char* const what : {"pods", "nodes"}) {
        Json spec = subject;
        spec["resourceAttributes"] = {{"verb", "list"}, {"version", "v1"}, {"resource", what}};
        const Json may = status_of_review(api_, access_reviews(), std::move(spec));
        if (may.is_null()) return kCannotTell;
        if (!flag_at(may, "allowed").value_or(false)) return kMayNot;
    }
    return kGood;
}

void TokenGate::remember(const http::Passwords::Digest& token, int status) {
    const Steady now = now_();
    const std::scoped_lock lock(mutex_);
    if (verdicts_.size() >= kMostRemembered) {
        std::erase_if(verdicts_, [&](const auto& one) { return one.second.until <= now; });
    }
    if (verdicts_.size() >= kMostRemembered) {
        // Guesses do not push out who was let in.
        const auto guess = std::ranges::find_if(
            verdicts_, [](const auto& one) { return one.second.status != kGood; });
        verdicts_.erase(guess == verdicts_.end() ? verdicts_.begin() : guess);
    }
    verdicts_[token] = {.status = status, .until = now + (status == kGood ? kGoodFor : kBadFor)};
}

std::optional<int> TokenGate::remembered(const http::Passwords::Digest& token) {
    const std::scoped_lock lock(mutex_);
    const auto known = verdicts_.find(token);
    if (known == verdicts_.end() || known->second.until <= now_()) return std::nullopt;
    return known->second.status;
}

int TokenGate::judge(const std::string& token) {
    const auto digest = digests_.digest({.user = "", .password = token});
    if (const auto known = remembered(digest)) return *known;
    if (waiting_.fetch_add(1) >= kMostWaiting) {
        --waiting_;
        return kCannotTell;
    }
    const std::scoped_lock lock(asking_);
    --waiting_;
    if (const auto known = remembered(digest)) return *known;  // asked while this one waited
    const int status = ask(token);
    remember(digest, status);
    return status;
}

std::optional<http::Response> TokenGate::refuse(const http::Request& request) {
    const std::string token = bearer(request.header("authorization"));
    if (token.empty()) return refusal(kNobody);
    const int status = judge(token);
    if (status == kGood) return std::nullopt;
    return refusal(status);
}

}  // namespace aliquot::controller
