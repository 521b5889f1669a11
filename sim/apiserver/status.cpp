// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/status.h"

#include "base/json_text.h"

namespace aliquot::sim::apiserver {

namespace {

Failure of(int code, std::string reason, std::string message, std::string_view resource = "",
           std::string_view group = "", std::string_view name = "") {
    Failure made;
    made.code = code;
    made.reason = std::move(reason);
    made.message = std::move(message);
    made.kind = resource;
    made.group = group;
    made.name = name;
    return made;
}

}  // namespace

std::string qualified(std::string_view resource, std::string_view group) {
    return group.empty() ? std::string(resource) : std::string(resource) + "." + std::string(group);
}

Failure bad_request(std::string message) { return of(400, "BadRequest", std::move(message)); }

Failure unauthorized() { return of(401, "Unauthorized", "Unauthorized"); }

Failure forbidden(std::string_view resource, std::string_view group, std::string_view name,
                  std::string_view why) {
    std::string message = qualified(resource, group);
    if (!name.empty()) message += " " + json_quoted(name);
    return of(403, "Forbidden", message + " is forbidden: " + std::string(why), resource, group,
              name);
}

Failure not_found(std::string_view resource, std::string_view group, std::string_view name) {
    return of(404, "NotFound", qualified(resource, group) + " " + json_quoted(name) + " not found",
              resource, group, name);
}

Failure page_not_found() {
    return of(404, "NotFound", "the server could not find the requested resource");
}

Failure method_not_allowed() {
    return of(405, "MethodNotAllowed",
              "the server does not allow this method on the requested resource");
}

Failure already_exists(std::string_view resource, std::string_view group, std::string_view name) {
    return of(409, "AlreadyExists",
              qualified(resource, group) + " " + json_quoted(name) + " already exists", resource,
              group, name);
}

Failure conflict(std::string_view resource, std::string_view group, std::string_view name,
                 std::string_view why) {
    return of(409, "Conflict",
              "Operation cannot be fulfilled on " + qualified(resource, group) + " " +
                  json_quoted(name) + ": " + std::string(why),
              resource, group, name);
}

Failure expired(std::string message) { return of(410, "Expired", std::move(message)); }

Failure invalid(std::string_view kind, std::string_view group, std::string_view name,
                std::vector<Cause> causes) {
    std::string list;
    for (const Cause& cause : causes) {
        if (!list.empty()) list += ", ";
        list += cause.field + ": " + cause.message;
    }
    if (causes.size() > 1) list = "[" + list + "]";
    Failure made = of(422, "Invalid",
                      qualified(kind, group) + " " + json_quoted(name) + " is invalid: " + list,
                      kind, group, name);
    made.causes = std::move(causes);
    return made;
}

Failure unsupported_media_type(std::string_view accepted) {
    return of(415, "UnsupportedMediaType",
              "the body of the request was in an unknown format - accepted media types include: " +
                  std::string(accepted));
}

Failure not_acceptable(std::string_view accepted) {
    return of(406, "NotAcceptable",
              "only the following media types are accepted: " + std::string(accepted));
}

Failure too_many_requests(std::string message, int retry_after_seconds) {
    Failure made = of(429, "TooManyRequests", std::move(message));
    made.retry_after_seconds = retry_after_seconds;
    return made;
}

Failure internal_error(std::string message) {
    return of(500, "InternalError", "Internal error occurred: " + std::move(message));
}

Value to_status(const Failure& failure) {
    Value details = Value::object();
    if (!failure.name.empty()) details["name"] = failure.name;
    if (!failure.group.empty()) details["group"] = failure.group;
    if (!failure.kind.empty()) details["kind"] = failure.kind;
    if (failure.retry_after_seconds > 0) details["retryAfterSeconds"] = failure.retry_after_seconds;
    for (const Cause& cause : failure.causes) {
        Value one = Value::object({{"reason", cause.reason}, {"message", cause.message}});
        if (!cause.field.empty()) one["field"] = cause.field;
        details["causes"].push(std::move(one));
    }
    Value metadata = Value::object();
    if (!failure.continue_token.empty()) metadata["continue"] = failure.continue_token;
    Value status = Value::object({{"kind", "Status"},
                                  {"apiVersion", "v1"},
                                  {"metadata", std::move(metadata)},
                                  {"status", "Failure"},
                                  {"message", failure.message},
                                  {"reason", failure.reason},
                                  {"code", failure.code}});
    if (!details.empty()) status["details"] = std::move(details);
    return status;
}

Cause required(std::string field, std::string detail) {
    return {"FieldValueRequired", detail.empty() ? "Required value" : "Required value: " + detail,
            std::move(field)};
}

Cause invalid_value(std::string field, const Value& value, std::string_view detail) {
    return {"FieldValueInvalid", "Invalid value: " + to_json(value) + ": " + std::string(detail),
            std::move(field)};
}

Cause unsupported_value(std::string field, const Value& value,
                        const std::vector<std::string>& supported) {
    std::string message = "Unsupported value: " + to_json(value) + ": supported values: ";
    for (std::size_t i = 0; i < supported.size(); ++i) {
        message += (i == 0 ? "" : ", ") + json_quoted(supported[i]);
    }
    return {"FieldValueNotSupported", message, std::move(field)};
}

Cause forbidden_field(std::string field, std::string_view detail) {
    return {"FieldValueForbidden", "Forbidden: " + std::string(detail), std::move(field)};
}

Cause duplicate_value(std::string field, const Value& value) {
    return {"FieldValueDuplicate", "Duplicate value: " + to_json(value), std::move(field)};
}

}  // namespace aliquot::sim::apiserver
