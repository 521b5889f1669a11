// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "syntax/promql.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto selectors = aliquot::syntax::read_selectors(text, aliquot::document::Mark{1, 1});
    return selectors.size() <= size + 1 ? 0 : -1;
}
