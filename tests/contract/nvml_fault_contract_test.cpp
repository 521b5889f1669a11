// SPDX-License-Identifier: Apache-2.0
//
// What a driver does when a GPU fails. Needs a node that can be told to fail, so it skips itself on
// a real one.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "tests/contract/nvml_library.h"

namespace aliquot::contract {
namespace {

using sim::FaultKind;

constexpr unsigned kLongMs = 60'000;  // longer than any of these tests takes
constexpr std::uint64_t kGi = std::uint64_t{1} << 30;

class NvmlFaults : public NvmlLibrary {
protected:
    void SetUp() override {
        if (is_real()) GTEST_SKIP() << "faults cannot be asked of a real driver";
        make_node({{.model = "a2", .count = 2}});
        initialise();
    }

    nvmlEventSet_t set_for(const std::vector<nvmlDevice_t>& devices) {
        nvmlEventSet_t set = nullptr;
        EXPECT_EQ(CALL(nvmlEventSetCreate)(&set), NVML_SUCCESS);
        for (nvmlDevice_t device : devices) {
            EXPECT_EQ(CALL(nvmlDeviceRegisterEvents)(device, nvmlEventTypeXidCriticalError, set),
                      NVML_SUCCESS);
        }
        return set;
    }

    nvmlReturn_t power_of(nvmlDevice_t device) {
        unsigned milliwatts = 0;
        return CALL(nvmlDeviceGetPowerUsage)(device, &milliwatts);
    }
};

TEST_F(NvmlFaults, WakeWhoWaitsForEvents) {
    const auto all = devices();
    const auto set = set_for(all);
    // From another process, as `aliquot sim fault` does it.
    const pid_t child = ::fork();
    if (child == 0) {
        auto node = sim::Node::open(node_directory());
        ::_exit(node && node->inject(1, FaultKind::kXid, 48) ? 0 : 1);
    }
    nvmlEventData_t data{};
    EXPECT_EQ(CALL(nvmlEventSetWait_v2)(set, &data, kLongMs), NVML_SUCCESS);
    EXPECT_EQ(data.device, all[1]);
    EXPECT_EQ(data.eventType, nvmlEventTypeXidCriticalError);
    EXPECT_EQ(data.eventData, 48U);
    EXPECT_EQ(data.gpuInstanceId, NVML_NO_INSTANCE);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(CALL(nvmlEventSetWait_v2)(set, &data, 0), NVML_ERROR_TIMEOUT);
    EXPECT_EQ(CALL(nvmlEventSetFree)(set), NVML_SUCCESS);
}

TEST_F(NvmlFaults, ReachEveryEventSetOnceAndInOrder) {
    const auto all = devices();
    ASSERT_TRUE(node().inject(0, FaultKind::kXid, 13));  // before anyone listens
    const auto one = set_for(all);
    const auto other = set_for({all[0]});
    ASSERT_TRUE(node().inject(0, FaultKind::kXid, 31));
    ASSERT_TRUE(node().inject(1, FaultKind::kXid, 43));
    ASSERT_TRUE(node().inject(0, FaultKind::kEccCorrected, 1));  // of a type nobody asked for
    ASSERT_TRUE(node().inject(0, FaultKind::kXid, 45));
    const auto xids_of = [&](nvmlEventSet_t set) {
        std::vector<std::uint64_t> xids;
        nvmlEventData_t data{};
        while (CALL(nvmlEventSetWait)(set, &data, 0) == NVML_SUCCESS)
            xids.push_back(data.eventData);
        return xids;
    };
    EXPECT_EQ(xids_of(one), (std::vector<std::uint64_t>{31, 43, 45}));
    EXPECT_EQ(xids_of(other), (std::vector<std::uint64_t>{31, 45}));
    EXPECT_EQ(xids_of(other), std::vector<std::uint64_t>());
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(node().inject(0, FaultKind::kXid, 13));
    const auto flood = xids_of(one).size();
    EXPECT_GT(flood, 0U);  // a flood overwrites the oldest, and nothing else goes wrong
    EXPECT_LT(flood, 1000U);
    EXPECT_EQ(CALL(nvmlEventSetFree)(one), NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlEventSetFree)(other), NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlEventSetFree)(other), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlFaults, LoseExactlyOneGpu) {
    const auto all = devices();
    std::array<char, 96> uuid{};
    ASSERT_EQ(CALL(nvmlDeviceGetUUID)(all[1], uuid.data(), uuid.size()), NVML_SUCCESS);
    ASSERT_TRUE(node().inject(1, FaultKind::kXid, 79));
    unsigned count = 0;
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(CALL(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
    EXPECT_EQ(count, 2U);
    EXPECT_EQ(CALL(nvmlDeviceGetCount)(&count), NVML_SUCCESS);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(CALL(nvmlDeviceGetHandleByIndex_v2)(1, &device), NVML_ERROR_GPU_IS_LOST);
    EXPECT_EQ(CALL(nvmlDeviceGetHandleByUUID)(uuid.data(), &device), NVML_ERROR_GPU_IS_LOST);
    EXPECT_EQ(power_of(all[1]), NVML_ERROR_GPU_IS_LOST);
    EXPECT_EQ(power_of(all[0]), NVML_SUCCESS);
    ASSERT_TRUE(node().inject(1, FaultKind::kClear, 0));
    EXPECT_EQ(power_of(all[1]), NVML_SUCCESS);
}

TEST_F(NvmlFaults, GiveTheErrorThatWasAskedFor) {
    const auto all = devices();
    ASSERT_TRUE(node().inject(0, FaultKind::kCallError, NVML_ERROR_RESET_REQUIRED));
    EXPECT_EQ(power_of(all[0]), NVML_ERROR_RESET_REQUIRED);
    EXPECT_EQ(power_of(all[1]), NVML_SUCCESS);
}

TEST_F(NvmlFaults, HangACallUntilTheyAreCleared) {
    const auto all = devices();
    ASSERT_TRUE(node().inject(0, FaultKind::kHang, 0));
    std::atomic<bool> started = false;
    std::atomic<int> result = -1;
    {
        const std::jthread caller([&] {
            started = true;
            started.notify_one();
            result = power_of(all[0]);
        });
        started.wait(false);
        EXPECT_EQ(power_of(all[1]), NVML_SUCCESS);  // the other GPU is not held up
        EXPECT_EQ(result, -1);
        ASSERT_TRUE(node().inject(0, FaultKind::kClear, 0));
    }
    EXPECT_EQ(result, NVML_SUCCESS);
    ASSERT_TRUE(node().inject(0, FaultKind::kHang, 20));  // ends by itself
    EXPECT_EQ(power_of(all[0]), NVML_SUCCESS);
}

TEST_F(NvmlFaults, CountEccErrorsAndAskForAReset) {
    const auto device = devices().at(0);
    ASSERT_TRUE(node().inject(0, FaultKind::kEccUncorrected, 2));
    ASSERT_TRUE(node().inject(0, FaultKind::kEccCorrected, 5));
    ASSERT_TRUE(node().inject(0, FaultKind::kXid, 48));
    unsigned long long count = 0;
    EXPECT_EQ(CALL(nvmlDeviceGetTotalEccErrors)(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                                NVML_VOLATILE_ECC, &count),
              NVML_SUCCESS);
    EXPECT_EQ(count, 2U);
    EXPECT_EQ(CALL(nvmlDeviceGetTotalEccErrors)(device, NVML_MEMORY_ERROR_TYPE_CORRECTED,
                                                NVML_AGGREGATE_ECC, &count),
              NVML_SUCCESS);
    EXPECT_EQ(count, 5U);
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    EXPECT_EQ(CALL(nvmlDeviceGetRemappedRows)(device, &corrected, &uncorrected, &pending, &failed),
              NVML_SUCCESS);
    EXPECT_EQ(uncorrected, 2U);
    EXPECT_EQ(pending, 1U);
    nvmlFieldValue_t advice{.fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION};
    EXPECT_EQ(CALL(nvmlDeviceGetFieldValues)(device, 1, &advice), NVML_SUCCESS);
    EXPECT_EQ(advice.value.uiVal, static_cast<unsigned>(NVML_GPU_RECOVERY_ACTION_GPU_RESET));
    ASSERT_TRUE(node().inject(0, FaultKind::kClear, 0));
    EXPECT_EQ(CALL(nvmlDeviceGetFieldValues)(device, 1, &advice), NVML_SUCCESS);
    EXPECT_EQ(advice.value.uiVal, static_cast<unsigned>(NVML_GPU_RECOVERY_ACTION_NONE));
}

TEST_F(NvmlFaults, SlowTheClocksDown) {
    const auto device = devices().at(0);
    const auto pid = static_cast<std::uint32_t>(::getpid());
    ASSERT_TRUE(node().set_process(0, pid, kGi, 80));
    unsigned fast = 0;
    unsigned slow = 0;
    unsigned long long reasons = 0;
    EXPECT_EQ(CALL(nvmlDeviceGetClockInfo)(device, NVML_CLOCK_SM, &fast), NVML_SUCCESS);
    ASSERT_TRUE(node().inject(0, FaultKind::kThrottle, nvmlClocksThrottleReasonHwSlowdown));
    EXPECT_EQ(CALL(nvmlDeviceGetClockInfo)(device, NVML_CLOCK_SM, &slow), NVML_SUCCESS);
    EXPECT_LT(slow, fast);
    EXPECT_EQ(CALL(nvmlDeviceGetCurrentClocksEventReasons)(device, &reasons), NVML_SUCCESS);
    EXPECT_EQ(reasons, static_cast<unsigned>(nvmlClocksThrottleReasonHwSlowdown));
    ASSERT_TRUE(node().inject(0, FaultKind::kTemperature, 91));
    unsigned celsius = 0;
    EXPECT_EQ(CALL(nvmlDeviceGetTemperature)(device, NVML_TEMPERATURE_GPU, &celsius), NVML_SUCCESS);
    EXPECT_EQ(celsius, 91U);
}

TEST_F(NvmlFaults, TakeEverythingWhenTheNodeIsGone) {
    const auto all = devices();
    const auto set = set_for(all);
    std::atomic<int> result = -1;
    {
        const std::jthread waiter([&] {
            nvmlEventData_t data{};
            result = CALL(nvmlEventSetWait_v2)(set, &data, kLongMs);
        });
        ASSERT_TRUE(sim::Node::destroy(node_directory()));
    }
    EXPECT_EQ(result, NVML_ERROR_GPU_IS_LOST);
    EXPECT_EQ(power_of(all[0]), NVML_ERROR_GPU_IS_LOST);
    EXPECT_EQ(CALL(nvmlInit_v2)(), NVML_SUCCESS);  // counted only
    EXPECT_EQ(CALL(nvmlShutdown)(), NVML_SUCCESS);
}

TEST_F(NvmlFaults, EndWaitsWhenTheSetIsFreed) {
    const auto set = set_for(devices());
    std::atomic<int> result = -1;
    {
        const std::jthread waiter([&] {
            nvmlEventData_t data{};
            result = CALL(nvmlEventSetWait_v2)(set, &data, kLongMs);
        });
        EXPECT_EQ(CALL(nvmlEventSetFree)(set), NVML_SUCCESS);
    }
    EXPECT_EQ(result, NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlFaults, DoNotHideTheProcessesOfOtherGpus) {
    const auto all = devices();
    const auto pid = static_cast<std::uint32_t>(::getpid());
    ASSERT_TRUE(node().set_process(0, pid, 3 * kGi, 35));
    ASSERT_TRUE(node().inject(1, FaultKind::kLost, 0));
    unsigned count = 0;
    EXPECT_EQ(CALL(nvmlDeviceGetComputeRunningProcesses_v3)(all[0], &count, nullptr),
              NVML_ERROR_INSUFFICIENT_SIZE);
    ASSERT_EQ(count, 1U);
    nvmlProcessInfo_t info{};
    EXPECT_EQ(CALL(nvmlDeviceGetComputeRunningProcesses_v3)(all[0], &count, &info), NVML_SUCCESS);
    EXPECT_EQ(info.pid, pid);
    EXPECT_EQ(info.usedGpuMemory, 3 * kGi);
    nvmlProcessInfo_v1_t old{};
    EXPECT_EQ(CALL(nvmlDeviceGetComputeRunningProcesses)(all[0], &count, &old), NVML_SUCCESS);
    EXPECT_EQ(old.usedGpuMemory, 3 * kGi);
    nvmlProcessUtilizationSample_t sample{};
    EXPECT_EQ(CALL(nvmlDeviceGetProcessUtilization)(all[0], nullptr, &count, 0),
              NVML_ERROR_INSUFFICIENT_SIZE);
    EXPECT_EQ(CALL(nvmlDeviceGetProcessUtilization)(all[0], &sample, &count, 0), NVML_SUCCESS);
    EXPECT_EQ(sample.smUtil, 35U);
    nvmlUtilization_t busy{};
    EXPECT_EQ(CALL(nvmlDeviceGetUtilizationRates)(all[0], &busy), NVML_SUCCESS);
    EXPECT_EQ(busy.gpu, 35U);
}

}  // namespace
}  // namespace aliquot::contract
