// SPDX-License-Identifier: Apache-2.0
// Entry points that fill memory with a value.
#include "sim/cuda/copy.h"
#include "sim/cuda/two_streams.h"

using namespace aliquot::sim;

namespace {

CUresult fill(CUdeviceptr address, unsigned element, std::uint32_t value, std::size_t count,
              CUstream stream, bool own_stream, When when) {
    return set({.address = address, .value = value, .element = element, .width = count}, stream,
               own_stream, when);
}

CUresult fill_rows(CUdeviceptr address, std::size_t pitch, unsigned element, std::uint32_t value,
                   std::size_t width, std::size_t height, CUstream stream, bool own_stream,
                   When when) {
    return set({.address = address,
                .pitch = pitch,
                .value = value,
                .element = element,
                .width = width,
                .height = height},
               stream, own_stream, when);
}

}  // namespace

extern "C" {

TWO_STREAMS(cuMemsetD8_v2, _ptds, (CUdeviceptr to, unsigned char value, size_t count),
            fill(to, 1, value, count, nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemsetD16_v2, _ptds, (CUdeviceptr to, unsigned short value, size_t count),
            fill(to, 2, value, count, nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemsetD32_v2, _ptds, (CUdeviceptr to, unsigned int value, size_t count),
            fill(to, 4, value, count, nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemsetD8Async, _ptsz,
            (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
            fill(to, 1, value, count, stream, own_stream, When::kInTurn))
TWO_STREAMS(cuMemsetD16Async, _ptsz,
            (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
            fill(to, 2, value, count, stream, own_stream, When::kInTurn))
TWO_STREAMS(cuMemsetD32Async, _ptsz,
            (CUdeviceptr to, unsigned int value, size_t count, CUstream stream),
            fill(to, 4, value, count, stream, own_stream, When::kInTurn))
TWO_STREAMS(cuMemsetD2D8_v2, _ptds,
            (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height),
            fill_rows(to, pitch, 1, value, width, height, nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemsetD2D16_v2, _ptds,
            (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height),
            fill_rows(to, pitch, 2, value, width, height, nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemsetD2D32_v2, _ptds,
            (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height),
            fill_rows(to, pitch, 4, value, width, height, nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemsetD2D8Async, _ptsz,
            (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
             CUstream stream),
            fill_rows(to, pitch, 1, value, width, height, stream, own_stream, When::kInTurn))
TWO_STREAMS(cuMemsetD2D16Async, _ptsz,
            (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
             CUstream stream),
            fill_rows(to, pitch, 2, value, width, height, stream, own_stream, When::kInTurn))
TWO_STREAMS(cuMemsetD2D32Async, _ptsz,
            (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height,
             CUstream stream),
            fill_rows(to, pitch, 4, value, width, height, stream, own_stream, When::kInTurn))

// The 32-bit interface.
CUresult cuMemsetD8(CUdeviceptr_v1 to, unsigned char value, unsigned int count) {
    called(__func__);
    return fill(to, 1, value, count, nullptr, false, When::kNow);
}

CUresult cuMemsetD16(CUdeviceptr_v1 to, unsigned short value, unsigned int count) {
    called(__func__);
    return fill(to, 2, value, count, nullptr, false, When::kNow);
}

CUresult cuMemsetD32(CUdeviceptr_v1 to, unsigned int value, unsigned int count) {
    called(__func__);
    return fill(to, 4, value, count, nullptr, false, When::kNow);
}

}  // extern "C"
