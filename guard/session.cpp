// SPDX-License-Identifier: Apache-2.0
#include "guard/session.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "guard/forks.h"
#include "guard/kernel.h"
#include "guard/leaving.h"
#include "guard/pools.h"
#include "guard/share.h"
#include "guard/vmm.h"

namespace aliquot::guard {

std::atomic<Phase> g_phase{Phase::kCold};
std::atomic<std::uint32_t> g_captures{0};
std::atomic<bool> g_places_full{false};
std::atomic<bool> g_unknown_entries{false};
constinit Ledger g_ledger;
constinit Settings g_settings;
constinit Records g_memory;

namespace {

constexpr unsigned kMaxOrdinals = 64;

ThreadLock g_lock;
bool g_settings_read = false;
std::atomic<bool> g_entered{false};  // something here may have been touched
/// Place + 1 by CUDA ordinal; 0: not asked yet.
std::atomic<std::uint8_t> g_places[kMaxOrdinals];
thread_local unsigned t_depth = 0;

void read_settings_once() {
    if (g_settings_read) return;
    read_settings(g_settings);
    g_settings_read = true;
}

Phase fail(const char* problem) {
    const bool open = g_ledger.is_fail_open(g_settings);
    log(LogLevel::kError, "%s (config %s, ledger %s): %s", problem,
        g_settings.config[0] == '\0' ? "none" : g_settings.config,
        g_settings.ledger[0] == '\0' ? "none" : g_settings.ledger,
        open                 ? "this program runs without limits"
        : g_settings.mounted ? "CUDA is refused to this program"
                             : "CUDA is refused to this program; with ALIQUOT_GUARD_FAIL=open it "
                               "runs without limits");
    return open ? Phase::kPassive : Phase::kClosed;
}

/// What a link of /proc says; empty: it cannot be read.
template <std::size_t N>
void read_link(const char* path, char (&text)[N]) {
    const long size = kernel::call(SYS_readlinkat, AT_FDCWD, kernel::as_long(path),
                                   kernel::as_long(&text[0]), N - 1);
    text[size > 0 ? size : 0] = '\0';
}

/// "monotonic  3600  500000000" in the first line, the nanoseconds never below 0; 0: not there.
std::uint64_t clock_ahead_ns(const char* offsets) {
    constexpr char kName[] = "monotonic";
    if (std::strncmp(offsets, kName, sizeof kName - 1) != 0) return 0;
    const char* text = offsets + sizeof kName - 1;
    const auto number = [&text] {
        while (*text == ' ' || *text == '\t') ++text;
        const bool below = *text == '-';
        if (below) ++text;
        std::uint64_t value = 0;
        for (; *text >= '0' && *text <= '9'; ++text)
            value = value * 10 + static_cast<std::uint64_t>(*text - '0');
        return below ? 0 - value : value;
    };
    const std::uint64_t seconds = number();
    return seconds * 1'000'000'000u + number();
}

void find_host_clock() {
    char offsets[256];
    const int file = kernel::open("/proc/self/timens_offsets", O_RDONLY);
    const long size =
        file < 0 ? 0
                 : kernel::call(SYS_read, file, kernel::as_long(&offsets[0]), sizeof offsets - 1);
    if (file >= 0) kernel::close(file);
    offsets[size > 0 ? size : 0] = '\0';
    std::uint64_t ahead = clock_ahead_ns(offsets);
    if (ahead != 0) {
        // They are those of the children, which may be in another one since unshare().
        char own[64];
        char childrens[64];
        read_link("/proc/self/ns/time", own);
        read_link("/proc/self/ns/time_for_children", childrens);
        if (std::strcmp(own, childrens) != 0) return;
    }
    kernel::g_clock_ahead_ns.store(ahead, std::memory_order_relaxed);
}

const char* attach() {
    find_host_clock();
    if (g_settings.problem[0] != '\0') {
        const char* value =
            std::getenv(g_settings.problem);  // NOLINT(concurrency-mt-unsafe): as programs do
        static char text[256];                // under g_lock
        std::snprintf(text, sizeof text,
                      "%s=%.64s: expected a size such as 2Gi, a percentage from 0 to 100, or a "
                      "weight from 1",
                      g_settings.problem, value == nullptr ? "" : value);
        return text;
    }
    if (!g_ledger.attached())
        if (const char* problem = g_ledger.attach(g_settings)) return problem;
    return nullptr;
}

}  // namespace

/// In the child of a fork: the parent's memory and slot are not ours, and CUDA has to begin anew.
/// Whatever a thread that is not here any more was in the midst of is begun anew, also where that was
/// its first call.
void begin_anew() {
    forget_driver_lock();
    if (!g_entered.load(std::memory_order_relaxed)) return;  // no page is written in vain
    g_lock.forget();
    if (!g_settings_read) g_settings = Settings{};
    g_memory.forget();
    forget_pools();
    forget_vmm();
    forget_leaving();
    forget_share();
    g_captures.store(0, std::memory_order_relaxed);
    t_depth = 0;
    g_ledger.forget();
    for (auto& place : g_places) place.store(0, std::memory_order_relaxed);
    if (g_phase.load() == Phase::kGuarded) g_phase.store(Phase::kCold);
}

Phase begin() {
    watch_forks();
    g_entered.store(true, std::memory_order_relaxed);
    find_driver();
    const ThreadLocked locked(g_lock);
    if (g_phase.load() != Phase::kCold) return g_phase.load();
    read_settings_once();
    Phase phase = Phase::kPassive;
    if (g_settings.wanted) {
        const char* problem = attach();
        if (problem == nullptr) problem = g_ledger.join();
        phase = problem == nullptr ? Phase::kGuarded : fail(problem);
    }
    if (phase == Phase::kPassive) pass_launches();
    g_phase.store(phase, std::memory_order_release);
    return phase;
}

bool wants_guarding() {
    watch_forks();
    g_entered.store(true, std::memory_order_relaxed);
    const ThreadLocked locked(g_lock);
    read_settings_once();
    return g_settings.wanted;
}

bool attach_for_view() {
    if (g_phase.load(std::memory_order_acquire) == Phase::kGuarded) return true;
    watch_forks();
    g_entered.store(true, std::memory_order_relaxed);
    const ThreadLocked locked(g_lock);
    if (g_ledger.attached()) return true;
    if (g_phase.load() != Phase::kCold) return false;
    read_settings_once();
    return g_settings.wanted && attach() == nullptr;
}

unsigned place_of_device(CUdevice device) {
    const bool cached = device >= 0 && device < static_cast<int>(kMaxOrdinals);
    if (cached)
        if (const unsigned place = g_places[device].load(std::memory_order_acquire))
            return place - 1;
    CUuuid uuid = {};
    if (g_driver.cuDeviceGetUuid_v2(&uuid, device) != CUDA_SUCCESS &&
        g_driver.cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS)
        return kNone;
    abi::DeviceUuid key;
    std::memcpy(key.bytes, uuid.bytes, sizeof key.bytes);
    const unsigned place = g_ledger.place_of(key, container_index(static_cast<unsigned>(device)));
    if (place == kNone) g_places_full.store(true, std::memory_order_relaxed);
    if (place != kNone && g_unknown_entries.load(std::memory_order_relaxed))
        g_ledger.remark(place, abi::kRemarkUnknownEntry);
    if (cached && place != kNone)
        g_places[device].store(static_cast<std::uint8_t>(place + 1), std::memory_order_release);
    return place;
}

CUdevice device_of_place(unsigned place) {
    for (unsigned device = 0; device < kMaxOrdinals; ++device)
        if (g_places[device].load(std::memory_order_acquire) == place + 1)
            return static_cast<CUdevice>(device);
    return -1;
}

unsigned current_place() {
    CUdevice device = 0;
    if (g_driver.cuCtxGetDevice(&device) != CUDA_SUCCESS) return kNone;
    return place_of_device(device);
}

std::uint64_t current_context() {
    CUcontext context = nullptr;
    if (g_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS) return 0;
    return reinterpret_cast<std::uintptr_t>(context);
}

Inside::Inside() : outermost_(t_depth == 0) { ++t_depth; }
Inside::~Inside() { --t_depth; }

CaptureRelaxed::CaptureRelaxed()
    : mode_(CU_STREAM_CAPTURE_MODE_RELAXED),
      changed_(g_captures.load(std::memory_order_relaxed) != 0 &&
               g_driver.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS) {}
CaptureRelaxed::~CaptureRelaxed() {
    if (changed_) g_driver.cuThreadExchangeStreamCaptureMode(&mode_);
}

bool is_capturing(CUstream stream, bool per_thread) {
    if (g_captures.load(std::memory_order_relaxed) == 0) return false;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = per_thread ? g_driver.cuStreamIsCapturing_ptsz(stream, &status)
                                       : g_driver.cuStreamIsCapturing(stream, &status);
    // The legacy stream cannot be asked while another one captures: it must not be touched then.
    return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace aliquot::guard
