// SPDX-License-Identifier: Apache-2.0
// Where a program waits for the device: the moments at which the guard learns what was done, what
// pools have given back, and that the turn may go to somebody else.
#include "guard/exports.h"
#include "guard/pools.h"
#include "guard/session.h"
#include "guard/share.h"

namespace aliquot::guard {
namespace {

inline bool is_metered() { return g_launch_mode.load(std::memory_order_relaxed) != kLaunchPassed; }

void look_around() {
    if (g_phase.load(std::memory_order_relaxed) != Phase::kGuarded) return;
    if (is_metered())
        after_wait();
    else
        refresh_share();
    const Inside inside;
    if (inside) note_synchronised();
}

/// A call that waits.
template <class Call>
CUresult waited(Call call) {
    const bool ours = guarded();
    if (ours && is_metered()) before_wait();
    const CUresult result = call();
    if (ours && result == CUDA_SUCCESS) look_around();
    return result;
}

/// A call that asks; one that succeeds tells the same as one that waited.
template <class Call>
CUresult asked(Call call) {
    const bool ours = guarded();
    const CUresult result = call();
    if (ours && result == CUDA_ERROR_NOT_READY && is_metered()) before_next_look();
    if (!ours || result != CUDA_SUCCESS) return result;
    if (is_metered()) before_wait();
    look_around();
    return result;
}

}  // namespace
}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT(cuStreamSynchronize) CUresult cuStreamSynchronize(CUstream stream) {
    return waited([&] { return g_driver.cuStreamSynchronize(stream); });
}
GUARD_EXPORT(cuStreamSynchronize_ptsz) CUresult cuStreamSynchronize_ptsz(CUstream stream) {
    return waited([&] { return g_driver.cuStreamSynchronize_ptsz(stream); });
}
GUARD_EXPORT(cuCtxSynchronize) CUresult cuCtxSynchronize() {
    return waited([] { return g_driver.cuCtxSynchronize(); });
}
GUARD_EXPORT(cuCtxSynchronize_v2) CUresult cuCtxSynchronize_v2(CUcontext context) {
    return waited([&] { return g_driver.cuCtxSynchronize_v2(context); });
}
GUARD_EXPORT(cuEventSynchronize) CUresult cuEventSynchronize(CUevent event) {
    return waited([&] { return g_driver.cuEventSynchronize(event); });
}
GUARD_EXPORT(cuStreamQuery) CUresult cuStreamQuery(CUstream stream) {
    return asked([&] { return g_driver.cuStreamQuery(stream); });
}
GUARD_EXPORT(cuStreamQuery_ptsz) CUresult cuStreamQuery_ptsz(CUstream stream) {
    return asked([&] { return g_driver.cuStreamQuery_ptsz(stream); });
}
GUARD_EXPORT(cuEventQuery) CUresult cuEventQuery(CUevent event) {
    return asked([&] { return g_driver.cuEventQuery(event); });
}
GUARD_EXPORT(cuStreamDestroy) CUresult cuStreamDestroy(CUstream stream) {
    if (guarded()) drop_share_of_stream(stream);
    return g_driver.cuStreamDestroy(stream);
}
GUARD_EXPORT(cuStreamDestroy_v2) CUresult cuStreamDestroy_v2(CUstream stream) {
    if (guarded()) drop_share_of_stream(stream);
    return g_driver.cuStreamDestroy_v2(stream);
}
