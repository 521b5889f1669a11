// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "guard/driver.h"
#include "guard/ledger.h"
#include "guard/records.h"

/// This process and the guard: whether it is guarded at all, and the state that goes with it. There
/// is one, all zero until the first call that concerns CUDA.
namespace aliquot::guard {

enum class Phase : std::uint32_t {
    kCold,     // nothing has happened yet
    kPassive,  // nobody asked for limits, or the guard failed open: everything is passed through
    kGuarded,
    kClosed,  // the guard failed closed: there is no CUDA in this process
};

extern std::atomic<Phase> g_phase;
extern Ledger g_ledger;
extern Settings g_settings;
extern Records g_memory;  // by device pointer, array or graph handle

/// Leaves the cold phase: finds the driver, reads the settings, joins the ledger.
Phase begin();

/// Whether this call is to be guarded. After it the entry points of g_driver can be called.
inline bool guarded() {
    const Phase phase = g_phase.load(std::memory_order_acquire);
    if (__builtin_expect(phase == Phase::kGuarded, 1)) return true;
    return phase == Phase::kCold && begin() == Phase::kGuarded;
}
/// The same where a call must not go through when the guard failed closed.
inline Phase phase_now() {
    const Phase phase = g_phase.load(std::memory_order_acquire);
    return phase == Phase::kCold ? begin() : phase;
}

/// Whether anything asks for limits; nothing is opened. For dlopen.
bool wants_guarding();

/// For NVML, which also programs without CUDA use: a look at the ledger, no place in it.
bool attach_for_view();

/// The place in the ledger of a CUDA device of this process; kNone: there is no such device, or no
/// place for it.
unsigned place_of_device(CUdevice device);
/// Some device of this process found no place.
extern std::atomic<bool> g_places_full;
/// The device of a place that place_of_device() has given; below 0: none.
CUdevice device_of_place(unsigned place);
/// Of the current context's; kNone: there is none.
unsigned current_place();
/// The current context, 0: none.
std::uint64_t current_context();

/// This thread is inside the guard or in a call that the guard made: what comes back to us then,
/// from the driver itself or a signal handler, is passed through.
class Inside {
public:
    Inside();
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    /// This is the outermost: guard it.
    explicit operator bool() const { return outermost_; }

private:
    bool outermost_;
};

/// Makes `call` with the capture mode relaxed: the guard's own calls must not spoil a capture.
class CaptureRelaxed {
public:
    CaptureRelaxed();
    ~CaptureRelaxed();
    CaptureRelaxed(const CaptureRelaxed&) = delete;
    CaptureRelaxed& operator=(const CaptureRelaxed&) = delete;

private:
    CUstreamCaptureMode mode_;
    bool changed_;
};

/// The driver gave out an entry point that is newer than our table.
extern std::atomic<bool> g_unknown_entries;

/// Streams of this process that are being captured.
extern std::atomic<std::uint32_t> g_captures;
/// Whether work on this stream goes into a graph now.
bool is_capturing(CUstream stream, bool per_thread);

}  // namespace aliquot::guard
