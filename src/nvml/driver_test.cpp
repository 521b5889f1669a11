// SPDX-License-Identifier: Apache-2.0
#include "nvml/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "nvml/fake_bench.h"
#include "os/temporary_directory.h"

namespace aliquot::nvml {
namespace {

using namespace std::chrono_literals;
using fake::Bench;
using fake::kNew;
using fake::kOld;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

gpu::Uuid uuid(const char* text) { return gpu::Uuid{text}; }

TEST(Driver, TellsAllOfAHealthyNode) {
    const Bench bench(kNew);
    ASSERT_TRUE(
        bench.root().write_atomically("/sys/bus/pci/devices/0000:10:00.0/numa_node", "1\n"));
    ASSERT_TRUE(
        bench.root().write_atomically("/sys/bus/pci/devices/0000:11:00.0/numa_node", "-1\n"));
    const auto driver = bench.driver();
    EXPECT_EQ(bench->inits, 0);  // opening does not talk to the driver
    const auto inventory = driver->enumerate();
    ASSERT_TRUE(inventory) << inventory.error().message;
    EXPECT_EQ(inventory->driver_version, "550.54.15");
    EXPECT_EQ(inventory->cuda_version, 12040);
    ASSERT_EQ(inventory->gpus.size(), 3U);
    const gpu::Gpu expected{.index = 0,
                            .uuid = {"GPU-0"},
                            .minor = 4,
                            .model = "NVIDIA A2",
                            .memory_bytes = 16ULL << 30U,
                            .compute_major = 8,
                            .compute_minor = 6,
                            .pci = {0, 0x10, 0},
                            .pci_device_id = 0x25B610DE,
                            .numa_node = 1};
    EXPECT_EQ(inventory->gpus[0], expected);
    EXPECT_EQ(inventory->gpus[1].numa_node, std::nullopt);
    EXPECT_TRUE(inventory->gpus[2].mig_capable);
    EXPECT_TRUE(inventory->gpus[2].mig_enabled);
    // Two links, none for the switch; same CPU; and a pair that cannot be read.
    EXPECT_THAT(inventory->links, ElementsAre(ElementsAre(0, 200, 20), ElementsAre(200, 0, 10),
                                              ElementsAre(20, 10, 0)));
}

TEST(Driver, SpeaksToTheFirstNvmlToo) {
    const Bench bench(kOld);
    bench->processes = 200;  // more than the first guess
    const auto driver = bench.driver();
    const auto inventory = driver->enumerate();
    ASSERT_TRUE(inventory) << inventory.error().message;
    ASSERT_EQ(inventory->gpus.size(), 3U);
    EXPECT_EQ(inventory->cuda_version, 0);
    EXPECT_TRUE(inventory->gpus[1].health.ok()) << inventory->gpus[1].health.reason;
    EXPECT_EQ(inventory->gpus[1].pci, (gpu::PciAddress{0, 0x11, 0}));
    EXPECT_EQ(inventory->gpus[1].minor, 1U);
    EXPECT_FALSE(inventory->gpus[1].mig_capable);
    EXPECT_EQ(inventory->links[0][1], 10U);

    const auto processes = driver->processes(uuid("GPU-1"));
    ASSERT_TRUE(processes) << processes.error().message;
    ASSERT_EQ(processes->size(), 200U);
    EXPECT_EQ(processes->at(0).memory_bytes, std::nullopt);
    EXPECT_EQ(processes->at(199).memory_bytes, 199'000U);

    const auto sample = driver->sample(uuid("GPU-1"));
    ASSERT_TRUE(sample) << sample.error().message;
    EXPECT_EQ(sample->temperature_celsius, std::nullopt);
    const auto probes = driver->probe({uuid("GPU-2")});
    ASSERT_TRUE(probes);
    EXPECT_TRUE(probes->at(0).answers);
    EXPECT_EQ(probes->at(0).recovery_action, std::nullopt);
    const auto faults = driver->wait_faults(1ms);
    ASSERT_TRUE(faults);
    EXPECT_THAT(*faults, IsEmpty());
}

TEST(Driver, SetsMemoryLimitsOfAGroupWhereTheDriverCan) {
    const Bench bench(kNew);
    const auto driver = bench.driver();
    ASSERT_TRUE(driver->set_memory_limit(uuid("GPU-1"), "/sys/fs/cgroup/pod", 1234));
    EXPECT_EQ(bench->memory_limit, 1234U);
    ASSERT_TRUE(driver->set_memory_limit(uuid("GPU-1"), "/sys/fs/cgroup/pod", 0));
    EXPECT_EQ(bench->memory_limit, ~std::uint64_t{0});
    EXPECT_FALSE(driver->set_memory_limit(uuid("GPU-1"), "/sys/fs/cgroup/other", 5));
    bench->memory_limit_is_cut = true;  // what it keeps is not what it was told
    EXPECT_EQ(driver->set_memory_limit(uuid("GPU-1"), "/sys/fs/cgroup/pod", 5).error().code,
              ErrorCode::kInternal);
    const Bench old(kOld);
    EXPECT_EQ(old.driver()->set_memory_limit(uuid("GPU-1"), "/sys/fs/cgroup/pod", 5).error().code,
              ErrorCode::kUnsupported);
}

TEST(Driver, ReadsLoadAndProcesses) {
    const Bench bench(kNew);
    bench->gpus[1].memory_used = 5;
    const auto driver = bench.driver();
    const auto sample = driver->sample(uuid("GPU-1"));
    ASSERT_TRUE(sample) << sample.error().message;
    EXPECT_EQ(sample->memory_used_bytes, 5U);
    EXPECT_EQ(sample->memory_total_bytes, 16ULL << 30U);
    EXPECT_EQ(sample->gpu_busy_percent, 55U);
    EXPECT_EQ(sample->temperature_celsius, 41U);
    EXPECT_EQ(sample->power_milliwatts, std::nullopt);

    const auto processes = driver->processes(uuid("GPU-1"));
    ASSERT_TRUE(processes) << processes.error().message;
    ASSERT_EQ(processes->size(), 2U);  // 101 is in the compute and the graphics list
    EXPECT_EQ(processes->at(0).pid, 100U);
    EXPECT_EQ(processes->at(0).memory_bytes, std::nullopt);
    EXPECT_FALSE(processes->at(0).graphics);
    EXPECT_TRUE(processes->at(1).graphics);
    EXPECT_EQ(processes->at(1).memory_bytes, 1000U);

    const auto unknown = driver->sample(uuid("GPU-9"));
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
}

TEST(Driver, KeepsTheOthersWhenOneGpuIsLost) {
    const Bench bench(kNew);
    // The kernel still lists the lost one.
    for (const auto* bus : {"10", "11", "12"}) {
        const std::string directory = std::string("/proc/driver/nvidia/gpus/0000:") + bus + ":00.0";
        ASSERT_TRUE(bench.root().write_atomically(
            directory + "/information",
            "Model: \t\t NVIDIA A2\nGPU UUID: \t GPU-" + std::to_string(bus[1] - '0') +
                "\nBus Location: \t 0000:" + bus + ":00.0\nDevice Minor: \t 7\n"));
    }
    bench->gpus[1].handle_error = 15;
    const auto driver = bench.driver();
    const auto inventory = driver->enumerate();
    ASSERT_TRUE(inventory) << inventory.error().message;
    ASSERT_EQ(inventory->gpus.size(), 3U);
    EXPECT_TRUE(inventory->gpus[0].health.ok());
    EXPECT_TRUE(inventory->gpus[2].health.ok());
    const gpu::Gpu& lost = inventory->gpus[1];
    EXPECT_EQ(lost.health.reason, "GPU is lost (NVML error 15)");
    EXPECT_EQ(lost.uuid, uuid("GPU-1"));
    EXPECT_EQ(lost.pci, (gpu::PciAddress{0, 0x11, 0}));
    EXPECT_EQ(lost.minor, 7U);
    EXPECT_EQ(inventory->links[0][1], 200U);  // its peer still sees the links
    EXPECT_EQ(inventory->links[1][2], 10U);

    const auto probes = driver->probe({uuid("GPU-0"), uuid("GPU-1"), uuid("GPU-7")});
    ASSERT_TRUE(probes);
    EXPECT_TRUE(probes->at(0).answers);
    EXPECT_EQ(probes->at(0).recovery_action, 1U);
    EXPECT_FALSE(probes->at(1).answers);
    EXPECT_EQ(probes->at(1).problem, "GPU is lost (NVML error 15)");
    EXPECT_FALSE(probes->at(2).answers);

    // When it is back, NVML must be initialised anew before it says so.
    const int inits = bench->inits;
    bench->gpus[1].handle_error = 0;
    const auto again = driver->enumerate();
    ASSERT_TRUE(again);
    EXPECT_GT(bench->inits, inits);
    EXPECT_TRUE(again->gpus[1].health.ok());
}

TEST(Driver, NamesTheErrorOfAGpuThatFailsInTheMiddle) {
    const Bench bench(kNew);
    const auto driver = bench.driver();
    ASSERT_TRUE(driver->enumerate());
    bench->gpus[2].error = 999;
    const auto inventory = driver->enumerate();
    ASSERT_TRUE(inventory) << inventory.error().message;
    EXPECT_TRUE(inventory->gpus[0].health.ok());
    EXPECT_THAT(inventory->gpus[2].health.reason, HasSubstr("999"));
    const auto sample = driver->sample(uuid("GPU-2"));
    ASSERT_FALSE(sample);
    EXPECT_EQ(sample.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(sample.error().message, HasSubstr("GPU-2"));
    EXPECT_TRUE(driver->sample(uuid("GPU-0")));
}

TEST(Driver, SaysHowToMendAVersionMismatchAndRecoversFromIt) {
    const Bench bench(kNew);
    ASSERT_TRUE(bench.root().write_atomically("/proc/driver/nvidia/version",
                                              "NVRM version: NVIDIA UNIX x86_64 Kernel Module  "
                                              "535.129.03  Thu Oct 19\nGCC version: 12\n"));
    bench->init_error = 18;
    const auto driver = bench.driver();
    const auto inventory = driver->enumerate();
    ASSERT_FALSE(inventory);
    EXPECT_EQ(inventory.error().code, ErrorCode::kConflict);
    EXPECT_THAT(inventory.error().message, HasSubstr("535.129.03"));
    EXPECT_THAT(inventory.error().message, HasSubstr("reboot"));
    bench->init_error = 0;
    EXPECT_TRUE(driver->enumerate());
}

TEST(Driver, NoticesAKernelModuleThatIsReplacedUnderIt) {
    const Bench bench(kNew);
    const auto load = [&bench](const std::string& version) {
        ASSERT_TRUE(bench.root().write_atomically(
            "/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " +
                                               version + "  Thu Oct 19\nGCC version: 12\n"));
    };
    load("535.129.03");
    const auto driver = bench.driver();
    ASSERT_TRUE(driver->enumerate());
    ASSERT_TRUE(driver->probe({uuid("GPU-0")}));
    load("580.65.06");
    bench->init_error = 18;
    const auto conflict = driver->probe({uuid("GPU-0")});
    ASSERT_FALSE(conflict);
    EXPECT_EQ(conflict.error().code, ErrorCode::kConflict);
    EXPECT_THAT(conflict.error().message, HasSubstr("580.65.06"));
    EXPECT_FALSE(driver->enumerate());
    bench->init_error = 0;  // the library has followed
    EXPECT_TRUE(driver->probe({uuid("GPU-0")}));
}

TEST(Driver, OpensTheLibraryAnewWhenTheDriverWasReplaced) {
    const Bench bench(kNew);
    bench->init_error = 18;
    bench->init_errors_left = 1;  // the old library does not fit, the new one does
    const auto driver = bench.driver();
    const auto inventory = driver->enumerate();
    ASSERT_TRUE(inventory) << inventory.error().message;
    EXPECT_EQ(inventory->gpus.size(), 3U);
}

TEST(Driver, SaysThatTheDriverIsNotLoaded) {
    const Bench bench(kNew);
    bench->init_error = 9;
    const auto driver = bench.driver();
    const auto sample = driver->sample(uuid("GPU-0"));
    ASSERT_FALSE(sample);
    EXPECT_THAT(sample.error().message, HasSubstr("modprobe nvidia"));
}

TEST(Driver, StartsAgainAfterTheDriverWasReloaded) {
    const Bench bench(kNew);
    const auto driver = bench.driver();
    ASSERT_TRUE(driver->enumerate());
    bench->initialised = 0;  // every call answers "uninitialised"
    const auto sample = driver->sample(uuid("GPU-0"));
    ASSERT_TRUE(sample) << sample.error().message;
    EXPECT_EQ(bench->inits, 2);
}

TEST(Driver, WakesForAFaultAndLetsOthersAskMeanwhile) {
    const Bench bench(kNew);
    const auto driver = bench.driver();
    auto faults = std::async(std::launch::async, [&driver] { return driver->wait_faults(60s); });
    while (bench->waits < 2) std::this_thread::yield();  // one wait is several short ones
    EXPECT_TRUE(driver->sample(uuid("GPU-1")));
    bench->xid_gpu = 1;
    bench->xid = 79;
    const auto seen = faults.get();
    ASSERT_TRUE(seen) << seen.error().message;
    ASSERT_EQ(seen->size(), 1U);
    EXPECT_EQ(seen->at(0).gpu, uuid("GPU-1"));
    EXPECT_EQ(seen->at(0).xid, 79U);
    EXPECT_EQ(seen->at(0).gpu_instance, std::nullopt);
    EXPECT_FALSE(seen->at(0).reconfigured);
    const auto quiet = driver->wait_faults(1ms);
    ASSERT_TRUE(quiet);
    EXPECT_THAT(*quiet, IsEmpty());
}

TEST(Driver, ListensToEveryGpuBeforeItsFirstWaitEnds) {
    const Bench bench(kNew);
    const auto driver = bench.driver();
    ASSERT_TRUE(driver->wait_faults(0ms));
    EXPECT_GE(bench->waits, bench->count);
}

TEST(Driver, HearsFaultsAfterTheSetOfGpusChanged) {
    const Bench bench(kNew);
    bench->count = 1;
    const auto driver = bench.driver();
    ASSERT_TRUE(driver->wait_faults(1ms));
    bench->count = 2;
    ASSERT_EQ(driver->enumerate()->gpus.size(), 2U);
    bench->xid_gpu = 1;
    bench->xid = 48;
    const auto seen = driver->wait_faults(30s);
    ASSERT_TRUE(seen);
    ASSERT_EQ(seen->size(), 1U);
    EXPECT_EQ(seen->at(0).gpu, uuid("GPU-1"));
}

TEST(Driver, TellsTheMigDeviceOfAFaultAndThatInstancesChanged) {
    const Bench bench(kNew);
    const auto driver = bench.driver();
    bench->xid_gpu = 2;
    bench->xid_instance = 3;
    bench->xid = 94;
    auto seen = driver->wait_faults(30s);
    ASSERT_TRUE(seen && seen->size() == 1);
    EXPECT_EQ(seen->at(0).gpu_instance, 3U);
    EXPECT_EQ(seen->at(0).compute_instance, 3U);
    bench->event_type = 0x100;
    bench->xid = 1;
    seen = driver->wait_faults(30s);
    ASSERT_TRUE(seen && seen->size() == 1);
    EXPECT_TRUE(seen->at(0).reconfigured);
    EXPECT_EQ(seen->at(0).xid, 0U);
}

TEST(Driver, TellsWhatAHypervisorDoes) {
    const Bench bench(kNew);
    bench->virtualization = 2;
    const auto inventory = bench.driver()->enumerate();
    ASSERT_TRUE(inventory) << inventory.error().message;
    EXPECT_EQ(inventory->gpus[0].virtualization, gpu::Virtualization::kVgpuGuest);
}

TEST(Driver, NamesTheLibraryItDoesNotFind) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    const auto absent = Driver::open(root, {.driver_root = "/run/nvidia/driver"});
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(absent.error().message, HasSubstr("libnvidia-ml.so.1 in "));
    EXPECT_THAT(absent.error().message, HasSubstr("run/nvidia/driver/usr/lib64 and "));
    const auto other = Driver::open(os::Root("/"), {.driver_root = "libc.so.6"});
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace aliquot::nvml
