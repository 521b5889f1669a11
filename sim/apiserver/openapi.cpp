// SPDX-License-Identifier: Apache-2.0
// OpenAPI v3 documents, made from the types: what kubectl explain and client-side apply read.
#include <algorithm>
#include <functional>
#include <set>

#include "base/text.h"
#include "sim/apiserver/discovery.h"

namespace aliquot::sim::apiserver {

namespace {

using Kind = Type::Kind;

/// "core.v1.Pod" as other programs know it: "io.k8s.api.core.v1.Pod".
std::string schema_name(const std::string& type) {
    if (type.starts_with("meta.")) return "io.k8s.apimachinery.pkg.apis.meta.v1." + type.substr(5);
    if (type.starts_with("apiextensions.")) {
        return "io.k8s.apiextensions-apiserver.pkg.apis." + type;
    }
    if (type.starts_with("apiregistration.")) return "io.k8s.kube-aggregator.pkg.apis." + type;
    return "io.k8s.api." + type;
}

std::string custom_name(const Resource& resource) {
    std::vector<std::string_view> parts = split_list(resource.group, '.');
    std::ranges::reverse(parts);
    std::string name;
    for (const std::string_view part : parts) name += std::string(part) + ".";
    return name + resource.version + "." + resource.kind;
}

Value reference(const std::string& name) {
    return Value::object({{"$ref", "#/components/schemas/" + name}});
}

class SchemaWriter {
public:
    /// Adds a type and all it needs.
    void add(const Type& type) {
        const std::string name = schema_name(type.name);
        if (schemas_.find(name) != nullptr) return;
        schemas_[name] = Value::object();  // it may name itself
        Value made = Value::object({{"type", "object"}});
        if (type.atomic) made["x-kubernetes-map-type"] = "atomic";
        for (const Field& field : type.fields) {
            made["properties"][field.name] = property(*field.type);
            if (field.required) made["required"].push(field.name);
            if (!field.default_value.is_null()) {
                made["properties"][field.name]["default"] = field.default_value;
            }
        }
        schemas_[name] = std::move(made);
    }

    Value& schemas() { return schemas_; }

private:
    Value property(const Type& type) {
        Value made = Value::object();
        switch (type.kind) {
            case Kind::kString:
                made["type"] = "string";
                break;
            case Kind::kBool:
                made["type"] = "boolean";
                break;
            case Kind::kNumber:
                made["type"] = "number";
                break;
            case Kind::kInteger:
                made["type"] = "integer";
                made["format"] = "int64";
                break;
            case Kind::kBytes:
                made["type"] = "string";
                made["format"] = "byte";
                break;
            case Kind::kTime:
            case Kind::kMicroTime:
                made["type"] = "string";
                made["format"] = "date-time";
                break;
            case Kind::kQuantity:
            case Kind::kIntOrString:
                made["oneOf"] = Value(Value::Array{
                    Value::object({{"type", "string"}}),
                    Value::object(
                        {{"type", type.kind == Kind::kQuantity ? "number" : "integer"}})});
                break;
            case Kind::kAny:
                break;
            case Kind::kMap:
                made["type"] = "object";
                made["additionalProperties"] = property(*type.element);
                break;
            case Kind::kList:
                list(made, type);
                break;
            case Kind::kObject:
                add(type);
                made["allOf"].push(reference(schema_name(type.name)));
                break;
        }
        if (type.atomic && type.kind != Kind::kObject) made["x-kubernetes-map-type"] = "atomic";
        merge_rules(made, type);
        return made;
    }

    void list(Value& made, const Type& type) {
        made["type"] = "array";
        made["items"] = property(*type.element);
        made["x-kubernetes-list-type"] = type.list == Type::ListRule::kMap   ? "map"
                                         : type.list == Type::ListRule::kSet ? "set"
                                                                             : "atomic";
        for (const std::string& key : type.keys) made["x-kubernetes-list-map-keys"].push(key);
    }

    static void merge_rules(Value& made, const Type& type) {
        std::vector<std::string> strategies;
        if (type.patch_merge) strategies.emplace_back("merge");
        if (type.patch_retain_keys) strategies.emplace_back("retainKeys");
        if (!strategies.empty()) made["x-kubernetes-patch-strategy"] = join(strategies, ",");
        if (!type.patch_key.empty()) made["x-kubernetes-patch-merge-key"] = type.patch_key;
    }

    Value schemas_ = Value::object();
};

std::string path_of(const Resource& resource) {
    return resource.group.empty() ? "/api/" + resource.version
                                  : "/apis/" + resource.group + "/" + resource.version;
}

Value operation(const Resource& resource, const std::string& schema, std::string_view action) {
    Value made = Value::object(
        {{"x-kubernetes-action", action},
         {"x-kubernetes-group-version-kind",
          Value::object(
              {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}})},
         {"responses",
          Value::object(
              {{"200",
                Value::object(
                    {{"description", "OK"},
                     {"content",
                      Value::object({{"application/json",
                                      Value::object({{"schema", reference(schema)}})}})}})}})}});
    // kubectl looks here whether the server checks fields.
    if (action != "get" && action != "list") {
        for (const char* name : {"dryRun", "fieldManager", "fieldValidation"}) {
            made["parameters"].push(Value::object(
                {{"name", name},
                 {"in", "query"},
                 {"schema", Value::object({{"type", "string"}, {"uniqueItems", true}})}}));
        }
    }
    if (action == "patch") {
        made["parameters"].push(Value::object(
            {{"name", "force"},
             {"in", "query"},
             {"schema", Value::object({{"type", "boolean"}, {"uniqueItems", true}})}}));
        for (const char* type : {"application/apply-patch+yaml", "application/json-patch+json",
                                 "application/merge-patch+json"}) {
            made["requestBody"]["content"][type] = Value::object({{"schema", Value::object()}});
        }
        if (!resource.custom) {
            made["requestBody"]["content"]["application/strategic-merge-patch+json"] =
                Value::object({{"schema", Value::object()}});
        }
    }
    return made;
}

void add_paths(Value& paths, const Resource& resource, const std::string& schema) {
    const std::string base = path_of(resource) +
                             (resource.namespaced ? "/namespaces/{namespace}/" : "/") +
                             resource.name;
    for (const std::string& verb : resource.verbs) {
        if (verb == "list") paths[base]["get"] = operation(resource, schema, "list");
        if (verb == "create") paths[base]["post"] = operation(resource, schema, "post");
        if (verb == "get") paths[base + "/{name}"]["get"] = operation(resource, schema, "get");
        if (verb == "update") paths[base + "/{name}"]["put"] = operation(resource, schema, "put");
        if (verb == "patch")
            paths[base + "/{name}"]["patch"] = operation(resource, schema, "patch");
        if (verb == "delete")
            paths[base + "/{name}"]["delete"] = operation(resource, schema, "delete");
    }
}

HttpAnswer document_of(const ServerContext& context, const std::string& group,
                       const std::string& version) {
    SchemaWriter writer;
    Value paths = Value::object();
    bool any = false;
    for (const ResourcePtr& one : context.resources.all()) {
        if (one->group != group || one->version != version) continue;
        any = true;
        std::string name;
        if (one->custom) {
            name = custom_name(*one);
            Value schema = one->type->schema;
            if (!schema.is_object()) schema = Value::object({{"type", "object"}});
            writer.add(*TypeTable::built_in().find("meta.ObjectMeta"));
            schema["properties"]["metadata"]["allOf"] =
                Value(Value::Array{reference(schema_name("meta.ObjectMeta"))});
            schema["properties"]["apiVersion"] = Value::object({{"type", "string"}});
            schema["properties"]["kind"] = Value::object({{"type", "string"}});
            writer.schemas()[name] = std::move(schema);
        } else if (one->type != nullptr) {
            writer.add(*one->type);
            name = schema_name(one->type->name);
        }
        writer.schemas()[name]["x-kubernetes-group-version-kind"] = Value(Value::Array{
            Value::object({{"group", group}, {"version", version}, {"kind", one->kind}})});
        add_paths(paths, *one, name);
    }
    if (!any) return answer_failure(page_not_found());
    return answer_value(Value::object(
        {{"openapi", "3.0.0"},
         {"info", Value::object({{"title", "Kubernetes"}, {"version", context.options.version}})},
         {"paths", std::move(paths)},
         {"components", Value::object({{"schemas", std::move(writer.schemas())}})}}));
}

HttpAnswer index_of(const ServerContext& context) {
    Value paths = Value::object();
    for (const ResourcePtr& one : context.resources.all()) {
        const std::string path = path_of(*one).substr(1);
        // Custom resources may change: the hash is the store's revision of now.
        const std::string hash =
            one->custom ? std::to_string(context.store.revision()) : context.options.version;
        paths[path] =
            Value::object({{"serverRelativeURL", "/openapi/v3/" + path + "?hash=" + hash}});
    }
    return answer_value(Value::object({{"paths", std::move(paths)}}));
}

}  // namespace

HttpAnswer answer_openapi(ServerContext& context, const HttpRequest& request) {
    const auto& parts = request.segments;
    if (parts.size() == 2 && parts[1] == "v3") return index_of(context);
    if (parts.size() == 4 && parts[1] == "v3" && parts[2] == "api")
        return document_of(context, "", parts[3]);
    if (parts.size() == 5 && parts[1] == "v3" && parts[2] == "apis") {
        return document_of(context, parts[3], parts[4]);
    }
    return answer_failure(page_not_found());
}

}  // namespace aliquot::sim::apiserver
