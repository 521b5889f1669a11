// SPDX-License-Identifier: Apache-2.0
#include "controller/node_cache.h"

#include <gtest/gtest.h>

#include <thread>

#include "kube_client/stub_api.h"

namespace aliquot::controller {
namespace {

using namespace std::chrono_literals;

constexpr char kNodes[] = "/api/v1/nodes";

std::string node_with(unsigned gpus, const char* heartbeat) {
    return R"({"metadata":{"labels":{"nvidia.com/gpu.product":"NVIDIA-A2"}},"status":{"conditions":[")" +
           std::string(heartbeat) + R"("],"allocatable":{"nvidia.com/gpu":")" +
           std::to_string(gpus) + R"("}}})";
}

template <class Holds>
bool comes_true(const Holds& holds) {
    const auto limit = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < limit) {
        if (holds()) return true;
        std::this_thread::yield();
    }
    return false;
}

TEST(NodeCache, FollowsTheNodesThatHaveGpus) {
    kube_client::StubApi api;
    api.put(kNodes, {"", "cpu-1"}, R"({"status":{"allocatable":{"cpu":"4"}}})");
    api.put(kNodes, {"", "gpu-1"}, node_with(1, "a"));
    NodeCache cache(api);
    cache.start();
    ASSERT_TRUE(comes_true([&] { return cache.is_synced(); }));
    EXPECT_EQ(cache.cluster()->size(), 1U);
    const auto before = cache.cluster();
    EXPECT_EQ(cache.cluster(), before) << "the same until something changes";
    api.put(kNodes, {"", "gpu-2"}, node_with(2, "a"));
    ASSERT_TRUE(comes_true([&] { return cache.cluster()->size() == 2; }));
    const auto two = cache.cluster();
    api.put(kNodes, {"", "gpu-2"}, node_with(2, "b"));
    api.erase(kNodes, {"", "gpu-1"});
    ASSERT_TRUE(comes_true([&] { return cache.cluster()->size() == 1; }));
    EXPECT_EQ((*cache.cluster())[0], (*two)[1]) << "a heartbeat changes nothing";
}

}  // namespace
}  // namespace aliquot::controller
