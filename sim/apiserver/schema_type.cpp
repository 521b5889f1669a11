// SPDX-License-Identifier: Apache-2.0
// OpenAPI v3 schemas of custom resources as types.
#include <algorithm>

#include "sim/apiserver/types.h"

namespace aliquot::sim::apiserver {

namespace {

class SchemaReader {
public:
    explicit SchemaReader(TypeArena& arena) : arena_(arena) {}

    Type* read(const Value& schema, unsigned depth = 0) {
        Type& type = arena_.emplace_back();
        type.schema = schema;
        type.preserve_unknown = schema.at("x-kubernetes-preserve-unknown-fields").boolean();
        type.embedded = schema.at("x-kubernetes-embedded-resource").boolean();
        if (depth > 64) return &type;
        const std::string& kind = schema.at("type").text();
        if (schema.at("x-kubernetes-int-or-string").boolean()) {
            type.kind = Type::Kind::kIntOrString;
        } else if (kind == "string") {
            type.kind =
                schema.at("format").text() == "byte" ? Type::Kind::kBytes : Type::Kind::kString;
        } else if (kind == "integer") {
            type.kind = Type::Kind::kInteger;
        } else if (kind == "number") {
            type.kind = Type::Kind::kNumber;
        } else if (kind == "boolean") {
            type.kind = Type::Kind::kBool;
        } else if (kind == "array") {
            read_list(type, schema, depth);
        } else if (kind == "object" || schema.find("properties") != nullptr) {
            read_object(type, schema, depth);
        }
        return &type;
    }

private:
    void read_list(Type& type, const Value& schema, unsigned depth) {
        type.kind = Type::Kind::kList;
        type.element = read(schema.at("items"), depth + 1);
        const std::string& rule = schema.at("x-kubernetes-list-type").text();
        if (rule == "set") type.list = Type::ListRule::kSet;
        if (rule == "map") type.list = Type::ListRule::kMap;
        for (const Value& key : schema.at("x-kubernetes-list-map-keys").items()) {
            type.keys.push_back(key.text());
        }
    }

    void read_object(Type& type, const Value& schema, unsigned depth) {
        type.atomic = schema.at("x-kubernetes-map-type").text() == "atomic";
        const Value& more = schema.at("additionalProperties");
        const Value* properties = schema.find("properties");
        if (properties == nullptr && (more.is_object() || more.boolean())) {
            type.kind = Type::Kind::kMap;
            type.element = read(more, depth + 1);
            return;
        }
        type.kind = Type::Kind::kObject;
        if (more.is_object()) type.element = read(more, depth + 1);
        if (properties == nullptr) return;
        for (const Member& property : properties->members()) {
            Field field;
            field.name = property.name;
            field.type = read(property.value, depth + 1);
            field.default_value = property.value.at("default");
            type.fields.push_back(std::move(field));
        }
        for (const Value& name : schema.at("required").items()) {
            for (Field& field : type.fields) field.required |= field.name == name.text();
        }
    }

    TypeArena& arena_;
};

}  // namespace

std::shared_ptr<const SchemaType> read_schema(const Value& schema) {
    auto made = std::make_shared<SchemaType>();
    SchemaReader reader(made->arena);
    Type* root = reader.read(schema);
    const TypeTable& table = TypeTable::built_in();
    const auto set = [root](std::string_view name, const Type* type) {
        std::erase_if(root->fields, [&](const Field& field) { return field.name == name; });
        Field field;
        field.name = name;
        field.type = type;
        root->fields.push_back(std::move(field));
    };
    Type& text = made->arena.emplace_back();
    text.kind = Type::Kind::kString;
    root->kind = Type::Kind::kObject;
    set("apiVersion", &text);
    set("kind", &text);
    set("metadata", table.find("meta.ObjectMeta"));
    std::ranges::sort(root->fields, {}, &Field::name);
    made->root = root;
    return made;
}

}  // namespace aliquot::sim::apiserver
