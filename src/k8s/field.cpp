// SPDX-License-Identifier: Apache-2.0
#include "k8s/field.h"

#include "document/node.h"

namespace aliquot::k8s {

std::string text_field(const document::Node& mapping, std::string_view key) {
    const document::Node* const found = mapping.find(key);
    return found == nullptr || found->kind == document::Node::Kind::kNull ? "" : found->scalar;
}

}  // namespace aliquot::k8s
