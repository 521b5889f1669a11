// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

#include "plan/plan.h"

namespace aliquot::plan {

/// For tests: GPUs as `--gpu` names them, workloads as their file says.
inline Request request(std::initializer_list<std::string_view> gpus,
                       std::string_view workloads = "") {
    Request made;
    for (const std::string_view gpu : gpus) {
        const auto pool = parse_gpu(gpu);
        EXPECT_TRUE(pool) << gpu;
        made.pools.push_back(*pool);
    }
    if (!workloads.empty()) {
        const auto read = read_workloads("w", workloads);
        EXPECT_TRUE(read) << read.error().message;
        made.workloads = *read;
    }
    return made;
}

}  // namespace aliquot::plan
