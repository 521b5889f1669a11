// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "abi/cuda.h"
#include "sim/cuda/stream.h"

namespace aliquot::sim {

using Nodes = std::vector<CUgraphNode>;

/// One stream capture: what its streams are given becomes a graph and does not run. All of it under
/// one lock of the process; captures are few.
class Capture {
public:
    CUgraph graph = nullptr;
    CUstream_st* origin = nullptr;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id thread;
    std::uint64_t id = 0;
    bool given_graph = false;  // the graph is the program's
    bool invalid = false;
    std::map<CUstream_st*, Nodes> last;  // of each stream: what its next piece comes after
    std::set<CUevent_st*> events;        // recorded in it
};

/// Why a call that waits for or asks about a stream's work cannot be made; CUDA_SUCCESS: it can.
/// Such a call spoils the capture that it hits.
CUresult barred_by_capture(CUstream_st& stream);
/// The same for an event's work.
CUresult barred_by_capture(CUevent_st& event);
/// Work in the legacy stream would have to wait for streams that capture.
CUresult barred_in_legacy(const CUstream_st& stream);
/// The same for waiting for a whole context.
CUresult barred_in_context(CUcontext context);

/// How many captures there are that bar calls which might wait for the device.
extern std::atomic<int> strict_captures;
CUresult barred_here_slowly();
/// For those calls (allocating, freeing, asking events): whether this thread may make them now.
inline CUresult barred_here() {
    if (strict_captures.load(std::memory_order_relaxed) == 0) [[likely]]
        return CUDA_SUCCESS;
    return barred_here_slowly();
}

/// A stream or event that takes part in a capture is destroyed.
void abandon_capture(CUstream_st& stream);
void forget_captured(CUevent_st& event);

struct Captured {
    CUresult result;
    CUgraph graph;
};
CUresult begin_capture(CUstream_st& stream, CUstreamCaptureMode mode, CUgraph into, Nodes after);
Captured end_capture(CUstream_st& stream);

/// What a program may know of the capture a stream is in.
struct CaptureInfo {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    std::uint64_t id = 0;
    CUgraph graph = nullptr;
    const CUgraphNode* dependencies = nullptr;  // valid until the stream's next call
    std::size_t count = 0;
};
CaptureInfo capture_info(CUstream_st& stream);
/// flags   0 adds to what the stream's next piece comes after, 1 replaces it
CUresult update_capture(CUstream_st& stream, Nodes after, bool replace);

}  // namespace aliquot::sim
