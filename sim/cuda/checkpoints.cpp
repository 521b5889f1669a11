// SPDX-License-Identifier: Apache-2.0
// Entry points that take a process's memory off its devices and bring it back. Only of the calling
// process itself; its memory stays readable, it is merely not paid for in between.
#include <unistd.h>

#include <mutex>

#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

enum State : int { kRunning = 0, kLocked = 1, kCheckpointed = 2 };

std::mutex state_mutex;
int state = kRunning;

CUresult check(int pid) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    return pid == ::getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult change(int pid, int from, int to) {
    if (const auto checked = check(pid); checked != CUDA_SUCCESS) return checked;
    const std::lock_guard lock(state_mutex);
    if (state != from) return CUDA_ERROR_ILLEGAL_STATE;
    state = to;
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuCheckpointProcessGetState(int pid, int* current) {
    called(__func__);
    if (const auto checked = check(pid); checked != CUDA_SUCCESS) return checked;
    if (current == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(state_mutex);
    *current = state;
    return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int* thread) {
    called(__func__);
    if (const auto checked = check(pid); checked != CUDA_SUCCESS) return checked;
    if (thread == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *thread = ::gettid();
    return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessLock(int pid, void*) {
    called(__func__);
    const CUresult changed = change(pid, kRunning, kLocked);
    if (changed != CUDA_SUCCESS) return changed;
    Driver& driver = Driver::get();
    for (int i = 0; i < static_cast<int>(driver.device_count()); ++i) {
        Queue& queue = driver.device(i)->queue;
        if (!queue.idle()) (void)queue.wait(queue.end());
    }
    return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessCheckpoint(int pid, void*) {
    called(__func__);
    const CUresult changed = change(pid, kLocked, kCheckpointed);
    if (changed != CUDA_SUCCESS) return changed;
    Driver& driver = Driver::get();
    for (int i = 0; i < static_cast<int>(driver.device_count()); ++i) {
        driver.device(i)->account.set_aside();
    }
    return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessRestore(int pid, void*) {
    called(__func__);
    if (const auto checked = check(pid); checked != CUDA_SUCCESS) return checked;
    const std::lock_guard lock(state_mutex);
    if (state != kCheckpointed) return CUDA_ERROR_ILLEGAL_STATE;
    Driver& driver = Driver::get();
    for (int i = 0; i < static_cast<int>(driver.device_count()); ++i) {
        const CUresult restored = driver.device(i)->account.take_up_again();
        if (restored == CUDA_SUCCESS) continue;
        for (int back = 0; back < i; ++back) driver.device(back)->account.set_aside();
        return restored;
    }
    state = kLocked;
    return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessUnlock(int pid, void*) {
    called(__func__);
    return change(pid, kLocked, kRunning);
}

}  // extern "C"
