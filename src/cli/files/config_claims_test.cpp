// SPDX-License-Identifier: Apache-2.0
#include "cli/files/config_claims.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aliquot::cli {
namespace {

NodeOffer a2_in_quarters() {
    NodeOffer node{.config = {},
                   .inventory = {.driver_version = "580.65.06"},
                   .offer = {.remarks = {"sharing.timeSlicing.resources[1] matches no GPU"}}};
    node.inventory.gpus.push_back({.uuid = {"GPU-a"},
                                   .model = "NVIDIA A2",
                                   .memory_bytes = 15356ULL << 20U,
                                   .pci = {.bus = 0x65}});
    node.offer.resources.push_back(
        {.name = "nvidia.com/gpu",
         .gpus = {{.gpu = node.inventory.gpus[0],
                   .replicas = 2,
                   .limits = {.memory_bytes = 7ULL << 30U, .compute_percent = 50}}}});
    return node;
}

TEST(ConfigClaims, SayWhatTheAgentWouldPublish) {
    EXPECT_EQ(claims_text(a2_in_quarters(), {}, dra::Mode::kFixed),
              "1 GPU, driver 580.65.06\n"
              "\n"
              "2 devices by ResourceClaims (--dra=fixed)\n"
              "  gpu-0000-65-00-0-share-0  NVIDIA A2  memory 7168Mi, compute 50  GPU-a\n"
              "  gpu-0000-65-00-0-share-1  NVIDIA A2  memory 7168Mi, compute 50  GPU-a\n"
              "  pods ask for one by a claim with deviceClassName: gpu.aliquot.dev\n"
              "\n"
              "remark: sharing.timeSlicing.resources[1] matches no GPU\n");
    const std::string parts = claims_text(a2_in_quarters(), {}, dra::Mode::kConsumable);
    EXPECT_NE(parts.find("gpu-0000-65-00-0  NVIDIA A2  memory 15104Mi, compute 100; several "
                         "claims, memory in steps of 256Mi  GPU-a"),
              std::string::npos)
        << parts;
    EXPECT_NE(parts.find("capacity.requests"), std::string::npos);
}

TEST(ConfigClaims, InJsonAreDevicesOfAResourceSlice) {
    const auto told = claims_json(a2_in_quarters(), {}, claim_mode("whole"));
    EXPECT_EQ(told["mode"], "whole");
    EXPECT_EQ(told["driver"], "gpu.aliquot.dev");
    ASSERT_EQ(told["devices"].size(), 1U);
    EXPECT_EQ(told["devices"][0]["capacity"]["memory"]["value"], "15356Mi");
    EXPECT_EQ(claim_mode("fixed"), dra::Mode::kFixed);
    EXPECT_EQ(claim_mode("consumable"), dra::Mode::kConsumable);
}

}  // namespace
}  // namespace aliquot::cli
