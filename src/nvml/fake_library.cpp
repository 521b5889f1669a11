// SPDX-License-Identifier: Apache-2.0
//
// The test-only libnvidia-ml.so.1; see fake_library.h. FAKE_OLD builds the old one.
#include "nvml/fake_library.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>

#include "abi/nvml.h"
#include "abi/nvml_memory_limits.h"

using aliquot::nvml::fake::Control;
using aliquot::nvml::fake::kGpus;
using aliquot::nvml::fake::kMigGpu;

namespace {

constexpr std::uint64_t kTotal = 16ULL << 30U;

Control& control() {
    static Control the;
    return the;
}

std::array<char, kGpus> handles{};

nvmlDevice_t handle_of(unsigned index) {
    return reinterpret_cast<nvmlDevice_t>(&handles.at(index));  // never looked into
}

unsigned index_of(nvmlDevice_t device) {
    const auto* const place = reinterpret_cast<const char*>(device);
    return static_cast<unsigned>(place - handles.data());
}

void hang_while_told() {
    if (!control().hang) return;
    ++control().hanging;
    while (control().hang) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --control().hanging;
}

nvmlReturn_t ready() {
    if (control().hang_all && control().hanging > 0) hang_while_told();
    return control().initialised > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t ready(nvmlDevice_t device) {
    if (ready() != NVML_SUCCESS) return ready();
    if (index_of(device) >= kGpus) return NVML_ERROR_INVALID_ARGUMENT;
    return control().gpus.at(index_of(device)).error;
}

nvmlReturn_t start() {
    ++control().inits;
    if (control().init_error != 0 && control().init_errors_left != 0) {
        if (control().init_errors_left > 0) --control().init_errors_left;
        return control().init_error;
    }
    ++control().initialised;
    return NVML_SUCCESS;
}

nvmlReturn_t handle_by_index(unsigned index, nvmlDevice_t* device) {
    if (ready() != NVML_SUCCESS) return ready();
    if (index >= control().count) return NVML_ERROR_INVALID_ARGUMENT;
    if (control().gpus.at(index).handle_error != 0) return control().gpus.at(index).handle_error;
    *device = handle_of(index);
    return NVML_SUCCESS;
}

nvmlReturn_t count_gpus(unsigned* count) {
    *count = control().count;
    return ready();
}

template <class Pci>
nvmlReturn_t fill_pci(nvmlDevice_t device, Pci* pci) {
    if (ready(device) != NVML_SUCCESS) return ready(device);
    pci->domain = 0;
    pci->bus = 0x10 + index_of(device);
    pci->device = 0;
    pci->pciDeviceId = index_of(device) == kMigGpu && control().mig.a30 ? 0x20B710DE : 0x25B610DE;
    return NVML_SUCCESS;
}

template <class Entry>
nvmlReturn_t list_processes(nvmlDevice_t device, unsigned* count, Entry* entries) {
    if (ready(device) != NVML_SUCCESS) return ready(device);
    const unsigned room = *count;
    *count = control().processes;
    if (room < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < *count; ++i) {
        entries[i].pid = 100 + i;
        entries[i].usedGpuMemory = i == 0 ? NVML_VALUE_NOT_AVAILABLE : 1000 * i;
    }
    return NVML_SUCCESS;
}

}  // namespace

bool fake_mig_uuid(nvmlDevice_t device, char* uuid, unsigned length);
bool fake_mig_name(nvmlDevice_t device, char* name, unsigned length);
unsigned fake_mig_processes(nvmlProcessInfo_t* entries);

extern "C" {

Control* fake_control() { return &control(); }
nvmlDevice_t fake_handle(unsigned index) { return handle_of(index); }

const char* nvmlErrorString(nvmlReturn_t code) {
    return code == NVML_ERROR_GPU_IS_LOST ? "GPU is lost" : "Something else";
}

#ifndef FAKE_OLD
nvmlReturn_t nvmlDeviceSetMemoryLimits_v1(nvmlDevice_t device, nvmlSetMemoryLimits_v1_t* limits) {
    if (ready(device) != NVML_SUCCESS) return ready(device);
    if (std::string_view(limits->nameSpace) != "/sys/fs/cgroup/pod") return NVML_ERROR_NOT_FOUND;
    control().memory_limit = control().memory_limit_is_cut ? 1 : limits->hardLimit;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryLimits_v1(nvmlDevice_t device, nvmlGetMemoryLimits_v1_t* limits) {
    if (ready(device) != NVML_SUCCESS) return ready(device);
    limits->hardLimit = control().memory_limit;
    return NVML_SUCCESS;
}
#endif

nvmlReturn_t nvmlShutdown() {
    if (ready() == NVML_SUCCESS) --control().initialised;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
    std::snprintf(version, length, "550.54.15");
    return ready();
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
#ifndef FAKE_OLD
    if (fake_mig_uuid(device, uuid, length)) return ready();
#endif
    if (ready(device) != NVML_SUCCESS) return ready(device);
    std::snprintf(uuid, length, "GPU-%u", index_of(device));
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
    const int whose = control().hang_gpu;
    if (whose < 0 || static_cast<unsigned>(whose) == index_of(device)) hang_while_told();
    if (ready(device) != NVML_SUCCESS) return ready(device);
    const std::uint64_t used = control().gpus.at(index_of(device)).memory_used;
    *memory = {kTotal, kTotal - used, used};
    return NVML_SUCCESS;
}

#ifdef FAKE_OLD

nvmlReturn_t nvmlInit() { return start(); }
nvmlReturn_t nvmlDeviceGetCount(unsigned* count) { return count_gpus(count); }
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
    return handle_by_index(index, device);
}
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v2_t* pci) {
    return fill_pci(device, pci);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned* count,
                                                  nvmlProcessInfo_v1_t* entries) {
    return list_processes(device, count, entries);
}

#else

nvmlReturn_t nvmlInit_v2() { return start(); }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) { return count_gpus(count); }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
    return handle_by_index(index, device);
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
    for (unsigned i = 0; i < control().count; ++i) {
        const std::array<char, 6> name{'G', 'P', 'U', '-', static_cast<char>('0' + i), '\0'};
        if (std::strcmp(uuid, name.data()) == 0) return handle_by_index(i, device);
    }
    return NVML_ERROR_NOT_FOUND;
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
    *version = 12040;
    return ready();
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
    if (fake_mig_name(device, name, length)) return ready();
    std::snprintf(name, length, "NVIDIA A2");
    return ready(device);
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* number) {
    *number = index_of(device) + 4;
    return ready(device);
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* high, int* low) {
    *high = 8;
    *low = 6;
    return ready(device);
}
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device,
                                             nvmlGpuVirtualizationMode_t* mode) {
    *mode = control().virtualization;
    return ready(device);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
    return fill_pci(device, pci);
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned /*sensor*/, unsigned* celsius) {
    *celsius = 41;
    return ready(device);
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* busy) {
    *busy = {55, 7};
    return ready(device);
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t /*device*/, unsigned* /*milliwatts*/) {
    return NVML_ERROR_NOT_SUPPORTED;
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* fields) {
    for (int i = 0; i < count; ++i) {
        fields[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        fields[i].value.uiVal = NVML_GPU_RECOVERY_ACTION_GPU_RESET;
        fields[i].nvmlReturn = fields[i].fieldId == NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
                                   ? NVML_SUCCESS
                                   : NVML_ERROR_NOT_SUPPORTED;
    }
    return index_of(device) == 2 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* entries) {
    if (ready(device) == NVML_SUCCESS && index_of(device) == kMigGpu) {
        *count = fake_mig_processes(entries);
        return NVML_SUCCESS;
    }
    return list_processes(device, count, entries);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                      nvmlProcessInfo_t* entries) {
    const int drawing = control().graphics_gpu;
    const unsigned index = index_of(device);
    *count = (drawing < 0 ? index != kMigGpu : index == static_cast<unsigned>(drawing)) ? 1 : 0;
    if (*count == 0) return ready(device);
    entries[0].pid = 101;
    entries[0].usedGpuMemory = 1000;
    return ready(device);
}
nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
    *set = reinterpret_cast<nvmlEventSet_t>(&control());
    return ready();
}
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t /*set*/) { return ready(); }
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long /*types*/,
                                      nvmlEventSet_t /*set*/) {
    return ready(device);
}
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t /*set*/, nvmlEventData_t* data, unsigned timeout) {
    ++control().waits;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout);
    do {
        const std::uint64_t xid = control().xid.exchange(0);
        if (xid != 0) {
            *data = {};
            data->device = handle_of(control().xid_gpu);
            data->eventType = control().event_type;
            data->eventData = xid;
            data->gpuInstanceId = data->computeInstanceId = control().xid_instance;
            return NVML_SUCCESS;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(timeout > 0 ? 1 : 0));
    } while (std::chrono::steady_clock::now() < end);
    return NVML_ERROR_TIMEOUT;
}
// GPU 0 and 1 are joined by two links, the third link of each leads to a switch.
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, nvmlEnableState_t* on) {
    if (index_of(device) == 2 || !control().linked) return NVML_ERROR_NOT_SUPPORTED;
    if (link >= 4) return NVML_ERROR_INVALID_ARGUMENT;
    *on = link < 3 ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return ready(device);
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link,
                                                 nvmlPciInfo_t* pci) {
    if (index_of(device) == 2 || !control().linked) return NVML_ERROR_NOT_SUPPORTED;
    if (link >= 3) return NVML_ERROR_INVALID_ARGUMENT;
    *pci = {};
    pci->bus = link < 2 ? 0x11 - index_of(device) : 0xc0;
    return ready(device);
}
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second,
                                                 nvmlGpuTopologyLevel_t* level) {
    if (std::min(index_of(first), index_of(second)) == 1) return NVML_ERROR_UNKNOWN;
    *level = NVML_TOPOLOGY_NODE;
    return NVML_SUCCESS;
}

#endif
}
