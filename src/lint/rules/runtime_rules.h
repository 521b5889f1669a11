// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// What the rules about container runtimes share. Inside src/lint only.
namespace aliquot::lint {

/// Whether the NVIDIA Container Toolkit understands a value of NVIDIA_VISIBLE_DEVICES.
bool is_visible_devices(std::string_view value);

}  // namespace aliquot::lint
