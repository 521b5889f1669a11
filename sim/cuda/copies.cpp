// SPDX-License-Identifier: Apache-2.0
// Entry points that copy rows of bytes.
#include <optional>

#include "sim/cuda/address.h"
#include "sim/cuda/array.h"
#include "sim/cuda/copy.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/two_streams.h"

namespace aliquot::sim {
namespace {

struct Plane {
    int type;
    std::uint64_t x_bytes;
    std::uint64_t y;
    std::uint64_t z;
    const void* host;
    CUdeviceptr device;
    CUarray array;
    std::uint64_t pitch;
    std::uint64_t height;
};

std::optional<Side> side_of(const Plane& plane, std::uint64_t width, std::uint64_t rows) {
    Side side{.pitch = plane.pitch == 0 ? width : plane.pitch};
    side.slice = side.pitch * (plane.height == 0 ? rows : plane.height);
    switch (plane.type) {
        case CU_MEMORYTYPE_HOST:
            side.address = reinterpret_cast<std::uint64_t>(plane.host);
            side.host = true;
            break;
        case CU_MEMORYTYPE_DEVICE:
            side.address = plane.device;
            break;
        case CU_MEMORYTYPE_UNIFIED:
            side.address = plane.device;
            side.host = !known_address(plane.device);
            break;
        case CU_MEMORYTYPE_ARRAY:
            if (!valid(plane.array) || plane.array->address == 0) return std::nullopt;
            side.address = plane.array->address;
            side.pitch = plane.array->row_bytes();
            side.slice = side.pitch *
                         (plane.array->descriptor.Height == 0 ? 1 : plane.array->descriptor.Height);
            break;
        default:
            return std::nullopt;
    }
    if (side.address == 0 || side.pitch < plane.x_bytes + width) return std::nullopt;
    side.address += plane.z * side.slice + plane.y * side.pitch + plane.x_bytes;
    return side;
}

}  // namespace

std::optional<Copy> copy_of(const CUDA_MEMCPY2D& p) {
    const auto from = side_of({p.srcMemoryType, p.srcXInBytes, p.srcY, 0, p.srcHost, p.srcDevice,
                               p.srcArray, p.srcPitch, 0},
                              p.WidthInBytes, p.Height);
    const auto to = side_of({p.dstMemoryType, p.dstXInBytes, p.dstY, 0, p.dstHost, p.dstDevice,
                             p.dstArray, p.dstPitch, 0},
                            p.WidthInBytes, p.Height);
    if (!from || !to) return std::nullopt;
    return Copy{.from = *from, .to = *to, .width = p.WidthInBytes, .height = p.Height};
}

std::optional<Copy> copy_of(const CUDA_MEMCPY3D& p) {
    const auto from = side_of({p.srcMemoryType, p.srcXInBytes, p.srcY, p.srcZ, p.srcHost,
                               p.srcDevice, p.srcArray, p.srcPitch, p.srcHeight},
                              p.WidthInBytes, p.Height);
    const auto to = side_of({p.dstMemoryType, p.dstXInBytes, p.dstY, p.dstZ, p.dstHost, p.dstDevice,
                             p.dstArray, p.dstPitch, p.dstHeight},
                            p.WidthInBytes, p.Height);
    if (!from || !to) return std::nullopt;
    return Copy{
        .from = *from, .to = *to, .width = p.WidthInBytes, .height = p.Height, .depth = p.Depth};
}

}  // namespace aliquot::sim

using namespace aliquot::sim;

namespace {

std::uint64_t place(const void* host) { return reinterpret_cast<std::uint64_t>(host); }

Copy to_device(CUdeviceptr to, const void* from, std::size_t bytes) {
    Copy what = plain_copy(to, place(from), bytes);
    what.from.host = true;
    return what;
}

Copy to_host(void* to, CUdeviceptr from, std::size_t bytes) {
    Copy what = plain_copy(place(to), from, bytes);
    what.to.host = true;
    return what;
}

/// By addresses alone: what the driver does not know is the program's own.
Copy anywhere(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    Copy what = plain_copy(to, from, bytes);
    what.from.host = !known_address(from);
    what.to.host = !known_address(to);
    return what;
}

template <class Parameters>
CUresult copy_box(const Parameters* parameters, CUstream stream, bool own_stream, When when) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto what = copy_of(*parameters);
    return what ? copy(*what, stream, own_stream, when) : CUDA_ERROR_INVALID_VALUE;
}

/// Some bytes of an array's memory, row after row.
CUresult copy_array(CUarray array, std::size_t offset, std::uint64_t other, bool other_is_host,
                    std::size_t bytes, bool to_array, CUstream stream, bool own_stream, When when) {
    if (!valid(array) || array->address == 0) return CUDA_ERROR_INVALID_HANDLE;
    if (offset > array->bytes || bytes > array->bytes - offset) return CUDA_ERROR_INVALID_VALUE;
    const std::uint64_t inside = array->address + offset;
    Copy what = to_array ? plain_copy(inside, other, bytes) : plain_copy(other, inside, bytes);
    (to_array ? what.from : what.to).host = other_is_host;
    return copy(what, stream, own_stream, when);
}

CUDA_MEMCPY3D without_contexts(const CUDA_MEMCPY3D_PEER& p) {
    return {.srcXInBytes = p.srcXInBytes,
            .srcY = p.srcY,
            .srcZ = p.srcZ,
            .srcLOD = p.srcLOD,
            .srcMemoryType = p.srcMemoryType,
            .srcHost = p.srcHost,
            .srcDevice = p.srcDevice,
            .srcArray = p.srcArray,
            .reserved0 = nullptr,
            .srcPitch = p.srcPitch,
            .srcHeight = p.srcHeight,
            .dstXInBytes = p.dstXInBytes,
            .dstY = p.dstY,
            .dstZ = p.dstZ,
            .dstLOD = p.dstLOD,
            .dstMemoryType = p.dstMemoryType,
            .dstHost = p.dstHost,
            .dstDevice = p.dstDevice,
            .dstArray = p.dstArray,
            .reserved1 = nullptr,
            .dstPitch = p.dstPitch,
            .dstHeight = p.dstHeight,
            .WidthInBytes = p.WidthInBytes,
            .Height = p.Height,
            .Depth = p.Depth};
}

CUresult copy_peer(const CUDA_MEMCPY3D_PEER* p, CUstream stream, bool own_stream, When when) {
    if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D plain = without_contexts(*p);
    return copy_box(&plain, stream, own_stream, when);
}

}  // namespace

extern "C" {

TWO_STREAMS(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
            copy(anywhere(to, from, bytes), nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemcpyAsync, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
            copy(anywhere(to, from, bytes), stream, own_stream, When::kInTurn))
TWO_STREAMS(cuMemcpyPeer, _ptds,
            (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes),
            copy(plain_copy(to, from, bytes), nullptr, own_stream, When::kInTurn))
TWO_STREAMS(cuMemcpyPeerAsync, _ptsz,
            (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes, CUstream stream),
            copy(plain_copy(to, from, bytes), stream, own_stream, When::kInTurn))
TWO_STREAMS(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void* from, size_t bytes),
            copy(to_device(to, from, bytes), nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemcpyDtoH_v2, _ptds, (void* to, CUdeviceptr from, size_t bytes),
            copy(to_host(to, from, bytes), nullptr, own_stream, When::kNow))
// Within the device nothing waits, synchronous or not.
TWO_STREAMS(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
            copy(plain_copy(to, from, bytes), nullptr, own_stream, When::kInTurn))
TWO_STREAMS(cuMemcpyHtoDAsync_v2, _ptsz,
            (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
            copy(to_device(to, from, bytes), stream, own_stream, When::kInTurn))
TWO_STREAMS(cuMemcpyDtoHAsync_v2, _ptsz,
            (void* to, CUdeviceptr from, size_t bytes, CUstream stream),
            copy(to_host(to, from, bytes), stream, own_stream, When::kInTurn))
TWO_STREAMS(cuMemcpyDtoDAsync_v2, _ptsz,
            (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
            copy(plain_copy(to, from, bytes), stream, own_stream, When::kInTurn))

TWO_STREAMS(cuMemcpyDtoA_v2, _ptds, (CUarray to, size_t offset, CUdeviceptr from, size_t bytes),
            copy_array(to, offset, from, false, bytes, true, nullptr, own_stream, When::kInTurn))
TWO_STREAMS(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr to, CUarray from, size_t offset, size_t bytes),
            copy_array(from, offset, to, false, bytes, false, nullptr, own_stream, When::kInTurn))
TWO_STREAMS(cuMemcpyHtoA_v2, _ptds, (CUarray to, size_t offset, const void* from, size_t bytes),
            copy_array(to, offset, place(from), true, bytes, true, nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemcpyAtoH_v2, _ptds, (void* to, CUarray from, size_t offset, size_t bytes),
            copy_array(from, offset, place(to), true, bytes, false, nullptr, own_stream,
                       When::kNow))
TWO_STREAMS(cuMemcpyHtoAAsync_v2, _ptsz,
            (CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream),
            copy_array(to, offset, place(from), true, bytes, true, stream, own_stream,
                       When::kInTurn))
TWO_STREAMS(cuMemcpyAtoHAsync_v2, _ptsz,
            (void* to, CUarray from, size_t offset, size_t bytes, CUstream stream),
            copy_array(from, offset, place(to), true, bytes, false, stream, own_stream,
                       When::kInTurn))
TWO_STREAMS(cuMemcpyAtoA_v2, _ptds,
            (CUarray to, size_t to_offset, CUarray from, size_t offset, size_t bytes),
            !valid(to) || to_offset > to->bytes || bytes > to->bytes - to_offset
                ? CUDA_ERROR_INVALID_VALUE
                : copy_array(from, offset, to->address + to_offset, false, bytes, false, nullptr,
                             own_stream, When::kInTurn))

TWO_STREAMS(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* p),
            copy_box(p, nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* p),
            copy_box(p, nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* p, CUstream stream),
            copy_box(p, stream, own_stream, When::kInTurn))
TWO_STREAMS(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* p),
            copy_box(p, nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* p, CUstream stream),
            copy_box(p, stream, own_stream, When::kInTurn))
TWO_STREAMS(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER* p),
            copy_peer(p, nullptr, own_stream, When::kNow))
TWO_STREAMS(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER* p, CUstream stream),
            copy_peer(p, stream, own_stream, When::kInTurn))

// The 32-bit interface.
CUresult cuMemcpyHtoD(CUdeviceptr_v1 to, const void* from, unsigned int bytes) {
    called(__func__);
    return copy(to_device(to, from, bytes), nullptr, false, When::kNow);
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr_v1 from, unsigned int bytes) {
    called(__func__);
    return copy(to_host(to, from, bytes), nullptr, false, When::kNow);
}

CUresult cuMemcpyDtoD(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned int bytes) {
    called(__func__);
    return copy(plain_copy(to, from, bytes), nullptr, false, When::kInTurn);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr_v1 to, const void* from, unsigned int bytes,
                           CUstream stream) {
    called(__func__);
    return copy(to_device(to, from, bytes), stream, false, When::kInTurn);
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr_v1 from, unsigned int bytes, CUstream stream) {
    called(__func__);
    return copy(to_host(to, from, bytes), stream, false, When::kInTurn);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned int bytes,
                           CUstream stream) {
    called(__func__);
    return copy(plain_copy(to, from, bytes), stream, false, When::kInTurn);
}

}  // extern "C"
