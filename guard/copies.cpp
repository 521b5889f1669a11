// SPDX-License-Identifier: Apache-2.0
// Copies and prefetches: time of the device as launches are.
#include "guard/exports.h"
#include "guard/queued_work.h"

using namespace aliquot::guard;

GUARD_EXPORT(cuMemcpy)
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return done_at_once<&Driver::cuMemcpy>(false, to, from, bytes);
}

GUARD_EXPORT(cuMemcpy_ptds)
CUresult cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return done_at_once<&Driver::cuMemcpy_ptds>(true, to, from, bytes);
}

GUARD_EXPORT(cuMemPrefetchAsync)
CUresult cuMemPrefetchAsync(CUdeviceptr ptr, size_t bytes, CUdevice device, CUstream stream) {
    return queued<&Driver::cuMemPrefetchAsync>(stream, false, ptr, bytes, device, stream);
}

GUARD_EXPORT(cuMemPrefetchAsync_ptsz)
CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr ptr, size_t bytes, CUdevice device, CUstream stream) {
    return queued<&Driver::cuMemPrefetchAsync_ptsz>(stream, true, ptr, bytes, device, stream);
}

GUARD_EXPORT(cuMemPrefetchAsync_v2)
CUresult cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t bytes, CUmemLocation location,
                               unsigned int flags, CUstream stream) {
    return queued<&Driver::cuMemPrefetchAsync_v2>(stream, false, ptr, bytes, location, flags,
                                                  stream);
}

GUARD_EXPORT(cuMemPrefetchAsync_v2_ptsz)
CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr ptr, size_t bytes, CUmemLocation location,
                                    unsigned int flags, CUstream stream) {
    return queued<&Driver::cuMemPrefetchAsync_v2_ptsz>(stream, true, ptr, bytes, location, flags,
                                                       stream);
}

GUARD_EXPORT(cuMemcpy2DAsync_v2)
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* p, CUstream stream) {
    return queued<&Driver::cuMemcpy2DAsync_v2>(stream, false, p, stream);
}

GUARD_EXPORT(cuMemcpy2DAsync_v2_ptsz)
CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D* p, CUstream stream) {
    return queued<&Driver::cuMemcpy2DAsync_v2_ptsz>(stream, true, p, stream);
}

GUARD_EXPORT(cuMemcpy2DUnaligned_v2)
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* p) {
    return done_at_once<&Driver::cuMemcpy2DUnaligned_v2>(false, p);
}

GUARD_EXPORT(cuMemcpy2DUnaligned_v2_ptds)
CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D* p) {
    return done_at_once<&Driver::cuMemcpy2DUnaligned_v2_ptds>(true, p);
}

GUARD_EXPORT(cuMemcpy2D_v2)
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* p) {
    return done_at_once<&Driver::cuMemcpy2D_v2>(false, p);
}

GUARD_EXPORT(cuMemcpy2D_v2_ptds)
CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D* p) {
    return done_at_once<&Driver::cuMemcpy2D_v2_ptds>(true, p);
}

GUARD_EXPORT(cuMemcpy3DAsync_v2)
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* p, CUstream stream) {
    return queued<&Driver::cuMemcpy3DAsync_v2>(stream, false, p, stream);
}

GUARD_EXPORT(cuMemcpy3DAsync_v2_ptsz)
CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D* p, CUstream stream) {
    return queued<&Driver::cuMemcpy3DAsync_v2_ptsz>(stream, true, p, stream);
}

GUARD_EXPORT(cuMemcpy3DPeer)
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* p) {
    return done_at_once<&Driver::cuMemcpy3DPeer>(false, p);
}

GUARD_EXPORT(cuMemcpy3DPeerAsync)
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* p, CUstream stream) {
    return queued<&Driver::cuMemcpy3DPeerAsync>(stream, false, p, stream);
}

GUARD_EXPORT(cuMemcpy3DPeerAsync_ptsz)
CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER* p, CUstream stream) {
    return queued<&Driver::cuMemcpy3DPeerAsync_ptsz>(stream, true, p, stream);
}

GUARD_EXPORT(cuMemcpy3DPeer_ptds)
CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER* p) {
    return done_at_once<&Driver::cuMemcpy3DPeer_ptds>(true, p);
}

GUARD_EXPORT(cuMemcpy3D_v2)
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* p) {
    return done_at_once<&Driver::cuMemcpy3D_v2>(false, p);
}

GUARD_EXPORT(cuMemcpy3D_v2_ptds)
CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D* p) {
    return done_at_once<&Driver::cuMemcpy3D_v2_ptds>(true, p);
}

GUARD_EXPORT(cuMemcpyAsync)
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return queued<&Driver::cuMemcpyAsync>(stream, false, to, from, bytes, stream);
}

GUARD_EXPORT(cuMemcpyAsync_ptsz)
CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return queued<&Driver::cuMemcpyAsync_ptsz>(stream, true, to, from, bytes, stream);
}

GUARD_EXPORT(cuMemcpyAtoA_v2)
CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t offset, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyAtoA_v2>(false, to, to_offset, from, offset, bytes);
}

GUARD_EXPORT(cuMemcpyAtoA_v2_ptds)
CUresult cuMemcpyAtoA_v2_ptds(CUarray to, size_t to_offset, CUarray from, size_t offset,
                              size_t bytes) {
    return done_at_once<&Driver::cuMemcpyAtoA_v2_ptds>(true, to, to_offset, from, offset, bytes);
}

GUARD_EXPORT(cuMemcpyAtoD_v2)
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyAtoD_v2>(false, to, from, offset, bytes);
}

GUARD_EXPORT(cuMemcpyAtoD_v2_ptds)
CUresult cuMemcpyAtoD_v2_ptds(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyAtoD_v2_ptds>(true, to, from, offset, bytes);
}

GUARD_EXPORT(cuMemcpyAtoHAsync_v2)
CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, size_t offset, size_t bytes,
                              CUstream stream) {
    return queued<&Driver::cuMemcpyAtoHAsync_v2>(stream, false, to, from, offset, bytes, stream);
}

GUARD_EXPORT(cuMemcpyAtoHAsync_v2_ptsz)
CUresult cuMemcpyAtoHAsync_v2_ptsz(void* to, CUarray from, size_t offset, size_t bytes,
                                   CUstream stream) {
    return queued<&Driver::cuMemcpyAtoHAsync_v2_ptsz>(stream, true, to, from, offset, bytes,
                                                      stream);
}

GUARD_EXPORT(cuMemcpyAtoH_v2)
CUresult cuMemcpyAtoH_v2(void* to, CUarray from, size_t offset, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyAtoH_v2>(false, to, from, offset, bytes);
}

GUARD_EXPORT(cuMemcpyAtoH_v2_ptds)
CUresult cuMemcpyAtoH_v2_ptds(void* to, CUarray from, size_t offset, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyAtoH_v2_ptds>(true, to, from, offset, bytes);
}

GUARD_EXPORT(cuMemcpyDtoA_v2)
CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyDtoA_v2>(false, to, offset, from, bytes);
}

GUARD_EXPORT(cuMemcpyDtoA_v2_ptds)
CUresult cuMemcpyDtoA_v2_ptds(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyDtoA_v2_ptds>(true, to, offset, from, bytes);
}

GUARD_EXPORT(cuMemcpyDtoD)
CUresult cuMemcpyDtoD(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned int bytes) {
    return done_at_once<&Driver::cuMemcpyDtoD>(false, to, from, bytes);
}

GUARD_EXPORT(cuMemcpyDtoDAsync)
CUresult cuMemcpyDtoDAsync(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned int bytes,
                           CUstream stream) {
    return queued<&Driver::cuMemcpyDtoDAsync>(stream, false, to, from, bytes, stream);
}

GUARD_EXPORT(cuMemcpyDtoDAsync_v2)
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return queued<&Driver::cuMemcpyDtoDAsync_v2>(stream, false, to, from, bytes, stream);
}

GUARD_EXPORT(cuMemcpyDtoDAsync_v2_ptsz)
CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                   CUstream stream) {
    return queued<&Driver::cuMemcpyDtoDAsync_v2_ptsz>(stream, true, to, from, bytes, stream);
}

GUARD_EXPORT(cuMemcpyDtoD_v2)
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyDtoD_v2>(false, to, from, bytes);
}

GUARD_EXPORT(cuMemcpyDtoD_v2_ptds)
CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyDtoD_v2_ptds>(true, to, from, bytes);
}

GUARD_EXPORT(cuMemcpyDtoH)
CUresult cuMemcpyDtoH(void* to, CUdeviceptr_v1 from, unsigned int bytes) {
    return done_at_once<&Driver::cuMemcpyDtoH>(false, to, from, bytes);
}

GUARD_EXPORT(cuMemcpyDtoHAsync)
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr_v1 from, unsigned int bytes, CUstream stream) {
    return queued<&Driver::cuMemcpyDtoHAsync>(stream, false, to, from, bytes, stream);
}

GUARD_EXPORT(cuMemcpyDtoHAsync_v2)
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return queued<&Driver::cuMemcpyDtoHAsync_v2>(stream, false, to, from, bytes, stream);
}

GUARD_EXPORT(cuMemcpyDtoHAsync_v2_ptsz)
CUresult cuMemcpyDtoHAsync_v2_ptsz(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return queued<&Driver::cuMemcpyDtoHAsync_v2_ptsz>(stream, true, to, from, bytes, stream);
}

GUARD_EXPORT(cuMemcpyDtoH_v2)
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyDtoH_v2>(false, to, from, bytes);
}

GUARD_EXPORT(cuMemcpyDtoH_v2_ptds)
CUresult cuMemcpyDtoH_v2_ptds(void* to, CUdeviceptr from, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyDtoH_v2_ptds>(true, to, from, bytes);
}

GUARD_EXPORT(cuMemcpyHtoAAsync_v2)
CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void* from, size_t bytes,
                              CUstream stream) {
    return queued<&Driver::cuMemcpyHtoAAsync_v2>(stream, false, to, offset, from, bytes, stream);
}

GUARD_EXPORT(cuMemcpyHtoAAsync_v2_ptsz)
CUresult cuMemcpyHtoAAsync_v2_ptsz(CUarray to, size_t offset, const void* from, size_t bytes,
                                   CUstream stream) {
    return queued<&Driver::cuMemcpyHtoAAsync_v2_ptsz>(stream, true, to, offset, from, bytes,
                                                      stream);
}

GUARD_EXPORT(cuMemcpyHtoA_v2)
CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void* from, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyHtoA_v2>(false, to, offset, from, bytes);
}

GUARD_EXPORT(cuMemcpyHtoA_v2_ptds)
CUresult cuMemcpyHtoA_v2_ptds(CUarray to, size_t offset, const void* from, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyHtoA_v2_ptds>(true, to, offset, from, bytes);
}

GUARD_EXPORT(cuMemcpyHtoD)
CUresult cuMemcpyHtoD(CUdeviceptr_v1 to, const void* from, unsigned int bytes) {
    return done_at_once<&Driver::cuMemcpyHtoD>(false, to, from, bytes);
}

GUARD_EXPORT(cuMemcpyHtoDAsync)
CUresult cuMemcpyHtoDAsync(CUdeviceptr_v1 to, const void* from, unsigned int bytes,
                           CUstream stream) {
    return queued<&Driver::cuMemcpyHtoDAsync>(stream, false, to, from, bytes, stream);
}

GUARD_EXPORT(cuMemcpyHtoDAsync_v2)
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return queued<&Driver::cuMemcpyHtoDAsync_v2>(stream, false, to, from, bytes, stream);
}

GUARD_EXPORT(cuMemcpyHtoDAsync_v2_ptsz)
CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void* from, size_t bytes,
                                   CUstream stream) {
    return queued<&Driver::cuMemcpyHtoDAsync_v2_ptsz>(stream, true, to, from, bytes, stream);
}

GUARD_EXPORT(cuMemcpyHtoD_v2)
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyHtoD_v2>(false, to, from, bytes);
}

GUARD_EXPORT(cuMemcpyHtoD_v2_ptds)
CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void* from, size_t bytes) {
    return done_at_once<&Driver::cuMemcpyHtoD_v2_ptds>(true, to, from, bytes);
}

GUARD_EXPORT(cuMemcpyPeer)
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext context1, CUdeviceptr from, CUcontext context3,
                      size_t bytes) {
    return done_at_once<&Driver::cuMemcpyPeer>(false, to, context1, from, context3, bytes);
}

GUARD_EXPORT(cuMemcpyPeerAsync)
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext context1, CUdeviceptr from, CUcontext context3,
                           size_t bytes, CUstream stream) {
    return queued<&Driver::cuMemcpyPeerAsync>(stream, false, to, context1, from, context3, bytes,
                                              stream);
}

GUARD_EXPORT(cuMemcpyPeerAsync_ptsz)
CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr to, CUcontext context1, CUdeviceptr from,
                                CUcontext context3, size_t bytes, CUstream stream) {
    return queued<&Driver::cuMemcpyPeerAsync_ptsz>(stream, true, to, context1, from, context3,
                                                   bytes, stream);
}

GUARD_EXPORT(cuMemcpyPeer_ptds)
CUresult cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext context1, CUdeviceptr from, CUcontext context3,
                           size_t bytes) {
    return done_at_once<&Driver::cuMemcpyPeer_ptds>(true, to, context1, from, context3, bytes);
}
