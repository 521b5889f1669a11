// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot::os {

/// What the kernel calls this machine. Thread-safe.
/// otherwise   where it has no name
std::string host_name(std::string_view otherwise = {});

}  // namespace aliquot::os
