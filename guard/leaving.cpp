// SPDX-License-Identifier: Apache-2.0
#include "guard/leaving.h"

#include "guard/session.h"

namespace aliquot::guard {
namespace {

/// Memory that is let go when an event has come.
struct Leaving {
    CUevent event;  // nullptr: a free place
    CUcontext context;
    PhysicalIndex held[kMostLeavingAtOnce];
    unsigned count;
};
constexpr unsigned kMostLeaving = 512;

ThreadLock g_leaving_lock;
Leaving g_leaving[kMostLeaving];
std::atomic<unsigned> g_leaving_count{0};

void let_go_all(const PhysicalIndex* held, unsigned count) {
    for (unsigned i = 0; i < count; ++i) let_go(held[i]);
}

/// Under the lock.
void end(Leaving& one, bool gone) {
    if (!gone) g_driver.cuEventDestroy_v2(one.event);
    let_go_all(one.held, one.count);
    one = Leaving{};
    g_leaving_count.fetch_sub(1);
}

/// A mark behind what is in the stream now. nullptr: there is none to be had.
CUevent mark_end(CUstream stream, bool per_thread) {
    CUevent event = nullptr;
    if (g_driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return nullptr;
    const CUresult result = per_thread ? g_driver.cuEventRecord_ptsz(event, stream)
                                       : g_driver.cuEventRecord(event, stream);
    if (result == CUDA_SUCCESS) return event;
    g_driver.cuEventDestroy_v2(event);
    return nullptr;
}

/// False: no place, or no event.
bool leave(const PhysicalIndex* held, unsigned count, CUstream stream, bool per_thread) {
    CUcontext context = nullptr;
    if (g_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS) return false;
    const ThreadLocked locked(g_leaving_lock);
    for (Leaving& one : g_leaving) {
        if (one.event != nullptr) continue;
        one.event = mark_end(stream, per_thread);
        if (one.event == nullptr) return false;
        one.context = context;
        one.count = count;
        for (unsigned i = 0; i < count; ++i) one.held[i] = held[i];
        g_leaving_count.fetch_add(1);
        return true;
    }
    return false;
}

}  // namespace

void leave_behind(const PhysicalIndex* held, unsigned count, CUstream stream, bool per_thread) {
    const CaptureRelaxed relaxed;
    if (!leave(held, count, stream, per_thread)) {
        // Without a mark there is no other way to know.
        if (per_thread)
            g_driver.cuStreamSynchronize_ptsz(stream);
        else
            g_driver.cuStreamSynchronize(stream);
        let_go_all(held, count);
    }
    settle_leaving();
}

bool has_leaving() { return g_leaving_count.load(std::memory_order_relaxed) != 0; }

void settle_leaving() {
    if (!has_leaving()) return;
    const ThreadLocked locked(g_leaving_lock);
    for (Leaving& one : g_leaving)
        if (one.event != nullptr && g_driver.cuEventQuery(one.event) != CUDA_ERROR_NOT_READY)
            end(one, false);
}

void drop_leaving(CUcontext context, bool gone) {
    if (!has_leaving()) return;
    const ThreadLocked locked(g_leaving_lock);
    for (Leaving& one : g_leaving)
        if (one.event != nullptr && one.context == context) end(one, gone);
}

void forget_leaving() {
    g_leaving_lock.forget();
    for (Leaving& one : g_leaving) one = Leaving{};
    g_leaving_count.store(0);
}

}  // namespace aliquot::guard
