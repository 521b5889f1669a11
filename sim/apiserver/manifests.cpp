// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/manifests.h"

namespace aliquot::sim::apiserver {

namespace {

/// The objects of a document, which may be a List.
std::vector<Value> objects_of(const Value& document) {
    if (document.is_null()) return {};
    if (!document.at("kind").text().ends_with("List") || document.find("items") == nullptr) {
        return {document};
    }
    return document.at("items").items();
}

Result<Done> apply_one(ServerContext& context, Value object, const std::string& name_space) {
    const std::string& version = object.at("apiVersion").text();
    const std::string& kind = object.at("kind").text();
    const std::string name = object.at_path("metadata.name").text();
    const ResourcePtr resource = context.resources.find_kind(version, kind);
    if (resource == nullptr || name.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     version + " " + kind + " '" + name +
                         "': expected a kind that is served here, and a name"};
    }
    std::string path =
        (resource->group.empty() ? "/api/" : "/apis/" + resource->group + "/") + resource->version;
    if (resource->namespaced) {
        Value& given = object["metadata"]["namespace"];
        if (given.is_null()) given = name_space;
        path += "/namespaces/" + given.text();
    }
    HttpRequest request = read_request_target(
        "PATCH", path + "/" + resource->name + "/" + name + "?fieldManager=manifests&force=true");
    request.headers["content-type"] = "application/apply-patch+yaml";
    request.headers["user-agent"] = "aliquot-sim/1";
    request.body = to_json(object);
    Call call{context, request, {"system:admin", "", {"system:masters"}, {}}, resource};
    call.verb = "patch";
    call.name_space = object.at_path("metadata.namespace").text();
    call.name = name;
    call.field_manager = "manifests";
    call.field_validation = "Strict";
    const HttpAnswer answer = patch_object(call);
    if (answer.status < 300) return Done{};
    const auto status = parse_json(answer.body);
    return Error{
        ErrorCode::kInvalidInput,
        kind + " '" + name + "': " + (status ? status->value.at("message").text() : answer.body)};
}

}  // namespace

Result<unsigned> apply_manifests(ServerContext& context, std::string_view text,
                                 const std::string& name_space) {
    auto documents = parse_yaml_documents(text);
    if (!documents) return std::move(documents).error();
    unsigned count = 0;
    for (const Value& document : *documents) {
        for (Value& object : objects_of(document)) {
            auto done = apply_one(context, std::move(object), name_space);
            if (!done) return std::move(done).error();
            ++count;
        }
    }
    return count;
}

}  // namespace aliquot::sim::apiserver
