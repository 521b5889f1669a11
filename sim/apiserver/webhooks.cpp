// SPDX-License-Identifier: Apache-2.0
// Calls to admission webhooks.
#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/base64.h"
#include "sim/apiserver/patch.h"
#include "sim/apiserver/selector.h"
#include "sim/apiserver/strategy.h"
#include "sim/apiserver/words.h"

namespace aliquot::sim::apiserver {

namespace {

constexpr std::size_t kReplyBytesMax = 4U << 20;

struct CurlFree {
    void operator()(CURL* one) const { curl_easy_cleanup(one); }
    void operator()(curl_slist* one) const { curl_slist_free_all(one); }
};

std::size_t collect(char* data, std::size_t size, std::size_t count, void* target) {
    auto& reply = *static_cast<std::string*>(target);
    if (reply.size() + size * count > kReplyBytesMax) return 0;
    reply.append(data, size * count);
    return size * count;
}

bool lists(const Value& list, std::string_view word) {
    return std::ranges::any_of(
        list.items(), [&](const Value& one) { return one.text() == "*" || one.text() == word; });
}

bool rule_fits(const Value& rule, const Call& call, std::string_view operation) {
    if (!lists(rule.at("operations"), operation) ||
        !lists(rule.at("apiGroups"), call.resource->group) ||
        !lists(rule.at("apiVersions"), call.resource->version)) {
        return false;
    }
    const std::string& scope = rule.at("scope").text();
    if (scope == "Cluster" && call.resource->namespaced) return false;
    if (scope == "Namespaced" && !call.resource->namespaced) return false;
    const std::string sub = call.subresource == nullptr ? "" : call.subresource->name;
    const std::string full = sub.empty() ? call.resource->name : call.resource->name + "/" + sub;
    return std::ranges::any_of(rule.at("resources").items(), [&](const Value& one) {
        const std::string& word = one.text();
        if (word == full || word == "*/*" || (word == "*" && sub.empty())) return true;
        return !sub.empty() && (word == "*/" + sub || word == call.resource->name + "/*");
    });
}

bool hook_fits(const Value& hook, const Call& call, const Value& object, const Value& old,
               std::string_view operation) {
    const bool ruled = std::ranges::any_of(hook.at("rules").items(), [&](const Value& rule) {
        return rule_fits(rule, call, operation);
    });
    if (!ruled) return false;
    const Selector objects = read_label_selector(hook.at("objectSelector"));
    if (!matches_labels(objects, object.at_path("metadata.labels")) &&
        (old.is_null() || !matches_labels(objects, old.at_path("metadata.labels")))) {
        return false;
    }
    const Selector spaces = read_label_selector(hook.at("namespaceSelector"));
    if (spaces.empty()) return true;
    if (call.resource->storage == "/namespaces") {
        return matches_labels(spaces, object.at_path("metadata.labels"));
    }
    if (!call.resource->namespaced) return true;
    const EntryPtr space = call.context.store.get("/namespaces", call.name_space);
    return space != nullptr && matches_labels(spaces, space->object.at_path("metadata.labels"));
}

Value make_review(const Call& call, const Value& object, const Value& old,
                  std::string_view operation) {
    const Resource& resource = *call.resource;
    const bool binds = call.subresource != nullptr && call.subresource->name == "binding";
    const Value kind = Value::object({{"group", resource.group},
                                      {"version", resource.version},
                                      {"kind", binds ? call.subresource->kind : resource.kind}});
    const Value place = Value::object(
        {{"group", resource.group}, {"version", resource.version}, {"resource", resource.name}});
    Value user = Value::object({{"username", call.user.name}});
    for (const std::string& group : call.user.groups) user["groups"].push(group);
    Value request = Value::object({{"uid", make_uuid()},
                                   {"kind", kind},
                                   {"resource", place},
                                   {"requestKind", kind},
                                   {"requestResource", place},
                                   {"operation", operation},
                                   {"userInfo", std::move(user)},
                                   {"object", object},
                                   {"oldObject", old},
                                   {"dryRun", call.dry_run},
                                   {"options", Value()}});
    if (!call.name.empty()) request["name"] = call.name;
    if (!call.name_space.empty()) request["namespace"] = call.name_space;
    if (call.subresource != nullptr) {
        request["subResource"] = call.subresource->name;
        request["requestSubResource"] = call.subresource->name;
    }
    return Value::object({{"kind", "AdmissionReview"},
                          {"apiVersion", "admission.k8s.io/v1"},
                          {"request", std::move(request)}});
}

struct Target {
    std::string url;
    std::string connect_to;  // "HOST:PORT:ADDRESS:PORT"; empty: as the URL says
};

Result<Target> target_of(const Call& call, const Value& config) {
    Target target;
    target.url = config.at("url").text();
    const Value& service = config.at("service");
    if (service.is_null()) return target;
    const std::string key = service.at("namespace").text() + "/" + service.at("name").text();
    const std::string host =
        service.at("name").text() + "." + service.at("namespace").text() + ".svc";
    const std::string port = std::to_string(service.at("port").integer(443));
    const auto& known = call.context.options.service_addresses;
    const auto found = known.find(key);
    if (found == known.end())
        return Error{ErrorCode::kUnavailable, "service " + key + " not found"};
    std::string path = service.at("path").text();
    if (!path.starts_with('/')) path = "/" + path;
    target.url = "https://" + host + ":" + port + path;
    target.connect_to = host + ":" + port + ":" + found->second;
    return target;
}

/// Sends a review. errors   kUnavailable: no answer that can be read
Result<Value> ask(const Call& call, const Value& hook, const Value& review) {
    auto target = target_of(call, hook.at("clientConfig"));
    if (!target) return std::move(target).error();
    const std::unique_ptr<CURL, CurlFree> curl(curl_easy_init());
    std::unique_ptr<curl_slist, CurlFree> headers(
        curl_slist_append(nullptr, "Content-Type: application/json"));
    std::unique_ptr<curl_slist, CurlFree> connect;
    std::string reply;
    const std::string body = to_json(review);
    CURL* handle = curl.get();
    curl_easy_setopt(
        handle, CURLOPT_URL,
        (target->url + "?timeout=" + std::to_string(hook.at("timeoutSeconds").integer(10)) + "s")
            .c_str());
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, hook.at("timeoutSeconds").integer(10) * 1000L);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &collect);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &reply);
    if (!target->connect_to.empty()) {
        connect.reset(curl_slist_append(nullptr, target->connect_to.c_str()));
        curl_easy_setopt(handle, CURLOPT_CONNECT_TO, connect.get());
    }
    const auto bundle = decode_base64(hook.at_path("clientConfig.caBundle").text());
    if (bundle && !bundle->empty()) {
        curl_blob blob{const_cast<char*>(bundle->data()), bundle->size(), CURL_BLOB_COPY};
        curl_easy_setopt(handle, CURLOPT_CAINFO_BLOB, &blob);
    }
    std::array<char, CURL_ERROR_SIZE> detail{};
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, detail.data());
    const CURLcode code = curl_easy_perform(handle);
    if (code != CURLE_OK) {
        return Error{ErrorCode::kUnavailable,
                     "Post \"" + target->url +
                         "\": " + (detail[0] != '\0' ? detail.data() : curl_easy_strerror(code))};
    }
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    auto json = parse_json(reply);
    if (status != 200 || !json) {
        return Error{ErrorCode::kUnavailable, "an answer of status " + std::to_string(status) +
                                                  " that is no AdmissionReview"};
    }
    const Value& response = json->value.at("response");
    if (response.at("uid") != review.at_path("request.uid")) {
        return Error{ErrorCode::kUnavailable, "expected response.uid=\"" +
                                                  review.at_path("request.uid").text() +
                                                  "\", got \"" + response.at("uid").text() + "\""};
    }
    return response;
}

Failure denied(const Value& hook, const Value& response) {
    Failure failure;
    const Value& status = response.at("status");
    failure.code = static_cast<int>(status.at("code").integer(403));
    failure.reason = status.at("reason").is_null() ? "Forbidden" : status.at("reason").text();
    const std::string& message = status.at("message").text();
    failure.message = "admission webhook \"" + hook.at("name").text() + "\" denied the request" +
                      (message.empty() ? " without explanation" : ": " + message);
    return failure;
}

/// The response; a null one when the webhook failed and that is to be ignored.
Outcome<Value> consult(Call& call, const Value& hook, const Value& object, const Value& old,
                       std::string_view operation) {
    auto response = ask(call, hook, make_review(call, object, old, operation));
    if (!response) {
        if (hook.at("failurePolicy").text() == "Ignore") return Value();
        return internal_error("failed calling webhook \"" + hook.at("name").text() +
                              "\": failed to call webhook: " + response.error().message);
    }
    for (const Value& warning : response->at("warnings").items())
        call.warnings.push_back(warning.text());
    if (!response->at("allowed").boolean()) return denied(hook, *response);
    return std::move(*response);
}

std::vector<Value> hooks_for(const Call& call, const std::string& resource, const Value& object,
                             const Value& old, std::string_view operation) {
    std::vector<Value> fitting;
    // Their own configurations are never sent to them.
    if (call.resource->group == "admissionregistration.k8s.io") return fitting;
    const auto page =
        call.context.store.list("admissionregistration.k8s.io/" + resource, "", 0, "", 0);
    for (const EntryPtr& entry : page->entries) {
        for (const Value& hook : entry->object.at("webhooks").items()) {
            if (hook_fits(hook, call, object, old, operation)) fitting.push_back(hook);
        }
    }
    return fitting;
}

}  // namespace

Outcome<Done> call_mutating_webhooks(Call& call, Value& object, const Value& old,
                                     std::string_view operation) {
    const Value shown = operation == "DELETE" ? Value() : object;
    for (const Value& hook :
         hooks_for(call, "mutatingwebhookconfigurations", shown, old, operation)) {
        auto response =
            consult(call, hook, operation == "DELETE" ? Value() : object, old, operation);
        if (!response) return response.failure();
        const Value& patch = response->at("patch");
        if (patch.is_null() || operation == "DELETE") continue;
        const auto bytes = decode_base64(patch.text());
        const auto json = parse_json(bytes.value_or(""));
        if (!json)
            return internal_error("webhook \"" + hook.at("name").text() + "\": no JSON patch");
        auto patched = apply_json_patch(object, json->value);
        if (!patched) return internal_error(patched.error().message);
        object = std::move(*patched);
    }
    return Done{};
}

Outcome<Done> call_validating_webhooks(Call& call, const Value& object, const Value& old,
                                       std::string_view operation) {
    for (const Value& hook :
         hooks_for(call, "validatingwebhookconfigurations", object, old, operation)) {
        auto response = consult(call, hook, object, old, operation);
        if (!response) return response.failure();
    }
    return Done{};
}

}  // namespace aliquot::sim::apiserver
