// SPDX-License-Identifier: Apache-2.0
// cdi::parse takes any bytes. What it accepts can be written, and reads back as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cdi/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto spec =
        aliquot::cdi::parse(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!spec) return 0;
    const auto json = aliquot::cdi::to_json(*spec);
    if (!json) std::abort();
    const auto again = aliquot::cdi::parse(*json);
    if (!again || !(*again == *spec)) std::abort();
    return 0;
}
