// SPDX-License-Identifier: Apache-2.0
#include "guard/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace aliquot::guard {
namespace {

/// Sets variables for one test.
class Environment {
public:
    ~Environment() {
        for (const std::string& name : names_) ::unsetenv(name.c_str());
    }
    void set(const std::string& name, const std::string& value) {
        ::setenv(name.c_str(), value.c_str(), 1);
        names_.push_back(name);
    }
    static std::unique_ptr<Settings> read() {
        auto settings = std::make_unique<Settings>();
        read_settings(*settings);
        return settings;
    }

private:
    std::vector<std::string> names_;
};

TEST(ParseBytes, KnowsTheUsualSpellings) {
    const std::pair<const char*, std::uint64_t> kCases[] = {
        {"0", 0},
        {"1024", 1024},
        {"1k", 1024},
        {"2Gi", std::uint64_t{2} << 30},
        {"2g", std::uint64_t{2} << 30},
        {"512MiB", std::uint64_t{512} << 20},
        {"3.5Gi", (std::uint64_t{7} << 30) / 2},
        {"0.5 G", std::uint64_t{1} << 29},
        {"1Ti", std::uint64_t{1} << 40},
    };
    for (const auto& [text, expected] : kCases) {
        std::uint64_t bytes = ~std::uint64_t{0};
        EXPECT_TRUE(parse_bytes(text, bytes)) << text;
        EXPECT_EQ(bytes, expected) << text;
    }
}

TEST(ParseBytes, RefusesTheRest) {
    for (const char* text : {"", "-1", "x", "1.", ".5", "1Gx", "1Gi ", "Gi", "1e9", "99999999999T",
                             "1 2", "123456789012345678901234567890"}) {
        std::uint64_t bytes = 7;
        EXPECT_FALSE(parse_bytes(text, bytes)) << text;
        EXPECT_EQ(bytes, 7U) << text;
    }
}

TEST(ParsePercent, IsInMillionths) {
    const std::pair<const char*, std::uint32_t> kCases[] = {
        {"25", 250'000}, {"12.5", 125'000}, {"25%", 250'000}, {"0", 0}, {"100", 1'000'000}};
    for (const auto& [text, expected] : kCases) {
        std::uint32_t ppm = 1;
        EXPECT_TRUE(parse_percent(text, ppm)) << text;
        EXPECT_EQ(ppm, expected) << text;
    }
    for (const char* text : {"", "101", "-1", "25 %", "half"}) {
        std::uint32_t ppm = 1;
        EXPECT_FALSE(parse_percent(text, ppm)) << text;
    }
}

TEST(Settings, WithoutAnythingAreNotWanted) { EXPECT_FALSE(Environment::read()->wanted); }

TEST(Settings, AnIndexedLimitOverridesTheGeneralOne) {
    Environment environment;
    environment.set("ALIQUOT_GUARD_MEMORY", "1Gi");
    environment.set("ALIQUOT_GUARD_MEMORY_1", "2Gi");
    environment.set("ALIQUOT_GUARD_MEMORY_12", "3Gi");
    const auto settings = Environment::read();
    EXPECT_TRUE(settings->wanted);
    EXPECT_EQ(settings->memory_bytes[0], std::uint64_t{1} << 30);
    EXPECT_EQ(settings->memory_bytes[1], std::uint64_t{2} << 30);
    EXPECT_EQ(settings->memory_bytes[12], std::uint64_t{3} << 30);
    EXPECT_STREQ(settings->problem, "");
}

TEST(Settings, HamisNamesAreUnderstoodAndOursWin) {
    Environment environment;
    environment.set("CUDA_DEVICE_MEMORY_LIMIT", "1g");
    environment.set("CUDA_DEVICE_MEMORY_LIMIT_0", "2g");
    environment.set("CUDA_DEVICE_SM_LIMIT", "30");
    environment.set("CUDA_DEVICE_MEMORY_SHARED_CACHE", "/tmp/somewhere");
    auto settings = Environment::read();
    EXPECT_EQ(settings->memory_bytes[0], std::uint64_t{2} << 30);
    EXPECT_EQ(settings->memory_bytes[1], std::uint64_t{1} << 30);
    EXPECT_EQ(settings->cap_ppm[3], 300'000U);
    EXPECT_STREQ(settings->ledger, "/tmp/somewhere");
    environment.set("ALIQUOT_GUARD_MEMORY_0", "4g");
    environment.set("ALIQUOT_GUARD_REGION", "/tmp/elsewhere");
    settings = Environment::read();
    EXPECT_EQ(settings->memory_bytes[0], std::uint64_t{4} << 30);
    EXPECT_STREQ(settings->ledger, "/tmp/elsewhere");
}

TEST(Settings, AProblemIsNamed) {
    Environment environment;
    environment.set("ALIQUOT_GUARD_MEMORY", "lots");
    EXPECT_STREQ(Environment::read()->problem, "ALIQUOT_GUARD_MEMORY");
    environment.set("ALIQUOT_GUARD_MEMORY", "1Gi");
    environment.set("ALIQUOT_GUARD_WEIGHT", "0");
    EXPECT_STREQ(Environment::read()->problem, "ALIQUOT_GUARD_WEIGHT");
}

TEST(ContainerIndex, FollowsCudaVisibleDevices) {
    EXPECT_EQ(container_index(3), 3U);
    Environment environment;
    environment.set("CUDA_VISIBLE_DEVICES", "2,0");
    EXPECT_EQ(container_index(0), 2U);
    EXPECT_EQ(container_index(1), 0U);
    EXPECT_EQ(container_index(2), 2U);
    environment.set("CUDA_VISIBLE_DEVICES", "GPU-8f1a,1");
    EXPECT_EQ(container_index(0), 0U);
    EXPECT_EQ(container_index(1), 1U);
}

}  // namespace
}  // namespace aliquot::guard
