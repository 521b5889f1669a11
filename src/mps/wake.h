// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

#include "mps/process.h"

namespace aliquot::mps {

/// Notices the end of any process, also of one that is not our child. Not thread-safe.
class EndWatch {
public:
    explicit EndWatch(const ProcessId& process);
    EndWatch(const EndWatch&) = delete;
    EndWatch& operator=(const EndWatch&) = delete;
    ~EndWatch();
    [[nodiscard]] int descriptor() const { return descriptor_; }  // -1: the kernel has none
    [[nodiscard]] bool ended() const;

private:
    ProcessId process_;
    int descriptor_ = -1;
};

/// What a thread sleeps on: woken by notify() from any thread, by the end of a process, by time.
class Wake {
public:
    Wake();
    Wake(const Wake&) = delete;
    Wake& operator=(const Wake&) = delete;
    ~Wake();

    void notify();
    /// Returns at once when notify() was called since the last return.
    void wait(std::chrono::milliseconds timeout, const EndWatch* process = nullptr);

private:
    int descriptor_ = -1;
};

}  // namespace aliquot::mps
