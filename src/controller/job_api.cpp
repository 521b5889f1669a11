// SPDX-License-Identifier: Apache-2.0
#include "controller/job_api.h"

#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/log.h"
#include "base/text.h"
#include "cluster_jobs/pages.h"
#include "http/access.h"
#include "http/address.h"

namespace aliquot::controller {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kReviewPatience{5};
constexpr std::chrono::seconds kJobPatience{20};
constexpr std::size_t kMostJobBody = std::size_t{1} << 20U;

kube_client::Resource review_of(const char* group, const char* plural, const char* kind) {
    return {.group = group, .version = "v1", .plural = plural, .kind = kind, .namespaced = false};
}

/// What the API server says of a review; null: it could not be asked.
Json reviewed(kube_client::Api& api, const kube_client::Resource& kind, Json spec) {
    const Json review{{"apiVersion", kind.api_version()},
                      {"kind", kind.kind},
                      {"metadata", Json::object()},
                      {"spec", std::move(spec)}};
    kube_client::WriteOptions options;
    options.call.deadline = kReviewPatience;
    const auto answer = api.create(kind, "", dumped(review), options);
    if (!answer) {
        log::warning("jobs.review_failed",
                     {{"kind", kind.kind}, {"why", answer.failure().message}});
        return {};
    }
    return member(Json::parse(answer->json, nullptr, false), "status");
}

http::Response refused(int status, const char* code, const std::string& message) {
    const Json body{{"error", {{"code", code}, {"message", message}}}};
    http::Response answer{
        .status = status, .content_type = "application/json", .body = dumped(body) + "\n"};
    if (status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"aliquot\"");
    if (status == 503) answer.headers.emplace_back("Retry-After", "5");
    return answer;
}

http::Response cannot_tell() {
    return refused(503, "unavailable", "the API server cannot be asked who this is; try again");
}

}  // namespace

/// nullopt: the API server could not be asked.
std::optional<JobApi::Subject> JobApi::ask_who(const std::string& token) {
    static const auto kTokenReviews =
        review_of("authentication.k8s.io", "tokenreviews", "TokenReview");
    const Json known = reviewed(api_, kTokenReviews, {{"token", token}});
    if (known.is_null()) return std::nullopt;
    Subject subject{.until = now_() + kBadFor};
    if (!flag_at(known, "authenticated").value_or(false)) return subject;
    const Json& user = member(known, "user");
    subject.name = text_at(user, "username");
    subject.until = now_() + kGoodFor;
    Json fields{{"user", subject.name}, {"uid", text_at(user, "uid")}};
    for (const char* const field : {"groups", "extra"}) {
        if (const Json& value = member(user, field); !value.is_null()) fields[field] = value;
    }
    subject.fields = dumped(fields);
    return subject;
}

std::optional<JobApi::Subject> JobApi::subject_of(const std::string& token) {
    const auto digest = digests_.digest({.user = "", .password = token});
    {
        const std::scoped_lock lock(mutex_);
        const auto known = subjects_.find(digest);
        if (known != subjects_.end() && known->second.until > now_()) return known->second;
    }
    // Guesses of many must not keep the API server busy.
    if (asking_.fetch_add(1) >= kMostAsking) {
        --asking_;
        return std::nullopt;
    }
    const auto subject = ask_who(token);
    --asking_;
    if (!subject) return std::nullopt;
    const std::scoped_lock lock(mutex_);
    if (subjects_.size() >= kMostRemembered) {
        std::erase_if(subjects_, [&](const auto& one) {
            return one.second.until <= now_() || one.second.name.empty();
        });
    }
    if (subjects_.size() >= kMostRemembered) subjects_.erase(subjects_.begin());
    subjects_[digest] = *subject;
    return subject;
}

http::Response JobApi::respond(const http::Request& request) {
    constexpr std::string_view kBearer = "Bearer ";
    const std::string_view shown = request.header("authorization");
    const std::string token = starts_with_folded(shown, kBearer)
                                  ? std::string(trim(shown.substr(kBearer.size())))
                                  : std::string();
    const std::string needed =
        "a token of this cluster is needed, such as kubectl create token makes";
    if (token.empty()) return refused(401, "forbidden", needed);
    const auto subject = subject_of(token);
    if (!subject) return cannot_tell();
    if (subject->name.empty()) return refused(401, "forbidden", needed);
    const cluster_jobs::Asker asker{.user = subject->name, .space = "default", .sees_all = false};
    const cluster_jobs::Right right = cluster_jobs::right_of(request, asker);
    if (!right.verb.empty()) {
        static const auto kAccessReviews =
            review_of("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview");
        Json spec = Json::parse(subject->fields, nullptr, false);
        spec["resourceAttributes"] = {{"verb", right.verb},
                                      {"group", right.group},
                                      {"version", "*"},
                                      {"resource", right.resource},
                                      {"namespace", right.space},
                                      {"name", right.name},
                                      {"subresource", right.subresource}};
        const Json may = reviewed(api_, kAccessReviews, std::move(spec));
        if (may.is_null()) return cannot_tell();
        if (!flag_at(may, "allowed").value_or(false)) {
            const std::string what =
                right.resource + (right.subresource.empty() ? "" : "/" + right.subresource);
            return refused(403, "forbidden",
                           "a role of " + subject->name + " must allow: " + right.verb + " " +
                               what +
                               (right.space.empty() ? "" : " in the namespace " + right.space));
        }
    }
    return cluster_jobs::respond(api_, request, asker, {.deadline = kJobPatience});
}

Result<std::unique_ptr<JobApi>> JobApi::serve(const JobApiOptions& options, kube_client::Api& api) {
    http::Access access;
    if (!options.web_config.empty()) {
        auto read = http::read_access(options.web_config);
        if (!read) return std::move(read).error();
        access = *std::move(read);
    }
    if (!access.tls && !http::check_local(options.listen)) {
        return Error{ErrorCode::kPermission,
                     options.listen +
                         ": tokens would be sent in the clear; expected an address "
                         "of this machine such as 127.0.0.1:8082, or a web-config "
                         "file with tls_server_config"};
    }
    auto made = std::make_unique<JobApi>(api);
    auto server = http::Server::listen(
        {.address = options.listen,
         .access = std::move(access),
         .methods = {"GET", "POST", "DELETE"},
         .most_body_bytes = kMostJobBody},
        [jobs = made.get()](const http::Request& request) { return jobs->respond(request); });
    if (!server) return std::move(server).error();
    made->server_ = *std::move(server);
    log::info("jobs.served", {{"address", options.listen}, {"jobs_port", made->server_->port()}});
    return made;
}

}  // namespace aliquot::controller
