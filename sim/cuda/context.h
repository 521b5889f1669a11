// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "abi/cuda.h"
#include "sim/cuda/stream.h"

namespace aliquot::sim {
struct Device;
}

/// A context. It stays in memory when it is destroyed, so that its handle can be told from one that
/// never was.
struct CUctx_st {
    static constexpr std::uint64_t kMagic = 0x74'78'65'74'6e'6f'63'00;
    std::uint64_t magic = kMagic;
    aliquot::sim::Device* device = nullptr;
    std::uint32_t id = 0;  // owner of allocations
    unsigned flags = 0;
    unsigned api_version = 0;
    bool primary = false;
    std::atomic<bool> alive{false};
    std::atomic<CUresult> error{CUDA_SUCCESS};  // sticky: every later call answers it
    std::atomic<int> captures{0};  // streams that capture so that legacy work is barred
    std::uint64_t overhead_bytes = 0;
    int references = 0;  // of a context that was attached to
    std::array<std::size_t, 10> limits{};
    CUstream_st legacy;
    std::atomic<std::uint64_t> blocking_position{0};  // that work of streams which block reaches

    std::mutex mutex;
    std::map<std::thread::id, CUstream_st*> per_thread;
    std::vector<CUstream_st*> streams;
};

namespace aliquot::sim {

/// What one thread has current. Plain data, so that it costs nothing to reach.
struct ThreadState {
    static constexpr unsigned kMaxDepth = 32;
    CUcontext current = nullptr;
    unsigned depth = 0;
    CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUcontext stream_context = nullptr;  // whose per-thread stream is the one below
    CUstream_st* stream = nullptr;
    CUcontext stack[kMaxDepth];  // below the current one
};

extern __attribute__((tls_model("initial-exec"))) thread_local ThreadState thread_state;

/// The context that a call is about; or why there is none.
struct Current {
    CUresult result;
    CUcontext context;
    explicit operator bool() const { return result == CUDA_SUCCESS; }
};
Current current_context();
Current usable(CUcontext context);

/// Makes a context of a device, pays for it, and enters it in the device's list.
Current make_context(Device& device, unsigned flags, bool primary);
/// Ends one: its allocations, streams and events are gone.
void end_context(CUcontext context);

/// Makes a context the current one of this thread (nullptr: none).
CUresult push_context(CUcontext context);

}  // namespace aliquot::sim
