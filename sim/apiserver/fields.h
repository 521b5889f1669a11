// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/apiserver/types.h"
#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

/// A set of fields as managedFields has it: a tree of steps, "f:name" (a member), "k:{...}" (an
/// element by its keys), "v:..." (an element by its value).
struct FieldSet {
    bool owned = false;  // the field at this place itself
    std::map<std::string, FieldSet> children;

    [[nodiscard]] bool empty() const { return !owned && children.empty(); }
    friend bool operator==(const FieldSet&, const FieldSet&) = default;
};

FieldSet read_field_set(const Value& fields_v1);
Value to_fields_v1(const FieldSet& set);

FieldSet unite(const FieldSet& left, const FieldSet& right);
FieldSet subtract(const FieldSet& left, const FieldSet& right);
FieldSet intersect(const FieldSet& left, const FieldSet& right);

/// Removes a field and all below it.
void remove_below(FieldSet& set, const std::vector<std::string>& path);

/// ".spec.containers[name=\"web\"].image": as conflicts name a field.
std::vector<std::string> spell_paths(const FieldSet& set);

/// The step to an element of a list; empty when it lacks a key.
std::string element_step(const Value& element, const Type& list);

/// All fields that a value has. errors   kInvalidInput: an element without its keys, or twice
Result<FieldSet> fields_of(const Value& value, const Type& type);

/// Where two values differ: fields only in `after`, only in `before`, and with another content.
struct Difference {
    FieldSet added, removed, modified;
};
Difference compare_values(const Value& before, const Value& after, const Type& type);

/// `applied` laid over `live`: members and keyed elements are merged, all else is replaced.
Value merge_values(const Value& live, const Value& applied, const Type& type);

/// Takes the fields of `gone` out of a value; an element or object is only taken when nothing
/// below it is in `kept`.
void prune_fields(Value& value, const FieldSet& gone, const FieldSet& kept, const Type& type);

}  // namespace aliquot::sim::apiserver
