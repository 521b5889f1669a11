// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot::document {
struct Value;
}

namespace aliquot::k8s {

/// The scalar of a field; empty when it is missing, null, a mapping or a list.
std::string text_field(const document::Value& mapping, std::string_view key);

}  // namespace aliquot::k8s
