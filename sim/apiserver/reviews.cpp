// SPDX-License-Identifier: Apache-2.0
// Who am I, may I: the reviews of authentication.k8s.io and authorization.k8s.io.
#include <algorithm>

#include "sim/apiserver/access.h"
#include "sim/apiserver/writes.h"

namespace aliquot::sim::apiserver {

namespace {

Value to_user(const User& user) {
    Value made = Value::object({{"username", user.name}});
    if (!user.uid.empty()) made["uid"] = user.uid;
    for (const std::string& group : user.groups) made["groups"].push(group);
    for (const auto& more : user.extra) {
        for (const std::string& value : more.second) made["extra"][more.first].push(value);
    }
    return made;
}

Attributes read_attributes(const Value& spec, User user) {
    Attributes wanted;
    wanted.user = std::move(user);
    const Value& resource = spec.at("resourceAttributes");
    if (resource.is_null()) {
        wanted.is_resource = false;
        wanted.path = spec.at_path("nonResourceAttributes.path").text();
        wanted.verb = spec.at_path("nonResourceAttributes.verb").text();
        return wanted;
    }
    wanted.verb = resource.at("verb").text();
    wanted.group = resource.at("group").text();
    wanted.version = resource.at("version").text();
    wanted.resource = resource.at("resource").text();
    wanted.subresource = resource.at("subresource").text();
    wanted.name = resource.at("name").text();
    wanted.name_space = resource.at("namespace").text();
    return wanted;
}

Value judge(const ServerContext& context, const Attributes& wanted) {
    const bool allowed = !authorize(context, wanted);
    Value status = Value::object({{"allowed", allowed}});
    if (!context.options.rbac) {
        status["reason"] = "every request is allowed: roles are off";
    } else if (const auto reason = allowed_by_roles(context, wanted)) {
        status["reason"] = *reason;
    }
    return status;
}

User read_user(const Value& spec) {
    User user;
    user.name = spec.at("user").text();
    user.uid = spec.at("uid").text();
    for (const Value& group : spec.at("groups").items()) user.groups.push_back(group.text());
    return user;
}

Value review_token(const ServerContext& context, const std::string& token) {
    HttpRequest asked;
    asked.headers["authorization"] = "Bearer " + token;
    const auto user = authenticate(context, asked);
    if (token.empty() || !user) {
        return Value::object(
            {{"user", Value::object()}, {"error", "[invalid bearer token, token lookup failed]"}});
    }
    return Value::object({{"authenticated", true}, {"user", to_user(*user)}});
}

}  // namespace

HttpAnswer answer_review(Call& call) {
    auto object = read_object(call);
    if (!object) return answer_failure(object.failure());
    Value& review = *object;
    const Value spec = review.at("spec");
    const std::string& kind = call.resource->kind;
    if (kind == "TokenReview") {
        review["status"] = review_token(call.context, spec.at("token").text());
    } else if (kind == "SelfSubjectReview") {
        review["status"]["userInfo"] = to_user(call.user);
    } else if (kind == "SelfSubjectRulesReview") {
        review["status"] = rules_of(call.context, call.user, spec.at("namespace").text());
    } else {
        const bool both =
            !spec.at("resourceAttributes").is_null() && !spec.at("nonResourceAttributes").is_null();
        const bool none =
            spec.at("resourceAttributes").is_null() && spec.at("nonResourceAttributes").is_null();
        if (both || none) {
            return answer_failure(
                invalid(kind, "authorization.k8s.io", "",
                        {invalid_value("spec.resourceAttributes", spec.at("resourceAttributes"),
                                       "exactly one of nonResourceAttributes or resourceAttributes "
                                       "must be specified")}));
        }
        const bool self = kind == "SelfSubjectAccessReview";
        review["status"] =
            judge(call.context, read_attributes(spec, self ? call.user : read_user(spec)));
    }
    return answer_value(review, 201);
}

}  // namespace aliquot::sim::apiserver
