// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook.h"

#include <algorithm>

#include "admission/claim_review.h"
#include "base/log.h"

namespace aliquot::controller {

http::Response Webhook::answer(
    const http::Request& request,
    const std::function<admission::Review(std::string_view body)>& decide) const {
    constexpr int kBadRequest = 400;
    constexpr int kForbidden = 403;
    constexpr int kUnsupportedMedia = 415;
    const auto& names = dependencies_.client_names;
    if (!names.empty() && std::find(names.begin(), names.end(), request.peer_name) == names.end()) {
        return {.status = kForbidden, .body = "the certificate's name may not ask here\n"};
    }
    if (!request.header("content-type").starts_with("application/json")) {
        return {.status = kUnsupportedMedia, .body = "only application/json\n"};
    }
    const auto begin = std::chrono::steady_clock::now();
    auto review = decide(request.body);
    dependencies_.counters.add_review(review.result, std::chrono::steady_clock::now() - begin);
    if (review.result == admission::ReviewResult::kMalformed) {
        log::warning("admission.malformed", {{"reason", review.body}});
        return {.status = kBadRequest, .body = std::move(review.body)};
    }
    return {.content_type = "application/json", .body = std::move(review.body)};
}

http::Response Webhook::respond(const http::Request& request) const {
    const auto cluster = dependencies_.cluster();
    return answer(request, [&](std::string_view body) {
        return admission::review(body, cluster.get(), dependencies_.options);
    });
}

http::Response Webhook::respond_gate(const http::Request& request) const {
    return answer(request, [&](std::string_view body) {
        return admission::review_gate(body, dependencies_.serves);
    });
}

http::Response Webhook::respond_binding(const http::Request& request) const {
    return answer(request, [&](std::string_view body) {
        return dependencies_.binding ? dependencies_.binding(body)
                                     : admission::review_binding(body, {});
    });
}

http::Response Webhook::respond_claim(const http::Request& request) const {
    return answer(request, [](std::string_view body) {
        return admission::review_claim(body, admission::random_claim_name);
    });
}

}  // namespace aliquot::controller
