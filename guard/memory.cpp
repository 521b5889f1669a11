// SPDX-License-Identifier: Apache-2.0
#include "guard/memory.h"

#include "guard/exports.h"
#include "guard/pools.h"
#include "guard/truth.h"

namespace aliquot::guard {

std::uint64_t charged_size(std::uint64_t bytes) {
    constexpr std::uint64_t kSmall = std::uint64_t{1} << 20;
    constexpr std::uint64_t kBlock = 512;
    constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
    const std::uint64_t unit = bytes <= kSmall ? kBlock : kPage;
    return (bytes + unit - 1) / unit * unit;
}

bool reserve(unsigned place, std::uint64_t bytes, Part part) {
    if (__builtin_expect(g_ledger.grow(place, bytes, part), 1)) return true;
    g_ledger.reap();
    settle_pools();
    measure_self(place, true);
    if (g_ledger.grow(place, bytes, part)) return true;
    if (squeeze(place) && g_ledger.grow(place, bytes, part)) return true;
    g_ledger.note_denied(place, bytes);
    log(LogLevel::kInfo, "refused %llu bytes: %llu of %llu are used",
        static_cast<unsigned long long>(bytes),
        static_cast<unsigned long long>(g_ledger.used(place)),
        static_cast<unsigned long long>(g_ledger.device(place).memory_limit()));
    return false;
}

bool refuse_uncounted(std::uint64_t bytes) {
    if (!g_places_full.load(std::memory_order_relaxed)) return false;
    static std::atomic<bool> told{false};
    const bool open = g_ledger.is_fail_open(g_settings);
    g_ledger.remark(0, abi::kRemarkTableFull);
    if (!told.exchange(true))
        log(LogLevel::kError,
            "no place for another GPU in the ledger %s: %u are entered already, %llu bytes are %s; "
            "remove the ledger when no program of the container runs",
            g_settings.ledger, abi::kRegionDevices, static_cast<unsigned long long>(bytes),
            open ? "not counted" : "refused");
    return !open;
}

void release(const Record& record, std::uint64_t key, std::uint64_t stream) {
    switch (record.kind) {
        case Kind::kMemory:
        case Kind::kArray:
            g_ledger.shrink(record.place, record.bytes, Part::kTracked);
            break;
        case Kind::kManaged:
            g_ledger.shrink(record.place, record.bytes, Part::kManaged);
            break;
        case Kind::kPool:
            give_back_to_pool(record.extra, key, record.bytes, stream);
            break;
        default:
            break;
    }
}

void drop_context(std::uint64_t context) {
    if (context == 0) return;
    std::uint64_t tracked[abi::kRegionDevices] = {};
    std::uint64_t managed[abi::kRegionDevices] = {};
    g_memory.take_all([&](const Record& record) {
        if (record.context != context) return false;
        if (record.kind == Kind::kManaged) managed[record.place] += record.bytes;
        if (record.kind == Kind::kMemory || record.kind == Kind::kArray)
            tracked[record.place] += record.bytes;
        return record.kind == Kind::kManaged || record.kind == Kind::kMemory ||
               record.kind == Kind::kArray || record.kind == Kind::kImported;
    });
    for (unsigned place = 0; place < abi::kRegionDevices; ++place) {
        if (tracked[place] != 0) g_ledger.shrink(place, tracked[place], Part::kTracked);
        if (managed[place] != 0) g_ledger.shrink(place, managed[place], Part::kManaged);
    }
}

namespace {

/// Charges, makes `call`, and records under the key that `made()` tells; gives back when the call
/// fails.
template <class Call, class Made>
CUresult allocate(std::uint64_t wanted, Kind kind, Call call, Made made) {
    const Inside inside;
    if (!inside || !is_sensible(wanted)) return call();
    const unsigned place = current_place();
    if (place == kNone) return refuse_uncounted(wanted) ? CUDA_ERROR_OUT_OF_MEMORY : call();
    Record record;
    record.bytes = charged_size(wanted);
    record.kind = kind;
    record.place = static_cast<std::uint8_t>(place);
    const Part part = kind == Kind::kManaged ? Part::kManaged : Part::kTracked;
    if (!reserve(place, record.bytes, part)) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = call();
    if (result != CUDA_SUCCESS) {
        g_ledger.shrink(place, record.bytes, part);
        return result;
    }
    record.context = current_context();
    if (!g_memory.add(made(), record)) {
        g_ledger.shrink(place, record.bytes, part);
        g_ledger.remark(place, abi::kRemarkTableFull);
    }
    measure_self(place, false);
    return result;
}

/// Takes the record away first: once the driver has the memory back, another thread may be given
/// the same address.
template <class Call>
CUresult give_back(std::uint64_t key, Call call, std::uint64_t stream = 0) {
    const Inside inside;
    Record record;
    const bool known = inside && g_memory.take(key, record);
    const CUresult result = call();
    if (!known) return result;
    if (result == CUDA_SUCCESS)
        release(record, key, stream);
    else
        g_memory.put(key, record);
    return result;
}

template <class Call>
CUresult import(Call call, const CUdeviceptr* made) {
    const Inside inside;
    const CUresult result = call();
    if (inside && result == CUDA_SUCCESS && made != nullptr) {
        Record record;
        record.kind = Kind::kImported;
        record.context = current_context();
        g_memory.put(*made, record);
    }
    return result;
}

/// A failed-closed process never had a cuInit that succeeded.
bool refused(CUresult& result) {
    if (__builtin_expect(phase_now() != Phase::kClosed, 1)) return false;
    result = CUDA_ERROR_NOT_INITIALIZED;
    return true;
}

constexpr std::uint64_t kPitchUnit = 512;
std::uint64_t pitched(std::uint64_t width, std::uint64_t height) {
    return (width + kPitchUnit - 1) / kPitchUnit * kPitchUnit * height;
}

/// The true pitch is only known afterwards.
void correct(std::uint64_t key, std::uint64_t bytes) {
    std::uint64_t before = 0;
    unsigned place = 0;
    const std::uint64_t now = charged_size(bytes);
    const bool found = g_memory.update(key, [&](Record& record) {
        before = record.bytes;
        place = record.place;
        record.bytes = now;
    });
    if (!found || before == now) return;
    if (now > before)
        g_ledger.force(place, now - before, Part::kTracked);
    else
        g_ledger.shrink(place, before - now, Part::kTracked);
}

}  // namespace
}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT(cuMemAlloc_v2) CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytes) {
    const auto call = [&] { return g_driver.cuMemAlloc_v2(dptr, bytes); };
    if (CUresult no = 0; refused(no)) return no;
    if (!guarded() || dptr == nullptr) return call();
    return allocate(bytes, Kind::kMemory, call, [&] { return *dptr; });
}

GUARD_EXPORT(cuMemAlloc) CUresult cuMemAlloc(CUdeviceptr_v1* dptr, unsigned int bytes) {
    const auto call = [&] { return g_driver.cuMemAlloc(dptr, bytes); };
    if (CUresult no = 0; refused(no)) return no;
    if (!guarded() || dptr == nullptr) return call();
    return allocate(bytes, Kind::kMemory, call, [&] { return std::uint64_t{*dptr}; });
}

GUARD_EXPORT(cuMemAllocManaged)
CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytes, unsigned int flags) {
    const auto call = [&] { return g_driver.cuMemAllocManaged(dptr, bytes, flags); };
    if (CUresult no = 0; refused(no)) return no;
    if (!guarded() || dptr == nullptr) return call();
    return allocate(bytes, Kind::kManaged, call, [&] { return *dptr; });
}

GUARD_EXPORT(cuMemAllocPitch_v2)
CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pitch, size_t width, size_t height,
                            unsigned int element) {
    const auto call = [&] {
        return g_driver.cuMemAllocPitch_v2(dptr, pitch, width, height, element);
    };
    if (CUresult no = 0; refused(no)) return no;
    if (!guarded() || dptr == nullptr || pitch == nullptr || !is_sensible(width) ||
        !is_sensible(height) || height > (std::uint64_t{1} << 50) / width)
        return call();
    const CUresult result =
        allocate(pitched(width, height), Kind::kMemory, call, [&] { return *dptr; });
    if (result == CUDA_SUCCESS) correct(*dptr, *pitch * height);
    return result;
}

GUARD_EXPORT(cuMemAllocPitch)
CUresult cuMemAllocPitch(CUdeviceptr_v1* dptr, unsigned int* pitch, unsigned int width,
                         unsigned int height, unsigned int element) {
    const auto call = [&] { return g_driver.cuMemAllocPitch(dptr, pitch, width, height, element); };
    if (CUresult no = 0; refused(no)) return no;
    if (!guarded() || dptr == nullptr || pitch == nullptr) return call();
    const CUresult result =
        allocate(pitched(width, height), Kind::kMemory, call, [&] { return std::uint64_t{*dptr}; });
    if (result == CUDA_SUCCESS) correct(*dptr, std::uint64_t{*pitch} * height);
    return result;
}

GUARD_EXPORT(cuMemFree_v2) CUresult cuMemFree_v2(CUdeviceptr dptr) {
    const auto call = [&] { return g_driver.cuMemFree_v2(dptr); };
    return guarded() ? give_back(dptr, call) : call();
}

GUARD_EXPORT(cuMemFree) CUresult cuMemFree(CUdeviceptr_v1 dptr) {
    const auto call = [&] { return g_driver.cuMemFree(dptr); };
    return guarded() ? give_back(dptr, call) : call();
}

GUARD_EXPORT(cuMemFreeAsync) CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream stream) {
    const auto call = [&] { return g_driver.cuMemFreeAsync(dptr, stream); };
    return guarded() && !is_capturing(stream, false)
               ? give_back(dptr, call, stream_key(stream, false))
               : call();
}

GUARD_EXPORT(cuMemFreeAsync_ptsz) CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream stream) {
    const auto call = [&] { return g_driver.cuMemFreeAsync_ptsz(dptr, stream); };
    return guarded() && !is_capturing(stream, true)
               ? give_back(dptr, call, stream_key(stream, true))
               : call();
}

GUARD_EXPORT(cuExternalMemoryGetMappedBuffer)
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* dptr, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* descriptor) {
    const auto call = [&] {
        return g_driver.cuExternalMemoryGetMappedBuffer(dptr, memory, descriptor);
    };
    return guarded() ? import(call, dptr) : call();
}

GUARD_EXPORT(cuIpcOpenMemHandle)
CUresult cuIpcOpenMemHandle(CUdeviceptr* dptr, CUipcMemHandle handle, unsigned int flags) {
    const auto call = [&] { return g_driver.cuIpcOpenMemHandle(dptr, handle, flags); };
    return guarded() ? import(call, dptr) : call();
}

GUARD_EXPORT(cuIpcOpenMemHandle_v2)
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* dptr, CUipcMemHandle handle, unsigned int flags) {
    const auto call = [&] { return g_driver.cuIpcOpenMemHandle_v2(dptr, handle, flags); };
    return guarded() ? import(call, dptr) : call();
}

GUARD_EXPORT(cuIpcCloseMemHandle) CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
    const auto call = [&] { return g_driver.cuIpcCloseMemHandle(dptr); };
    return guarded() ? give_back(dptr, call) : call();
}
