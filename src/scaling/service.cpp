// SPDX-License-Identifier: Apache-2.0
#include "scaling/service.h"

#include <algorithm>

namespace aliquot::scaling {
namespace {

http::Response to_http(ApiAnswer answer) {
    return {.status = answer.status,
            .content_type = "application/json",
            .body = std::move(answer.body) + "\n",
            .headers = {{"Cache-Control", "no-cache, private"}}};
}

}  // namespace

std::string Service::why_refused(const http::Request& request) const {
    if (!dependencies_.front_proxy) return {};
    const auto proxy = dependencies_.front_proxy();
    if (proxy == nullptr) return "the authority of the API server's certificate is not known yet";
    if (request.peer_name.empty()) {
        return "a client certificate of the API server's front proxy is needed; ask by way of the "
               "API server: kubectl get --raw PATH";
    }
    const auto& names = proxy->allowed_names;
    if (!names.empty() && std::find(names.begin(), names.end(), request.peer_name) == names.end()) {
        return "the client certificate is of '" + request.peer_name + "', not of the front proxy";
    }
    if (request.header("x-remote-user").empty()) return "the front proxy names no user";
    return {};
}

http::Response Service::metrics(const http::Request& request) const {
    if (const std::string reason = why_refused(request); !reason.empty()) {
        return to_http(failure(401, "Unauthorized", reason));
    }
    return to_http(
        answer({.path = request.path,
                .label_selector = std::string(request.parameter("labelSelector")),
                .metric_label_selector = std::string(request.parameter("metricLabelSelector")),
                .now = dependencies_.now()},
               dependencies_.recent, dependencies_.directory));
}

http::Routes Service::routes() const {
    using Request = http::Request;
    const auto lives = [](const Request&) { return http::Response{.body = "ok\n"}; };
    return http::Routes({
        {"/livez", "whether it runs", lives},
        {"/healthz", "", lives},
        {"/readyz", "whether the agents have been asked",
         [this](const Request&) {
             if (!dependencies_.is_ready || dependencies_.is_ready())
                 return http::Response{.body = "ok\n"};
             return http::Response{.status = 503, .body = "the agents have not been asked yet\n"};
         }},
        {"/*", "the metrics", [this](const Request& request) { return metrics(request); }},
    });
}

}  // namespace aliquot::scaling
