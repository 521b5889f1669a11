// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/identity.h"

#include "base/number.h"
#include "base/time_text.h"
#include "sim/apiserver/strategy.h"
#include "sim/apiserver/words.h"

namespace aliquot::sim::apiserver {

Outcome<Done> name_new(Call& call, Value& object) {
    Value& metadata = object["metadata"];
    const std::string given_namespace = metadata.at("namespace").text();
    if (call.resource->namespaced) {
        if (!given_namespace.empty() && given_namespace != call.name_space) {
            return bad_request(
                "the namespace of the provided object does not match the namespace sent on the "
                "request");
        }
        metadata["namespace"] = call.name_space;
    } else if (!given_namespace.empty()) {
        return bad_request(
            "the namespace of the provided object does not match the namespace sent on the "
            "request");
    }
    if (metadata.at("name").text().empty() && !metadata.at("generateName").text().empty()) {
        std::string base = metadata.at("generateName").text();
        if (base.size() > 58) base.resize(58);
        metadata["name"] = base + random_letters(5);
    }
    if (metadata.at("name").text().empty()) {
        return invalid(call.resource->kind, call.resource->group, "",
                       {required("metadata.name", "name or generateName is required")});
    }
    if (!call.name.empty() && call.name != metadata.at("name").text()) {
        return bad_request("the name of the object (" + metadata.at("name").text() +
                           ") does not match the name on the URL (" + call.name + ")");
    }
    return Done{};
}

void stamp_new(Call& call, Value& object) {
    Value& metadata = object["metadata"];
    for (const std::string_view field :
         {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"}) {
        metadata.erase(field);
    }
    metadata["uid"] = make_uuid();
    metadata["creationTimestamp"] = rfc3339(std::chrono::system_clock::now());
    metadata.erase("generation");
    if (has_generation(*call.resource)) metadata["generation"] = 1;
    metadata.erase("managedFields");
}

void keep_identity(const Value& old, Value& object) {
    Value& metadata = object["metadata"];
    for (const std::string_view field :
         {"uid", "creationTimestamp", "generation", "deletionTimestamp",
          "deletionGracePeriodSeconds", "namespace", "generateName"}) {
        const Value& before = old.at("metadata").at(field);
        if (before.is_null()) {
            if (field != "generateName") metadata.erase(field);
        } else {
            metadata[field] = before;
        }
    }
    metadata.erase("selfLink");
}

Outcome<Done> check_identity(const Call& call, const Value& old, const Value& object) {
    const Value& metadata = object.at("metadata");
    const std::string& name = metadata.at("name").text();
    if (name.empty()) {
        return bad_request("name must be provided");
    }
    if (name != call.name) {
        return bad_request("the name of the object (" + name +
                           ") does not match the name on the URL (" + call.name + ")");
    }
    const std::string& given_namespace = metadata.at("namespace").text();
    if (!given_namespace.empty() && given_namespace != call.name_space) {
        return bad_request(
            "the namespace of the provided object does not match the namespace sent on the "
            "request");
    }
    const std::string& uid = metadata.at("uid").text();
    if (!uid.empty() && uid != old.at_path("metadata.uid").text()) {
        return conflict(call.resource->name, call.resource->group, call.name,
                        "StorageError: invalid object, Code: 4, Key: /registry/" +
                            call.resource->storage + "/" + call.key() +
                            ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                            "precondition: " +
                            uid + ", UID in object meta: " + old.at_path("metadata.uid").text());
    }
    const std::string& version = metadata.at("resourceVersion").text();
    if (version.empty() || version == "0") {
        if (call.verb == "update" && !updates_unconditionally(*call.resource)) {
            return invalid(
                call.resource->kind, call.resource->group, call.name,
                {{"FieldValueInvalid", "Invalid value: 0: must be specified for an update",
                  "metadata.resourceVersion"}});
        }
        return Done{};
    }
    if (!parse_number<std::int64_t>(version)) {
        return invalid(
            call.resource->kind, call.resource->group, call.name,
            {invalid_value("metadata.resourceVersion", version, "must be specified as a number")});
    }
    if (version != old.at_path("metadata.resourceVersion").text()) {
        return conflict(call.resource->name, call.resource->group, call.name,
                        "the object has been modified; please apply your changes to the latest "
                        "version and try again");
    }
    return Done{};
}

}  // namespace aliquot::sim::apiserver
