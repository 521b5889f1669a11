// SPDX-License-Identifier: Apache-2.0
// Entry points about devices.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/device_attributes.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

Wanted wanted_into(CUdevice ordinal, const void* out) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return {result, nullptr};
    if (out == nullptr) return {CUDA_ERROR_INVALID_VALUE, nullptr};
    return wanted(ordinal);
}

CUresult copy_text(std::string_view text, char* to, int length) {
    if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
    const auto count = std::min(text.size(), static_cast<std::size_t>(length) - 1);
    std::memcpy(to, text.data(), count);
    to[count] = '\0';
    return CUDA_SUCCESS;
}

std::string bus_text(const Device& device) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%04X:%02X:00.0", device.pci_domain, device.pci_bus);
    return text.data();
}

/// "0000:3B:00.0", "3b:00.0", "00000000:3b:00": domain and bus of a device.
bool means(std::string_view text, const Device& device) {
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned number = 0;
    const std::string ended(text.substr(0, 32));
    if (std::sscanf(ended.c_str(), "%x:%x:%x", &domain, &bus, &number) != 3) {
        domain = 0;
        if (std::sscanf(ended.c_str(), "%x:%x", &bus, &number) != 2) return false;
    }
    return domain == device.pci_domain && bus == device.pci_bus && number == 0;
}

}  // namespace

extern "C" {

CUresult cuDeviceGetCount(int* count) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<int>(Driver::get().device_count());
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    called(__func__);
    const Wanted found = wanted_into(ordinal, device);
    if (found.result == CUDA_SUCCESS) *device = ordinal;
    return found.result;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    called(__func__);
    const Wanted found = wanted_into(device, name);
    return found.result == CUDA_SUCCESS ? copy_text(found.device->name, name, length)
                                        : found.result;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
    called(__func__);
    // The older entry point tells the GPU that a MIG device is of.
    const Wanted found = wanted_into(device, uuid);
    if (found.result == CUDA_SUCCESS) *uuid = found.device->gpu_uuid;
    return found.result;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    called(__func__);
    const Wanted found = wanted_into(device, uuid);
    if (found.result == CUDA_SUCCESS) *uuid = found.device->uuid;
    return found.result;
}

CUresult cuDeviceGetLuid(char*, unsigned int*, CUdevice) {
    called(__func__);
    return CUDA_ERROR_NOT_SUPPORTED;  // of Windows
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    called(__func__);
    const Wanted found = wanted_into(device, value);
    if (found.result != CUDA_SUCCESS) return found.result;
    const auto known = device_attribute(*found.device, attribute);
    if (!known) return CUDA_ERROR_INVALID_VALUE;
    *value = *known;
    return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
    called(__func__);
    const Wanted found = wanted_into(device, major);
    if (found.result != CUDA_SUCCESS) return found.result;
    if (minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *major = found.device->model->compute_major;
    *minor = found.device->model->compute_minor;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device) {
    called(__func__);
    const Wanted found = wanted_into(device, properties);
    if (found.result != CUDA_SUCCESS) return found.result;
    const auto value = [&](int attribute) {
        return device_attribute(*found.device, attribute).value_or(0);
    };
    *properties = {.maxThreadsPerBlock = value(1),
                   .maxThreadsDim = {value(2), value(3), value(4)},
                   .maxGridSize = {value(5), value(6), value(7)},
                   .sharedMemPerBlock = value(8),
                   .totalConstantMemory = value(9),
                   .SIMDWidth = value(10),
                   .memPitch = value(11),
                   .regsPerBlock = value(12),
                   .clockRate = value(13),
                   .textureAlign = value(14)};
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
    called(__func__);
    const Wanted found = wanted_into(device, text);
    return found.result == CUDA_SUCCESS ? copy_text(bus_text(*found.device), text, length)
                                        : found.result;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (device == nullptr || text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto count = static_cast<int>(Driver::get().device_count());
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        if (!means(text, *Driver::get().device(ordinal))) continue;
        *device = ordinal;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    called(__func__);
    const Wanted found = wanted_into(device, can);
    if (found.result != CUDA_SUCCESS) return found.result;
    const Device* const other = Driver::get().device(peer);
    if (other == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const bool mig = !found.device->account.device().where.whole_gpu() ||
                     !other->account.device().where.whole_gpu();
    *can = device != peer && !mig && found.device->model == other->model ? 1 : 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int* value, int attribute, CUdevice device, CUdevice peer) {
    called(__func__);
    constexpr int kAccess = 2;
    constexpr int kArrays = 4;
    int can = 0;
    if (device == peer) return CUDA_ERROR_INVALID_DEVICE;
    const CUresult result = cuDeviceCanAccessPeer(&can, device, peer);
    if (result != CUDA_SUCCESS) return result;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == kAccess || attribute == kArrays ? can : 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetExecAffinitySupport(int* supported, int, CUdevice device) {
    called(__func__);
    const Wanted found = wanted_into(device, supported);
    if (found.result == CUDA_SUCCESS) *supported = 0;  // of MPS clients only
    return found.result;
}

}  // extern "C"
