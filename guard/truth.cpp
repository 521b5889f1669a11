// SPDX-License-Identifier: Apache-2.0
#include "guard/truth.h"

#include <cstring>

#include "guard/kernel.h"
#include "guard/pools.h"
#include "guard/session.h"

namespace aliquot::guard {
namespace {

constexpr std::uint64_t kBetween = 500'000'000;
constexpr unsigned kCalls = 64;

std::atomic<bool> g_asking{false};
std::atomic<std::uint64_t> g_asked_ns{0};
std::atomic<unsigned> g_calls{0};
// Under g_asking.
bool g_started = false;
bool g_without = false;  // this machine's NVML does not tell

void write_uuid(const abi::DeviceUuid& uuid, const char* prefix, char* text) {
    constexpr char kDigits[] = "0123456789abcdef";
    while (*prefix != '\0') *text++ = *prefix++;
    for (unsigned i = 0; i < sizeof uuid.bytes; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *text++ = '-';
        *text++ = kDigits[uuid.bytes[i] >> 4];
        *text++ = kDigits[uuid.bytes[i] & 15];
    }
    *text = '\0';
}

/// What NVML says this process holds of a device.
bool ask(const abi::DeviceUuid& uuid, std::uint64_t& bytes) {
    char name[64];
    nvmlDevice_t device = nullptr;
    write_uuid(uuid, "GPU-", name);
    if (g_nvml.nvmlDeviceGetHandleByUUID(name, &device) != NVML_SUCCESS) {
        write_uuid(uuid, "MIG-", name);
        if (g_nvml.nvmlDeviceGetHandleByUUID(name, &device) != NVML_SUCCESS) return false;
    }
    constexpr unsigned kMost = 1024;
    static nvmlProcessInfo_t infos[kMost];  // under g_asking
    unsigned count = kMost;
    const void* third = reinterpret_cast<void*>(g_nvml.nvmlDeviceGetComputeRunningProcesses_v3);
    const nvmlReturn_t result =
        is_absent(third) ? g_nvml.nvmlDeviceGetComputeRunningProcesses_v2(device, &count, infos)
                         : g_nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos);
    if (result != NVML_SUCCESS || count > kMost) return false;
    const auto pid = static_cast<unsigned>(kernel::own_pid());
    for (unsigned i = 0; i < count; ++i) {
        if (infos[i].pid != pid) continue;
        bytes = infos[i].usedGpuMemory;
        return bytes != ~0ULL;  // "not available"
    }
    return false;
}

/// Memory is charged before the driver gives it and until after it has it back. So a figure taken
/// while other threads allocate is too low, never too high: the highest of the last ones counts.
std::uint64_t highest(unsigned place, std::uint64_t overhead) {
    constexpr unsigned kLast = 4;
    static std::uint64_t last[abi::kRegionDevices][kLast] = {};
    static unsigned next[abi::kRegionDevices] = {};
    last[place][next[place]++ % kLast] = overhead;
    for (const std::uint64_t one : last[place]) overhead = one > overhead ? one : overhead;
    return overhead;
}

void measure(unsigned place) {
    if (!g_started) {
        if (g_without) return;
        g_started = load_nvml() && g_nvml.nvmlInit_v2() == NVML_SUCCESS;
        g_without = !g_started;
        if (g_without) return g_ledger.remark(place, abi::kRemarkNoTruth);
    }
    // Pools are charged with the most that they can hold: what is too much would be missing below.
    settle_pools();
    const abi::SlotDevice& own = g_ledger.own(place);
    const std::uint32_t changes = own.changes.load();
    std::uint64_t bytes = 0;
    if (!ask(g_ledger.device(place).uuid, bytes)) return;
    const std::uint64_t tracked = own.tracked_bytes.load();
    const std::uint64_t managed = own.managed_bytes.load();
    const std::uint64_t resident = tracked - (managed < tracked ? managed : tracked);
    // Something was allocated in between: that figure would be booked as overhead.
    if (own.changes.load() != changes) return;
    g_ledger.set_overhead(place, highest(place, bytes > resident ? bytes - resident : 0));
}

}  // namespace

void measure_self(unsigned place, bool now) {
    if (!now && g_calls.fetch_add(1, std::memory_order_relaxed) % kCalls != 0) return;
    const std::uint64_t time = kernel::now_ns();
    const std::uint64_t asked = g_asked_ns.load(std::memory_order_relaxed);
    if (asked != 0 && time - asked < kBetween) return;
    if (g_ledger.is_measured() || g_ledger.own(place).contexts.load() == 0) return;
    if (g_asking.exchange(true, std::memory_order_acquire)) return;
    g_asked_ns.store(time, std::memory_order_relaxed);
    measure(place);
    g_asking.store(false, std::memory_order_release);
}

}  // namespace aliquot::guard
