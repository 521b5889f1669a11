// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "document/node.h"

/// Values below a node by the words that a reader would name them with. Any thread.
namespace aliquot::document {

/// "metadata.name" and the like; a step may be a number for a list ("containers.0.image"), and a
/// key with dots in it is written in brackets: "limits[nvidia.com/gpu]". nullptr: a step is missing.
const Node* at_path(const Node& node, std::string_view path);
/// The scalar there; empty when there is none or null.
std::string text_at(const Node& node, std::string_view path);
/// The entry itself (for the mark of its key); nullptr when a step is missing or it is no mapping.
const Node::Entry* entry_at(const Node& node, std::string_view path);

/// The same with keys that may hold any letter; a list on the way is a missing step. From nullptr: nullptr.
const Node* at_path(const Node& node, std::initializer_list<std::string_view> path);
const Node* at_path(const Node* node, std::initializer_list<std::string_view> path);
std::string text_at(const Node& node, std::initializer_list<std::string_view> path);
std::string text_at(const Node* node, std::initializer_list<std::string_view> path);
/// The items of the sequence there, the entries of the mapping there; none when it is missing.
const std::vector<Node>& items_at(const Node& node, std::initializer_list<std::string_view> path);
const std::vector<Node>& items_at(const Node* node, std::initializer_list<std::string_view> path);
const std::vector<Node::Entry>& entries_at(const Node& node,
                                           std::initializer_list<std::string_view> path);
const std::vector<Node::Entry>& entries_at(const Node* node,
                                           std::initializer_list<std::string_view> path);

/// Its scalar; empty when there is none: nullptr, null, a mapping, a list.
std::string text_of(const Node* node);
bool is_true(const Node* node);

}  // namespace aliquot::document
