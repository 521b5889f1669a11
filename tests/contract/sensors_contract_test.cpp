// SPDX-License-Identifier: Apache-2.0
//
// What every gpu::Sensors promises, asked of nvml::Driver over the simulated libnvidia-ml.so.1.
// With ALIQUOT_CONTRACT_DRIVER_ROOT set, the questions that change nothing are also put to the
// driver installed there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <future>
#include <set>
#include <thread>

#include "gpu/hardware.h"
#include "tests/contract/driver_world.h"

namespace aliquot {
namespace {

using contract::World;

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

void check_inventory(gpu::Sensors& sensors, std::size_t at_least) {
    const auto inventory = sensors.enumerate();
    ASSERT_TRUE(inventory) << inventory.error().message;
    EXPECT_FALSE(inventory->driver_version.empty());
    EXPECT_GE(inventory->cuda_version, 10000);
    EXPECT_GE(inventory->gpus.size(), at_least);
    std::set<std::string> uuids;
    std::set<unsigned> minors;
    for (std::size_t i = 0; i < inventory->gpus.size(); ++i) {
        const gpu::Gpu& gpu = inventory->gpus[i];
        EXPECT_EQ(gpu.index, i);
        EXPECT_TRUE(gpu.health.ok()) << gpu.health.reason;
        EXPECT_THAT(gpu.uuid.text, testing::StartsWith("GPU-"));
        EXPECT_TRUE(uuids.insert(gpu.uuid.text).second);
        EXPECT_TRUE(minors.insert(gpu.minor).second);
        EXPECT_FALSE(gpu.model.empty());
        EXPECT_EQ(gpu.pci_device_id & 0xffffU, 0x10deU);
        EXPECT_EQ(inventory->find(gpu.uuid), &gpu);
    }
    ASSERT_EQ(inventory->links.size(), inventory->gpus.size());
    for (std::size_t i = 0; i < inventory->links.size(); ++i) {
        ASSERT_EQ(inventory->links[i].size(), inventory->gpus.size());
        for (std::size_t j = 0; j < inventory->links.size(); ++j) {
            EXPECT_EQ(inventory->links[i][j], inventory->links[j][i]);
            EXPECT_EQ(inventory->links[i][j] == 0, i == j);
        }
    }
    const auto again = sensors.enumerate();
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *inventory);
}

void check_readings(gpu::Sensors& sensors) {
    const auto inventory = sensors.enumerate();
    ASSERT_TRUE(inventory);
    std::vector<gpu::Uuid> all;
    for (const gpu::Gpu& gpu : inventory->gpus) {
        all.push_back(gpu.uuid);
        const auto sample = sensors.sample(gpu.uuid);
        ASSERT_TRUE(sample) << sample.error().message;
        EXPECT_EQ(sample->memory_total_bytes, gpu.memory_bytes);
        EXPECT_LE(sample->memory_used_bytes, sample->memory_total_bytes);
        EXPECT_LE(sample->gpu_busy_percent.value_or(0), 100U);
        EXPECT_TRUE(sensors.processes(gpu.uuid));
    }
    all.push_back({"GPU-00000000-0000-0000-0000-000000000000"});
    const auto probes = sensors.probe(all);
    ASSERT_TRUE(probes) << probes.error().message;
    ASSERT_EQ(probes->size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(probes->at(i).gpu, all[i]);
        EXPECT_EQ(probes->at(i).answers, i + 1 < all.size()) << probes->at(i).problem;
    }
    EXPECT_FALSE(probes->back().problem.empty());
    const auto unknown = sensors.sample(all.back());
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
    const auto faults = sensors.wait_faults(1ms);
    ASSERT_TRUE(faults) << faults.error().message;
    EXPECT_THAT(*faults, IsEmpty());
}

class SensorsOf : public testing::TestWithParam<const char*> {};

TEST_P(SensorsOf, DescribeTheNode) {
    World world(GetParam());
    check_inventory(world.sensors(), world.node().gpus().size());
}
TEST_P(SensorsOf, ReadEveryGpu) {
    World world(GetParam());
    check_readings(world.sensors());
}
INSTANTIATE_TEST_SUITE_P(Models, SensorsOf,
                         testing::Values("a2:2", "gtx-1070:1", "h100-80:8", "t4:4"),
                         [](const auto& test) {
                             std::string name = test.param;
                             std::replace_if(
                                 name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                                 '_');
                             return name;
                         });

TEST(Sensors, AnswerOnTheInstalledDriver) {
    const char* const root =
        std::getenv("ALIQUOT_CONTRACT_DRIVER_ROOT");  // NOLINT(concurrency-mt-unsafe)
    if (root == nullptr) GTEST_SKIP() << "ALIQUOT_CONTRACT_DRIVER_ROOT is not set";
    const os::Root host;
    auto driver = nvml::Driver::open(host, {.driver_root = root});
    ASSERT_TRUE(driver) << driver.error().message;
    check_inventory(**driver, 0);
    check_readings(**driver);
}

TEST(Sensors, AgreeWithTheNodeAboutItsGpus) {
    World world("a2:2");
    const auto inventory = world.sensors().enumerate();
    ASSERT_TRUE(inventory) << inventory.error().message;
    const auto views = world.node().gpus();
    ASSERT_EQ(inventory->gpus.size(), views.size());
    for (std::size_t i = 0; i < views.size(); ++i) {
        EXPECT_EQ(inventory->gpus[i].uuid.text, views[i].uuid);
        EXPECT_EQ(inventory->gpus[i].model, views[i].product);
        EXPECT_EQ(inventory->gpus[i].memory_bytes, views[i].memory_total_bytes);
        EXPECT_TRUE(inventory->gpus[i].numa_node.has_value());
    }
    EXPECT_EQ(inventory->gpus[0].compute_major, 8U);
    EXPECT_EQ(world.driver().library_path(),
              (world.directory() / "lib" / "libnvidia-ml.so.1").native());
}

TEST(Sensors, SeeProcessesWithTheirMemory) {
    World world("a2:2");
    const auto inventory = world.sensors().enumerate();
    ASSERT_TRUE(inventory);
    const auto pid = static_cast<std::uint32_t>(::getpid());
    const auto before = world.sensors().sample(inventory->gpus[1].uuid);
    ASSERT_TRUE(world.node().set_process(1, pid, 256ULL << 20U, 30));
    const auto processes = world.sensors().processes(inventory->gpus[1].uuid);
    ASSERT_TRUE(processes) << processes.error().message;
    ASSERT_EQ(processes->size(), 1U);
    EXPECT_EQ(processes->at(0).pid, pid);
    EXPECT_EQ(processes->at(0).memory_bytes, 256ULL << 20U);
    EXPECT_FALSE(processes->at(0).graphics);
    const auto after = world.sensors().sample(inventory->gpus[1].uuid);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(after->memory_used_bytes - before->memory_used_bytes, 256ULL << 20U);
    EXPECT_THAT(*world.sensors().processes(inventory->gpus[0].uuid), IsEmpty());
}

TEST(Sensors, ReportAnXidWhileOthersAsk) {
    World world("a2:2");
    const auto inventory = world.sensors().enumerate();
    ASSERT_TRUE(inventory);
    ASSERT_TRUE(world.sensors().wait_faults(1ms));  // listens from now on
    auto waiting = std::async(std::launch::async, [&] { return world.sensors().wait_faults(60s); });
    EXPECT_TRUE(world.sensors().sample(inventory->gpus[0].uuid));
    ASSERT_TRUE(world.node().inject(1, sim::FaultKind::kXid, 48));
    const auto faults = waiting.get();
    ASSERT_TRUE(faults) << faults.error().message;
    ASSERT_FALSE(faults->empty());
    EXPECT_EQ(faults->front().gpu, inventory->gpus[1].uuid);
    EXPECT_EQ(faults->front().xid, 48U);
}

TEST(Sensors, KeepTheOthersWhenOneGpuIsLostAndFindItAgain) {
    World world("a2:3");
    const auto before = world.sensors().enumerate();
    ASSERT_TRUE(before);
    const gpu::Uuid lost = before->gpus[1].uuid;
    ASSERT_TRUE(world.node().inject(1, sim::FaultKind::kLost, 0));
    const auto during = world.sensors().enumerate();
    ASSERT_TRUE(during) << during.error().message;
    ASSERT_EQ(during->gpus.size(), 3U);
    EXPECT_TRUE(during->gpus[0].health.ok());
    EXPECT_TRUE(during->gpus[2].health.ok());
    EXPECT_THAT(during->gpus[1].health.reason, HasSubstr("lost"));
    EXPECT_EQ(during->gpus[1].uuid, lost);  // the kernel's files still name it
    const auto sample = world.sensors().sample(lost);
    ASSERT_FALSE(sample);
    EXPECT_EQ(sample.error().code, ErrorCode::kUnavailable);
    const auto probes = world.sensors().probe({lost, before->gpus[0].uuid});
    ASSERT_TRUE(probes);
    EXPECT_FALSE(probes->at(0).answers);
    EXPECT_THAT(probes->at(0).problem, HasSubstr("lost"));
    EXPECT_TRUE(probes->at(1).answers);

    ASSERT_TRUE(world.node().inject(1, sim::FaultKind::kClear, 0));
    const auto after = world.sensors().probe({lost});
    ASSERT_TRUE(after);
    EXPECT_TRUE(after->at(0).answers) << after->at(0).problem;
    EXPECT_EQ(*world.sensors().enumerate(), *before);
}

TEST(Sensors, NameTheErrorOfAFailingGpu) {
    World world("a2:2");
    ASSERT_TRUE(world.node().inject(0, sim::FaultKind::kCallError, 999));
    const auto inventory = world.sensors().enumerate();
    ASSERT_TRUE(inventory);
    EXPECT_THAT(inventory->gpus[0].health.reason, HasSubstr("999"));
    EXPECT_TRUE(inventory->gpus[1].health.ok());
}

TEST(Sensors, EndTheirCallsWhenTheDriverHangs) {
    World world("a2:2", 300ms);
    const auto inventory = world.sensors().enumerate();
    ASSERT_TRUE(inventory) << inventory.error().message;
    ASSERT_TRUE(world.node().inject(0, sim::FaultKind::kHang, 0));
    const auto hung = world.sensors().sample(inventory->gpus[0].uuid);
    ASSERT_FALSE(hung);
    EXPECT_EQ(hung.error().code, ErrorCode::kUnavailable);
    // The other one goes on, and this one is said to hang.
    bool unhealthy = false;
    for (int i = 0; i < 3000 && !unhealthy; ++i) {
        const auto meanwhile = world.sensors().enumerate();
        ASSERT_TRUE(meanwhile) << meanwhile.error().message;
        EXPECT_TRUE(meanwhile->gpus[1].health.ok()) << meanwhile->gpus[1].health.reason;
        unhealthy = !meanwhile->gpus[0].health.ok();
        EXPECT_EQ(meanwhile->gpus[0].uuid, inventory->gpus[0].uuid);
    }
    EXPECT_TRUE(unhealthy);
    EXPECT_TRUE(world.sensors().sample(inventory->gpus[1].uuid));
    ASSERT_TRUE(world.node().inject(0, sim::FaultKind::kClear, 0));
    bool back = false;
    for (int i = 0; i < 3000 && !back; ++i) {
        back = world.sensors().sample(inventory->gpus[0].uuid).ok();
        if (!back) std::this_thread::sleep_for(10ms);
    }
    EXPECT_TRUE(back);
}

TEST(Sensors, SayThatTheDriverIsGone) {
    World world("a2:1");
    const auto before = world.sensors().enumerate();
    ASSERT_TRUE(before);
    ASSERT_TRUE(sim::Node::destroy(world.directory()));
    const auto inventory = world.sensors().enumerate();
    if (inventory) {  // "every GPU is lost" is as good an answer as "no driver"
        for (const auto& gpu : inventory->gpus) EXPECT_FALSE(gpu.health.ok());
    } else {
        EXPECT_EQ(inventory.error().code, ErrorCode::kUnavailable);
    }
}

}  // namespace
}  // namespace aliquot
