// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube_client/resource.h"

namespace aliquot::kube_client {

/// One object: its JSON text as the server sent it (without line breaks around it), and what
/// everybody needs to know of it.
struct Object {
    std::string json;
    std::string namespace_name;
    std::string name;
    std::string uid;
    std::string resource_version;  // opaque; compare only for equality

    [[nodiscard]] ObjectKey key() const { return {namespace_name, name}; }
};

struct OwnerReference {
    std::string api_version;
    std::string kind;
    std::string name;
    std::string uid;
    bool controller = false;
};

/// What `metadata` says, as far as programs decide by it.
struct Metadata {
    std::string name;
    std::string namespace_name;
    std::string uid;
    std::string resource_version;
    std::int64_t generation = 0;
    bool deleting = false;  // it has a deletionTimestamp
    std::map<std::string, std::string> labels;
    std::map<std::string, std::string> annotations;
    std::vector<OwnerReference> owners;
    std::vector<std::string> finalizers;
};

/// errors   kInvalidInput: no JSON object
Result<Object> read_object(std::string json);
Result<Metadata> read_metadata(std::string_view json);

/// One value of a text by JSON pointer ("/spec/nodeName", "/status/conditions/0/type"; "~1" is a
/// slash). Empty: there is none, it is of another type, or the text is no JSON.
std::optional<std::string> string_at(std::string_view json, std::string_view pointer);
std::optional<std::int64_t> integer_at(std::string_view json, std::string_view pointer);
std::optional<bool> bool_at(std::string_view json, std::string_view pointer);
/// The JSON text of the value, whatever it is.
std::optional<std::string> json_at(std::string_view json, std::string_view pointer);
/// The members of an object that are strings: a ConfigMap's "/data". Empty: there is none.
std::map<std::string, std::string> strings_at(std::string_view json, std::string_view pointer);

}  // namespace aliquot::kube_client
