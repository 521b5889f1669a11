// SPDX-License-Identifier: Apache-2.0
#include "controller/token_reviews.h"

#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/log.h"
#include "base/text.h"

namespace aliquot::controller {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kPatience{5};

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
        log::warning("tokens.review_failed",
                     {{"kind", kind.kind}, {"why", answer.failure().message}});
        return {};
    }
    return member(parse_json<Json>(answer->json), "status");
}

Json attributes_of(const Right& right) {
    Json attributes = Json::object();
    for (const auto& [name, value] : {std::pair{"verb", &right.verb},
                                      {"group", &right.group},
                                      {"version", &right.version},
                                      {"resource", &right.resource},
                                      {"subresource", &right.subresource},
                                      {"namespace", &right.space},
                                      {"name", &right.name}}) {
        if (!value->empty()) attributes[name] = *value;
    }
    return attributes;
}

/// A question apart from others about the same token: no part of it can be mistaken for two.
std::string text_of(const std::vector<Right>& rights) {
    Json all = Json::array();
    for (const Right& right : rights) all.push_back(attributes_of(right));
    return dumped(all);
}

}  // namespace

TokenReviews::TokenReviews(kube_client::Api& api, std::function<Steady()> now)
    : api_(api), now_(std::move(now)) {}

std::string TokenReviews::shown_by(const http::Request& request) {
    constexpr std::string_view kScheme = "Bearer ";
    const std::string_view authorization = request.header("authorization");
    if (!starts_with_folded(authorization, kScheme)) return {};
    const std::string_view token = trim(authorization.substr(kScheme.size()));
    return token.size() > kMostTokenBytes ? std::string() : std::string(token);
}

int TokenReviews::may(const Verdict& user, const Right& right) const {
    Json spec = parse_json<Json>(user.subject);
    if (!spec.is_object()) return kMayNot;
    spec["resourceAttributes"] = attributes_of(right);
    const Json may = status_of_review(api_, access_reviews(), std::move(spec));
    if (may.is_null()) return kCannotTell;
    return flag_at(may, "allowed").value_or(false) ? kGood : kMayNot;
}

TokenReviews::Verdict TokenReviews::ask(const std::string& token,
                                        const std::vector<Right>& rights) const {
    const Json known = status_of_review(api_, token_reviews(), {{"token", token}});
    if (known.is_null()) return {.status = kCannotTell};
    const Json& user = member(known, "user");
    Verdict verdict{.status = kGood, .user = text_at(user, "username")};
    if (!flag_at(known, "authenticated").value_or(false) || verdict.user.empty()) {
        return {.status = kNobody};
    }
    Json subject{{"user", verdict.user}, {"uid", text_at(user, "uid")}};
    for (const char* const field : {"groups", "extra"}) {
        if (const Json& value = member(user, field); !value.is_null()) subject[field] = value;
    }
    verdict.subject = dumped(subject);
    for (const Right& right : rights) {
        if (const int status = may(verdict, right); status != kGood) return {.status = status};
    }
    return verdict;
}

void TokenReviews::remember(const Digest& asked, const Verdict& verdict) {
    const Steady now = now_();
    const bool good = verdict.status == kGood;
    Verdicts& verdicts = good ? good_ : others_;
    if (good) others_.erase(asked);
    // An API server that is away makes nobody a stranger.
    if (verdict.status == kNobody || verdict.status == kMayNot) good_.erase(asked);
    if (verdicts.size() >= kMostRemembered) {
        std::erase_if(verdicts, [&](const auto& one) { return one.second.until <= now; });
    }
    if (verdicts.size() >= kMostRemembered) verdicts.erase(verdicts.begin());
    verdicts[asked] = {.verdict = verdict, .until = now + (good ? kGoodFor : kBadFor)};
}

std::optional<TokenReviews::Verdict> TokenReviews::remembered(const Digest& asked) const {
    for (const Verdicts* const verdicts : {&good_, &others_}) {
        const auto found = verdicts->find(asked);
        if (found != verdicts->end() && found->second.until > now_()) return found->second.verdict;
    }
    return std::nullopt;
}

TokenReviews::Verdict TokenReviews::judge(const std::string& token,
                                          const std::vector<Right>& rights) {
    const Digest digest = digests_.digest({.user = text_of(rights), .password = token});
    {
        std::unique_lock lock(mutex_);
        const bool was_good = good_.contains(digest);
        if (asked_.contains(digest) && (was_good || waiting_ < kMostWaiting)) {
            ++waiting_;
            answered_.wait_for(lock, kPatience, [&] { return !asked_.contains(digest); });
            --waiting_;
        }
        if (auto known = remembered(digest)) return *std::move(known);
        // Whom it let in before, it asks about even while guesses take all other places.
        const std::size_t most = was_good ? 2 * kMostAtOnce : kMostAtOnce;
        if (asked_.size() >= most || asked_.contains(digest)) return {.status = kCannotTell};
        asked_.insert(digest);
    }
    Verdict verdict{.status = kCannotTell};
    try {
        verdict = ask(token, rights);
    } catch (const std::exception& problem) {
        log::error("tokens.review_failed", {{"why", problem.what()}});
    }
    const std::scoped_lock lock(mutex_);
    remember(digest, verdict);
    asked_.erase(digest);
    answered_.notify_all();
    return verdict;
}

}  // namespace aliquot::controller
