// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/nvml.h"
#include "abi/nvml_memory_limits.h"
#include "base/result.h"
#include "nvml/function.h"
#include "os/dynamic_library.h"
#include "os/root.h"

namespace aliquot::nvml {

/// Every function that this module may call, under its symbol's name. Which of them exist depends
/// on the driver's age.
struct Functions {
    const os::DynamicLibrary& library;
    CallWatch& watch;
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name cannot stand in parentheses
#define ALIQUOT_NVML_FUNCTION(name) \
    Function<decltype(&::name)> name { library, watch, #name }
    ALIQUOT_NVML_FUNCTION(nvmlInit);
    ALIQUOT_NVML_FUNCTION(nvmlInit_v2);
    ALIQUOT_NVML_FUNCTION(nvmlInitWithFlags);
    ALIQUOT_NVML_FUNCTION(nvmlShutdown);
    ALIQUOT_NVML_FUNCTION(nvmlSystemGetDriverVersion);
    ALIQUOT_NVML_FUNCTION(nvmlSystemGetCudaDriverVersion);
    ALIQUOT_NVML_FUNCTION(nvmlSystemGetCudaDriverVersion_v2);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetCount);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetCount_v2);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetHandleByIndex);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetHandleByIndex_v2);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetHandleByUUID);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetName);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetUUID);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMinorNumber);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetCudaComputeCapability);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetPciInfo);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetPciInfo_v2);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetPciInfo_v3);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMigMode);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceSetMigMode);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMaxMigDeviceCount);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMigDeviceHandleByIndex);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetGpuInstanceId);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetComputeInstanceId);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetAttributes);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetAttributes_v2);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetGpuInstanceProfileInfo);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetGpuInstanceProfileInfoV);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetGpuInstancePossiblePlacements);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetGpuInstancePossiblePlacements_v2);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceCreateGpuInstanceWithPlacement);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetGpuInstances);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetGpuInstanceById);
    ALIQUOT_NVML_FUNCTION(nvmlGpuInstanceGetInfo);
    ALIQUOT_NVML_FUNCTION(nvmlGpuInstanceDestroy);
    ALIQUOT_NVML_FUNCTION(nvmlGpuInstanceGetComputeInstanceProfileInfo);
    ALIQUOT_NVML_FUNCTION(nvmlGpuInstanceCreateComputeInstance);
    ALIQUOT_NVML_FUNCTION(nvmlGpuInstanceCreateComputeInstanceWithPlacement);
    ALIQUOT_NVML_FUNCTION(nvmlGpuInstanceGetComputeInstancePossiblePlacements);
    ALIQUOT_NVML_FUNCTION(nvmlGpuInstanceGetComputeInstances);
    ALIQUOT_NVML_FUNCTION(nvmlGpuInstanceGetComputeInstanceById);
    ALIQUOT_NVML_FUNCTION(nvmlComputeInstanceGetInfo);
    ALIQUOT_NVML_FUNCTION(nvmlComputeInstanceGetInfo_v2);
    ALIQUOT_NVML_FUNCTION(nvmlComputeInstanceDestroy);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetVirtualizationMode);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMemoryInfo);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMemoryInfo_v2);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetUtilizationRates);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetTemperature);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetTemperatureV);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetTemperatureThreshold);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetRemappedRows);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetRetiredPagesPendingStatus);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetCurrentClocksEventReasons);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetCurrentClocksThrottleReasons);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetPowerUsage);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetFieldValues);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetComputeRunningProcesses);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetComputeRunningProcesses_v2);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetComputeRunningProcesses_v3);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetGraphicsRunningProcesses);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetGraphicsRunningProcesses_v2);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetGraphicsRunningProcesses_v3);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMPSComputeRunningProcesses);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMPSComputeRunningProcesses_v2);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMPSComputeRunningProcesses_v3);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetComputeMode);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceSetComputeMode);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceSetMemoryLimits_v1);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMemoryLimits_v1);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetBAR1MemoryInfo);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetClockInfo);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMaxClockInfo);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetPowerManagementLimit);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetEnforcedPowerLimit);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetTotalEnergyConsumption);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetPcieReplayCounter);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetCurrPcieLinkGeneration);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetCurrPcieLinkWidth);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMaxPcieLinkGeneration);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetMaxPcieLinkWidth);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetPowerManagementDefaultLimit);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetEncoderUtilization);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetDecoderUtilization);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetPerformanceState);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetFanSpeed);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetSamples);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetProcessUtilization);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetGridLicensableFeatures_v4);
    ALIQUOT_NVML_FUNCTION(nvmlGpmQueryDeviceSupport);
    ALIQUOT_NVML_FUNCTION(nvmlGpmSampleAlloc);
    ALIQUOT_NVML_FUNCTION(nvmlGpmSampleFree);
    ALIQUOT_NVML_FUNCTION(nvmlGpmSampleGet);
    ALIQUOT_NVML_FUNCTION(nvmlGpmMigSampleGet);
    ALIQUOT_NVML_FUNCTION(nvmlGpmMetricsGet);
    ALIQUOT_NVML_FUNCTION(nvmlEventSetCreate);
    ALIQUOT_NVML_FUNCTION(nvmlEventSetFree);
    ALIQUOT_NVML_FUNCTION(nvmlEventSetWait);
    ALIQUOT_NVML_FUNCTION(nvmlEventSetWait_v2);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceRegisterEvents);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetSupportedEventTypes);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetNvLinkState);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetNvLinkRemotePciInfo);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetNvLinkRemotePciInfo_v2);
    ALIQUOT_NVML_FUNCTION(nvmlDeviceGetTopologyCommonAncestor);
#undef ALIQUOT_NVML_FUNCTION
};

/// What a call answered; `value` counts only when ok().
template <class T>
struct Answer {
    nvmlReturn_t code = NVML_ERROR_UNKNOWN;
    T value{};
    [[nodiscard]] bool ok() const { return code == NVML_SUCCESS; }
};

/// Which of a GPU's process lists.
enum class ProcessKind : std::uint8_t { kCompute, kGraphics, kMps };

/// Where the library is looked for, best first.
/// driver_root   a host path, or the library itself when its last part has ".so" in it
std::vector<std::string> library_candidates(const os::Root& root, const std::string& driver_root);

/// libnvidia-ml.so.1, opened. Its methods choose between the versions of a function, newest first,
/// and read the older layouts. Used by one thread.
class Library {
public:
    /// errors   kNotFound: none of `candidates` exists; kUnavailable: it does not load
    static Result<std::unique_ptr<os::DynamicLibrary>> find(
        const std::vector<std::string>& candidates);
    /// file     must be open during every call of the Library
    /// errors   kUnsupported: it lacks what every NVML has
    static Result<std::unique_ptr<Library>> over(const os::DynamicLibrary& file,
                                                 std::shared_ptr<CallPosition> position);

    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    [[nodiscard]] const Functions& nvml() const { return nvml_; }
    /// Whether a call since the last question was told that the driver is gone.
    bool take_driver_gone();

    [[nodiscard]] nvmlReturn_t init() const;
    [[nodiscard]] std::string text(nvmlReturn_t code) const;  // "GPU is lost (NVML error 15)"
    [[nodiscard]] Answer<unsigned> count() const;
    [[nodiscard]] Answer<nvmlDevice_t> handle(unsigned index) const;
    [[nodiscard]] Answer<std::string> uuid(nvmlDevice_t device) const;
    [[nodiscard]] Answer<std::string> name(nvmlDevice_t device) const;
    [[nodiscard]] Answer<std::string> driver_version() const;
    [[nodiscard]] Answer<int> cuda_version() const;
    /// Only the fields up to pciDeviceId: the oldest layout has no more.
    [[nodiscard]] Answer<nvmlPciInfo_t> pci(nvmlDevice_t device) const;
    [[nodiscard]] Answer<nvmlPciInfo_t> link_remote(nvmlDevice_t device, unsigned link) const;
    [[nodiscard]] Answer<nvmlMemory_t> memory(nvmlDevice_t device) const;
    [[nodiscard]] Answer<unsigned> temperature(nvmlDevice_t device) const;
    [[nodiscard]] Answer<std::vector<nvmlProcessInfo_t>> processes(nvmlDevice_t device,
                                                                   ProcessKind kind) const;
    /// Of a MIG device's handle.
    [[nodiscard]] Answer<nvmlDeviceAttributes_t> attributes(nvmlDevice_t mig_device) const;
    [[nodiscard]] Answer<std::vector<nvmlGpuInstancePlacement_t>> placements(
        nvmlDevice_t device, unsigned profile_id) const;
    /// Without instance ids when the library is too old to tell them.
    [[nodiscard]] Answer<nvmlEventData_t> wait_event(nvmlEventSet_t set, unsigned ms) const;
    [[nodiscard]] Answer<std::uint64_t> field(nvmlDevice_t device, unsigned id) const;

private:
    Library(const os::DynamicLibrary& file, std::shared_ptr<CallPosition> position);
    CallWatch watch_;
    Functions nvml_;
    const char* (*error_string_)(nvmlReturn_t) = nullptr;
};

/// Whether `code` means "this GPU or driver does not report that", as opposed to a GPU that fails.
bool is_not_reported(nvmlReturn_t code);

}  // namespace aliquot::nvml
