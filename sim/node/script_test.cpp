// SPDX-License-Identifier: Apache-2.0
#include "sim/node/script.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sim/node/identity.h"
#include "sim/node/node.h"

namespace aliquot::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kGi = std::uint64_t{1} << 30U;
constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(LoadScript, IsReadFromOneLineOrAFile) {
    const auto line = parse_load_script("0s:80%:2Gi,10s:0%,12.5s:40%:512Mi,20s:again");
    ASSERT_TRUE(line) << line.error().message;
    ASSERT_EQ(line->phases.size(), 3U);
    EXPECT_EQ(line->phases[0].sm_percent, 80U);
    EXPECT_EQ(line->phases[0].memory_bytes, 2 * kGi);
    EXPECT_EQ(line->phases[1].at, 10s);
    EXPECT_EQ(line->phases[1].memory_bytes, 0U);
    EXPECT_EQ(line->phases[2].at, 12500ms);
    EXPECT_EQ(line->phases[2].memory_bytes, kGi / 2);
    EXPECT_EQ(line->period, 20s);
    const auto file = parse_load_script("# a day\n0ms:5%:1Gi\n\n1m:100%  # noon\r\n2m:0%\n");
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_EQ(file->phases.size(), 3U);
    EXPECT_EQ(file->phases[1].at, 60s);
    EXPECT_EQ(file->period, 0s);
}

TEST(LoadScript, SaysWhatIsWrongWithOne) {
    for (const char* const text :
         {"", "0s", "0s:80", "0s:101%:1Gi", "0s:-1%:1Gi", "1s:80%:1Gi", "0s:80%", "0s:80%:0",
          "0s:80%:1Gi,0s:10%", "0s:80%:1Gi,5s:10%,4s:10%", "0s:80%:1Gi,4h:10%",
          "0s:80%:1Gi,0s:again", "0s:80%:1Gi,5s:again,6s:1%", "0s:80%:1Gi,5s:1%,3s:again",
          "0s:80%:1Gi,20ms:again", "nans:80%:1Gi", "0s:80%:1Gi:x", "0s:80%:1Gi,1e300s:1%"}) {
        const auto script = parse_load_script(text);
        EXPECT_FALSE(script) << text;
        if (!script) {
            EXPECT_EQ(script.error().message.rfind("load script: ", 0), 0U)
                << script.error().message;
        }
    }
    std::string many = "0s:1%:1Gi";
    for (int i = 1; i < 20; ++i) many += "," + std::to_string(i) + "s:1%";
    EXPECT_FALSE(parse_load_script(many));
}

class Script : public ::testing::Test {
protected:
    void SetUp() override {
        auto made = state_for({.gpus = {{"a2", 1}}});
        ASSERT_TRUE(made);
        state_ = *std::move(made);
        state_->processes[0].pid = 1;
        state_->processes[0].gpu_instance = kNoInstance;
        state_->processes[0].compute_instance = kNoInstance;
        state_->memory[0].processes = 1;
    }
    void begin(const char* text) {
        const auto script = parse_load_script(text);
        ASSERT_TRUE(script);
        begin_script(*state_, 0, *script, kSecond);
    }
    void expect(std::uint64_t at_ns, unsigned percent, std::uint64_t bytes) {
        follow_script(*state_, 0, at_ns);
        EXPECT_EQ(state_->processes[0].sm_percent, percent) << at_ns;
        EXPECT_EQ(state_->processes[0].memory_bytes, bytes) << at_ns;
    }
    std::unique_ptr<State> state_;
};

TEST_F(Script, IsFollowedByTheClock) {
    begin("0s:80%:2Gi,10s:0%,12s:40%:1Gi");
    expect(kSecond, 80, 2 * kGi);
    EXPECT_EQ(next_change(*state_, 0, kSecond), 11 * kSecond);
    expect(11 * kSecond - 1, 80, 2 * kGi);
    expect(11 * kSecond, 0, 2 * kGi);
    EXPECT_EQ(next_change(*state_, 0, 11 * kSecond), 13 * kSecond);
    expect(13 * kSecond, 40, kGi);
    EXPECT_GT(next_change(*state_, 0, 13 * kSecond), 1'000'000 * kSecond);
    expect(100 * kSecond, 40, kGi);
}

TEST_F(Script, BeginsAnew) {
    begin("0s:80%:2Gi,3s:10%:1Gi,5s:again");
    expect(5 * kSecond, 10, kGi);
    EXPECT_EQ(next_change(*state_, 0, 5 * kSecond), 6 * kSecond);
    expect(6 * kSecond, 80, 2 * kGi);
    EXPECT_EQ(next_change(*state_, 0, 6 * kSecond), 9 * kSecond);
    expect(9 * kSecond, 10, kGi);
}

TEST_F(Script, GetsTheMemoryThatIsThere) {
    begin("0s:10%:1Gi,1s:10%:100Gi,2s:10%:2Gi");
    follow_script(*state_, 0, 2 * kSecond);
    const std::uint64_t most = state_->processes[0].memory_bytes;
    EXPECT_GT(most, 10 * kGi);
    EXPECT_LT(most, 16 * kGi);
    expect(3 * kSecond, 10, 2 * kGi);
    EXPECT_EQ(state_->memory[0].used_bytes, 2 * kGi);
}

}  // namespace
}  // namespace aliquot::sim
