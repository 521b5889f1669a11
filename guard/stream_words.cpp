// SPDX-License-Identifier: Apache-2.0
// Words that a stream writes or waits for, and functions of the host in a stream. What waits is no work
// of the device, however long it takes.
#include "guard/exports.h"
#include "guard/queued_work.h"

using namespace aliquot::guard;

GUARD_EXPORT(cuLaunchHostFunc)
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
    return held<&Driver::cuLaunchHostFunc>(stream, false, stream, function, data);
}

GUARD_EXPORT(cuLaunchHostFunc_ptsz)
CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) {
    return held<&Driver::cuLaunchHostFunc_ptsz>(stream, true, stream, function, data);
}

GUARD_EXPORT(cuStreamAddCallback)
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data,
                             unsigned int flags) {
    return held<&Driver::cuStreamAddCallback>(stream, false, stream, callback, data, flags);
}

GUARD_EXPORT(cuStreamAddCallback_ptsz)
CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void* data,
                                  unsigned int flags) {
    return held<&Driver::cuStreamAddCallback_ptsz>(stream, true, stream, callback, data, flags);
}

GUARD_EXPORT(cuStreamBatchMemOp)
CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count,
                            CUstreamBatchMemOpParams* operations, unsigned int flags) {
    return held<&Driver::cuStreamBatchMemOp>(stream, false, stream, count, operations, flags);
}

GUARD_EXPORT(cuStreamBatchMemOp_ptsz)
CUresult cuStreamBatchMemOp_ptsz(CUstream stream, unsigned int count,
                                 CUstreamBatchMemOpParams* operations, unsigned int flags) {
    return held<&Driver::cuStreamBatchMemOp_ptsz>(stream, true, stream, count, operations, flags);
}

GUARD_EXPORT(cuStreamBatchMemOp_v2)
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                               CUstreamBatchMemOpParams* operations, unsigned int flags) {
    return held<&Driver::cuStreamBatchMemOp_v2>(stream, false, stream, count, operations, flags);
}

GUARD_EXPORT(cuStreamBatchMemOp_v2_ptsz)
CUresult cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned int count,
                                    CUstreamBatchMemOpParams* operations, unsigned int flags) {
    return held<&Driver::cuStreamBatchMemOp_v2_ptsz>(stream, true, stream, count, operations,
                                                     flags);
}

GUARD_EXPORT(cuStreamWaitValue32)
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr at, unsigned int value,
                             unsigned int flags) {
    return held<&Driver::cuStreamWaitValue32>(stream, false, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWaitValue32_ptsz)
CUresult cuStreamWaitValue32_ptsz(CUstream stream, CUdeviceptr at, unsigned int value,
                                  unsigned int flags) {
    return held<&Driver::cuStreamWaitValue32_ptsz>(stream, true, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWaitValue32_v2)
CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr at, unsigned int value,
                                unsigned int flags) {
    return held<&Driver::cuStreamWaitValue32_v2>(stream, false, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWaitValue32_v2_ptsz)
CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr at, unsigned int value,
                                     unsigned int flags) {
    return held<&Driver::cuStreamWaitValue32_v2_ptsz>(stream, true, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWaitValue64)
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr at, cuuint64_t value,
                             unsigned int flags) {
    return held<&Driver::cuStreamWaitValue64>(stream, false, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWaitValue64_ptsz)
CUresult cuStreamWaitValue64_ptsz(CUstream stream, CUdeviceptr at, cuuint64_t value,
                                  unsigned int flags) {
    return held<&Driver::cuStreamWaitValue64_ptsz>(stream, true, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWaitValue64_v2)
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr at, cuuint64_t value,
                                unsigned int flags) {
    return held<&Driver::cuStreamWaitValue64_v2>(stream, false, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWaitValue64_v2_ptsz)
CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr at, cuuint64_t value,
                                     unsigned int flags) {
    return held<&Driver::cuStreamWaitValue64_v2_ptsz>(stream, true, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWriteValue32)
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr at, unsigned int value,
                              unsigned int flags) {
    return queued<&Driver::cuStreamWriteValue32>(stream, false, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWriteValue32_ptsz)
CUresult cuStreamWriteValue32_ptsz(CUstream stream, CUdeviceptr at, unsigned int value,
                                   unsigned int flags) {
    return queued<&Driver::cuStreamWriteValue32_ptsz>(stream, true, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWriteValue32_v2)
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr at, unsigned int value,
                                 unsigned int flags) {
    return queued<&Driver::cuStreamWriteValue32_v2>(stream, false, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWriteValue32_v2_ptsz)
CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr at, unsigned int value,
                                      unsigned int flags) {
    return queued<&Driver::cuStreamWriteValue32_v2_ptsz>(stream, true, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWriteValue64)
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr at, cuuint64_t value,
                              unsigned int flags) {
    return queued<&Driver::cuStreamWriteValue64>(stream, false, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWriteValue64_ptsz)
CUresult cuStreamWriteValue64_ptsz(CUstream stream, CUdeviceptr at, cuuint64_t value,
                                   unsigned int flags) {
    return queued<&Driver::cuStreamWriteValue64_ptsz>(stream, true, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWriteValue64_v2)
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr at, cuuint64_t value,
                                 unsigned int flags) {
    return queued<&Driver::cuStreamWriteValue64_v2>(stream, false, stream, at, value, flags);
}

GUARD_EXPORT(cuStreamWriteValue64_v2_ptsz)
CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr at, cuuint64_t value,
                                      unsigned int flags) {
    return queued<&Driver::cuStreamWriteValue64_v2_ptsz>(stream, true, stream, at, value, flags);
}
