// SPDX-License-Identifier: Apache-2.0
//
// Who uses a GPU, and how much: what nvml::Meters tells of simulated processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "sim/node/script.h"
#include "tests/contract/metered_world.h"
#include "tests/contract/sleeper.h"

namespace aliquot {
namespace {

using contract::MeteredWorld;
using contract::Sleeper;
using gpu::MeteredProcess;
using gpu::Metric;
using gpu::Reading;
using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kGi = std::uint64_t{1} << 30U;

const MeteredProcess& process_of(const Reading& reading, std::uint32_t pid) {
    static const MeteredProcess none;
    const auto& all = *reading.processes;
    const auto found = std::ranges::find(all, pid, &MeteredProcess::pid);
    EXPECT_NE(found, all.end()) << pid;
    return found == all.end() ? none : *found;
}

/// Adds up what looks show, as their reader is meant to: a sample stands for the time since the one
/// before.
class Tally {
public:
    explicit Tally(MeteredWorld& world) : world_(world) {
        auto reading = world_.look(0);
        EXPECT_TRUE(reading);
        if (!reading->gpu_busy || reading->gpu_busy->empty()) return;
        since_ = {reading->gpu_busy->back().at_us, reading->gpu_busy->back().at_us,
                  reading->gpu_busy->back().at_us};
    }
    void look() {
        const auto reading = world_.look(0, since_);
        ASSERT_TRUE(reading) << reading.error().message;
        ASSERT_TRUE(reading->gpu_busy && reading->memory_busy && reading->uses);
        for (const auto& sample : *reading->gpu_busy) {
            gpu_seconds += add(since_.gpu_busy_us, sample.at_us, sample.percent);
        }
        for (const auto& sample : *reading->memory_busy) {
            memory_seconds += add(since_.memory_busy_us, sample.at_us, sample.percent);
        }
        std::uint64_t newest = since_.gpu_busy_us;  // all idle: nothing to tell
        for (const auto& use : *reading->uses) {
            std::uint64_t from = since_.uses_us;
            process_seconds[use.pid] += add(from, use.at_us, use.sm_percent);
            newest = std::max(newest, use.at_us);
        }
        since_.uses_us = newest;
    }

    double gpu_seconds = 0;
    double memory_seconds = 0;
    std::map<std::uint32_t, double> process_seconds;

private:
    static double add(std::uint64_t& from_us, std::uint64_t to_us, unsigned percent) {
        EXPECT_GT(to_us, from_us);
        const double seconds = static_cast<double>(to_us - from_us) * percent / 100e6;
        from_us = to_us;
        return seconds;
    }
    MeteredWorld& world_;
    gpu::Since since_;
};

sim::LoadScript script(const char* text) {
    auto parsed = sim::parse_load_script(text);
    EXPECT_TRUE(parsed) << parsed.error().message;
    return *std::move(parsed);
}

TEST(MeteredProcesses, AreOfEachKindWithTheirMemory) {
    MeteredWorld world("a2:2");
    const Sleeper computes;
    const Sleeper draws;
    const Sleeper serves;
    const Sleeper client;
    ASSERT_TRUE(world.node().set_process(0, computes.pid(), 2 * kGi, 10));
    ASSERT_TRUE(world.node().set_process(0, draws.pid(), kGi, 5, {}, sim::ProcessKind::kGraphics));
    ASSERT_TRUE(
        world.node().set_process(0, serves.pid(), kGi / 8, 0, {}, sim::ProcessKind::kMpsServer));
    ASSERT_TRUE(
        world.node().set_process(0, client.pid(), 3 * kGi, 20, {}, sim::ProcessKind::kMpsClient));
    const auto reading = world.look(0);
    ASSERT_TRUE(reading) << reading.error().message;
    ASSERT_TRUE(reading->processes);
    EXPECT_THAT(*reading->processes, SizeIs(4));
    EXPECT_TRUE(process_of(*reading, computes.pid()).compute);
    EXPECT_EQ(process_of(*reading, computes.pid()).memory_bytes, 2 * kGi);
    EXPECT_TRUE(process_of(*reading, draws.pid()).graphics);
    EXPECT_FALSE(process_of(*reading, draws.pid()).compute);
    EXPECT_TRUE(process_of(*reading, serves.pid()).compute);
    EXPECT_FALSE(process_of(*reading, serves.pid()).mps_client);
    EXPECT_TRUE(process_of(*reading, client.pid()).mps_client);
    EXPECT_EQ(process_of(*reading, client.pid()).memory_bytes, 3 * kGi);
    EXPECT_FALSE(process_of(*reading, client.pid()).gpu_instance);
    EXPECT_EQ(reading->metrics.get(Metric::kMemoryUsedBytes), 6.125 * kGi);
    EXPECT_EQ(reading->metrics.get(Metric::kGpuBusyPercent), 35);
    const auto other = world.look(1);
    ASSERT_TRUE(other);
    EXPECT_THAT(*other->processes, IsEmpty());
    EXPECT_THAT(*other->uses, IsEmpty());
}

TEST(MeteredProcesses, AreGoneWhenTheyEnd) {
    MeteredWorld world("a2:1");
    Sleeper first;
    const Sleeper second;
    ASSERT_TRUE(world.node().set_process(0, first.pid(), 2 * kGi, 10));
    ASSERT_TRUE(world.node().set_process(0, second.pid(), kGi, 10));
    ASSERT_TRUE(world.look(0));
    first.end();
    const auto reading = world.look(0);
    ASSERT_TRUE(reading);
    ASSERT_THAT(*reading->processes, SizeIs(1));
    EXPECT_EQ(reading->processes->front().pid, second.pid());
    EXPECT_EQ(reading->metrics.get(Metric::kMemoryUsedBytes), kGi);
}

TEST(MeteredUse, AddsUpToWhatTheScriptSays) {
    MeteredWorld world("t4:1");
    const Sleeper steady;
    const Sleeper bursts;
    Tally tally(world);
    ASSERT_TRUE(world.node().run_script(0, steady.pid(), script("0s:20%:1Gi,1500ms:0%")));
    ASSERT_TRUE(world.node().run_script(0, bursts.pid(),
                                        script("0s:70%:1Gi,600ms:0%,900ms:30%,1200ms:0%")));
    for (int i = 0; i < 8; ++i) {
        MeteredWorld::pass(250ms);
        tally.look();
    }
    EXPECT_NEAR(tally.gpu_seconds, 0.3 + 0.51, 0.004);
    EXPECT_NEAR(tally.memory_seconds, 0.6 * 0.81, 0.02);
    EXPECT_NEAR(tally.process_seconds[steady.pid()], 0.3, 0.012);
    EXPECT_NEAR(tally.process_seconds[bursts.pid()], 0.51, 0.012);
}

TEST(MeteredUse, IsSharedByThoseWhoWantMoreThanThereIs) {
    MeteredWorld world("a100-40:1");
    const Sleeper first;
    const Sleeper second;
    Tally tally(world);
    ASSERT_TRUE(world.node().run_script(0, first.pid(), script("0s:100%:1Gi,1s:0%")));
    ASSERT_TRUE(world.node().run_script(0, second.pid(), script("0s:60%:1Gi,1s:0%")));
    for (int i = 0; i < 5; ++i) {
        MeteredWorld::pass(300ms);
        tally.look();
    }
    EXPECT_NEAR(tally.gpu_seconds, 1.0, 0.02);
    EXPECT_NEAR(tally.process_seconds[first.pid()], 0.625, 0.02);
    EXPECT_NEAR(tally.process_seconds[second.pid()], 0.375, 0.02);
}

TEST(MeteredUse, ShowsInPowerTemperatureAndEnergy) {
    MeteredWorld world("h100-80:1");
    const auto idle = world.look(0);
    const Sleeper worker;
    ASSERT_TRUE(world.node().set_process(0, worker.pid(), 10 * kGi, 90));
    MeteredWorld::pass(150ms);
    const auto busy = world.look(0);
    MeteredWorld::pass(200ms);
    const auto later = world.look(0);
    ASSERT_TRUE(idle && busy && later);
    EXPECT_GT(busy->metrics.get(Metric::kPowerMilliwatts),
              idle->metrics.get(Metric::kPowerMilliwatts));
    EXPECT_GT(busy->metrics.get(Metric::kTemperatureCelsius),
              idle->metrics.get(Metric::kTemperatureCelsius));
    EXPECT_GT(later->metrics.get(Metric::kEnergyMillijoules),
              busy->metrics.get(Metric::kEnergyMillijoules));
    EXPECT_NEAR(later->metrics.get(Metric::kSmActive).value_or(0), 0.9, 0.001);
    EXPECT_NEAR(later->metrics.get(Metric::kMemoryBandwidthActive).value_or(0), 0.54, 0.001);
    EXPECT_EQ(later->metrics.get(Metric::kContextSwitchActive), 0);
}

TEST(MeteredInstances, TellTheirOwnUse) {
    MeteredWorld world("h100-80:1");
    ASSERT_TRUE(world.node().cut(0, "3g.40gb,1g.10gb*2"));
    const auto devices = world.node().gpus().front().mig_devices;
    ASSERT_THAT(devices, SizeIs(3));
    const Sleeper large;
    const Sleeper small;
    ASSERT_TRUE(world.node().set_process(0, large.pid(), 4 * kGi, 80, devices[0].instance));
    ASSERT_TRUE(world.node().set_process(0, small.pid(), kGi, 40, devices[1].instance));
    ASSERT_TRUE(world.look(0));
    MeteredWorld::pass(200ms);
    const auto reading = world.look(0);
    ASSERT_TRUE(reading) << reading.error().message;
    EXPECT_FALSE(reading->metrics.get(Metric::kGpuBusyPercent));
    ASSERT_THAT(reading->instances, SizeIs(3));
    ASSERT_THAT(*reading->processes, SizeIs(2));
    const MeteredProcess& seen = process_of(*reading, large.pid());
    EXPECT_EQ(seen.gpu_instance, devices[0].instance.gpu_instance);
    EXPECT_EQ(seen.compute_instance, devices[0].instance.compute_instance);
    EXPECT_EQ(seen.memory_bytes, 4 * kGi);
    const std::map<unsigned, std::pair<double, double>> wanted = {
        {devices[0].instance.gpu_instance, {4.0 * kGi, 0.8}},
        {devices[1].instance.gpu_instance, {1.0 * kGi, 0.4}},
        {devices[2].instance.gpu_instance, {0, 0}}};
    for (const auto& instance : reading->instances) {
        const auto [bytes, active] = wanted.at(instance.gpu_instance);
        EXPECT_EQ(instance.metrics.get(Metric::kMemoryUsedBytes), bytes);
        EXPECT_NEAR(instance.metrics.get(Metric::kGraphicsActive).value_or(-1), active, 0.001);
        EXPECT_TRUE(instance.metrics.get(Metric::kBar1TotalBytes));
        EXPECT_FALSE(instance.metrics.get(Metric::kTemperatureCelsius));
    }
}

TEST(MeteredInstances, LoseNoTimeWithAReadingThatNobodyGot) {
    MeteredWorld world("h100-80:1");
    ASSERT_TRUE(world.node().cut(0, "7g.80gb"));
    const auto device = world.node().gpus().front().mig_devices.front();
    const Sleeper worker;
    ASSERT_TRUE(world.node().set_process(0, worker.pid(), kGi, 50, device.instance));
    ASSERT_TRUE(world.look(0));
    MeteredWorld::pass(200ms);
    ASSERT_TRUE(world.look(0));
    MeteredWorld::pass(200ms);
    // The answer comes when its asker has gone.
    ASSERT_TRUE(world.node().inject(0, sim::FaultKind::kHang, 300));
    const gpu::MeterQuestion question{world.uuid(0), {}};
    EXPECT_FALSE(world.meters().read({&question, 1}, 50ms).front());
    std::optional<Reading> reading;
    for (int i = 0; i < 3000 && !reading; ++i) {
        auto answer = world.look(0);
        if (answer) reading = *std::move(answer);
        if (!reading) MeteredWorld::pass(10ms);
    }
    ASSERT_TRUE(reading);
    ASSERT_THAT(reading->instances, SizeIs(1));
    EXPECT_GE(reading->instances.front().averaged, 450ms);
    EXPECT_NEAR(reading->instances.front().metrics.get(Metric::kGraphicsActive).value_or(0), 0.5,
                0.001);
}

TEST(MeteredInstances, OfAmpereTellTheirMemoryOnly) {
    MeteredWorld world("a100-40:1");
    ASSERT_TRUE(world.node().cut(0, "3g.20gb,1g.5gb"));
    const auto devices = world.node().gpus().front().mig_devices;
    const Sleeper worker;
    ASSERT_TRUE(world.node().set_process(0, worker.pid(), 2 * kGi, 40, devices[1].instance));
    ASSERT_TRUE(world.look(0));
    MeteredWorld::pass(150ms);
    const auto reading = world.look(0);
    ASSERT_TRUE(reading);
    EXPECT_FALSE(reading->uses);
    EXPECT_FALSE(reading->gpu_busy);
    ASSERT_THAT(reading->instances, SizeIs(2));
    for (const auto& instance : reading->instances) {
        EXPECT_TRUE(instance.metrics.get(Metric::kMemoryTotalBytes));
        EXPECT_FALSE(instance.metrics.get(Metric::kGraphicsActive));
    }
}

TEST(MeteredInstances, ComeAndGo) {
    MeteredWorld world("h100-80:1");
    const auto whole = world.look(0);
    ASSERT_TRUE(whole);
    EXPECT_TRUE(whole->gpu_busy);
    ASSERT_TRUE(world.node().cut(0, "7g.80gb"));
    const auto one = world.look(0);
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_THAT(one->instances, SizeIs(1));
    EXPECT_FALSE(one->gpu_busy);
    ASSERT_TRUE(world.node().cut(0, "1g.10gb*7"));
    EXPECT_THAT(world.look(0)->instances, SizeIs(7));
    ASSERT_TRUE(world.node().reset(0));  // on Hopper that is the end of MIG mode
    const auto again = world.look(0);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_THAT(again->instances, IsEmpty());
    EXPECT_TRUE(again->gpu_busy) << "what a cut GPU had refused is asked again";
}

}  // namespace
}  // namespace aliquot
