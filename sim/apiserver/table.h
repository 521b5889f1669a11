// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sim/apiserver/resources.h"
#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

/// Objects as the Table that kubectl get prints, without metadata.
/// include   Object, Metadata or None: what each row carries along
Value make_table(const Resource& resource, const std::vector<Value>& objects,
                 const std::string& include);

/// The columns of a built-in kind, behind Name: their names, types and priorities; and the cells of
/// one object. Kinds without columns of their own have Age (or Created At).
std::vector<Column> built_in_columns(const Resource& resource);
std::vector<Value> built_in_cells(const Resource& resource, const Value& object);

/// What a JSONPath (".status.conditions[?(@.type==\"Ready\")].status", ".spec.names[0]") finds
/// first; null: nothing.
Value find_json_path(const Value& object, std::string_view path);

/// "5m3s": since a time text; "<unknown>" for none.
std::string age_since(const std::string& time);

}  // namespace aliquot::sim::apiserver
