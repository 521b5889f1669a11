// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/copy.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "sim/cuda/address.h"
#include "sim/cuda/array.h"
#include "sim/cuda/capture.h"
#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/stream.h"

namespace aliquot::sim {
namespace {

std::uint64_t extent(const Side& side, const Copy& what) {
    return (what.depth - 1) * side.slice + (what.height - 1) * side.pitch + what.width;
}

bool empty(const Copy& what) { return what.width == 0 || what.height == 0 || what.depth == 0; }

/// A copy of the program's own memory, taken while it is still the program's to change.
Copy staged(const Copy& what, std::shared_ptr<std::vector<unsigned char>>& buffer) {
    Copy later = what;
    buffer = std::make_shared<std::vector<unsigned char>>(what.width * what.height * what.depth);
    later.from = {.address = reinterpret_cast<std::uint64_t>(buffer->data()),
                  .pitch = what.width,
                  .slice = what.width * what.height,
                  .host = true};
    Copy first = what;
    first.to = later.from;
    perform(first);
    return later;
}

struct Target {
    CUresult result = CUDA_SUCCESS;
    CUstream_st* stream = nullptr;  // none: the call ends with `result`
    bool capturing = false;
};

/// Where a copy or a fill goes, with what is refused first in the order of the driver.
template <class What>
Target target_of(const What& what, CUstream handle, bool per_thread, When when) {
    const Current current = current_context();
    if (!current) return {current.result};
    CUstream_st* const stream = stream_of(current.context, handle, per_thread);
    if (stream == nullptr) return {CUDA_ERROR_INVALID_HANDLE};
    if (const auto checked = check(what); checked != CUDA_SUCCESS) return {checked};
    const bool capturing = stream->capture.load() != nullptr;
    if (when == When::kNow && capturing) return {barred_by_capture(*stream)};
    if (const auto barred = barred_in_legacy(*stream); barred != CUDA_SUCCESS) return {barred};
    return {CUDA_SUCCESS, stream, capturing};
}

}  // namespace

Copy plain_copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    return {.from = {.address = from, .pitch = bytes, .slice = bytes},
            .to = {.address = to, .pitch = bytes, .slice = bytes},
            .width = bytes};
}

CUresult check(const Copy& what) {
    if (empty(what)) return CUDA_SUCCESS;
    for (const Side* const side : {&what.from, &what.to}) {
        if (side->address == 0) return CUDA_ERROR_INVALID_VALUE;
        if (side->host) continue;
        if (!reach(side->address, extent(*side, what))) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

void perform(const Copy& what) {
    if (empty(what)) return;
    const auto* const from = reinterpret_cast<const unsigned char*>(what.from.address);
    auto* const to = reinterpret_cast<unsigned char*>(what.to.address);
    for (std::uint64_t z = 0; z < what.depth; ++z) {
        for (std::uint64_t y = 0; y < what.height; ++y) {
            std::memmove(to + z * what.to.slice + y * what.to.pitch,
                         from + z * what.from.slice + y * what.from.pitch, what.width);
        }
    }
}

CUresult copy(const Copy& what, CUstream handle, bool per_thread, When when) {
    const Target target = target_of(what, handle, per_thread, when);
    if (target.stream == nullptr) return target.result;
    CUstream_st& stream = *target.stream;
    if (target.capturing) {
        return capture_effect(stream, CU_GRAPH_NODE_TYPE_MEMCPY, [what] { perform(what); });
    }
    Queue& queue = stream.context->device->queue;
    // Memory that can be swapped out is copied before the call returns, one way or the other.
    const bool to_pageable = what.to.host && !page_locked(what.to.address);
    if (when == When::kNow || to_pageable) {
        const CUresult waited = queue.wait(start_of(stream));
        if (waited != CUDA_SUCCESS) return waited;
        perform(what);
        return stream.context->error.load();
    }
    if (!queue.reached(start_of(stream)) && what.from.host && !page_locked(what.from.address)) {
        std::shared_ptr<std::vector<unsigned char>> buffer;
        const Copy later = staged(what, buffer);
        submit(stream, {}, [later, buffer] { perform(later); });
    } else {
        submit(stream, {}, [what] { perform(what); });
    }
    return CUDA_SUCCESS;
}

CUresult check(const Pattern& what) {
    if (what.width == 0 || what.height == 0) return CUDA_SUCCESS;
    const std::uint64_t row = what.width * what.element;
    if (what.address % what.element != 0) return CUDA_ERROR_INVALID_VALUE;
    if (what.height > 1 && (what.pitch < row || what.pitch % what.element != 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const std::uint64_t bytes = (what.height - 1) * what.pitch + row;
    // Memory that nobody has touched holds zeros; let it stay so.
    if (Device* const device = Driver::get().device_of(what.address);
        device != nullptr && what.value == 0) {
        const auto found = find_allocation(*device, what.address);
        if (found && what.address + bytes <= found->address + found->span) return CUDA_SUCCESS;
    }
    return reach(what.address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void perform(const Pattern& what) {
    if (what.value == 0) {
        Device* const device = Driver::get().device_of(what.address);
        if (device != nullptr) {
            const auto found = find_allocation(*device, what.address);
            if (found && found->heap == 0 && !found->touched) return;
            (void)touch(*device, what.address, 1);
        }
    }
    auto* row = reinterpret_cast<unsigned char*>(what.address);
    for (std::uint64_t y = 0; y < what.height; ++y, row += what.pitch) {
        switch (what.element) {
            case 1:
                std::memset(row, static_cast<int>(what.value & 0xff), what.width);
                break;
            case 2:
                std::fill_n(reinterpret_cast<std::uint16_t*>(row), what.width,
                            static_cast<std::uint16_t>(what.value));
                break;
            default:
                std::fill_n(reinterpret_cast<std::uint32_t*>(row), what.width, what.value);
                break;
        }
    }
}

CUresult set(const Pattern& what, CUstream handle, bool per_thread, When when) {
    const Target target = target_of(what, handle, per_thread, when);
    if (target.stream == nullptr) return target.result;
    CUstream_st& stream = *target.stream;
    if (target.capturing) {
        return capture_effect(stream, CU_GRAPH_NODE_TYPE_MEMSET, [what] { perform(what); });
    }
    // Not even the calls that are not called asynchronous wait for the device.
    submit(stream, {}, [what] { perform(what); });
    return CUDA_SUCCESS;
}

}  // namespace aliquot::sim
