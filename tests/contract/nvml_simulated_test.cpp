// SPDX-License-Identifier: Apache-2.0
//
// What the simulated library promises beyond a driver: which node and GPUs a process sees, the
// machines' shapes, and that every name a client could bind exists.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "os/spawner.h"
#include "sim/node/shared_state.h"
#include "tests/contract/nvml_library.h"

namespace aliquot::contract {
namespace {

constexpr std::uint64_t kGi = std::uint64_t{1} << 30;

class SimulatedNvml : public NvmlLibrary {
protected:
    void SetUp() override {
        if (is_real()) GTEST_SKIP() << "about the simulated library";
    }
    static void set_environment(const char* name, const std::string& value) {
        ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    }
};

TEST_F(SimulatedNvml, AnswersEveryNameThatADriverHas) {
    make_node({{.model = "a2"}});
    const std::vector<const char*> names = {
#define UNSUPPORTED(name) #name,
#include "sim/nvml/unsupported.inc"
#undef UNSUPPORTED
    };
    EXPECT_GT(names.size(), 150U);
    EXPECT_TRUE(std::ranges::is_sorted(names, [](const char* a, const char* b) {
        return std::string_view(a) < std::string_view(b);
    }));
    for (const char* name : names) {
        ASSERT_TRUE(has(name)) << name;
        EXPECT_EQ(function<nvmlReturn_t (*)()>(name)(), NVML_ERROR_UNINITIALIZED) << name;
    }
    initialise();
    for (const char* name : names) {
        EXPECT_EQ(function<nvmlReturn_t (*)()>(name)(), NVML_ERROR_NOT_SUPPORTED) << name;
    }
}

TEST_F(SimulatedNvml, IsNotLoadedWithoutANode) {
    EXPECT_EQ(CALL(nvmlInit_v2)(), NVML_ERROR_DRIVER_NOT_LOADED);
}

TEST_F(SimulatedNvml, RefusesTheNodeOfAnotherVersion) {
    std::filesystem::create_directories(node_directory());
    std::ofstream(node_directory() / sim::kStateFile) << "something else";
    EXPECT_EQ(CALL(nvmlInit_v2)(), NVML_ERROR_LIB_RM_VERSION_MISMATCH);
}

TEST_F(SimulatedNvml, FindsTheNodeThatItLiesIn) {
    make_node({{.model = "t4"}});
    ::unsetenv("ALIQUOT_SIM_STATE");  // NOLINT(concurrency-mt-unsafe)
    const auto library =
        os::DynamicLibrary::open({(node_directory() / "lib/libnvidia-ml.so.1").native()});
    ASSERT_TRUE(library) << library.error().message;
    const auto init = reinterpret_cast<decltype(&nvmlInit_v2)>(library->symbol("nvmlInit_v2"));
    const auto stop = reinterpret_cast<decltype(&nvmlShutdown)>(library->symbol("nvmlShutdown"));
    EXPECT_EQ(init(), NVML_SUCCESS);
    EXPECT_EQ(stop(), NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlInit_v2)(), NVML_ERROR_DRIVER_NOT_LOADED);  // the built one lies elsewhere
}

TEST_F(SimulatedNvml, HidesGpusAsAContainerRuntimeDoes) {
    make_node({{.model = "a2", .count = 3}});
    const auto third = node().gpus()[2].uuid;
    const auto names_seen = [&](const std::string& list) {
        set_environment("ALIQUOT_SIM_VISIBLE_DEVICES", list);
        EXPECT_EQ(CALL(nvmlInit_v2)(), NVML_SUCCESS);
        std::string seen;
        for (nvmlDevice_t device : devices()) {
            unsigned minor = 0;
            EXPECT_EQ(CALL(nvmlDeviceGetMinorNumber)(device, &minor), NVML_SUCCESS);
            seen += std::to_string(minor);
        }
        EXPECT_EQ(CALL(nvmlShutdown)(), NVML_SUCCESS);
        ::unsetenv("ALIQUOT_SIM_VISIBLE_DEVICES");  // NOLINT(concurrency-mt-unsafe)
        return seen;
    };
    EXPECT_EQ(names_seen("all"), "012");
    EXPECT_EQ(names_seen("1"), "1");
    EXPECT_EQ(names_seen(third + ",0"), "02");  // the driver's order, not the list's
    EXPECT_EQ(names_seen("none"), "");
    EXPECT_EQ(names_seen("void"), "");
    EXPECT_EQ(names_seen(""), "");
    EXPECT_EQ(names_seen("7,GPU-unknown,1x"), "");
    set_environment("ALIQUOT_SIM_VISIBLE_DEVICES", "2");
    initialise();
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(CALL(nvmlDeviceGetHandleByUUID)(node().gpus()[0].uuid.c_str(), &device),
              NVML_ERROR_NOT_FOUND);
    ASSERT_EQ(CALL(nvmlDeviceGetHandleByUUID)(third.c_str(), &device), NVML_SUCCESS);
    unsigned index = 4711;
    EXPECT_EQ(CALL(nvmlDeviceGetIndex)(device, &index), NVML_SUCCESS);
    EXPECT_EQ(index, 0U);
    ::unsetenv("ALIQUOT_SIM_VISIBLE_DEVICES");  // NOLINT(concurrency-mt-unsafe)
}

TEST_F(SimulatedNvml, IsWiredLikeADgxH100) {
    make_node({{.model = "h100-80", .count = 8}});
    initialise();
    for (nvmlDevice_t device : devices()) {
        for (unsigned link = 0; link < 18; ++link) {
            nvmlEnableState_t state = 0;
            nvmlIntNvLinkDeviceType_t type = 0;
            ASSERT_EQ(CALL(nvmlDeviceGetNvLinkState)(device, link, &state), NVML_SUCCESS);
            EXPECT_EQ(state, static_cast<unsigned>(NVML_FEATURE_ENABLED));
            ASSERT_EQ(CALL(nvmlDeviceGetNvLinkRemoteDeviceType)(device, link, &type), NVML_SUCCESS);
            EXPECT_EQ(type, static_cast<unsigned>(NVML_NVLINK_DEVICE_TYPE_SWITCH));
        }
        nvmlEnableState_t state = 0;
        EXPECT_NE(CALL(nvmlDeviceGetNvLinkState)(device, 18, &state), NVML_SUCCESS);
        nvmlGpuFabricInfoV_t fabric{.version = nvmlGpuFabricInfo_v2};
        EXPECT_EQ(CALL(nvmlDeviceGetGpuFabricInfoV)(device, &fabric), NVML_SUCCESS);
        EXPECT_EQ(fabric.state, NVML_GPU_FABRIC_STATE_COMPLETED);
    }
    unsigned long first = 0;
    unsigned long last = 0;
    EXPECT_EQ(CALL(nvmlDeviceGetMemoryAffinity)(device(0), 1, &first, NVML_AFFINITY_SCOPE_NODE),
              NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlDeviceGetMemoryAffinity)(device(7), 1, &last, NVML_AFFINITY_SCOPE_NODE),
              NVML_SUCCESS);
    EXPECT_EQ(first, 1U);
    EXPECT_EQ(last, 2U);
}

TEST_F(SimulatedNvml, NamesTheGpuAtTheOtherEndOfALink) {
    make_node({{.model = "v100-32", .count = 8}});
    initialise();
    const auto all = devices();
    std::array<unsigned, 8> links_to{};
    for (unsigned link = 0; link < 6; ++link) {
        nvmlPciInfo_t remote{};
        ASSERT_EQ(CALL(nvmlDeviceGetNvLinkRemotePciInfo_v2)(all[0], link, &remote), NVML_SUCCESS);
        nvmlDevice_t peer = nullptr;
        ASSERT_EQ(CALL(nvmlDeviceGetHandleByPciBusId_v2)(remote.busId, &peer), NVML_SUCCESS);
        unsigned index = 0;
        ASSERT_EQ(CALL(nvmlDeviceGetIndex)(peer, &index), NVML_SUCCESS);
        ++links_to.at(index);
    }
    EXPECT_EQ(links_to, (std::array<unsigned, 8>{0, 1, 1, 2, 2, 0, 0, 0}));
    unsigned status = 4711;
    EXPECT_EQ(CALL(nvmlDeviceGetP2PStatus)(all[0], all[4], NVML_P2P_CAPS_INDEX_NVLINK, &status),
              NVML_SUCCESS);
    EXPECT_EQ(status, static_cast<unsigned>(NVML_P2P_STATUS_OK));
    EXPECT_EQ(CALL(nvmlDeviceGetP2PStatus)(all[0], all[5], NVML_P2P_CAPS_INDEX_NVLINK, &status),
              NVML_SUCCESS);
    EXPECT_EQ(status, static_cast<unsigned>(NVML_P2P_STATUS_NOT_SUPPORTED));
}

TEST_F(SimulatedNvml, HasMigWhereTheHardwareHasIt) {
    make_node({{.model = "a100-40"}, {.model = "a30"}, {.model = "t4"}});
    initialise();
    std::array<unsigned, 3> most{};
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_EQ(CALL(nvmlDeviceGetMaxMigDeviceCount)(device(i), &most.at(i)), NVML_SUCCESS);
    }
    EXPECT_EQ(most, (std::array<unsigned, 3>{7, 4, 0}));
    nvmlDevice_t mig = nullptr;
    EXPECT_EQ(CALL(nvmlDeviceGetMigDeviceHandleByIndex)(device(0), 0, &mig), NVML_ERROR_NOT_FOUND);
    EXPECT_EQ(CALL(nvmlDeviceGetMigDeviceHandleByIndex)(device(2), 0, &mig),
              NVML_ERROR_NOT_SUPPORTED);
    nvmlReturn_t activation = NVML_ERROR_UNKNOWN;
    EXPECT_EQ(CALL(nvmlDeviceSetMigMode)(device(0), NVML_DEVICE_MIG_DISABLE, &activation),
              NVML_SUCCESS);
    EXPECT_EQ(activation, NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlDeviceSetMigMode)(device(2), NVML_DEVICE_MIG_DISABLE, &activation),
              NVML_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(CALL(nvmlGpuInstanceDestroy)(nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(SimulatedNvml, AveragesBetweenTwoSamples) {
    make_node({{.model = "h100-80"}, {.model = "a2"}});
    initialise();
    ASSERT_TRUE(node().set_process(0, static_cast<std::uint32_t>(::getpid()), kGi, 60));
    nvmlGpmSupport_t support{.version = NVML_GPM_SUPPORT_VERSION};
    EXPECT_EQ(CALL(nvmlGpmQueryDeviceSupport)(device(1), &support), NVML_SUCCESS);
    EXPECT_EQ(support.isSupportedDevice, 0U);
    EXPECT_EQ(CALL(nvmlGpmQueryDeviceSupport)(device(0), &support), NVML_SUCCESS);
    EXPECT_EQ(support.isSupportedDevice, 1U);
    nvmlGpmSample_t first = nullptr;
    nvmlGpmSample_t second = nullptr;
    ASSERT_EQ(CALL(nvmlGpmSampleAlloc)(&first), NVML_SUCCESS);
    ASSERT_EQ(CALL(nvmlGpmSampleAlloc)(&second), NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlGpmSampleGet)(device(1), first), NVML_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(CALL(nvmlGpmSampleGet)(device(0), first), NVML_SUCCESS);
    nvmlGpmMetricsGet_t metrics{.version = NVML_GPM_METRICS_GET_VERSION,
                                .numMetrics = 1,
                                .sample1 = first,
                                .sample2 = second,
                                .metrics = {{.metricId = NVML_GPM_METRIC_SM_UTIL}}};
    // As soon as the node's clock of whole milliseconds has gone on.
    nvmlReturn_t result = NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < 1'000'000 && result != NVML_SUCCESS; ++i) {
        ASSERT_EQ(CALL(nvmlGpmSampleGet)(device(0), second), NVML_SUCCESS);
        result = CALL(nvmlGpmMetricsGet)(&metrics);
    }
    ASSERT_EQ(result, NVML_SUCCESS);
    EXPECT_EQ(metrics.metrics[0].nvmlReturn, NVML_SUCCESS);
    EXPECT_DOUBLE_EQ(metrics.metrics[0].value, 60);
    EXPECT_EQ(CALL(nvmlGpmSampleFree)(first), NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlGpmSampleFree)(first), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(SimulatedNvml, WorksInAChildAfterFork) {
    make_node({{.model = "a2"}});
    initialise();
    const pid_t child = ::fork();
    if (child == 0) {
        unsigned count = 0;
        const bool inherited = CALL(nvmlDeviceGetCount_v2)(&count) == NVML_SUCCESS && count == 1;
        unsigned power = 0;
        const bool answers = CALL(nvmlDeviceGetPowerUsage)(device(0), &power) == NVML_SUCCESS;
        const bool again =
            CALL(nvmlShutdown)() == NVML_SUCCESS && CALL(nvmlInit_v2)() == NVML_SUCCESS;
        ::_exit(inherited && answers && again ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST_F(SimulatedNvml, KeepsSettingsForAllProcesses) {
    make_node({{.model = "a2"}});
    initialise();
    EXPECT_EQ(CALL(nvmlDeviceSetComputeMode)(device(0), NVML_COMPUTEMODE_EXCLUSIVE_PROCESS),
              NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlDeviceSetPowerManagementLimit)(device(0), 40'000), NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlDeviceSetPowerManagementLimit)(device(0), 400'000),
              NVML_ERROR_INVALID_ARGUMENT);
    const pid_t child = ::fork();
    if (child == 0) {
        (void)CALL(nvmlShutdown)();
        (void)CALL(nvmlInit_v2)();
        unsigned mode = 0;
        unsigned limit = 0;
        (void)CALL(nvmlDeviceGetComputeMode)(device(0), &mode);
        (void)CALL(nvmlDeviceGetEnforcedPowerLimit)(device(0), &limit);
        ::_exit(mode == NVML_COMPUTEMODE_EXCLUSIVE_PROCESS && limit == 40'000 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST_F(SimulatedNvml, SurvivesADamagedState) {
    make_node({{.model = "a2"}});
    initialise();
    const auto handle = device(0);
    {
        const auto shared = sim::SharedState::open(node_directory() / sim::kStateFile);
        const auto state = (*shared)->lock();
        std::fill_n(reinterpret_cast<unsigned char*>((*state)->processes),
                    sizeof((*state)->processes), static_cast<unsigned char>(0xff));
        std::fill_n(reinterpret_cast<unsigned char*>((*state)->events), sizeof((*state)->events),
                    static_cast<unsigned char>(0xff));
        std::fill_n((*state)->gpus[0].uuid.bytes, sizeof((*state)->gpus[0].uuid.bytes), 'x');
        (*state)->gpu_count = 4'000'000'000;
    }
    std::array<char, 96> uuid{};
    EXPECT_EQ(CALL(nvmlDeviceGetUUID)(handle, uuid.data(), uuid.size()), NVML_SUCCESS);
    nvmlMemory_t memory{};
    EXPECT_EQ(CALL(nvmlDeviceGetMemoryInfo)(handle, &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.total, memory.used + memory.free);
    std::fill_n(uuid.data(), uuid.size(), '\0');
    {
        const auto shared = sim::SharedState::open(node_directory() / sim::kStateFile);
        EXPECT_FALSE(shared);
    }
    EXPECT_NE(CALL(nvmlDeviceGetHandleByUUID)("GPU-x", nullptr), NVML_SUCCESS);
}

TEST_F(SimulatedNvml, CanBeUsedFromPython) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "an interpreter without sanitizer cannot load a library with it";
#endif
    make_node({{.model = "a2", .count = 2}});
    auto environment = os::current_environment();
    environment["LD_LIBRARY_PATH"] = (node_directory() / "lib").native();
    const auto output = (node_directory().parent_path() / "output").native();
    auto process = os::Process::start(
        {.argv = {"python3", ALIQUOT_SOURCE_DIR "/tests/contract/nvml_ctypes.py"},
         .environment = environment,
         .output_path = output});
    if (!process) GTEST_SKIP() << process.error().message;
    const auto exit = process->wait(std::chrono::seconds(60));
    std::ifstream file(output);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    ASSERT_TRUE(exit) << text;
    EXPECT_EQ(exit->code, 0) << text;
}

}  // namespace
}  // namespace aliquot::contract
