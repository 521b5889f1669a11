// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admission/gpu_request.h"

namespace aliquot::admission {

// One value each. key is for messages: "aliquot.dev/gpu-memory.main".
// errors   kInvalidInput: says what may stand there

Result<std::uint64_t> parse_memory_mib(std::string_view key, std::string_view text);
Result<unsigned> parse_compute(std::string_view key, std::string_view text);
Result<unsigned> parse_count(std::string_view key, std::string_view text);
/// "off" is 0.
Result<std::uint64_t> parse_shm_bytes(std::string_view key, std::string_view text);
Result<bool> parse_flag(std::string_view key, std::string_view text);
Result<std::vector<GpuType>> parse_types(std::string_view key, std::string_view text,
                                         const Cluster& cluster);

}  // namespace aliquot::admission
