// SPDX-License-Identifier: Apache-2.0
#include "plan/pool.h"

#include <gtest/gtest.h>

#include <vector>

namespace aliquot::plan {
namespace {

std::string spelled(std::string_view text) {
    const auto pool = parse_gpu(text);
    if (!pool) return pool.error().message;
    return std::to_string(pool->count) + " " + std::string(pool->model->key);
}

TEST(Pool, IsReadAsPeopleWriteIt) {
    EXPECT_EQ(spelled("gtx-1070"), "1 gtx-1070");
    EXPECT_EQ(spelled("2x A2"), "2 a2");
    EXPECT_EQ(spelled("2 A2"), "2 a2");
    EXPECT_EQ(spelled("4xt4"), "4 t4");
    EXPECT_EQ(spelled("a100-80 x4"), "4 a100-80");
    EXPECT_EQ(spelled("3090"), "1 rtx-3090");
    EXPECT_EQ(spelled("3060 Ti"), "1 rtx-3060-ti");
    EXPECT_EQ(spelled("2x 3090"), "2 rtx-3090");
    EXPECT_EQ(spelled("NVIDIA GeForce RTX 4090"), "1 rtx-4090");
    EXPECT_EQ(spelled("a16"), "4 a16");
    EXPECT_EQ(spelled("gtx1071"), "GPU 'gtx1071' is not known, did you mean 'gtx-1070'?");
    EXPECT_NE(spelled("0x a2").find("a count of 1 to 4096"), std::string::npos);
    EXPECT_NE(spelled("99999999999x a2").find("a count of 1 to 4096"), std::string::npos);
    EXPECT_NE(spelled("").find("a GPU model such as"), std::string::npos);
    EXPECT_NE(spelled("services.yaml").find("--workloads"), std::string::npos);
}

TEST(Pool, OfACardThatNobodyKnowsIsItsMemory) {
    EXPECT_EQ(spelled("24GiB"), "1 gpu-24gib");
    EXPECT_EQ(spelled("2x 16384 MiB"), "2 gpu-16gib");
    const auto pool = parse_gpu("2x RTX-6090 48 GB");
    ASSERT_TRUE(pool) << pool.error().message;
    EXPECT_EQ(pool->count, 2U);
    EXPECT_EQ(pool->model->key, "rtx-6090");
    EXPECT_DOUBLE_EQ(pool->model->memory_gib, 48);
    const std::vector<GpuPool> copies(1, *pool);
    EXPECT_EQ(copies.front().model->key, "rtx-6090") << "a copy keeps the texts";
    EXPECT_EQ(spelled("a100 80GB"), "1 a100-80") << "a known one is that of the table";
    EXPECT_FALSE(gpu_memory_gib("24"));
    EXPECT_FALSE(gpu_memory_gib("-1GiB"));
    EXPECT_FALSE(gpu_memory_gib("9999999GiB"));
    const auto nodes = read_nodes("n", "- {name: new, gpu: rtx-6090, memory: 48Gi, count: 2}\n");
    ASSERT_TRUE(nodes) << nodes.error().message;
    EXPECT_EQ((*nodes)[0].count, 2U);
    EXPECT_DOUBLE_EQ((*nodes)[0].model->memory_gib, 48);
    const auto api = read_nodes(
        "nodes.json",
        R"({"kind":"List","items":[{"kind":"Node","metadata":{"name":"n1","labels":{)"
        R"("nvidia.com/gpu.product":"NVIDIA-R200","nvidia.com/gpu.memory":"294912"}}}]})");
    ASSERT_TRUE(api) << api.error().message;
    EXPECT_DOUBLE_EQ((*api)[0].model->memory_gib, 288);
}

TEST(Pool, OfAMachineTypeHasAllItsGpus) {
    const auto pool = parse_node_type("2x g5.12xlarge");
    ASSERT_TRUE(pool);
    EXPECT_EQ(pool->count, 8U);
    EXPECT_EQ(pool->nodes, 2U);
    EXPECT_EQ(pool->model->key, "a10g");
    EXPECT_FALSE(parse_node_type("g6f.large"));
    EXPECT_NE(parse_node_type("g4dn.xlarg").error().message.find("g4dn.xlarge"), std::string::npos);
}

TEST(Pool, OfNodesIsReadFromFactsAndFromTheApi) {
    const auto ours = read_nodes("nodes.yaml",
                                 "nodes:\n- {name: a, gpu: a2, count: 2, driver: \"580.1\"}\n"
                                 "- {name: b, type: g4dn.xlarge, wsl: true}\n");
    ASSERT_TRUE(ours) << ours.error().message;
    ASSERT_EQ(ours->size(), 2U);
    EXPECT_EQ((*ours)[0].count, 2U);
    EXPECT_EQ((*ours)[1].model->key, "t4");
    EXPECT_TRUE((*ours)[1].wsl);
    const auto api = read_nodes(
        "nodes.json",
        R"({"kind":"List","items":[{"kind":"Node","metadata":{"name":"n1","labels":{)"
        R"("nvidia.com/gpu.product":"NVIDIA-A100-SXM4-80GB-SHARED","nvidia.com/gpu.count":"4"}}},)"
        R"({"kind":"Node","metadata":{"name":"n2","labels":{}}}]})");
    ASSERT_TRUE(api) << api.error().message;
    ASSERT_EQ(api->size(), 1U);
    EXPECT_EQ((*api)[0].model->key, "a100-80");
    EXPECT_EQ((*api)[0].count, 4U);
}

TEST(Pool, OfNodesWithMistakesIsRefusedWithItsPlace) {
    const auto error = [](std::string_view text) {
        const auto pools = read_nodes("nodes.yaml", text);
        return pools ? std::string() : pools.error().message;
    };
    EXPECT_EQ(error("- gpu: a2\n  cuont: 2\n"),
              "nodes.yaml:2:3: 'cuont' is not a key of a node, did you mean 'count'?");
    EXPECT_EQ(error("- name: x\n"), "nodes.yaml:1:3: a node needs 'gpu' or 'type'");
    EXPECT_NE(error("- gpu: zz9\n").find("nodes.yaml:1:8: GPU 'zz9' is not known"),
              std::string::npos);
    EXPECT_NE(error("- {gpu: a2, count: 0}\n").find("1 to 4096"), std::string::npos);
    EXPECT_NE(error("").find("has no node with a known GPU"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::plan
