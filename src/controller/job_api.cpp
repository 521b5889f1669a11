// SPDX-License-Identifier: Apache-2.0
#include "controller/job_api.h"

#include "base/log.h"
#include "cluster_jobs/pages.h"
#include "http/access.h"
#include "http/address.h"
#include "http/json_answer.h"

namespace aliquot::controller {
namespace {

constexpr std::chrono::seconds kJobPatience{20};
constexpr std::size_t kMostJobBody = std::size_t{1} << 20U;

http::Response cannot_tell() {
    return http::refusal(
        {ErrorCode::kUnavailable, "the API server cannot be asked who this is; try again"});
}

}  // namespace

http::Response JobApi::respond(const http::Request& request) {
    const std::string token = TokenReviews::shown_by(request);
    const auto user = token.empty() ? TokenReviews::Verdict{.status = TokenReviews::kNobody}
                                    : reviews_.judge(token, {});
    if (user.status == TokenReviews::kNobody) {
        http::Response refused =
            http::refusal(401, "forbidden",
                          "a token of this cluster is needed, such as kubectl create token makes");
        refused.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"aliquot\"");
        return refused;
    }
    if (user.status != TokenReviews::kGood) return cannot_tell();
    const cluster_jobs::Asker asker{.user = user.user, .space = "default", .sees_all = false};
    for (const cluster_jobs::Right& right : cluster_jobs::rights_of(request, asker)) {
        const int status = reviews_.may(user, {.verb = right.verb,
                                               .group = right.group,
                                               .version = "*",
                                               .resource = right.resource,
                                               .subresource = right.subresource,
                                               .space = right.space,
                                               .name = right.name});
        if (status == TokenReviews::kCannotTell) return cannot_tell();
        if (status != TokenReviews::kGood) {
            const std::string what =
                right.resource + (right.subresource.empty() ? "" : "/" + right.subresource);
            return http::refusal(
                403, "forbidden",
                "a role of " + user.user + " must allow: " + right.verb + " " + what +
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
         .threads = TokenReviews::kThreads,
         .most_body_bytes = kMostJobBody},
        [jobs = made.get()](const http::Request& request) { return jobs->respond(request); });
    if (!server) return std::move(server).error();
    made->server_ = *std::move(server);
    log::info("jobs.served", {{"address", options.listen}, {"jobs_port", made->server_->port()}});
    return made;
}

}  // namespace aliquot::controller
