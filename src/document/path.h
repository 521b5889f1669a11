// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "document/value.h"

/// Values below a node by the words that a reader would name them with. Any thread.
namespace aliquot::document {

/// "metadata.name" and the like; a step may be a number for a list ("containers.0.image"), and a
/// key with dots in it is written in brackets: "limits[nvidia.com/gpu]". nullptr: a step is missing.
const Value* at_path(const Value& node, std::string_view path);
/// The scalar there; empty when there is none or null.
std::string text_at(const Value& node, std::string_view path);
/// The entry itself (for the mark of its key); nullptr when a step is missing or it is no mapping.
const Value::Entry* entry_at(const Value& node, std::string_view path);

/// The same with keys that may hold any letter; a list on the way is a missing step. From nullptr: nullptr.
const Value* at_path(const Value& node, std::initializer_list<std::string_view> path);
const Value* at_path(const Value* node, std::initializer_list<std::string_view> path);
std::string text_at(const Value& node, std::initializer_list<std::string_view> path);
std::string text_at(const Value* node, std::initializer_list<std::string_view> path);
/// The items of the sequence there, the entries of the mapping there; none when it is missing.
const std::vector<Value>& items_at(const Value& node, std::initializer_list<std::string_view> path);
const std::vector<Value>& items_at(const Value* node, std::initializer_list<std::string_view> path);
const std::vector<Value::Entry>& entries_at(const Value& node,
                                            std::initializer_list<std::string_view> path);
const std::vector<Value::Entry>& entries_at(const Value* node,
                                            std::initializer_list<std::string_view> path);

/// Its scalar; empty when there is none: nullptr, null, a mapping, a list.
std::string text_of(const Value* node);
bool is_true(const Value* node);

}  // namespace aliquot::document
