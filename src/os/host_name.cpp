// SPDX-License-Identifier: Apache-2.0
#include "os/host_name.h"

#include <unistd.h>

#include <array>

namespace aliquot::os {

std::string host_name(std::string_view otherwise) {
    constexpr std::size_t kLongest = 256;  // Linux: 64
    std::array<char, kLongest> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') {
        return std::string(otherwise);
    }
    return name.data();
}

}  // namespace aliquot::os
