// SPDX-License-Identifier: Apache-2.0
// What NVML tells: the container's slice, so that nvidia-smi and CUDA say the same. The rest of
// NVML is the truth of the whole GPU and is not touched.
#include <cstring>

#include "guard/exports.h"
#include "guard/session.h"

namespace aliquot::guard {
namespace {

int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// "GPU-8f1a...", "MIG-...": the part behind the first dash as 16 bytes.
bool parse_uuid(const char* text, abi::DeviceUuid& uuid) {
    text = std::strchr(text, '-');
    unsigned digits = 0;
    for (; text != nullptr && *text != '\0'; ++text) {
        if (*text == '-') continue;
        const int value = hex(*text);
        if (value < 0 || digits == 2 * sizeof uuid.bytes) return false;
        std::uint8_t& byte = uuid.bytes[digits / 2];
        byte = static_cast<std::uint8_t>(digits % 2 == 0 ? value << 4 : byte | value);
        ++digits;
    }
    return digits == 2 * sizeof uuid.bytes;
}

/// What is to be shown of one device instead of the whole.
struct Slice {
    std::uint64_t limit = 0;  // 0: the whole
    std::uint64_t used = 0;
    unsigned place = kNone;
};

Slice slice_of(nvmlDevice_t handle) {
    Slice slice;
    if (!attach_for_view()) return slice;
    char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = {};
    abi::DeviceUuid uuid = {};
    if (g_nvml.nvmlDeviceGetUUID(handle, text, sizeof text) != NVML_SUCCESS ||
        !parse_uuid(text, uuid))
        return slice;
    unsigned index = 0;
    g_nvml.nvmlDeviceGetIndex(handle, &index);
    abi::DeviceLimits room = {};
    const abi::DeviceLimits* limits = g_ledger.limits_of(uuid, index, room);
    slice.limit = limits->memory_bytes.load(std::memory_order_relaxed);
    if (slice.limit == 0) return slice;
    g_ledger.take_truth();
    if (g_ledger.joined()) g_ledger.reap_sometimes();
    slice.place = g_ledger.find(uuid);
    if (slice.place != kNone)
        slice.used = g_ledger.joined() ? g_ledger.used(slice.place)
                                       : g_ledger.used_by_the_living(slice.place);
    return slice;
}

nvmlReturn_t show_memory(nvmlDevice_t device, nvmlMemory_t& memory) {
    const Slice slice = slice_of(device);
    if (slice.limit == 0) return NVML_SUCCESS;
    if (slice.limit < memory.total) memory.total = slice.limit;
    memory.used = slice.used < memory.total ? slice.used : memory.total;
    memory.free = memory.total - memory.used;
    return NVML_SUCCESS;
}

/// Keeps the container's own processes, with the pids and sizes that it knows.
template <class Info>
unsigned keep_own(const Slice& slice, Info* infos, unsigned count) {
    unsigned kept = 0;
    for (unsigned i = 0; i < count; ++i) {
        int pid = 0;
        std::uint64_t bytes = 0;
        if (slice.place == kNone ||
            !g_ledger.process(static_cast<int>(infos[i].pid), slice.place, pid, bytes))
            continue;
        Info info = infos[i];
        info.pid = static_cast<unsigned>(pid);
        info.usedGpuMemory = bytes;
        infos[kept++] = info;
    }
    return kept;
}

/// A list of processes. The count rule is NVML's: too small an array is told how many there are.
template <class Info, class Function>
nvmlReturn_t processes(Function real, nvmlDevice_t device, unsigned* count, Info* infos) {
    if (count == nullptr) return real(device, count, infos);
    const Slice slice = slice_of(device);
    if (slice.limit == 0) return real(device, count, infos);
    constexpr unsigned kMost = 512;
    Info all[kMost];
    unsigned there = kMost;
    const nvmlReturn_t result = real(device, &there, all);
    if (result != NVML_SUCCESS)
        return result == NVML_ERROR_INSUFFICIENT_SIZE ? real(device, count, infos) : result;
    const unsigned kept = keep_own(slice, all, there < kMost ? there : kMost);
    const unsigned room = *count;
    *count = kept;
    if (kept == 0) return NVML_SUCCESS;
    if (room < kept) return NVML_ERROR_INSUFFICIENT_SIZE;
    if (infos == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    std::memcpy(infos, all, kept * sizeof(Info));
    return NVML_SUCCESS;
}

}  // namespace
}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT(nvmlDeviceGetMemoryInfo)
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
    find_nvml();
    const nvmlReturn_t result = g_nvml.nvmlDeviceGetMemoryInfo(device, memory);
    return result == NVML_SUCCESS && memory != nullptr ? show_memory(device, *memory) : result;
}

GUARD_EXPORT(nvmlDeviceGetMemoryInfo_v2)
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
    find_nvml();
    const nvmlReturn_t result = g_nvml.nvmlDeviceGetMemoryInfo_v2(device, memory);
    if (result != NVML_SUCCESS || memory == nullptr) return result;
    const Slice slice = slice_of(device);
    if (slice.limit == 0) return result;
    if (slice.limit < memory->total) memory->total = slice.limit;
    memory->used = slice.used < memory->total ? slice.used : memory->total;
    memory->free = memory->total - memory->used;
    memory->reserved = 0;  // what the driver keeps is not the container's
    return result;
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type and a name
#define PROCESS_LIST(symbol, Info)                                               \
    GUARD_EXPORT(symbol)                                                         \
    nvmlReturn_t symbol(nvmlDevice_t device, unsigned int* count, Info* infos) { \
        find_nvml();                                                             \
        return processes(g_nvml.symbol, device, count, infos);                   \
    }
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses, nvmlProcessInfo_v1_t)
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v2, nvmlProcessInfo_v2_t)
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v3, nvmlProcessInfo_t)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_v2_t)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t)
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t)
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_v2_t)
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_t)
#undef PROCESS_LIST
// NOLINTEND(bugprone-macro-parentheses)
