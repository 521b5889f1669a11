// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/metrics.h"

#include <gmock/gmock.h>

namespace aliquot::vision_worker {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Metrics, HistogramsAddUpAndLabelsAreQuoted) {
    Metrics metrics;
    metrics.batch(1);
    metrics.batch(3);
    metrics.batch(1000);
    metrics.answered(200, std::chrono::milliseconds(20));
    metrics.answered(503, std::chrono::milliseconds(20));
    metrics.set_device({.provider = "cuda",
                        .name = "A \"2\"",
                        .library = "1.20.1",
                        .memory_bytes = 7,
                        .arena_bytes = 5});
    const std::string text = metrics.text();
    EXPECT_THAT(text, HasSubstr("vision_batch_size_bucket{le=\"1\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("vision_batch_size_bucket{le=\"4\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("vision_batch_size_bucket{le=\"+Inf\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("vision_batch_size_count 3\n"));
    EXPECT_THAT(text, HasSubstr("vision_batch_size_sum 1004\n"));
    EXPECT_THAT(text, HasSubstr("vision_requests_total{code=\"503\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("vision_request_duration_seconds_bucket{le=\"0.025\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("device=\"A \\\"2\\\"\""));
    EXPECT_THAT(text, HasSubstr("vision_gpu_memory_limit_bytes 7\n"));
}

TEST(Metrics, WhatHasNoGpuTellsNoGpuMemory) {
    EXPECT_THAT(Metrics().text(), Not(HasSubstr("vision_gpu_memory_limit_bytes")));
    EXPECT_THAT(Metrics().text(), HasSubstr("vision_requests_waiting 0\n"));
}

}  // namespace
}  // namespace aliquot::vision_worker
