// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "guard/driver.h"
#include "guard/session.h"
#include "guard/share.h"

/// Calls that give the device work other than kernels: held back and measured as launches are.
namespace aliquot::guard {

/// Without a share, or in a call that the guard made itself: straight to the driver.
inline bool is_unshared() {
    return __builtin_expect(g_launch_mode.load(std::memory_order_relaxed) == kLaunchPassed, 1) ||
           !guarded();
}

/// Work in a stream.
template <auto kCall, class... Arguments>
CUresult queued(CUstream stream, bool per_thread, Arguments... arguments) {
    if (is_unshared()) return (g_driver.*kCall)(arguments...);
    before_launch(stream, per_thread);
    const CUresult result = (g_driver.*kCall)(arguments...);
    after_copy();
    return result;
}

/// Something in a stream that the device waits for: what the stream has done before ends here.
template <auto kCall, class... Arguments>
CUresult held(CUstream stream, bool per_thread, Arguments... arguments) {
    if (!is_unshared()) before_hold(stream, per_thread);
    return (g_driver.*kCall)(arguments...);
}

/// Work in the default stream that is done when the call returns, as a rule.
template <auto kCall, class... Arguments>
CUresult done_at_once(bool per_thread, Arguments... arguments) {
    if (is_unshared()) return (g_driver.*kCall)(arguments...);
    before_launch(nullptr, per_thread);
    const CUresult result = (g_driver.*kCall)(arguments...);
    after_copy();
    before_wait();
    after_wait();
    return result;
}

}  // namespace aliquot::guard
