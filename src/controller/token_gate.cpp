// SPDX-License-Identifier: Apache-2.0
#include "controller/token_gate.h"

#include "k8s/names.h"

namespace aliquot::controller {
namespace {

using Reviews = TokenReviews;

constexpr int kWrongName = 400;

/// What the page shows; of one namespace its pods, which name their nodes: no others are shown.
std::vector<Right> what_is_shown(const std::string& only) {
    const Right pods{.verb = "list", .version = "v1", .resource = "pods", .space = only};
    if (!only.empty()) return {pods};
    return {pods, {.verb = "list", .version = "v1", .resource = "nodes"}};
}

http::Response refusal(int status, bool one_namespace) {
    http::Response answer{.status = status};
    switch (status) {
        case kWrongName:
            answer.body = "namespace: expected the name of one\n";
            break;
        case Reviews::kNobody:
            answer.body = "a token of this cluster is needed, such as kubectl create token makes\n";
            answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"aliquot\"");
            break;
        case Reviews::kMayNot:
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

page::Pass TokenGate::admit(const http::Request& request) {
    const std::string only(request.parameter("namespace"));
    const auto refused = [&](int status) {
        return page::Pass{.refusal = refusal(status, !only.empty()), .only = {}};
    };
    const std::string token = Reviews::shown_by(request);
    if (token.empty()) return refused(Reviews::kNobody);
    if (!only.empty() && !k8s::is_dns_label(only)) return refused(kWrongName);
    const auto verdict = reviews_.judge(token, what_is_shown(only));
    if (verdict.status != Reviews::kGood) return refused(verdict.status);
    return {.refusal = {}, .only = only, .who = verdict.user};
}

}  // namespace aliquot::controller
