// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The tables of data/ that only lint reads, compiled in.
namespace aliquot::lint {

extern const std::string_view kDocumentFormTable;
extern const std::string_view kSchemaFormTable;

}  // namespace aliquot::lint
