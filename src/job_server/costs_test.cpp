// SPDX-License-Identifier: Apache-2.0
#include "job_server/costs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "os/temporary_directory.h"

namespace aliquot::job_server {
namespace {

class CostsTest : public testing::Test {
protected:
    std::unique_ptr<Costs> open(std::vector<Device> devices, std::function<UseLook()> look = {}) {
        CostsOptions options;
        options.where = (directory_.path() / "cost.sqlite").native();
        options.prices.version = "test 1";
        options.prices.rules = {{.rate = 3'600'000'000}};
        options.machine.name = "here";
        options.devices = std::move(devices);
        options.look = std::move(look);
        options.look_every = std::chrono::hours(24);
        auto opened = Costs::open(std::move(options));
        EXPECT_TRUE(opened.ok()) << (opened ? "" : opened.error().message);
        return *std::move(opened);
    }
    static Record record(const Device& device, jobs::State state) {
        Record one;
        one.id = 7;
        one.user.name = "ann";
        one.request.name = "train";
        one.request.queue = "night";
        one.state = state;
        one.attempt = 1;
        one.devices = {device.uuid};
        return one;
    }
    static cost::Report report(Costs& costs, cost::By by) {
        const auto now = costs.accounts().now();
        const auto made =
            costs.accounts().report({.by = by, .begin = now - cost::kDayMs, .end = now + 1});
        EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message);
        return made ? *made : cost::Report{};
    }
    static void let_time_pass(Costs& costs) {
        const auto begin = costs.accounts().now();
        while (costs.accounts().now() < begin + 5) ::usleep(1'000);
    }
    os::TemporaryDirectory directory_;
};

TEST_F(CostsTest, AJobIsItsUsersFromStartToEnd) {
    const auto devices = *simulated_devices("a2:2", 0);
    const auto costs = open(devices);
    costs->told(record(devices[0], jobs::State::kStarting));
    let_time_pass(*costs);
    costs->told(record(devices[0], jobs::State::kSucceeded));
    let_time_pass(*costs);
    ASSERT_TRUE(costs->accounts().tend().ok());
    const auto by_user = report(*costs, cost::By::kUser);
    ASSERT_EQ(by_user.lines.size(), 2U);
    EXPECT_EQ(by_user.lines[0].key, "ann");
    EXPECT_GE(by_user.lines[0].sums.total(), 5 * 400);  // half of 1000 each millisecond
    EXPECT_LT(by_user.lines[0].sums.total(), by_user.bill);
    EXPECT_EQ(report(*costs, cost::By::kQueue).lines[0].key, "night");
    EXPECT_EQ(report(*costs, cost::By::kJob).lines[0].key, "train");
}

TEST_F(CostsTest, AShareIsPaidByItsPart) {
    const auto devices = *simulated_devices("a2", 0);
    const auto costs = open(devices);
    Record half = record(devices[0], jobs::State::kRunning);
    half.request.gpu_compute = 50;
    costs->told(half);
    let_time_pass(*costs);
    half.state = jobs::State::kFailed;
    costs->told(half);
    ASSERT_TRUE(costs->accounts().tend().ok());
    const auto lines = report(*costs, cost::By::kUser).lines;
    ASSERT_EQ(lines.size(), 2U);
    const auto gpu_ms = [](const cost::Line& line) {
        std::int64_t sum = 0;
        for (const auto one : line.sums.gpu_ms) sum += one;
        return sum;
    };
    EXPECT_LE(gpu_ms(lines[0]), gpu_ms(lines[1]) + 1);
}

TEST_F(CostsTest, AMigDeviceIsAPartOfItsGpu) {
    Device first{.index = "0:0", .uuid = "MIG-1", .model = "A100 3g.20gb", .is_mig = true};
    first.gpu = "GPU-1";
    first.gpu_model = "A100";
    first.share = cost::kWholeGpu / 2;
    Device second = first;
    second.uuid = "MIG-2";
    const auto costs = open({first, second});
    costs->told(record(first, jobs::State::kRunning));
    let_time_pass(*costs);
    costs->told(record(first, jobs::State::kSucceeded));
    ASSERT_TRUE(costs->accounts().tend().ok());
    const auto made = report(*costs, cost::By::kGpu);
    ASSERT_EQ(made.lines.size(), 2U);
    EXPECT_EQ(made.lines[0].key, "MIG-1");
    EXPECT_EQ(made.lines[1].key, "GPU-1");
    EXPECT_EQ(report(*costs, cost::By::kModel).lines[0].key, "A100");
}

TEST_F(CostsTest, WhatAJobHasUsedIsItsOwn) {
    const auto devices = *simulated_devices("a2", 0);
    const std::string uuid = devices[0].uuid;
    const auto costs = open(devices, [uuid] {
        UseLook look;
        look.devices[uuid] = {.busy_us = 0,
                              .measured_us = 1'000'000,
                              .energy_millijoules = 3'600,
                              .gpu_memory_mib = 900};
        return look;
    });
    costs->told(record(devices[0], jobs::State::kRunning));
    let_time_pass(*costs);
    ASSERT_TRUE(costs->accounts().tend().ok());
    costs->told(record(devices[0], jobs::State::kSucceeded));
    ASSERT_TRUE(costs->accounts().tend().ok());
    const auto lines = report(*costs, cost::By::kUser).lines;
    EXPECT_GT(lines.at(0).sums.energy_millijoules, 0U);  // it was looked at once or twice
    EXPECT_EQ(lines.at(0).sums.energy_millijoules % 3'600, 0U);
    EXPECT_EQ(lines.at(0).sums.total(), lines.at(0).sums.idle());
}

TEST_F(CostsTest, OfASharedGpuOnlyOwnProcessesCount) {
    const auto devices = *simulated_devices("a2", 0);
    const std::string uuid = devices[0].uuid;
    const auto costs = open(devices, [uuid] {
        UseLook look;
        look.devices[uuid] = {.busy_us = 900'000,
                              .measured_us = 1'000'000,
                              .energy_millijoules = 9'000,
                              .gpu_memory_mib = 900};
        look.processes = {
            {.pid = static_cast<std::uint32_t>(::getpid()),
             .device = uuid,
             .use = {.busy_us = 300'000, .gpu_memory_mib = 300}},
            {.pid = 1, .device = uuid, .use = {.busy_us = 600'000, .gpu_memory_mib = 600}}};
        return look;
    });
    Record half = record(devices[0], jobs::State::kRunning);
    half.request.gpu_compute = 50;
    half.runner = ::getpid();
    costs->told(half);
    let_time_pass(*costs);
    ASSERT_TRUE(costs->accounts().tend().ok());
    half.state = jobs::State::kSucceeded;
    costs->told(half);
    ASSERT_TRUE(costs->accounts().tend().ok());
    const auto lines = report(*costs, cost::By::kUser).lines;
    EXPECT_GT(lines.at(0).sums.energy_millijoules, 0U);
    EXPECT_EQ(lines.at(0).sums.energy_millijoules % 3'000, 0U);
    EXPECT_EQ(lines.at(0).sums.idle(), 0);
}

TEST_F(CostsTest, AStepThatMeetsALookWaitsForNothing) {
    const auto devices = *simulated_devices("a2", 0);
    const auto costs = open(devices, [uuid = devices[0].uuid] {
        return UseLook{.devices = {{uuid, {.busy_us = 1, .measured_us = 2}}}, .processes = {}};
    });
    std::atomic<bool> done{false};
    std::jthread looks([&] {
        while (!done) EXPECT_TRUE(costs->accounts().tend().ok());
    });
    for (int i = 0; i < 2'000; ++i) {
        costs->told(record(devices[0], jobs::State::kRunning));
        costs->told(record(devices[0], jobs::State::kSucceeded));
    }
    done = true;
}

TEST_F(CostsTest, ForecastsByTheMachinesPrice) {
    const auto costs = open(*simulated_devices("a2:4", 0));
    jobs::Request request;
    request.gpu_count = 2;
    request.deadline_seconds = 3'600;
    EXPECT_EQ(costs->forecast(request, {}).most, 1'800'000'000);
}

TEST(Ancestry, IsFollowedUp) {
    const auto self = static_cast<std::uint32_t>(::getpid());
    EXPECT_TRUE(is_below(self, self));
    EXPECT_TRUE(is_below(self, static_cast<std::uint32_t>(::getppid())) || ::getppid() <= 1);
    EXPECT_FALSE(is_below(static_cast<std::uint32_t>(::getppid()), self));
    EXPECT_FALSE(is_below(4'000'000'000U, self));
}

}  // namespace
}  // namespace aliquot::job_server
