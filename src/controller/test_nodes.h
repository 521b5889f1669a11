// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "scheduling/books.h"

/// For tests of what asks the books: nodes whose GPUs are offered in shares.
namespace aliquot::controller {

inline constexpr char kShare[] = "nvidia.com/gpu.shared";

inline scheduling::ServedNode shared_node(const std::string& name, unsigned gpus, unsigned units) {
    scheduling::ServedNode made{
        .name = name, .is_open = true, .cpu_milli = 64'000, .memory_mib = 262'144};
    for (unsigned i = 0; i < gpus; ++i)
        made.gpus.push_back({name + "-" + std::to_string(i), {{kShare, units}}});
    made.on_one_gpu = {kShare};
    return made;
}

}  // namespace aliquot::controller
