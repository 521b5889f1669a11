// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/claim_checkpoint.h"

#include <gtest/gtest.h>

#include "pods/claim_state.h"

namespace aliquot::sim {
namespace {

ClaimEntry entry() {
    return {.reference = {"ai", "gpu-x7", "u1", {"gpu.aliquot.dev"}},
            .pods = {"p1", "p2"},
            .devices = {{"gpu.aliquot.dev",
                         {{.claim_uid = "u1",
                           .driver = "gpu.aliquot.dev",
                           .requests = {"gpu"},
                           .pool = "n1",
                           .device = "gpu-0",
                           .share = "s1",
                           .cdi_devices = {"k8s.gpu.aliquot.dev/claim=u1-0.part.GPU-a"}}}}}};
}

TEST(ClaimCheckpoint, IsWhatOurAgentAndGateRead) {
    ClaimEntry begun = entry();
    begun.reference = {"ai", "later", "u2", {"net.example"}};
    begun.devices.clear();
    const auto holds = pods::parse_claim_state(to_json({entry(), begun}));
    ASSERT_TRUE(holds) << holds.error().message;
    EXPECT_EQ(*holds,
              (std::vector<pods::ClaimHold>{
                  {.claim = "ai/gpu-x7", .driver = "gpu.aliquot.dev", .ids = {"u1-0.part.GPU-a"}},
                  {.claim = "ai/later", .driver = "net.example", .ids = {}}}));
    EXPECT_TRUE(pods::parse_claim_state(to_json(std::vector<ClaimEntry>{}))->empty());
}

TEST(ClaimCheckpoint, SurvivesARestart) {
    const auto read = parse_claim_checkpoint(to_json({entry()}));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->size(), 1U);
    EXPECT_EQ((*read)[0].pods, entry().pods);
    EXPECT_EQ((*read)[0].reference.drivers, entry().reference.drivers);
    const PreparedDevice& device = (*read)[0].devices.at("gpu.aliquot.dev").at(0);
    EXPECT_EQ(device.share, "s1");
    EXPECT_EQ(device.cdi_devices, entry().devices.at("gpu.aliquot.dev")[0].cdi_devices);
}

TEST(ClaimCheckpoint, OfARealKubeletIsRead) {
    // The checksum is kubelet's own, of a file that one of 1.34 has written.
    const auto read = parse_claim_checkpoint(
        R"({"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v1\",)"
        R"(\"ClaimInfoStateList\":[{\"ClaimUID\":\"067798be-454e-4be4-9047-1aa06aea63f7\",)"
        R"(\"ClaimName\":\"example\",\"Namespace\":\"default\",\"PodUIDs\":{)"
        R"(\"139cdb46-f989-4f17-9561-ca10cfb509a6\":{}},\"DriverState\":{\"test-driver.cdi.k8s.io\":)"
        R"({\"Devices\":[{\"PoolName\":\"worker-1\",\"DeviceName\":\"dev-1\",\"RequestNames\":)"
        R"([\"test request\"],\"CDIDeviceIDs\":[\"example.com/example=cdi-example\"]}]}}}]}",)"
        R"("Checksum":1656016162})");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ((*read)[0].reference.name, "example");
    for (const std::string& text : {std::string("{}"), std::string("torn"), std::string("[]"),
                                    std::string(R"({"Data":"{}","Checksum":1})")}) {
        EXPECT_FALSE(parse_claim_checkpoint(text)) << text;
    }
}

}  // namespace
}  // namespace aliquot::sim
