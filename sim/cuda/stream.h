// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "abi/cuda.h"
#include "sim/cuda/queue.h"

namespace aliquot::sim {
class Capture;
struct Device;
}  // namespace aliquot::sim

/// A stream: up to which position of its device's queue its own work reaches.
struct CUstream_st {
    static constexpr std::uint64_t kMagic = 0x6d'61'65'72'74'73'75'63;
    std::uint64_t magic = 0;
    CUcontext context = nullptr;
    unsigned flags = 0;
    int priority = 0;
    std::uint64_t id = 0;
    std::atomic<std::uint64_t> position{0};
    std::atomic<aliquot::sim::Capture*> capture{nullptr};  // what is recorded instead of run
    std::atomic<std::uint64_t> host_calls{0};              // the last one given to the host thread
    bool legacy = false;
};

struct CUevent_st {
    static constexpr std::uint64_t kMagic = 0x74'6e'65'76'65'75'63'00;
    static constexpr std::uint64_t kNoMark = ~std::uint64_t{0};
    std::uint64_t magic = 0;
    CUcontext context = nullptr;
    unsigned flags = 0;
    bool recorded = false;
    std::uint64_t position = 0;
    std::uint64_t mark = kNoMark;
    std::atomic<std::uint64_t> time_ns{0};     // when the device passed it; 0: not known yet
    aliquot::sim::Capture* capture = nullptr;  // it was recorded in a stream that captures,
    std::vector<CUgraphNode> after;            // after these

    [[nodiscard]] bool timed() const { return (flags & CU_EVENT_DISABLE_TIMING) == 0; }
};

namespace aliquot::sim {

/// The stream that a handle means here; nullptr: it means none.
/// per_thread   what a null handle means
CUstream_st* stream_of(CUcontext context, CUstream handle, bool per_thread);

/// Where what a stream was given has run: of the legacy stream that of all that wait for it, too.
std::uint64_t end_of(const CUstream_st& stream);
/// From which position on its next piece may run: after its own, after the legacy stream's, unless it
/// does not block, and that of the legacy stream after all that block.
std::uint64_t start_of(const CUstream_st& stream);
/// Its work reaches so far now.
void advance(CUstream_st& stream, std::uint64_t position);

/// Gives work to the device on behalf of a stream.
void submit(CUstream_st& stream, const Work& work, Queue::Effect effect);

/// Waits until the device has done what a stream was given.
CUresult synchronize(CUstream_st& stream);

}  // namespace aliquot::sim
