// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace aliquot::sim::apiserver {

using Time = std::chrono::system_clock::time_point;

/// "5s", "4m3s", "2d7h": how long ago, as tables say it.
std::string format_age(std::chrono::seconds age);

std::string make_uuid();
std::string random_letters(std::size_t count);  // as generateName adds

}  // namespace aliquot::sim::apiserver
