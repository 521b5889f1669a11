// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace aliquot::sim::cluster {

extern const std::string_view kDeviceClasses;  // deploy/dra/device-classes.yaml, compiled in

}  // namespace aliquot::sim::cluster
