// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

// clang-format off
/// The calls about a GPU that an agent makes all the time.
#define ALIQUOT_HANGING_FUNCTIONS(function) \
    function(nvmlDeviceGetHandleByIndex_v2) \
    function(nvmlDeviceGetUUID) \
    function(nvmlDeviceGetName) \
    function(nvmlDeviceGetMinorNumber) \
    function(nvmlDeviceGetPciInfo_v3) \
    function(nvmlDeviceGetCudaComputeCapability) \
    function(nvmlDeviceGetMigMode) \
    function(nvmlDeviceGetMemoryInfo_v2) \
    function(nvmlDeviceGetTemperature) \
    function(nvmlDeviceGetFieldValues) \
    function(nvmlDeviceGetRemappedRows) \
    function(nvmlDeviceGetCurrentClocksEventReasons) \
    function(nvmlDeviceGetUtilizationRates) \
    function(nvmlDeviceGetPowerUsage) \
    function(nvmlDeviceGetClockInfo) \
    function(nvmlDeviceGetSamples) \
    function(nvmlDeviceGetProcessUtilization) \
    function(nvmlDeviceGetComputeRunningProcesses_v3) \
    function(nvmlGpmSampleGet) \
    function(nvmlEventSetWait_v2) \
    function(nvmlDeviceGetNvLinkState)

/// What else a driver must have.
#define ALIQUOT_OTHER_FUNCTIONS(function) \
    function(nvmlInit_v2) \
    function(nvmlInitWithFlags) \
    function(nvmlShutdown) \
    function(nvmlSystemGetDriverVersion) \
    function(nvmlSystemGetCudaDriverVersion_v2) \
    function(nvmlDeviceGetCount_v2) \
    function(nvmlDeviceGetHandleByUUID) \
    function(nvmlDeviceGetMemoryInfo) \
    function(nvmlDeviceGetGraphicsRunningProcesses_v3) \
    function(nvmlDeviceGetNvLinkRemotePciInfo_v2) \
    function(nvmlGpmQueryDeviceSupport) \
    function(nvmlGpmSampleAlloc) \
    function(nvmlGpmSampleFree) \
    function(nvmlGpmMetricsGet) \
    function(nvmlDeviceGetTotalEnergyConsumption) \
    function(nvmlDeviceGetSupportedEventTypes) \
    function(nvmlDeviceRegisterEvents) \
    function(nvmlEventSetCreate) \
    function(nvmlEventSetFree) \
    function(nvmlDeviceGetTopologyCommonAncestor)
// clang-format on

namespace aliquot::contract {

struct HangControl {
    std::atomic<void*> library = nullptr;         // that answers: a handle of dlopen()
    std::atomic<const char*> function = nullptr;  // does not return while it is set
    std::atomic<unsigned> gpu = 0;                // for this one
    std::atomic<int> hanging = 0;                 // calls that do not return just now
};

using GetHangControl = HangControl* (*)();

}  // namespace aliquot::contract
