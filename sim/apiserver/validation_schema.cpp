// SPDX-License-Identifier: Apache-2.0
// Custom resources against their schema, and definitions of them.
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "sim/apiserver/names.h"
#include "sim/apiserver/strategy.h"

namespace aliquot::sim::apiserver {

namespace {

using Kind = Type::Kind;

std::string kind_name(const Value& value) {
    if (value.is_object()) return "object";
    if (value.is_array()) return "array";
    if (value.is_string()) return "string";
    if (value.is_bool()) return "boolean";
    if (value.is_integer()) return "integer";
    return value.is_number() ? "number" : "null";
}

bool fits(const Value& value, Kind kind) {
    switch (kind) {
        case Kind::kString:
        case Kind::kBytes:
            return value.is_string();
        case Kind::kInteger:
            return value.is_number() && value.integer(INT64_MIN) != INT64_MIN;
        case Kind::kNumber:
            return value.is_number();
        case Kind::kBool:
            return value.is_bool();
        case Kind::kIntOrString:
            return value.is_string() || value.is_integer();
        case Kind::kList:
            return value.is_array();
        case Kind::kObject:
        case Kind::kMap:
            return value.is_object();
        default:
            return true;
    }
}

std::string wanted_name(Kind kind) {
    switch (kind) {
        case Kind::kString:
        case Kind::kBytes:
            return "string";
        case Kind::kInteger:
            return "integer";
        case Kind::kNumber:
            return "number";
        case Kind::kBool:
            return "boolean";
        case Kind::kIntOrString:
            return "integer,string";
        case Kind::kList:
            return "array";
        default:
            return "object";
    }
}

std::string below(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
}

void validate_text(std::vector<Cause>& causes, const Value& value, const Value& schema,
                   const std::string& path) {
    const std::string& pattern = schema.at("pattern").text();
    if (!pattern.empty() && !RE2::PartialMatch(value.text(), pattern)) {
        causes.push_back(
            invalid_value(path, value, path + " in body should match '" + pattern + "'"));
    }
    const auto size = static_cast<std::int64_t>(value.text().size());
    if (size > schema.at("maxLength").integer(INT64_MAX)) {
        causes.push_back(
            {"FieldValueTooLong",
             "Too long: may not be more than " + to_json(schema.at("maxLength")) + " bytes", path});
    }
    if (size < schema.at("minLength").integer(0)) {
        causes.push_back(invalid_value(path, value,
                                       path + " in body should be at least " +
                                           to_json(schema.at("minLength")) + " chars long"));
    }
}

void validate_number(std::vector<Cause>& causes, const Value& value, const Value& schema,
                     const std::string& path) {
    const double number = value.number();
    if (!schema.at("minimum").is_null() && number < schema.at("minimum").number()) {
        causes.push_back(invalid_value(
            path, value,
            path + " in body should be greater than or equal to " + to_json(schema.at("minimum"))));
    }
    if (!schema.at("maximum").is_null() && number > schema.at("maximum").number()) {
        causes.push_back(invalid_value(
            path, value,
            path + " in body should be less than or equal to " + to_json(schema.at("maximum"))));
    }
}

void validate_list(std::vector<Cause>& causes, const Value& value, const Type& type,
                   const std::string& path) {
    const auto size = static_cast<std::int64_t>(value.size());
    if (size > type.schema.at("maxItems").integer(INT64_MAX)) {
        causes.push_back({"FieldValueTooMany",
                          "Too many: " + std::to_string(size) + ": must have at most " +
                              to_json(type.schema.at("maxItems")) + " items",
                          path});
    }
    if (size < type.schema.at("minItems").integer(0)) {
        causes.push_back(invalid_value(path, size,
                                       path + " in body should have at least " +
                                           to_json(type.schema.at("minItems")) + " items"));
    }
    std::set<std::string> seen;
    for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string place = path + "[" + std::to_string(i) + "]";
        validate_schema(causes, value.items()[i], *type.element, place);
        if (type.list == Type::ListRule::kAtomic) continue;
        Value keys = value.items()[i];
        if (type.list == Type::ListRule::kMap) {
            keys = Value::object();
            for (const std::string& key : type.keys) keys[key] = value.items()[i].at(key);
        }
        if (!seen.insert(to_json(keys)).second) causes.push_back(duplicate_value(place, keys));
    }
}

void validate_fields(std::vector<Cause>& causes, const Value& value, const Type& type,
                     const std::string& path) {
    for (const Value& name : type.schema.at("required").items()) {
        const Value* there = value.find(name.text());
        if (there == nullptr) causes.push_back(required(below(path, name.text())));
    }
    for (const Member& member : value.members()) {
        const Type* inner = type.member(member.name);
        const bool own = path.empty() && (member.name == "metadata" ||
                                          member.name == "apiVersion" || member.name == "kind");
        if (inner != nullptr && !own) {
            validate_schema(causes, member.value, *inner, below(path, member.name));
        }
    }
}

}  // namespace

void validate_schema(std::vector<Cause>& causes, const Value& value, const Type& type,
                     const std::string& path) {
    const Value& schema = type.schema;
    if (value.is_null()) {
        if (schema.at("nullable").boolean() || type.kind == Kind::kAny) return;
    }
    if (!fits(value, type.kind)) {
        causes.push_back({"FieldValueTypeInvalid",
                          "Invalid value: \"" + kind_name(value) + "\": " + path +
                              " in body must be of type " + wanted_name(type.kind) + ": \"" +
                              kind_name(value) + "\"",
                          path});
        return;
    }
    const Value& allowed = schema.at("enum");
    if (!allowed.empty() && std::ranges::find(allowed.items(), value) == allowed.items().end()) {
        std::vector<std::string> words;
        for (const Value& one : allowed.items())
            words.push_back(one.is_string() ? one.text() : to_json(one));
        causes.push_back(unsupported_value(path, value, words));
    }
    if (value.is_string()) validate_text(causes, value, schema, path);
    if (value.is_number()) validate_number(causes, value, schema, path);
    if (type.kind == Kind::kList) validate_list(causes, value, type, path);
    if (type.kind == Kind::kObject) validate_fields(causes, value, type, path);
    if (type.kind == Kind::kMap) {
        for (const Member& member : value.members()) {
            validate_schema(causes, member.value, *type.element, below(path, member.name));
        }
    }
}

std::vector<Cause> validate_definition(const Value& definition) {
    std::vector<Cause> causes;
    const Value& spec = definition.at("spec");
    const std::string& group = spec.at("group").text();
    const Value& names = spec.at("names");
    const std::string wanted = names.at("plural").text() + "." + group;
    if (group.empty()) causes.push_back(required("spec.group"));
    if (names.at("plural").text().empty()) causes.push_back(required("spec.names.plural"));
    if (names.at("kind").text().empty()) causes.push_back(required("spec.names.kind"));
    if (definition.at_path("metadata.name").text() != wanted) {
        causes.push_back(invalid_value("metadata.name", definition.at_path("metadata.name"),
                                       "must be spec.names.plural+\".\"+spec.group"));
    }
    const std::string& scope = spec.at("scope").text();
    if (scope.empty()) {
        causes.push_back(required("spec.scope"));
    } else if (scope != "Cluster" && scope != "Namespaced") {
        causes.push_back(unsupported_value("spec.scope", scope, {"Cluster", "Namespaced"}));
    }
    int storing = 0;
    const auto& versions = spec.at("versions").items();
    for (std::size_t i = 0; i < versions.size(); ++i) {
        storing += versions[i].at("storage").boolean() ? 1 : 0;
        if (versions[i].at_path("schema.openAPIV3Schema").is_null()) {
            causes.push_back(
                required("spec.versions[" + std::to_string(i) + "].schema.openAPIV3Schema",
                         "schemas are required"));
        }
    }
    if (versions.empty()) {
        causes.push_back(
            required("spec.versions", "must have exactly one version marked as storage version"));
    } else if (storing != 1) {
        causes.push_back(invalid_value("spec.versions", spec.at("versions"),
                                       "must have exactly one version marked as storage version"));
    }
    return causes;
}

}  // namespace aliquot::sim::apiserver
