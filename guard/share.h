// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda.h"

/// A container's share of the GPU's time. Work is measured by events of the driver around batches
/// of launches on each stream: in time, not in blocks, so that neither the size of a grid nor a
/// graph makes a difference. All waiting is done by the thread that launches, and has an end.
namespace aliquot::guard {

enum LaunchMode : std::uint32_t {
    kLaunchPassed = 0,   // no share is set: straight to the driver
    kLaunchMetered = 1,  // also until a device is known: nobody knows its share before
};
extern std::atomic<std::uint32_t> g_launch_mode;

void pass_launches();
/// Looks whether a share is set now; the agent may change it at any time.
void refresh_share();

/// Waits for this process' turn or share, and counts the launch.
void before_launch(CUstream stream, bool per_thread);

/// Around calls by which the program waits for the device, or asks whether it is done.
void before_wait();
void after_wait();

/// A stream or context will be gone; nullptr: nothing.
void drop_share_of_stream(CUstream stream);
void drop_share(CUcontext context);

/// In the child of a fork.
void forget_share();

}  // namespace aliquot::guard
