// SPDX-License-Identifier: Apache-2.0
#include "controller/token_gate.h"

#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/log.h"
#include "base/text.h"
#include "k8s/names.h"

namespace aliquot::controller {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kPatience{5};
constexpr int kGood = 200;
constexpr int kWrongName = 400;
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

http::Response refusal(int status, bool one_namespace) {
    http::Response answer{.status = status};
    switch (status) {
        case kWrongName:
            answer.body = "namespace: expected the name of one\n";
            break;
        case kNobody:
            answer.body = "a token of this cluster is needed, such as kubectl create token makes\n";
            answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"aliquot\"");
            break;
        case kMayNot:
            answer.body = one_namespace
                              ? "this page is for who may list the pods of this namespace\n"
                              : "all of this page is for who may list nodes and the pods of all "
                                "namespaces; a part of it for who names a namespace whose pods "
                                "it may list\n";
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

int TokenGate::ask(const std::string& token, const std::string& only) {
    const Json known = status_of_review(api_, token_reviews(), {{"token", token}});
    if (known.is_null()) return kCannotTell;
    if (!flag_at(known, "authenticated").value_or(false)) return kNobody;
    const Json& user = member(known, "user");
    Json subject{{"user", text_at(user, "username")}, {"uid", text_at(user, "uid")}};
    for (const char* const field : {"groups", "extra"}) {
        if (const Json& value = member(user, field); !value.is_null()) subject[field] = value;
    }
    for (const char* const what : {"pods", "nodes"}) {
        Json attributes{{"verb", "list"}, {"version", "v1"}, {"resource", what}};
        if (!only.empty()) attributes["namespace"] = only;
        Json spec = subject;
        spec["resourceAttributes"] = std::move(attributes);
        const Json may = status_of_review(api_, access_reviews(), std::move(spec));
        if (may.is_null()) return kCannotTell;
        if (!flag_at(may, "allowed").value_or(false)) return kMayNot;
        if (!only.empty()) break;  // its pods name their nodes; no others are shown
    }
    return kGood;
}

void TokenGate::remember(const Digest& token, int status) {
    const Steady now = now_();
    Verdicts& verdicts = status == kGood ? good_ : others_;
    (status == kGood ? others_ : good_).erase(token);
    if (verdicts.size() >= kMostRemembered) {
        std::erase_if(verdicts, [&](const auto& one) { return one.second.until <= now; });
    }
    if (verdicts.size() >= kMostRemembered) verdicts.erase(verdicts.begin());
    verdicts[token] = {.status = status, .until = now + (status == kGood ? kGoodFor : kBadFor)};
}

std::optional<int> TokenGate::remembered(const Digest& token) const {
    for (const Verdicts* const verdicts : {&good_, &others_}) {
        const auto found = verdicts->find(token);
        if (found != verdicts->end() && found->second.until > now_()) return found->second.status;
    }
    return std::nullopt;
}

int TokenGate::judge(const std::string& token, const std::string& only) {
    const Digest digest = digests_.digest({.user = only, .password = token});
    {
        std::unique_lock lock(mutex_);
        if (asked_.contains(digest)) {
            answered_.wait_for(lock, kPatience, [&] { return !asked_.contains(digest); });
        }
        if (const auto known = remembered(digest)) return *known;
        // Whom it let in before, it asks about even while guesses take all other places.
        const std::size_t most = good_.contains(digest) ? 2 * kMostAtOnce : kMostAtOnce;
        if (asked_.size() >= most || asked_.contains(digest)) return kCannotTell;
        asked_.insert(digest);
    }
    int status = kCannotTell;
    try {
        status = ask(token, only);
    } catch (const std::exception& problem) {
        log::error("page.review_failed", {{"why", problem.what()}});
    }
    const std::scoped_lock lock(mutex_);
    remember(digest, status);
    asked_.erase(digest);
    answered_.notify_all();
    return status;
}

page::Pass TokenGate::admit(const http::Request& request) {
    const std::string only(request.parameter("namespace"));
    const auto refused = [&](int status) {
        return page::Pass{.refusal = refusal(status, !only.empty()), .only = {}};
    };
    const std::string token = bearer(request.header("authorization"));
    if (token.empty() || token.size() > kMostTokenBytes) return refused(kNobody);
    if (!only.empty() && !k8s::is_dns_label(only)) return refused(kWrongName);
    const int status = judge(token, only);
    if (status != kGood) return refused(status);
    return {.refusal = {}, .only = only};
}

}  // namespace aliquot::controller
