// SPDX-License-Identifier: Apache-2.0
#include "k8s/field.h"

#include "document/value.h"

namespace aliquot::k8s {

std::string text_field(const document::Value& mapping, std::string_view key) {
    const document::Value* const found = mapping.find(key);
    return found == nullptr || found->kind == document::Value::Kind::kNull ? "" : found->scalar;
}

}  // namespace aliquot::k8s
