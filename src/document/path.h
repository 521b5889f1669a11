// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "document/node.h"

/// Values below a node by the words that a reader would name them with. Any thread.
namespace aliquot::document {

/// "metadata.name" and the like; a step may be a number for a list ("containers.0.image"), and a
/// key with dots in it is written in brackets: "limits[nvidia.com/gpu]". nullptr: a step is missing.
const Node* at_path(const Node& node, std::string_view path);
/// The scalar there; empty when there is none.
std::string text_at(const Node& node, std::string_view path);
/// The entry itself (for the mark of its key); nullptr when a step is missing or it is no mapping.
const Node::Entry* entry_at(const Node& node, std::string_view path);

}  // namespace aliquot::document
