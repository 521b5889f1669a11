// SPDX-License-Identifier: Apache-2.0
#include "sim/node/usage.h"

#include <gtest/gtest.h>

#include <memory>

#include "sim/node/identity.h"
#include "sim/node/mig.h"
#include "sim/node/node.h"
#include "sim/node/script.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kGi = std::uint64_t{1} << 30U;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMs = 1'000'000;

class Usage : public ::testing::Test {
protected:
    void make(const char* model) {
        auto made = state_for({.gpus = {{model, 1}}});
        ASSERT_TRUE(made);
        state_ = *std::move(made);
        begun_ = state_->gpus[0].sums.since_ns;
    }
    void add(unsigned percent, const Instance& where = {},
             ProcessKind kind = ProcessKind::kCompute) {
        const unsigned entry = state_->memory[0].processes++;
        ProcessState& process = state_->processes[entry];
        process.pid = entry + 1;
        process.sm_percent = percent;
        process.gpu_instance = where.gpu_instance;
        process.compute_instance = where.compute_instance;
        process.kind = static_cast<std::uint32_t>(kind);
    }
    void script(unsigned entry, const char* text) {
        const auto parsed = parse_load_script(text);
        ASSERT_TRUE(parsed);
        begin_script(*state_, entry, *parsed, begun_);
    }
    void settle(std::uint64_t after_ns) { settle_gpu(*state_, 0, begun_ + after_ns); }
    /// Seconds of all of the GPU.
    [[nodiscard]] static double seconds(std::uint64_t sum) {
        return static_cast<double>(sum) / 1e6 / kWholeMilli;
    }
    [[nodiscard]] double busy() const { return seconds(state_->gpus[0].sums.busy); }
    [[nodiscard]] double busy(unsigned entry) const { return seconds(state_->uses[entry].busy); }

    std::unique_ptr<State> state_;
    std::uint64_t begun_ = 0;
};

TEST_F(Usage, IsSummedOverTime) {
    make("a2");
    settle(2 * kSecond);
    EXPECT_NEAR(static_cast<double>(state_->gpus[0].sums.energy_nanojoules), 12e9, 1e5) << "6 W";
    add(50);
    settle(3 * kSecond);
    EXPECT_NEAR(busy(), 0.5, 1e-5);
    EXPECT_NEAR(busy(0), 0.5, 1e-5);
    EXPECT_NEAR(seconds(state_->gpus[0].sums.memory_busy), 0.3, 1e-5);
    const std::uint64_t at = state_->gpus[0].sums.since_ns;
    settle(1);  // time never runs backwards
    EXPECT_EQ(state_->gpus[0].sums.since_ns, at);
}

TEST_F(Usage, FollowsScriptsHoweverRarelyOneLooks) {
    for (const std::uint64_t step : {7 * kMs, 400 * kMs, 60 * kSecond}) {
        make("a2");
        add(0);
        add(0);
        script(0, "0s:80%:1Gi,2s:0%,5s:20%,6s:0%");
        script(1, "0s:10%:1Gi,4s:100%:2Gi,4500ms:0%:1Gi");
        for (std::uint64_t at = step; at < 60 * kSecond; at += step) settle(at);
        settle(60 * kSecond);
        EXPECT_NEAR(busy(0), 1.8, 1e-4) << step;
        EXPECT_NEAR(busy(1), 0.9, 1e-4) << step;
        EXPECT_NEAR(busy(), 2.7, 1e-4) << step;
        EXPECT_EQ(state_->processes[1].memory_bytes, kGi);
    }
}

TEST_F(Usage, IsSharedWhenMoreIsWantedThanThereIs) {
    make("a2");
    add(100);
    add(100);
    add(50);
    EXPECT_EQ(share_of(*state_, 0), 40'000U);
    EXPECT_EQ(share_of(*state_, 1), 40'000U);
    EXPECT_EQ(share_of(*state_, 2), 20'000U);
    EXPECT_EQ(load_on(*state_, 0).sm_percent, 100U);
    settle(10 * kSecond);
    EXPECT_NEAR(busy(), 10, 1e-3);
    EXPECT_NEAR(busy(0) + busy(1) + busy(2), busy(), 1e-6);
    EXPECT_NEAR(busy(2), 2, 1e-3);
    EXPECT_NEAR(seconds(state_->gpus[0].sums.switching), 0.15, 1e-3) << "contexts take turns";
}

TEST_F(Usage, OfMpsClientsNeedsNoSwitching) {
    make("a2");
    add(0, {}, ProcessKind::kMpsServer);
    add(60, {}, ProcessKind::kMpsClient);
    add(60, {}, ProcessKind::kMpsClient);
    EXPECT_EQ(share_of(*state_, 1), 50'000U);
    settle(kSecond);
    EXPECT_EQ(state_->gpus[0].sums.switching, 0U);
    EXPECT_NEAR(busy(1), 0.5, 1e-4);
}

TEST_F(Usage, OfAnInstanceIsItsOwn) {
    make("a100-40");
    ASSERT_TRUE(cut_gpu(*state_, 0, "3g.20gb,1g.5gb"));
    const auto devices = mig_devices(*state_, 0);
    ASSERT_EQ(devices.size(), 2U);
    add(100, devices[0]);
    add(100, devices[0]);
    add(40, devices[1]);
    EXPECT_EQ(share_of(*state_, 0), 50'000U);
    EXPECT_EQ(share_of(*state_, 2), 40'000U);
    settle(10 * kSecond);
    const auto& instances = state_->mig[0].instances;
    EXPECT_NEAR(seconds(instances[devices[0].gpu_instance].busy), 10, 1e-3);
    EXPECT_NEAR(seconds(instances[devices[1].gpu_instance].busy), 4, 1e-3);
    EXPECT_NEAR(busy(), 10 * 42.0 / 108 + 4 * 14.0 / 108, 1e-3) << "by multiprocessors";
}

TEST_F(Usage, IsSampledSoThatSamplesAddUp) {
    make("a2");
    add(0);
    script(0, "0s:33%:1Gi,1s:34%,2700ms:7%,5s:0%");
    const std::uint64_t first = newest_period(*state_, 0);
    for (std::uint64_t at = 50 * kMs; at <= 8 * kSecond; at += 50 * kMs) settle(at);
    const std::uint64_t last = newest_period(*state_, 0);
    EXPECT_NEAR(static_cast<double>(last - first), 48, 1);
    double sampled = 0;
    for (std::uint64_t period = first + 1; period <= last; ++period) {
        sampled += *gpu_sample(*state_, 0, period) / 100.0 * kSamplingPeriodUs / 1e6;
    }
    EXPECT_NEAR(sampled, busy(), 0.002);
    EXPECT_NEAR(use_after(*state_, 0, first) / 100.0 * static_cast<double>(last - first) *
                    kSamplingPeriodUs / 1e6,
                busy(), 0.05);
    EXPECT_EQ(use_after(*state_, 0, last), 0U);
    EXPECT_FALSE(gpu_sample(*state_, 0, last + 1));
}

TEST_F(Usage, OfLongAgoIsForgottenByTheSamplesOnly) {
    make("a2");
    add(25);
    settle(3600 * kSecond);
    EXPECT_NEAR(busy(), 900, 1e-2);
    const std::uint64_t last = newest_period(*state_, 0);
    EXPECT_EQ(gpu_sample(*state_, 0, last), 25U);
    EXPECT_EQ(gpu_sample(*state_, 0, last - kMaxSamples + 2), 25U);
    EXPECT_FALSE(gpu_sample(*state_, 0, last - kMaxSamples));
}

TEST_F(Usage, KnowsHowLongAGpuWasSlowedDown) {
    make("a2");
    add(100);
    state_->gpus[0].power_limit_milliwatts = 40'000;
    settle(2 * kSecond);
    state_->gpus[0].fault.throttle = kReasonPowerBrake;
    settle(5 * kSecond);
    EXPECT_NEAR(static_cast<double>(state_->gpus[0].sums.throttled_us[0]), 5e6, 2);
    EXPECT_NEAR(static_cast<double>(state_->gpus[0].sums.throttled_us[3]), 3e6, 2);
}

}  // namespace
}  // namespace aliquot::sim
