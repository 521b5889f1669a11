// SPDX-License-Identifier: Apache-2.0
// Queries that runbooks and dashboards of others ask.
#include <gtest/gtest.h>

#include <array>

#include "exposition/render.h"
#include "exposition/test_scenes.h"
#include "exposition/test_text.h"

namespace aliquot::exposition {
namespace {

std::vector<Sample> samples(const telemetry::Snapshot& snapshot, std::string_view name) {
    return read_text(render(snapshot, Style{}), false).samples(name);
}

TEST(OlderNames, WithoutSelector) {
    for (const std::string_view name : {"nvidia_gpu_utilization", "nvidia_gpu_memory_used_bytes",
                                        "nvidia_gpu_temperature_celsius"}) {
        for (const auto make : {exclusive_a2, time_sliced_four, gtx_1070}) {
            const auto found = samples(make(), name);
            ASSERT_FALSE(found.empty()) << name;
            for (const std::string_view label : {"minor_number", "uuid", "name", "gpu", "node"}) {
                EXPECT_TRUE(found[0].has(label)) << name << ' ' << label;
            }
        }
    }
}

TEST(OlderNames, ByKubernetesNode) {
    for (const std::string_view name :
         {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_GPU_TEMP"}) {
        for (const auto make : {exclusive_a2, time_sliced_four}) {
            const auto found = samples(make(), name);
            ASSERT_FALSE(found.empty()) << name;
            for (const Sample& sample : found) {
                EXPECT_EQ(sample.label("kubernetes_node"), "gpu-node-1") << name;
            }
        }
    }
}

TEST(OlderNames, ByPodOnASharedGpu) {
    telemetry::Snapshot snapshot = time_sliced_four();
    for (telemetry::Tenant& tenant : snapshot.devices[0].parts[0].tenants) {
        tenant.memory_limit_bytes = 5757ULL << 20U;
    }
    for (const std::string_view name :
         {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"}) {
        std::size_t pods = 0;
        Style style;
        style.shared_rows = SharedRows::kPods;
        const ReadText text = read_text(render(snapshot, style), false);
        for (const Sample& sample : text.samples(name)) {
            if (sample.label("pod").starts_with("cat-watcher")) ++pods;
        }
        EXPECT_EQ(pods, 4U) << name;
    }
}

}  // namespace
}  // namespace aliquot::exposition
