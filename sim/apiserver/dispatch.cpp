// SPDX-License-Identifier: Apache-2.0
// From an HTTP request to the verb that answers it.
#include <thread>

#include "base/json_text.h"
#include "base/text.h"
#include "sim/apiserver/access.h"
#include "sim/apiserver/control.h"
#include "sim/apiserver/discovery.h"
#include "sim/apiserver/route.h"
#include "sim/apiserver/selector.h"
#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

namespace {

std::string verb_of(const HttpRequest& request, const Route& route) {
    const bool one = !route.name.empty();
    if (request.method == "GET" || request.method == "HEAD") {
        if (route.watch_path || (request.flag("watch") && route.subresource.empty()))
            return "watch";
        return one ? "get" : "list";
    }
    if (request.method == "POST") return "create";
    if (request.method == "PUT") return "update";
    if (request.method == "PATCH") return "patch";
    if (request.method == "DELETE") return one ? "delete" : "deletecollection";
    return "";
}

Outcome<Done> read_options(Call& call) {
    const std::string_view dry = call.http.parameter("dryRun");
    if (!dry.empty() && dry != "All") {
        return invalid(call.verb == "create" ? "CreateOptions" : "UpdateOptions", "meta.k8s.io", "",
                       {unsupported_value("dryRun", dry, {"All"})});
    }
    call.dry_run = dry == "All";
    call.field_manager = call.http.parameter("fieldManager");
    if (call.field_manager.size() > 128) {
        return invalid(
            "PatchOptions", "meta.k8s.io", "",
            {{"FieldValueTooLong", "Too long: may not be more than 128 bytes", "fieldManager"}});
    }
    call.field_validation = call.http.parameter("fieldValidation");
    const std::string& mode = call.field_validation;
    if (mode.empty()) {
        call.field_validation = "Warn";
    } else if (mode != "Ignore" && mode != "Warn" && mode != "Strict") {
        return invalid(
            "CreateOptions", "meta.k8s.io", "",
            {unsupported_value("fieldValidation", mode, {"", "Ignore", "Strict", "Warn"})});
    }
    return Done{};
}

HttpAnswer perform(Call& call) {
    if (call.resource->name.ends_with("reviews") && call.verb == "create")
        return answer_review(call);
    const bool status = call.subresource != nullptr && call.subresource->name == "status";
    if ((call.subresource != nullptr && !status) || call.resource->name == "bindings" ||
        call.resource->name == "componentstatuses") {
        return answer_subresource(call);
    }
    if (call.verb == "get") return get_object(call);
    if (call.verb == "list") return list_objects(call);
    if (call.verb == "watch") return watch_objects(call);
    if (call.verb == "create") return create_object(call);
    if (call.verb == "update") return update_object(call);
    if (call.verb == "patch") return patch_object(call);
    if (call.verb == "delete") return delete_object(call);
    return delete_collection(call);
}

bool allows(const Call& call) {
    if (call.subresource == nullptr) return call.resource->has_verb(call.verb);
    for (const std::string& verb : call.subresource->verbs) {
        if (verb == call.verb) return true;
    }
    return false;
}

/// The part of an answer that faults and warnings change.
HttpAnswer finished(const Call& call, HttpAnswer answer) {
    for (const std::string& warning : call.warnings) {
        std::string quoted;
        append_json_quoted(quoted, warning);
        answer.headers.emplace_back("Warning", "299 - " + quoted);
    }
    return answer;
}

HttpAnswer faulty(const ApiFault& fault) {
    HttpAnswer answer;
    if (fault.break_connection) {
        answer.status = 0;
        return answer;
    }
    Failure failure;
    failure.code = fault.status;
    failure.message = "injected fault";
    failure.retry_after_seconds = fault.retry_after_seconds;
    switch (fault.status) {
        case 409:
            failure.reason = "Conflict";
            break;
        case 410:
            failure.reason = "Expired";
            break;
        case 429:
            failure.reason = "TooManyRequests";
            break;
        case 503:
            failure.reason = "ServiceUnavailable";
            break;
        case 504:
            failure.reason = "Timeout";
            break;
        case 401:
            failure.reason = "Unauthorized";
            break;
        case 403:
            failure.reason = "Forbidden";
            break;
        case 404:
            failure.reason = "NotFound";
            break;
        default:
            break;
    }
    return answer_failure(failure);
}

void count(ServerContext& context, const Call& call) {
    const std::lock_guard lock(context.counts_guard);
    ++context.counts[call.verb + " " + call.resource->name +
                     (call.subresource == nullptr ? "" : "/" + call.subresource->name)];
}

/// The one object that a list or a watch is about, if its fields say so: roles for that name allow
/// it, as at a real server.
std::string selected_name(const HttpRequest& request, const std::string& verb) {
    if (verb != "list" && verb != "watch" && verb != "deletecollection") return {};
    const auto selector = parse_field_selector(request.parameter("fieldSelector"));
    if (!selector) return {};
    for (const Requirement& one : *selector) {
        if (one.key == "metadata.name" && one.operation == Requirement::Operator::kIn) {
            return one.values.front();
        }
    }
    return {};
}

HttpAnswer answer_resource(ServerContext& context, const HttpRequest& request, const User& user,
                           const Route& route) {
    Call call{context, request, user,
              context.resources.find(route.group, route.version, route.resource)};
    call.verb = verb_of(request, route);
    call.name_space = route.name_space;
    call.name = route.name;
    Attributes wanted{
        user,           call.verb,         true,       route.group,      route.version,
        route.resource, route.subresource, route.name, route.name_space, ""};
    if (wanted.name.empty()) wanted.name = selected_name(request, call.verb);
    if (auto denied = authorize(context, wanted)) return answer_failure(*denied);
    if (call.resource == nullptr) return answer_failure(page_not_found());
    if (!route.subresource.empty()) {
        call.subresource = call.resource->find(route.subresource);
        if (call.subresource == nullptr) return answer_failure(page_not_found());
    }
    if (!call.resource->namespaced && !route.name_space.empty()) {
        return answer_failure(page_not_found());
    }
    const bool anywhere =
        call.verb == "list" || call.verb == "watch" || call.verb == "deletecollection";
    if (call.resource->namespaced && route.name_space.empty() && !anywhere) {
        return answer_failure(page_not_found());
    }
    const bool one = call.verb == "update" || call.verb == "patch";
    const bool whole = call.verb == "create" && call.subresource == nullptr;
    if (!allows(call) || (one && call.name.empty()) || (whole && !call.name.empty())) {
        return answer_failure(method_not_allowed());
    }
    auto options = read_options(call);
    if (!options) return answer_failure(options.failure());
    count(context, call);
    const auto fault =
        context.faults.take(request.method, request.path, call.resource->name, call.verb);
    if (fault) {
        if (fault->delay.count() > 0) std::this_thread::sleep_for(fault->delay);
        const bool shows = fault->status != 0 || fault->break_connection;
        if (shows && !fault->after_write) return faulty(*fault);
        HttpAnswer answer = finished(call, perform(call));
        return shows ? faulty(*fault) : answer;
    }
    return finished(call, perform(call));
}

HttpAnswer answer_path(ServerContext& context, const HttpRequest& request, const User& user) {
    Attributes wanted;
    wanted.user = user;
    wanted.is_resource = false;
    wanted.path = request.path;
    wanted.verb = lower(request.method);
    const bool open = request.path == "/healthz" || request.path == "/livez" ||
                      request.path == "/readyz" || request.path == "/version";
    if (!open) {
        if (auto denied = authorize(context, wanted)) {
            // Discovery is for all who have logged in.
            const bool discovery =
                request.path.starts_with("/api") || request.path.starts_with("/openapi");
            if (!discovery || user.name == "system:anonymous") return answer_failure(*denied);
        }
    }
    if (request.path.starts_with("/_sim/") && context.options.control_path) {
        return answer_control(context, request);
    }
    return answer_discovery(context, request);
}

}  // namespace

std::string Call::kind_of_body() const {
    return subresource == nullptr ? resource->kind : subresource->kind;
}

HttpAnswer answer_failure(const Failure& failure) {
    HttpAnswer answer;
    answer.status = failure.code;
    answer.body = to_json(to_status(failure)) + "\n";
    if (failure.retry_after_seconds > 0) {
        answer.headers.emplace_back("Retry-After", std::to_string(failure.retry_after_seconds));
    }
    return answer;
}

HttpAnswer answer_value(const Value& value, int status) {
    HttpAnswer answer;
    answer.status = status;
    answer.body = to_json(value) + "\n";
    return answer;
}

HttpAnswer answer_request(ServerContext& context, const HttpRequest& request) {
    ++context.requests;
    const auto user = authenticate(context, request);
    if (!user) return answer_failure(unauthorized());
    const auto route = read_route(request.segments);
    if (route) return answer_resource(context, request, *user, *route);
    return answer_path(context, request, *user);
}

}  // namespace aliquot::sim::apiserver
