// SPDX-License-Identifier: Apache-2.0
#include "controller/secret.h"

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_value.h"
#include "base/number.h"
#include "kube_client/kubeconfig.h"

namespace aliquot::controller {
namespace {

using Json = nlohmann::json;

constexpr char kEpoch[] = "aliquot.dev/epoch";

std::string content(const Json& root, const char* key) {
    const auto data = root.find("data");
    if (data == root.end() || !data->is_object()) return {};
    const auto value = data->find(key);
    if (value == data->end() || !value->is_string()) return {};
    return decode_base64(value->get<std::string>()).value_or("");
}

std::uint64_t epoch_of(const Json& root) {
    const Json::json_pointer pointer("/metadata/annotations/aliquot.dev~1epoch");
    if (!root.contains(pointer) || !root[pointer].is_string()) return 0;
    return parse_number<std::uint64_t>(root[pointer].get<std::string>()).value_or(0);
}

void put(Json& data, const char* key, const std::string& text) {
    if (text.empty()) {
        data.erase(key);
    } else {
        data[key] = encode_base64(text);
    }
}

Json& object_at(Json& root, const char* key) {
    Json& value = root[key];
    if (!value.is_object()) value = Json::object();
    return value;
}

}  // namespace

KeptCredentials read_secret(std::string_view json) {
    const Json root = parse_json<Json>(json);
    if (!root.is_object()) return {};
    const auto pair = [&](const char* certificate, const char* key) {
        return http::Certificate{.certificate = content(root, certificate),
                                 .key = content(root, key)};
    };
    return {.credentials = {.authority = pair("authority.crt", "authority.key"),
                            .previous = pair("previous.crt", "previous.key"),
                            .serving = pair("tls.crt", "tls.key")},
            .epoch = epoch_of(root)};
}

std::string write_secret(std::string_view json, const kube_client::ObjectKey& key,
                         const Credentials& credentials, std::uint64_t epoch) {
    Json root = json.empty() ? Json::object() : parse_json<Json>(json);
    if (!root.is_object()) root = Json::object();
    root["apiVersion"] = "v1";
    root["kind"] = "Secret";
    Json& metadata = object_at(root, "metadata");
    metadata["name"] = key.name;
    metadata["namespace"] = key.namespace_name;
    metadata.erase("managedFields");
    Json& labels = object_at(metadata, "labels");
    labels["app.kubernetes.io/name"] = "aliquot";
    labels["app.kubernetes.io/component"] = "controller";
    labels["app.kubernetes.io/managed-by"] = "aliquot-controller";
    object_at(metadata, "annotations")[kEpoch] = std::to_string(epoch);
    if (json.empty()) root["type"] = "Opaque";
    Json& data = object_at(root, "data");
    put(data, "authority.crt", credentials.authority.certificate);
    put(data, "authority.key", credentials.authority.key);
    put(data, "previous.crt", credentials.previous.certificate);
    put(data, "previous.key", credentials.previous.key);
    put(data, "tls.crt", credentials.serving.certificate);
    put(data, "tls.key", credentials.serving.key);
    put(data, "ca.crt", credentials.bundle());
    return dumped(root);
}

}  // namespace aliquot::controller
