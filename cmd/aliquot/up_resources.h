// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "cmd/aliquot/up_object.h"

namespace aliquot::up {

/// Reads `resources` of a container and returns the extended ones that it wants at least one of.
std::map<std::string, unsigned> read_devices(Object& container);

}  // namespace aliquot::up
