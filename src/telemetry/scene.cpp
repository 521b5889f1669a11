// SPDX-License-Identifier: Apache-2.0
#include "telemetry/scene.h"

#include <charconv>

namespace aliquot::telemetry {

DeviceName read_device_name(std::string_view id) {
    const std::size_t mark = id.find("::");
    if (mark == std::string_view::npos) return {.uuid = id};
    DeviceName name{.uuid = id.substr(0, mark)};
    const std::string_view digits = id.substr(mark + 2);
    std::from_chars(digits.data(), digits.data() + digits.size(), name.replica);
    return name;
}

}  // namespace aliquot::telemetry
