// SPDX-License-Identifier: Apache-2.0
//
// Questions that every NVIDIA driver answers alike, simulated or real. What a GPU may not have may
// be answered NOT_SUPPORTED.
#include <array>
#include <chrono>
#include <cstring>
#include <set>
#include <string>

#include "tests/contract/nvml_library.h"

namespace aliquot::contract {
namespace {

class NvmlContract : public NvmlLibrary {
protected:
    void SetUp() override { make_node({{.model = "a2", .count = 2}, {.model = "gtx-1070"}}); }

    std::string uuid_of(nvmlDevice_t device) {
        std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> uuid{};
        EXPECT_EQ(CALL(nvmlDeviceGetUUID)(device, uuid.data(), uuid.size()), NVML_SUCCESS);
        return uuid.data();
    }
};

bool known_or_unsupported(nvmlReturn_t result) {
    return result == NVML_SUCCESS || result == NVML_ERROR_NOT_SUPPORTED;
}

TEST_F(NvmlContract, AnswersOnlyAfterInitialisation) {
    unsigned count = 0;
    int version = 0;
    nvmlDevice_t device = nullptr;
    nvmlEventSet_t set = nullptr;
    EXPECT_EQ(CALL(nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(CALL(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(CALL(nvmlSystemGetCudaDriverVersion)(&version), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(CALL(nvmlEventSetCreate)(&set), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(CALL(nvmlShutdown)(), NVML_ERROR_UNINITIALIZED);
    EXPECT_STRNE(CALL(nvmlErrorString)(NVML_ERROR_UNINITIALIZED), "");
}

TEST_F(NvmlContract, CountsInitialisations) {
    initialise();
    EXPECT_EQ(CALL(nvmlInit)(), NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlInitWithFlags)(0), NVML_SUCCESS);
    unsigned count = 0;
    EXPECT_EQ(CALL(nvmlShutdown)(), NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlShutdown)(), NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
    EXPECT_GT(count, 0U);
}

TEST_F(NvmlContract, HasATextForEveryError) {
    for (int code = 0; code <= 1000; ++code) {
        ASSERT_NE(CALL(nvmlErrorString)(code), nullptr) << code;
        EXPECT_STRNE(CALL(nvmlErrorString)(code), "") << code;
    }
    EXPECT_STREQ(CALL(nvmlErrorString)(NVML_SUCCESS), "Success");
    EXPECT_STREQ(CALL(nvmlErrorString)(NVML_ERROR_GPU_IS_LOST), "GPU is lost");
}

TEST_F(NvmlContract, TellsItsVersions) {
    initialise();
    std::array<char, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE> driver{};
    std::array<char, NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE> nvml{};
    int cuda = 0;
    EXPECT_EQ(CALL(nvmlSystemGetDriverVersion)(driver.data(), driver.size()), NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlSystemGetNVMLVersion)(nvml.data(), nvml.size()), NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlSystemGetCudaDriverVersion_v2)(&cuda), NVML_SUCCESS);
    EXPECT_TRUE(std::string(nvml.data()).ends_with(driver.data())) << nvml.data();
    EXPECT_GE(cuda, 9000);
    EXPECT_EQ(CALL(nvmlSystemGetDriverVersion)(driver.data(), 3), NVML_ERROR_INSUFFICIENT_SIZE);
}

TEST_F(NvmlContract, FindsAGpuByEachOfItsNames) {
    initialise();
    std::set<std::string> uuids;
    for (nvmlDevice_t device : devices()) {
        nvmlDevice_t found = nullptr;
        const auto uuid = uuid_of(device);
        EXPECT_TRUE(uuids.insert(uuid).second) << uuid;
        EXPECT_TRUE(uuid.starts_with("GPU-")) << uuid;
        EXPECT_EQ(CALL(nvmlDeviceGetHandleByUUID)(uuid.c_str(), &found), NVML_SUCCESS);
        EXPECT_EQ(found, device);
        nvmlPciInfo_t pci{};
        ASSERT_EQ(CALL(nvmlDeviceGetPciInfo_v3)(device, &pci), NVML_SUCCESS);
        EXPECT_EQ(pci.pciDeviceId & 0xffffU, 0x10deU);
        for (const char* name : {pci.busId, pci.busIdLegacy}) {
            found = nullptr;
            EXPECT_EQ(CALL(nvmlDeviceGetHandleByPciBusId_v2)(name, &found), NVML_SUCCESS) << name;
            EXPECT_EQ(found, device) << name;
        }
    }
    nvmlDevice_t none = nullptr;
    EXPECT_EQ(CALL(nvmlDeviceGetHandleByUUID)("GPU-none", &none), NVML_ERROR_NOT_FOUND);
    EXPECT_EQ(CALL(nvmlDeviceGetHandleByIndex_v2)(4711, &none), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlContract, RefusesBadArguments) {
    initialise();
    const auto device = devices().at(0);
    unsigned number = 0;
    std::array<char, 96> text{};
    EXPECT_EQ(CALL(nvmlDeviceGetIndex)(nullptr, &number), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(CALL(nvmlDeviceGetIndex)(device, nullptr), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(CALL(nvmlDeviceGetCount_v2)(nullptr), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(CALL(nvmlDeviceGetName)(device, nullptr, 96), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(CALL(nvmlDeviceGetName)(device, text.data(), 2), NVML_ERROR_INSUFFICIENT_SIZE);
    EXPECT_EQ(CALL(nvmlDeviceGetMemoryInfo)(device, nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlContract, NumbersItsGpusInOrder) {
    initialise();
    unsigned expected = 0;
    for (nvmlDevice_t device : devices()) {
        unsigned index = 4711;
        EXPECT_EQ(CALL(nvmlDeviceGetIndex)(device, &index), NVML_SUCCESS);
        EXPECT_EQ(index, expected++);
    }
}

TEST_F(NvmlContract, ShowsMemoryTheOldAndTheNewWay) {
    initialise();
    for (nvmlDevice_t device : devices()) {
        nvmlMemory_t old{};
        ASSERT_EQ(CALL(nvmlDeviceGetMemoryInfo)(device, &old), NVML_SUCCESS);
        EXPECT_EQ(old.total, old.used + old.free);
        nvmlMemory_v2_t now{};
        EXPECT_EQ(CALL(nvmlDeviceGetMemoryInfo_v2)(device, &now),
                  NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        now.version = nvmlMemory_v2;
        ASSERT_EQ(CALL(nvmlDeviceGetMemoryInfo_v2)(device, &now), NVML_SUCCESS);
        EXPECT_EQ(now.total, old.total);
        EXPECT_EQ(now.total, now.reserved + now.used + now.free);
    }
}

TEST_F(NvmlContract, KeepsToTheOldestLayouts) {
    initialise();
    const auto device = devices().at(0);
    std::array<unsigned char, sizeof(nvmlPciInfo_v2_t)> bytes{};
    bytes.fill(0xa5);
    auto* const pci = reinterpret_cast<nvmlPciInfo_v2_t*>(bytes.data());
    ASSERT_EQ(CALL(nvmlDeviceGetPciInfo)(device, pci), NVML_SUCCESS);
    for (std::size_t i = offsetof(nvmlPciInfo_v2_t, pciSubSystemId); i < bytes.size(); ++i) {
        ASSERT_EQ(bytes[i], 0xa5) << "byte " << i << " is behind the oldest layout";
    }
    EXPECT_EQ(pci->pciDeviceId & 0xffffU, 0x10deU);
}

TEST_F(NvmlContract, StaysWithinTheLimitsItTells) {
    initialise();
    for (nvmlDevice_t device : devices()) {
        unsigned limit = 0;
        unsigned least = 0;
        unsigned most = 0;
        if (CALL(nvmlDeviceGetPowerManagementLimit)(device, &limit) == NVML_SUCCESS) {
            ASSERT_EQ(CALL(nvmlDeviceGetPowerManagementLimitConstraints)(device, &least, &most),
                      NVML_SUCCESS);
            EXPECT_LE(least, limit);
            EXPECT_LE(limit, most);
        }
        for (const unsigned type : {NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEM}) {
            unsigned clock = 0;
            if (CALL(nvmlDeviceGetClockInfo)(device, type, &clock) != NVML_SUCCESS) continue;
            ASSERT_EQ(CALL(nvmlDeviceGetMaxClockInfo)(device, type, &most), NVML_SUCCESS);
            EXPECT_LE(clock, most);
        }
        nvmlUtilization_t busy{};
        if (CALL(nvmlDeviceGetUtilizationRates)(device, &busy) == NVML_SUCCESS) {
            EXPECT_LE(busy.gpu, 100U);
            EXPECT_LE(busy.memory, 100U);
        }
    }
}

TEST_F(NvmlContract, ListsProcessesInTwoCalls) {
    initialise();
    for (nvmlDevice_t device : devices()) {
        unsigned count = 0;
        const auto first = CALL(nvmlDeviceGetComputeRunningProcesses_v3)(device, &count, nullptr);
        if (first == NVML_SUCCESS) {
            EXPECT_EQ(count, 0U);
            continue;
        }
        ASSERT_EQ(first, NVML_ERROR_INSUFFICIENT_SIZE);
        EXPECT_GT(count, 0U);
        std::vector<nvmlProcessInfo_t> infos(count + 32);
        count = static_cast<unsigned>(infos.size());
        EXPECT_EQ(CALL(nvmlDeviceGetComputeRunningProcesses_v3)(device, &count, infos.data()),
                  NVML_SUCCESS);
    }
}

TEST_F(NvmlContract, HasNoUtilisationSamplesFromTheFuture) {
    initialise();
    using std::chrono::duration_cast;
    const auto tomorrow = std::chrono::system_clock::now() + std::chrono::hours(24);
    const auto us = duration_cast<std::chrono::microseconds>(tomorrow.time_since_epoch()).count();
    std::array<nvmlProcessUtilizationSample_t, 64> samples{};
    unsigned count = samples.size();
    const auto result = CALL(nvmlDeviceGetProcessUtilization)(
        devices().at(0), samples.data(), &count, static_cast<unsigned long long>(us));
    EXPECT_TRUE(result == NVML_ERROR_NOT_FOUND || result == NVML_ERROR_NOT_SUPPORTED) << result;
}

TEST_F(NvmlContract, AnswersEachFieldByItself) {
    initialise();
    std::array<nvmlFieldValue_t, 2> values{};
    values[0].fieldId = NVML_FI_DEV_POWER_DEFAULT_LIMIT;
    values[1].fieldId = NVML_FI_MAX + 1000;
    ASSERT_EQ(CALL(nvmlDeviceGetFieldValues)(devices().at(0), 2, values.data()), NVML_SUCCESS);
    EXPECT_TRUE(known_or_unsupported(values[0].nvmlReturn)) << values[0].nvmlReturn;
    EXPECT_NE(values[1].nvmlReturn, NVML_SUCCESS);
}

TEST_F(NvmlContract, TellsDistancesThatAreSymmetric) {
    initialise();
    const auto all = devices();
    for (nvmlDevice_t a : all) {
        for (nvmlDevice_t b : all) {
            if (a == b) continue;
            unsigned there = 4711;
            unsigned back = 4712;
            ASSERT_EQ(CALL(nvmlDeviceGetTopologyCommonAncestor)(a, b, &there), NVML_SUCCESS);
            ASSERT_EQ(CALL(nvmlDeviceGetTopologyCommonAncestor)(b, a, &back), NVML_SUCCESS);
            EXPECT_EQ(there, back);
        }
    }
}

TEST_F(NvmlContract, TimesOutWhenNothingHappens) {
    initialise();
    nvmlEventSet_t set = nullptr;
    ASSERT_EQ(CALL(nvmlEventSetCreate)(&set), NVML_SUCCESS);
    const auto device = devices().at(0);
    unsigned long long types = 0;
    ASSERT_EQ(CALL(nvmlDeviceGetSupportedEventTypes)(device, &types), NVML_SUCCESS);
    ASSERT_NE(types & nvmlEventTypeXidCriticalError, 0U);
    EXPECT_EQ(CALL(nvmlDeviceRegisterEvents)(device, nvmlEventTypeXidCriticalError, set),
              NVML_SUCCESS);
    nvmlEventData_t data{};
    EXPECT_EQ(CALL(nvmlEventSetWait_v2)(set, &data, 20), NVML_ERROR_TIMEOUT);
    EXPECT_EQ(CALL(nvmlEventSetWait_v2)(set, nullptr, 0), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(CALL(nvmlEventSetFree)(set), NVML_SUCCESS);
}

TEST_F(NvmlContract, AgreesWithItselfAboutMig) {
    initialise();
    for (nvmlDevice_t device : devices()) {
        unsigned current = 0;
        unsigned pending = 0;
        unsigned most = 4711;
        const auto mode = CALL(nvmlDeviceGetMigMode)(device, &current, &pending);
        ASSERT_TRUE(known_or_unsupported(mode)) << mode;
        ASSERT_EQ(CALL(nvmlDeviceGetMaxMigDeviceCount)(device, &most), NVML_SUCCESS);
        EXPECT_EQ(mode == NVML_SUCCESS, most > 0);
        unsigned is_mig = 4711;
        ASSERT_EQ(CALL(nvmlDeviceIsMigDeviceHandle)(device, &is_mig), NVML_SUCCESS);
        EXPECT_EQ(is_mig, 0U);
    }
}

}  // namespace
}  // namespace aliquot::contract
