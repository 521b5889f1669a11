// SPDX-License-Identifier: Apache-2.0
// Copies and prefetches of many places at once (CUDA 12.8, 13): time of the device as launches are.
#include "guard/exports.h"
#include "guard/queued_work.h"

using namespace aliquot::guard;

GUARD_EXPORT(cuMemDiscardAndPrefetchBatchAsync)
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* at, size_t* sizes, size_t count,
                                           CUmemLocation* locations, size_t* indices,
                                           size_t locationCount, unsigned long long flags,
                                           CUstream stream) {
    return queued<&Driver::cuMemDiscardAndPrefetchBatchAsync>(
        stream, false, at, sizes, count, locations, indices, locationCount, flags, stream);
}

GUARD_EXPORT(cuMemDiscardAndPrefetchBatchAsync_ptsz)
CUresult cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr* at, size_t* sizes, size_t count,
                                                CUmemLocation* locations, size_t* indices,
                                                size_t locationCount, unsigned long long flags,
                                                CUstream stream) {
    return queued<&Driver::cuMemDiscardAndPrefetchBatchAsync_ptsz>(
        stream, true, at, sizes, count, locations, indices, locationCount, flags, stream);
}

GUARD_EXPORT(cuMemDiscardBatchAsync)
CUresult cuMemDiscardBatchAsync(CUdeviceptr* at, size_t* sizes, size_t count,
                                unsigned long long flags, CUstream stream) {
    return queued<&Driver::cuMemDiscardBatchAsync>(stream, false, at, sizes, count, flags, stream);
}

GUARD_EXPORT(cuMemDiscardBatchAsync_ptsz)
CUresult cuMemDiscardBatchAsync_ptsz(CUdeviceptr* at, size_t* sizes, size_t count,
                                     unsigned long long flags, CUstream stream) {
    return queued<&Driver::cuMemDiscardBatchAsync_ptsz>(stream, true, at, sizes, count, flags,
                                                        stream);
}

GUARD_EXPORT(cuMemPrefetchBatchAsync)
CUresult cuMemPrefetchBatchAsync(CUdeviceptr* at, size_t* sizes, size_t count,
                                 CUmemLocation* locations, size_t* indices, size_t locationCount,
                                 unsigned long long flags, CUstream stream) {
    return queued<&Driver::cuMemPrefetchBatchAsync>(stream, false, at, sizes, count, locations,
                                                    indices, locationCount, flags, stream);
}

GUARD_EXPORT(cuMemPrefetchBatchAsync_ptsz)
CUresult cuMemPrefetchBatchAsync_ptsz(CUdeviceptr* at, size_t* sizes, size_t count,
                                      CUmemLocation* locations, size_t* indices,
                                      size_t locationCount, unsigned long long flags,
                                      CUstream stream) {
    return queued<&Driver::cuMemPrefetchBatchAsync_ptsz>(stream, true, at, sizes, count, locations,
                                                         indices, locationCount, flags, stream);
}

GUARD_EXPORT(cuMemcpy3DBatchAsync)
CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed,
                              unsigned long long flags, CUstream stream) {
    return queued<&Driver::cuMemcpy3DBatchAsync>(stream, false, count, operations, failed, flags,
                                                 stream);
}

GUARD_EXPORT(cuMemcpy3DBatchAsync_ptsz)
CUresult cuMemcpy3DBatchAsync_ptsz(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed,
                                   unsigned long long flags, CUstream stream) {
    return queued<&Driver::cuMemcpy3DBatchAsync_ptsz>(stream, true, count, operations, failed,
                                                      flags, stream);
}

GUARD_EXPORT(cuMemcpy3DBatchAsync_v2)
CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations,
                                 unsigned long long flags, CUstream stream) {
    return queued<&Driver::cuMemcpy3DBatchAsync_v2>(stream, false, count, operations, flags,
                                                    stream);
}

GUARD_EXPORT(cuMemcpy3DBatchAsync_v2_ptsz)
CUresult cuMemcpy3DBatchAsync_v2_ptsz(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations,
                                      unsigned long long flags, CUstream stream) {
    return queued<&Driver::cuMemcpy3DBatchAsync_v2_ptsz>(stream, true, count, operations, flags,
                                                         stream);
}

GUARD_EXPORT(cuMemcpyBatchAsync)
CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* indices, size_t attributeCount,
                            size_t* failed, CUstream stream) {
    return queued<&Driver::cuMemcpyBatchAsync>(stream, false, to, from, sizes, count, attributes,
                                               indices, attributeCount, failed, stream);
}

GUARD_EXPORT(cuMemcpyBatchAsync_ptsz)
CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                                 CUmemcpyAttributes* attributes, size_t* indices,
                                 size_t attributeCount, size_t* failed, CUstream stream) {
    return queued<&Driver::cuMemcpyBatchAsync_ptsz>(
        stream, true, to, from, sizes, count, attributes, indices, attributeCount, failed, stream);
}

GUARD_EXPORT(cuMemcpyBatchAsync_v2)
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attributes, size_t* indices,
                               size_t attributeCount, CUstream stream) {
    return queued<&Driver::cuMemcpyBatchAsync_v2>(stream, false, to, from, sizes, count, attributes,
                                                  indices, attributeCount, stream);
}

GUARD_EXPORT(cuMemcpyBatchAsync_v2_ptsz)
CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                                    CUmemcpyAttributes* attributes, size_t* indices,
                                    size_t attributeCount, CUstream stream) {
    return queued<&Driver::cuMemcpyBatchAsync_v2_ptsz>(stream, true, to, from, sizes, count,
                                                       attributes, indices, attributeCount, stream);
}
