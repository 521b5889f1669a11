// SPDX-License-Identifier: Apache-2.0
// Any bytes as an agent's /api/v1/state, which `aliquot top` and the next agent read: what was read
// is written and read again as it was.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "telemetry/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace aliquot;
    const auto read =
        telemetry::parse_state(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!read) {
        if (read.error().message.empty()) std::abort();
        return 0;
    }
    const std::string text = telemetry::to_json(*read);
    const auto again = telemetry::parse_state(text);
    if (!again || telemetry::to_json(*again) != text) std::abort();
    return 0;
}
