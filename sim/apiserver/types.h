// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

struct Type;

struct Field {
    std::string name;
    const Type* type = nullptr;
    bool required = false;
    Value default_value;  // null: none
    /// Its number in protobuf; several where JSON leaves out the messages around it. Empty: unknown.
    std::vector<unsigned> wire{};
    bool wire_without_zero = false;  // zero says that it is not set
};

/// What a value may be and how two of them are merged. Built-in types come from types.tsv, those of
/// custom resources from their OpenAPI schema. Immutable once its arena is built.
struct Type {
    enum class Kind : std::uint8_t {
        kAny,
        kString,
        kInteger,
        kNumber,
        kBool,
        kBytes,
        kTime,
        kMicroTime,
        kQuantity,
        kIntOrString,
        kObject,
        kMap,
        kList
    };
    enum class ListRule : std::uint8_t { kAtomic, kSet, kMap };

    Kind kind = Kind::kAny;
    std::string name;               // "core.v1.PodSpec" of a kObject
    std::vector<Field> fields;      // of a kObject, sorted by name
    const Type* element = nullptr;  // of kList and kMap
    bool atomic = false;            // kObject, kMap: replaced and owned as a whole
    ListRule list = ListRule::kAtomic;
    std::vector<std::string> keys;  // of ListRule::kMap
    // Strategic merge patch.
    bool patch_merge = false;
    bool patch_retain_keys = false;
    std::string patch_key;
    // Custom resources only.
    bool preserve_unknown = false;
    bool embedded = false;  // x-kubernetes-embedded-resource
    Value schema;           // the OpenAPI v3 schema as it was given; null of built-in types

    [[nodiscard]] const Field* find(std::string_view field) const;
    /// The type of a member of an object or map; nullptr when it is unknown.
    [[nodiscard]] const Type* member(std::string_view name) const;
};

using TypeArena = std::deque<Type>;

/// The built-in types by name.
class TypeTable {
public:
    /// The table of types.tsv; made once.
    static const TypeTable& built_in();
    [[nodiscard]] const Type* find(std::string_view name) const;
    [[nodiscard]] const std::map<std::string, const Type*, std::less<>>& all() const {
        return types_;
    }

private:
    explicit TypeTable(std::string_view text);
    const Type* read(std::string_view text, std::string_view rules);
    TypeArena arena_;
    std::map<std::string, const Type*, std::less<>> types_;
    std::vector<std::pair<Type*, const Type*>> copies_;  // own rules, the fields of another
};

/// A type of its own for the OpenAPI v3 schema of a custom resource, its metadata typed as ours.
struct SchemaType {
    TypeArena arena;
    const Type* root = nullptr;
};
std::shared_ptr<const SchemaType> read_schema(const Value& schema);

}  // namespace aliquot::sim::apiserver
