// SPDX-License-Identifier: Apache-2.0
// Fills of memory: time of the device as launches are.
#include "guard/exports.h"
#include "guard/queued_work.h"

using namespace aliquot::guard;

GUARD_EXPORT(cuMemsetD16)
CUresult cuMemsetD16(CUdeviceptr_v1 to, unsigned short value, unsigned int count) {
    return done_at_once<&Driver::cuMemsetD16>(false, to, value, count);
}

GUARD_EXPORT(cuMemsetD16Async)
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
    return queued<&Driver::cuMemsetD16Async>(stream, false, to, value, count, stream);
}

GUARD_EXPORT(cuMemsetD16Async_ptsz)
CUresult cuMemsetD16Async_ptsz(CUdeviceptr to, unsigned short value, size_t count,
                               CUstream stream) {
    return queued<&Driver::cuMemsetD16Async_ptsz>(stream, true, to, value, count, stream);
}

GUARD_EXPORT(cuMemsetD16_v2)
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
    return done_at_once<&Driver::cuMemsetD16_v2>(false, to, value, count);
}

GUARD_EXPORT(cuMemsetD16_v2_ptds)
CUresult cuMemsetD16_v2_ptds(CUdeviceptr to, unsigned short value, size_t count) {
    return done_at_once<&Driver::cuMemsetD16_v2_ptds>(true, to, value, count);
}

GUARD_EXPORT(cuMemsetD2D16Async)
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream) {
    return queued<&Driver::cuMemsetD2D16Async>(stream, false, to, pitch, value, width, height,
                                               stream);
}

GUARD_EXPORT(cuMemsetD2D16Async_ptsz)
CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                                 size_t height, CUstream stream) {
    return queued<&Driver::cuMemsetD2D16Async_ptsz>(stream, true, to, pitch, value, width, height,
                                                    stream);
}

GUARD_EXPORT(cuMemsetD2D16_v2)
CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                          size_t height) {
    return done_at_once<&Driver::cuMemsetD2D16_v2>(false, to, pitch, value, width, height);
}

GUARD_EXPORT(cuMemsetD2D16_v2_ptds)
CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                               size_t height) {
    return done_at_once<&Driver::cuMemsetD2D16_v2_ptds>(true, to, pitch, value, width, height);
}

GUARD_EXPORT(cuMemsetD2D32Async)
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                            size_t height, CUstream stream) {
    return queued<&Driver::cuMemsetD2D32Async>(stream, false, to, pitch, value, width, height,
                                               stream);
}

GUARD_EXPORT(cuMemsetD2D32Async_ptsz)
CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                                 size_t height, CUstream stream) {
    return queued<&Driver::cuMemsetD2D32Async_ptsz>(stream, true, to, pitch, value, width, height,
                                                    stream);
}

GUARD_EXPORT(cuMemsetD2D32_v2)
CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                          size_t height) {
    return done_at_once<&Driver::cuMemsetD2D32_v2>(false, to, pitch, value, width, height);
}

GUARD_EXPORT(cuMemsetD2D32_v2_ptds)
CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                               size_t height) {
    return done_at_once<&Driver::cuMemsetD2D32_v2_ptds>(true, to, pitch, value, width, height);
}

GUARD_EXPORT(cuMemsetD2D8Async)
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream) {
    return queued<&Driver::cuMemsetD2D8Async>(stream, false, to, pitch, value, width, height,
                                              stream);
}

GUARD_EXPORT(cuMemsetD2D8Async_ptsz)
CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                                size_t height, CUstream stream) {
    return queued<&Driver::cuMemsetD2D8Async_ptsz>(stream, true, to, pitch, value, width, height,
                                                   stream);
}

GUARD_EXPORT(cuMemsetD2D8_v2)
CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                         size_t height) {
    return done_at_once<&Driver::cuMemsetD2D8_v2>(false, to, pitch, value, width, height);
}

GUARD_EXPORT(cuMemsetD2D8_v2_ptds)
CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                              size_t height) {
    return done_at_once<&Driver::cuMemsetD2D8_v2_ptds>(true, to, pitch, value, width, height);
}

GUARD_EXPORT(cuMemsetD32)
CUresult cuMemsetD32(CUdeviceptr_v1 to, unsigned int value, unsigned int count) {
    return done_at_once<&Driver::cuMemsetD32>(false, to, value, count);
}

GUARD_EXPORT(cuMemsetD32Async)
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
    return queued<&Driver::cuMemsetD32Async>(stream, false, to, value, count, stream);
}

GUARD_EXPORT(cuMemsetD32Async_ptsz)
CUresult cuMemsetD32Async_ptsz(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
    return queued<&Driver::cuMemsetD32Async_ptsz>(stream, true, to, value, count, stream);
}

GUARD_EXPORT(cuMemsetD32_v2)
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count) {
    return done_at_once<&Driver::cuMemsetD32_v2>(false, to, value, count);
}

GUARD_EXPORT(cuMemsetD32_v2_ptds)
CUresult cuMemsetD32_v2_ptds(CUdeviceptr to, unsigned int value, size_t count) {
    return done_at_once<&Driver::cuMemsetD32_v2_ptds>(true, to, value, count);
}

GUARD_EXPORT(cuMemsetD8)
CUresult cuMemsetD8(CUdeviceptr_v1 to, unsigned char value, unsigned int count) {
    return done_at_once<&Driver::cuMemsetD8>(false, to, value, count);
}

GUARD_EXPORT(cuMemsetD8Async)
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    return queued<&Driver::cuMemsetD8Async>(stream, false, to, value, count, stream);
}

GUARD_EXPORT(cuMemsetD8Async_ptsz)
CUresult cuMemsetD8Async_ptsz(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    return queued<&Driver::cuMemsetD8Async_ptsz>(stream, true, to, value, count, stream);
}

GUARD_EXPORT(cuMemsetD8_v2)
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    return done_at_once<&Driver::cuMemsetD8_v2>(false, to, value, count);
}

GUARD_EXPORT(cuMemsetD8_v2_ptds)
CUresult cuMemsetD8_v2_ptds(CUdeviceptr to, unsigned char value, size_t count) {
    return done_at_once<&Driver::cuMemsetD8_v2_ptds>(true, to, value, count);
}
