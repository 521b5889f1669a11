// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_text.h"
#include "base/result.h"
#include "document/node.h"

/// JSON as document::Node, read fast: a saved cluster has megabytes of it. Every value keeps its line.
namespace aliquot::doctor {

using document::Node;

/// Reads one JSON text (or several one after another: then a sequence of them).
/// errors   kInvalidInput: no JSON, with line; deeper than 64; more than two million values
Result<Node> parse_json(std::string_view text);

/// JSON, and when it is none, the first YAML document of the text (or a sequence of all).
Result<Node> parse_object(std::string_view text);

/// The value at a path of keys; nullptr when a part is missing.
const Node* dig(const Node& node, std::initializer_list<std::string_view> path);
const Node* dig(const Node* node, std::initializer_list<std::string_view> path);

/// Its scalar; empty when it is missing, null or no scalar.
std::string text_at(const Node& node, std::initializer_list<std::string_view> path);
std::string text_at(const Node* node, std::initializer_list<std::string_view> path);
std::string text_of(const Node* node);

/// The items of the sequence there; none when there is no sequence.
const std::vector<Node>& items_at(const Node& node, std::initializer_list<std::string_view> path);
const std::vector<Node>& items_at(const Node* node, std::initializer_list<std::string_view> path);
/// The entries of the mapping there.
const std::vector<Node::Entry>& entries_at(const Node& node,
                                           std::initializer_list<std::string_view> path);
const std::vector<Node::Entry>& entries_at(const Node* node,
                                           std::initializer_list<std::string_view> path);
bool is_true(const Node* node);

}  // namespace aliquot::doctor
