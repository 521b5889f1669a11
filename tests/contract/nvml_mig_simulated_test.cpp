// SPDX-License-Identifier: Apache-2.0
//
// What the simulated driver promises of MIG beyond the contract: modes, resets, memory, processes,
// device files, other processes, containers.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "tests/contract/nvml_library.h"

namespace aliquot::contract {
namespace {

constexpr std::uint64_t kGi = std::uint64_t{1} << 30;

class SimulatedMig : public NvmlLibrary {
protected:
    void SetUp() override {
        if (is_real()) GTEST_SKIP() << "about the simulated library";
    }
    std::pair<unsigned, unsigned> mode(nvmlDevice_t device) {
        std::pair<unsigned, unsigned> mode{4711, 4711};
        EXPECT_EQ(CALL(nvmlDeviceGetMigMode)(device, &mode.first, &mode.second), NVML_SUCCESS);
        return mode;
    }
    nvmlReturn_t set_mode(nvmlDevice_t device, unsigned wanted) {
        nvmlReturn_t activation = NVML_ERROR_UNKNOWN;
        EXPECT_EQ(CALL(nvmlDeviceSetMigMode)(device, wanted, &activation), NVML_SUCCESS);
        return activation;
    }
    nvmlDevice_t mig_device(unsigned gpu, unsigned index) {
        nvmlDevice_t found = nullptr;
        EXPECT_EQ(CALL(nvmlDeviceGetMigDeviceHandleByIndex)(device(gpu), index, &found),
                  NVML_SUCCESS);
        return found;
    }
    std::string uuid_of(nvmlDevice_t device) {
        std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> uuid{};
        EXPECT_EQ(CALL(nvmlDeviceGetUUID)(device, uuid.data(), uuid.size()), NVML_SUCCESS);
        return uuid.data();
    }
    std::set<std::string> capability_files() {
        std::set<std::string> names;
        for (const auto& entry :
             std::filesystem::directory_iterator(node_directory() / "dev/nvidia-caps")) {
            names.insert(entry.path().filename().native());
        }
        return names;
    }
    static int in_child(const std::function<void()>& body) {
        const pid_t child = ::fork();
        if (child == 0) {
            body();
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return status;
    }
    const std::uint32_t own_ = static_cast<std::uint32_t>(::getpid());
};

TEST_F(SimulatedMig, ChangesTheModeOfAnAmpereGpuWithAReset) {
    make_node({{.model = "a100-40"}});
    initialise();
    EXPECT_EQ(set_mode(device(0), 1), NVML_ERROR_RESET_REQUIRED);
    EXPECT_EQ(mode(device(0)), std::pair(0U, 1U));
    EXPECT_EQ(set_mode(device(0), 0), NVML_SUCCESS) << "the wish is taken back";
    ASSERT_TRUE(node().set_process(0, own_, kGi, 10));
    EXPECT_EQ(set_mode(device(0), 1), NVML_ERROR_IN_USE);
    EXPECT_EQ(mode(device(0)), std::pair(0U, 1U));
    EXPECT_EQ(node().reset(0).error().code, ErrorCode::kConflict);
    ASSERT_TRUE(node().set_process(0, own_, 0, 0));
    ASSERT_TRUE(node().reset(0));
    EXPECT_EQ(mode(device(0)), std::pair(1U, 1U));
}

TEST_F(SimulatedMig, ChangesTheModeOfANewerGpuAtOnce) {
    make_node({{.model = "h100-80"}, {.model = "a2"}});
    initialise();
    EXPECT_EQ(set_mode(device(0), 1), NVML_SUCCESS);
    EXPECT_EQ(mode(device(0)), std::pair(1U, 1U));
    nvmlFieldValue_t field{};
    field.fieldId = NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED;
    ASSERT_EQ(CALL(nvmlDeviceGetFieldValues)(device(0), 1, &field), NVML_SUCCESS);
    EXPECT_EQ(field.value.uiVal, 1U);
    ASSERT_TRUE(node().reset(0));
    EXPECT_EQ(mode(device(0)), std::pair(0U, 0U)) << "it does not survive a reset";
    nvmlReturn_t activation = NVML_SUCCESS;
    EXPECT_EQ(CALL(nvmlDeviceSetMigMode)(device(1), 1, &activation), NVML_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(CALL(nvmlDeviceSetMigMode)(device(0), 2, &activation), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(SimulatedMig, TellsProfilesWhileTheModeIsOffAsTheDriverDoes) {
    for (const auto* version : {"535.129.03", "580.65.06"}) {
        const bool newer = std::string(version) > "550";
        auto made = sim::Node::create(node_directory(),
                                      {.gpus = {{.model = "a100-40"}}, .driver_version = version},
                                      ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", {});
        ASSERT_TRUE(made) << made.error().message;
        ASSERT_EQ(CALL(nvmlInit_v2)(), NVML_SUCCESS);
        nvmlGpuInstanceProfileInfo_t info{};
        EXPECT_EQ(CALL(nvmlDeviceGetGpuInstanceProfileInfo)(device(0), 0, &info),
                  newer ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
        nvmlFieldValue_t field{};
        field.fieldId = NVML_FI_DEV_IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE;
        ASSERT_EQ(CALL(nvmlDeviceGetFieldValues)(device(0), 1, &field), NVML_SUCCESS);
        EXPECT_EQ(field.value.uiVal, newer ? 1U : 0U);
        EXPECT_EQ(CALL(nvmlShutdown)(), NVML_SUCCESS);
        ASSERT_TRUE(sim::Node::destroy(node_directory()));
    }
}

TEST_F(SimulatedMig, TellsProcessesAndMemoryOfEachDevice) {
    make_node({{.model = "a100-40"}});
    ASSERT_TRUE(node().cut(0, "3g.20gb@0,1g.5gb@4"));
    const auto devices = node().gpus()[0].mig_devices;
    ASSERT_TRUE(node().set_process(0, own_, 2 * kGi, 50, devices[1].instance));
    initialise();
    std::array<nvmlProcessInfo_t, 4> processes{};
    for (nvmlDevice_t shown : {device(0), mig_device(0, 1)}) {
        unsigned count = processes.size();
        ASSERT_EQ(CALL(nvmlDeviceGetComputeRunningProcesses_v3)(shown, &count, processes.data()),
                  NVML_SUCCESS);
        ASSERT_EQ(count, 1U);
        EXPECT_EQ(processes[0].pid, own_);
        EXPECT_EQ(processes[0].gpuInstanceId, 11U);
        EXPECT_EQ(processes[0].computeInstanceId, 0U);
    }
    unsigned none = processes.size();
    EXPECT_EQ(
        CALL(nvmlDeviceGetComputeRunningProcesses_v3)(mig_device(0, 0), &none, processes.data()),
        NVML_SUCCESS);
    EXPECT_EQ(none, 0U);
    nvmlMemory_v2_t memory{.version = nvmlMemory_v2};
    ASSERT_EQ(CALL(nvmlDeviceGetMemoryInfo_v2)(mig_device(0, 1), &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.total, std::uint64_t{4864} << 20);
    EXPECT_EQ(memory.used, 2 * kGi);
    ASSERT_EQ(CALL(nvmlDeviceGetMemoryInfo_v2)(mig_device(0, 0), &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.used, 0U);
    unsigned index = 4711;
    EXPECT_EQ(CALL(nvmlDeviceGetIndex)(mig_device(0, 1), &index), NVML_SUCCESS);
    EXPECT_EQ(index, 1U);
    EXPECT_EQ(CALL(nvmlDeviceGetMinorNumber)(mig_device(0, 1), &index), NVML_ERROR_NOT_SUPPORTED);

    nvmlGpuInstance_t instance = nullptr;
    nvmlComputeInstance_t compute = nullptr;
    ASSERT_EQ(CALL(nvmlDeviceGetGpuInstanceById)(device(0), 11, &instance), NVML_SUCCESS);
    ASSERT_EQ(CALL(nvmlGpuInstanceGetComputeInstanceById)(instance, 0, &compute), NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlComputeInstanceDestroy)(compute), NVML_ERROR_IN_USE);
}

TEST_F(SimulatedMig, SendsXidsWithTheirInstance) {
    make_node({{.model = "a100-40"}});
    ASSERT_TRUE(node().cut(0, "1g.5gb*2"));
    initialise();
    nvmlEventSet_t set = nullptr;
    ASSERT_EQ(CALL(nvmlEventSetCreate)(&set), NVML_SUCCESS);
    ASSERT_EQ(CALL(nvmlDeviceRegisterEvents)(device(0), nvmlEventTypeXidCriticalError, set),
              NVML_SUCCESS);
    const auto where = node().gpus()[0].mig_devices[1].instance;
    ASSERT_TRUE(node().inject(0, sim::FaultKind::kXid, 43, where));
    ASSERT_TRUE(node().inject(0, sim::FaultKind::kXid, 48));
    nvmlEventData_t data{};
    ASSERT_EQ(CALL(nvmlEventSetWait_v2)(set, &data, 5000), NVML_SUCCESS);
    EXPECT_EQ(data.device, device(0));
    EXPECT_EQ(data.eventData, 43U);
    EXPECT_EQ(data.gpuInstanceId, where.gpu_instance);
    EXPECT_EQ(data.computeInstanceId, where.compute_instance);
    ASSERT_EQ(CALL(nvmlEventSetWait_v2)(set, &data, 5000), NVML_SUCCESS);
    EXPECT_EQ(data.gpuInstanceId, NVML_NO_INSTANCE);
    EXPECT_EQ(CALL(nvmlEventSetFree)(set), NVML_SUCCESS);
}

TEST_F(SimulatedMig, KeepsADeviceFileForEachInstance) {
    make_node({{.model = "a100-40", .count = 2}});
    ASSERT_TRUE(node().cut(1, ""));
    initialise();
    const std::set<std::string> none = {"nvidia-cap1", "nvidia-cap2"};
    EXPECT_EQ(capability_files(), none);
    nvmlGpuInstance_t instance = nullptr;
    nvmlComputeInstance_t compute = nullptr;
    ASSERT_EQ(CALL(nvmlDeviceCreateGpuInstance)(device(1), 0, &instance), NVML_SUCCESS);
    EXPECT_EQ(capability_files(),
              (std::set<std::string>{"nvidia-cap1", "nvidia-cap138", "nvidia-cap2"}));
    ASSERT_EQ(CALL(nvmlGpuInstanceCreateComputeInstance)(instance, 4, &compute), NVML_SUCCESS);
    EXPECT_TRUE(capability_files().contains("nvidia-cap139"));
    ASSERT_EQ(CALL(nvmlComputeInstanceDestroy)(compute), NVML_SUCCESS);
    ASSERT_EQ(CALL(nvmlGpuInstanceDestroy)(instance), NVML_SUCCESS);
    EXPECT_EQ(capability_files(), none);
    std::ifstream minors(node_directory() / "proc/driver/nvidia-caps/mig-minors");
    const std::string text{std::istreambuf_iterator<char>(minors), {}};
    EXPECT_TRUE(text.contains("\ngpu1/gi0/access 138\ngpu1/gi0/ci0/access 139\n"));
}

TEST_F(SimulatedMig, LooksTheSameFromOtherProcesses) {
    make_node({{.model = "h100-80"}});
    ASSERT_TRUE(node().cut(0, ""));
    initialise();
    const int status = in_child([&] {
        nvmlGpuInstance_t instance = nullptr;
        nvmlComputeInstance_t compute = nullptr;
        if (CALL(nvmlDeviceCreateGpuInstance)(device(0), 9, &instance) != NVML_SUCCESS) ::_exit(1);
        if (CALL(nvmlGpuInstanceCreateComputeInstance)(instance, 2, &compute) != NVML_SUCCESS) {
            ::_exit(2);
        }
        ::raise(SIGKILL);
    });
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
    nvmlDevice_t made = mig_device(0, 0);
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(uuid_of(made), node().gpus()[0].mig_devices[0].uuid);
    EXPECT_EQ(node().gpus()[0].mig_devices[0].profile, "3g.40gb");
}

TEST_F(SimulatedMig, GivesAContainerOnlyItsOwnDevices) {
    make_node({{.model = "a100-40", .count = 2}});
    ASSERT_TRUE(node().cut(1, "3g.20gb,2g.10gb,1g.5gb"));
    const auto devices = node().gpus()[1].mig_devices;
    ASSERT_TRUE(node().set_process(1, own_, kGi, 0, devices[0].instance));
    for (const std::string& list : {devices[2].uuid, std::string("1:2")}) {
        ::setenv("ALIQUOT_SIM_VISIBLE_DEVICES", list.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
        ASSERT_EQ(CALL(nvmlInit_v2)(), NVML_SUCCESS);
        ASSERT_EQ(this->devices().size(), 1U) << list;
        EXPECT_EQ(uuid_of(mig_device(0, 0)), devices[2].uuid) << list;
        unsigned index = 4711;
        EXPECT_EQ(CALL(nvmlDeviceGetIndex)(mig_device(0, 0), &index), NVML_SUCCESS);
        EXPECT_EQ(index, 0U);
        nvmlDevice_t none = nullptr;
        EXPECT_EQ(CALL(nvmlDeviceGetMigDeviceHandleByIndex)(device(0), 1, &none),
                  NVML_ERROR_NOT_FOUND);
        EXPECT_EQ(CALL(nvmlDeviceGetHandleByUUID)(devices[0].uuid.c_str(), &none),
                  NVML_ERROR_NOT_FOUND);
        unsigned processes = 0;
        EXPECT_EQ(CALL(nvmlDeviceGetComputeRunningProcesses_v3)(device(0), &processes, nullptr),
                  NVML_SUCCESS);
        nvmlGpuInstance_t instance = nullptr;
        EXPECT_EQ(CALL(nvmlDeviceCreateGpuInstance)(device(0), 19, &instance),
                  NVML_ERROR_NO_PERMISSION);
        EXPECT_EQ(CALL(nvmlShutdown)(), NVML_SUCCESS);
        ::unsetenv("ALIQUOT_SIM_VISIBLE_DEVICES");  // NOLINT(concurrency-mt-unsafe)
    }
}

TEST_F(SimulatedMig, StaysWholeUnderManyThreads) {
    make_node({{.model = "a100-40"}});
    ASSERT_TRUE(node().cut(0, ""));
    initialise();
    nvmlDevice_t gpu = device(0);
    std::atomic<unsigned> made = 0;
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&] {
            const auto create = CALL(nvmlDeviceCreateGpuInstance);
            const auto fill = CALL(nvmlGpuInstanceCreateComputeInstance);
            for (int round = 0; round < 50; ++round) {
                nvmlGpuInstance_t instance = nullptr;
                nvmlComputeInstance_t compute = nullptr;
                if (create(gpu, round % 2 == 0 ? 19 : 14, &instance) != NVML_SUCCESS) continue;
                ++made;
                EXPECT_EQ(fill(instance, 0, &compute), NVML_SUCCESS);
                EXPECT_EQ(CALL(nvmlGpuInstanceDestroy)(instance), NVML_ERROR_IN_USE);
                EXPECT_EQ(CALL(nvmlComputeInstanceDestroy)(compute), NVML_SUCCESS);
                EXPECT_EQ(CALL(nvmlGpuInstanceDestroy)(instance), NVML_SUCCESS);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(made, 50U);
    EXPECT_TRUE(node().gpus()[0].mig_devices.empty());
    EXPECT_EQ(capability_files().size(), 2U);
}

TEST_F(SimulatedMig, StaysWholeWhenAWriterIsKilled) {
    make_node({{.model = "a100-40"}});
    ASSERT_TRUE(node().cut(0, ""));
    initialise();
    for (int round = 0; round < 8; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) {
                nvmlGpuInstance_t instance = nullptr;
                nvmlComputeInstance_t compute = nullptr;
                if (CALL(nvmlDeviceCreateGpuInstance)(device(0), 14, &instance) != NVML_SUCCESS) {
                    ::_exit(1);
                }
                (void)CALL(nvmlGpuInstanceCreateComputeInstance)(instance, 1, &compute);
                (void)CALL(nvmlComputeInstanceDestroy)(compute);
                (void)CALL(nvmlGpuInstanceDestroy)(instance);
            }
        }
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (node().gpus()[0].mig_devices.empty()) {  // until it is at work
            ASSERT_LT(std::chrono::steady_clock::now(), deadline);
        }
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << status;
        unsigned taken = 0;
        const auto devices = node().gpus()[0].mig_devices;
        for (const auto& device : devices) {
            const unsigned mine = ((1U << device.size) - 1) << device.start;
            EXPECT_EQ(taken & mine, 0U);
            taken |= mine;
        }
        ASSERT_TRUE(node().cut(0, "7g.40gb"));
        ASSERT_TRUE(node().cut(0, ""));
        EXPECT_EQ(capability_files().size(), 2U);
    }
}

TEST_F(SimulatedMig, MeasuresOneInstance) {
    make_node({{.model = "h100-80"}});
    ASSERT_TRUE(node().cut(0, "3g.40gb,1g.10gb"));
    const auto devices = node().gpus()[0].mig_devices;
    ASSERT_TRUE(node().set_process(0, own_, kGi, 80, devices[0].instance));
    initialise();
    std::array<nvmlGpmSample_t, 2> samples{};
    for (auto& sample : samples) {
        ASSERT_EQ(CALL(nvmlGpmSampleAlloc)(&sample), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvmlGpmMigSampleGet)(device(0), 14, sample), NVML_ERROR_INVALID_ARGUMENT);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // what is measured is time
        ASSERT_EQ(CALL(nvmlGpmMigSampleGet)(device(0), devices[0].instance.gpu_instance, sample),
                  NVML_SUCCESS);
    }
    std::vector<std::byte> room(offsetof(nvmlGpmMetricsGet_t, metrics) + sizeof(nvmlGpmMetric_t));
    auto* const metrics = reinterpret_cast<nvmlGpmMetricsGet_t*>(room.data());
    metrics->version = NVML_GPM_METRICS_GET_VERSION;
    metrics->numMetrics = 1;
    metrics->sample1 = samples[0];
    metrics->sample2 = samples[1];
    metrics->metrics[0].metricId = NVML_GPM_METRIC_SM_UTIL;
    ASSERT_EQ(CALL(nvmlGpmMetricsGet)(metrics), NVML_SUCCESS);
    EXPECT_DOUBLE_EQ(metrics->metrics[0].value, 80);
    for (auto* sample : samples) EXPECT_EQ(CALL(nvmlGpmSampleFree)(sample), NVML_SUCCESS);
}

TEST_F(SimulatedMig, AnswersAMismatchOfDriverAndLibrary) {
    make_node({{.model = "a2"}});
    ASSERT_TRUE(node().inject(0, sim::FaultKind::kDriverMismatch, 0));
    EXPECT_EQ(node().gpus()[0].fault, "driver/library mismatch");
    EXPECT_EQ(CALL(nvmlInit_v2)(), NVML_ERROR_LIB_RM_VERSION_MISMATCH);
    ASSERT_TRUE(node().inject(0, sim::FaultKind::kClear, 0));
    initialise();
}

TEST_F(SimulatedMig, TellsRowsThatCouldNotBeReplaced) {
    make_node({{.model = "a100-40"}});
    initialise();
    ASSERT_TRUE(node().inject(0, sim::FaultKind::kRemapPending, 0));
    ASSERT_TRUE(node().inject(0, sim::FaultKind::kRemapFailed, 0));
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    ASSERT_EQ(
        CALL(nvmlDeviceGetRemappedRows)(device(0), &corrected, &uncorrected, &pending, &failed),
        NVML_SUCCESS);
    EXPECT_EQ(uncorrected, 1U);
    EXPECT_EQ(pending, 1U);
    EXPECT_EQ(failed, 1U);
}

}  // namespace
}  // namespace aliquot::contract
