// SPDX-License-Identifier: Apache-2.0
#include "guard/simulated_gpu.h"

#include <cstring>

#include "guard/driver.h"
#include "guard/forks.h"
#include "guard/lane.h"
#include "guard/leaving.h"
#include "guard/pools.h"
#include "guard/share.h"
#include "guard/vmm.h"

namespace aliquot::guard {

bool simulated::g_launches_pass = false;

// What the time part of the guard needs of the rest.
Driver g_driver;
bool find_driver() { return true; }
void forget_driver_lock() {}
void watch_forks() {}
void forget_pools() {}
void forget_vmm() {}
void forget_leaving() {}
void route_launches(bool passes) { simulated::g_launches_pass = passes; }

namespace simulated {
namespace {

Gpu* g_gpu = nullptr;
constexpr std::uintptr_t kContext = 0x700;

CUresult get_context(CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(kContext);
    return CUDA_SUCCESS;
}
CUresult set_context(CUcontext /*context*/) { return CUDA_SUCCESS; }
CUresult get_device(CUdevice* device) {
    *device = 0;
    return CUDA_SUCCESS;
}
CUresult get_uuid(CUuuid* uuid, CUdevice /*device*/) {
    std::memset(uuid, 7, sizeof *uuid);
    return CUDA_SUCCESS;
}
CUresult create_event(CUevent* event, unsigned /*flags*/) {
    static std::uintptr_t next = 0x10000;
    *event = reinterpret_cast<CUevent>(next += 16);
    return CUDA_SUCCESS;
}
CUresult record_event(CUevent event, CUstream stream) {
    return g_gpu->record(event, stream, false);
}
CUresult record_event_of_thread(CUevent event, CUstream stream) {
    return g_gpu->record(event, stream, true);
}
CUresult query_event(CUevent event) { return g_gpu->query(event); }
CUresult elapsed_time(float* milliseconds, CUevent from, CUevent to) {
    return g_gpu->elapsed(milliseconds, from, to);
}

}  // namespace

void use_gpu(Gpu* gpu) {
    g_gpu = gpu;
    g_driver.cuCtxGetCurrent = get_context;
    g_driver.cuCtxSetCurrent = set_context;
    g_driver.cuCtxGetDevice = get_device;
    g_driver.cuDeviceGetUuid_v2 = get_uuid;
    g_driver.cuDeviceGetUuid = get_uuid;
    g_driver.cuEventCreate = create_event;
    g_driver.cuEventRecord = record_event;
    g_driver.cuEventRecord_ptsz = record_event_of_thread;
    g_driver.cuEventQuery = query_event;
    g_driver.cuEventElapsedTime = elapsed_time;
}

CUstream Gpu::make_stream(bool blocking) {
    next_handle_ += 64;
    streams_[next_handle_].blocking = blocking;
    return reinterpret_cast<CUstream>(next_handle_);
}

Gpu::Stream& Gpu::stream_of(CUstream stream, bool per_thread) {
    const auto handle = reinterpret_cast<std::uintptr_t>(stream);
    if (handle == CU_STREAM_PER_THREAD_VALUE || (handle == 0 && per_thread))
        return of_threads_[this_thread()];
    return handle <= CU_STREAM_LEGACY_VALUE ? legacy_ : streams_.at(handle);
}

std::uint64_t Gpu::end_of(const Stream& stream) const {
    std::uint64_t end = stream.end_ns;
    if (&stream != &legacy_) return end;
    for (const auto& other : streams_)
        if (other.second.blocking) end = std::max(end, other.second.end_ns);
    for (const auto& other : of_threads_) end = std::max(end, other.second.end_ns);
    return end;
}

void Gpu::submit(Stream& stream, std::uint64_t duration_ns, unsigned slots) {
    const auto wanted = std::min<std::size_t>(std::max(slots, 1U), free_ns_.size());
    std::sort(free_ns_.begin(), free_ns_.end());
    std::uint64_t begin = std::max({now(), end_of(stream), free_ns_[wanted - 1]});
    if (stream.blocking) begin = std::max(begin, legacy_.end_ns);
    const std::uint64_t end = begin + duration_ns;
    for (std::size_t i = 0; i < wanted; ++i) free_ns_[i] = end;
    stream.end_ns = end;
    spans_.push_back({begin, end});
}

void Gpu::launch(CUstream stream, bool per_thread, std::uint64_t duration_ns, unsigned slots,
                 bool guarded) {
    if (guarded) before_launch(stream, per_thread);
    compute(costs_.launch_ns / 2);
    submit(stream_of(stream, per_thread), duration_ns, slots);
    compute(costs_.launch_ns / 2);
    if (guarded) after_launch();
}

void Gpu::hold(CUstream stream, bool per_thread, std::uint64_t duration_ns, bool guarded) {
    if (guarded) before_hold(stream, per_thread);
    compute(costs_.launch_ns);
    Stream& held = stream_of(stream, per_thread);
    held.end_ns = std::max(now(), end_of(held)) + duration_ns;
}

void Gpu::wait(CUstream stream, bool per_thread, bool guarded) {
    if (guarded) before_wait();
    compute(costs_.wait_ns);
    const std::uint64_t end = end_of(stream_of(stream, per_thread));
    if (end > now()) sleep_until(end + costs_.until_seen_ns);
    if (guarded) after_wait();
}

bool Gpu::ask(CUstream stream, bool guarded) {
    compute(costs_.query_ns);
    const bool done = end_of(stream_of(stream, false)) <= now();
    if (guarded && !done) before_next_look();
    if (!done) return false;
    if (guarded) {
        before_wait();
        after_wait();
    }
    return true;
}

CUresult Gpu::record(CUevent event, CUstream stream, bool per_thread) {
    compute(costs_.event_ns / 2);
    events_[event] = std::max(now(), end_of(stream_of(stream, per_thread)));
    compute(costs_.event_ns / 2);
    return CUDA_SUCCESS;
}

CUresult Gpu::query(CUevent event) const {
    compute(costs_.query_ns);
    const std::uint64_t at = events_.at(event);
    const std::uint64_t late =
        costs_.event_late_ns == 0 ? 0 : at * 0x9e37'79b9'7f4a'7c15u % costs_.event_late_ns;
    return at + late > now() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult Gpu::elapsed(float* milliseconds, CUevent from, CUevent to) const {
    compute(costs_.query_ns);
    const auto begin = static_cast<double>(events_.at(from));
    const auto end = static_cast<double>(events_.at(to));
    *milliseconds = static_cast<float>((end - begin) / 1e6);
    return CUDA_SUCCESS;
}

std::uint64_t Gpu::busy_ns(std::uint64_t from, std::uint64_t to) const {
    std::vector<Span> spans = spans_;
    std::sort(spans.begin(), spans.end(),
              [](const Span& a, const Span& b) { return a.begin_ns < b.begin_ns; });
    std::uint64_t busy = 0;
    for (const Span& span : spans) {
        const std::uint64_t begin = std::max(span.begin_ns, from);
        const std::uint64_t end = std::min(span.end_ns, to);
        if (end <= begin) continue;
        busy += end - begin;
        from = end;
    }
    return busy;
}

std::uint64_t Gpu::work_ns(std::uint64_t from, std::uint64_t to) const {
    std::uint64_t work = 0;
    for (const Span& span : spans_) {
        const std::uint64_t begin = std::max(span.begin_ns, from);
        const std::uint64_t end = std::min(span.end_ns, to);
        if (end > begin) work += end - begin;
    }
    return work;
}

}  // namespace simulated
}  // namespace aliquot::guard
