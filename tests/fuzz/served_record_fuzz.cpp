// SPDX-License-Identifier: Apache-2.0
// Any bytes as the agent's record of what it served: what was read is written and read again as it was.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/served_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace aliquot;
    const auto read =
        agent::parse_served_record(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!read) {
        if (read.error().message.empty()) std::abort();
        return 0;
    }
    const std::string text = agent::to_json(*read);
    const auto again = agent::parse_served_record(text);
    if (!again || agent::to_json(*again) != text) std::abort();
    return 0;
}
