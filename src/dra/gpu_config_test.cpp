// SPDX-License-Identifier: Apache-2.0
#include "dra/gpu_config.h"

#include <gtest/gtest.h>

#include "document/json.h"

namespace aliquot::dra {
namespace {

Result<GpuConfig> read(const std::string& members, const std::string& kind = "GpuConfig") {
    const auto value =
        document::parse_json(R"({"apiVersion":"resource.aliquot.dev/v1beta1","kind":")" + kind +
                             "\"" + (members.empty() ? "" : ",") + members + "}");
    return read_gpu_config(*value);
}

std::string error_of(const std::string& members) {
    const auto config = read(members);
    return config ? "" : config.error().message;
}

TEST(DraGpuConfig, ReadsWhatNvidiasDriverReads) {
    EXPECT_TRUE(read(""));
    EXPECT_TRUE(read(R"("sharing":{"strategy":"TimeSlicing"})"));
    EXPECT_TRUE(
        read(R"("sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Default"}})"));
    EXPECT_EQ(read("", "MigDeviceConfig")->kind, GpuConfig::Kind::kMig);
}

TEST(DraGpuConfig, ReadsTheGuardsLimits) {
    const auto config = read(R"("guard":{"memory":"3Gi","compute":25,"weight":200})");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->limits.memory_bytes, 3ULL << 30U);
    EXPECT_EQ(config->limits.compute_percent, 25U);
    EXPECT_EQ(config->limits.weight, 200U);
    EXPECT_EQ(read(R"("guard":{"compute":"25"})")->limits.compute_percent, 25U);
}

TEST(DraGpuConfig, NamesTheFieldThatIsWrong) {
    EXPECT_EQ(error_of(R"("gaurd":{})"), "GpuConfig: gaurd: no such field; did you mean guard?");
    EXPECT_EQ(error_of(R"("guard":{"cores":3})"),
              "GpuConfig: guard.cores: no such field; there are memory, compute, weight");
    EXPECT_EQ(
        error_of(R"("guard":{"memory":"3 Gi"})"),
        "GpuConfig: guard.memory: '3 Gi' found, an amount of 1Mi or more expected, such as 3Gi");
    EXPECT_EQ(error_of(R"("guard":{"compute":0})"),
              "GpuConfig: guard.compute: '0' found, a whole number of 1 to 100 expected");
    EXPECT_EQ(
        error_of(R"("guard":{"weight":[]})"),
        "GpuConfig: guard.weight: an empty list found, a whole number of 1 to 10000 expected");
    EXPECT_EQ(error_of(R"("guard":{"weight":1,"weight":2})"),
              "GpuConfig: guard.weight: given twice");
    EXPECT_EQ(error_of(R"("sharing":{})"), "GpuConfig: sharing.strategy: is missing");
    EXPECT_EQ(error_of(R"("sharing":{"strategy":"Slices"})"),
              "GpuConfig: sharing.strategy: 'Slices' found, TimeSlicing or MPS expected");
    EXPECT_EQ(read_gpu_config(*document::parse_json("[]")).error().message,
              "opaque configuration: kind: is missing; GpuConfig or MigDeviceConfig");
    const auto old = read_gpu_config(*document::parse_json(
        R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig"})"));
    EXPECT_EQ(old.error().message,
              "GpuConfig: apiVersion: 'resource.nvidia.com/v1beta1' found, "
              "resource.aliquot.dev/v1beta1 expected");
}

TEST(DraGpuConfig, SaysWhatIsNotServed) {
    const auto mps =
        read(R"("sharing":{"strategy":"MPS","mpsConfig":{"defaultActiveThreadPercentage":50}})");
    ASSERT_FALSE(mps);
    EXPECT_EQ(mps.error().code, ErrorCode::kUnsupported);
    for (const char* const word : {"Default", "Short", "Medium", "Long"}) {
        EXPECT_TRUE(
            read(R"("sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":")" +
                 std::string(word) + "\"}}"));
    }
    EXPECT_FALSE(
        read(R"("sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"long"}})"));
}

}  // namespace
}  // namespace aliquot::dra
