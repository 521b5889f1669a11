// SPDX-License-Identifier: Apache-2.0
#include "guard/lane.h"

#include "guard/bucket.h"
#include "guard/kernel.h"
#include "guard/session.h"

namespace aliquot::guard {
namespace {

constexpr unsigned kLanes = 1024;
constexpr std::uint64_t kBatchNs = 1'000'000;  // GPU time of one segment
constexpr std::uint32_t kMostLaunches = 128;   // so that a few long kernels cannot hide in one
constinit Lane g_lanes[kLanes];
std::atomic<unsigned> g_high{0};
ThreadLock g_lock;
const std::atomic<std::uint32_t> g_constant{0};
thread_local char t_thread = 0;  // its address names the thread

bool is_default(CUstream stream) {
    return reinterpret_cast<std::uintptr_t>(stream) <= CU_STREAM_PER_THREAD_VALUE;
}

/// A default stream is one per context, or per context and thread.
std::uint64_t key_of(CUstream stream, bool per_thread, CUcontext context) {
    const auto handle = reinterpret_cast<std::uintptr_t>(stream);
    if (!is_default(stream)) return handle;
    const bool of_thread = handle == CU_STREAM_PER_THREAD_VALUE || (handle == 0 && per_thread);
    return reinterpret_cast<std::uintptr_t>(context) +
           (of_thread ? reinterpret_cast<std::uintptr_t>(&t_thread) : 0) + 1;
}

CUevent take_event(Lane& lane) {
    if (lane.spare_count != 0) return lane.spare[--lane.spare_count];
    CUevent event = nullptr;
    if (g_driver.cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) event = nullptr;
    return event;
}

void put_back(Lane& lane, CUevent event) {
    if (event == nullptr) return;
    if (lane.spare_count < sizeof lane.spare / sizeof lane.spare[0])
        lane.spare[lane.spare_count++] = event;
    else
        g_driver.cuEventDestroy_v2(event);
}

CUevent record(Lane& lane) {
    CUevent event = take_event(lane);
    if (event == nullptr) {
        lane.untimed = true;
        g_ledger.remark(lane.place, abi::kRemarkNoTiming);
        return nullptr;
    }
    const CUresult result = lane.per_thread ? g_driver.cuEventRecord_ptsz(event, lane.stream)
                                            : g_driver.cuEventRecord(event, lane.stream);
    if (result == CUDA_SUCCESS) return event;
    put_back(lane, event);
    return nullptr;
}

bool is_done(CUevent event) { return g_driver.cuEventQuery(event) != CUDA_ERROR_NOT_READY; }

/// Of the time that this segment took by its events, what is still to be paid. Where several streams
/// or processes of the container compute at once, the device takes turns between them, and the events
/// of each span the others' turns: together they cannot have had more than the time that went by.
std::uint64_t unpaid(const Lane& lane, const Segment& done, std::uint64_t ns) {
    const std::uint64_t total = g_ledger.totals(lane.place).gpu_ns.load(std::memory_order_relaxed);
    const std::uint64_t by_all = total - done.charged_ns;
    const std::uint64_t by_lane = lane.charged_ns - done.lane_ns;
    const std::uint64_t by_others = by_all > by_lane ? by_all - by_lane : 0;
    const std::uint64_t passed = kernel::now_ns() - done.opened_ns;
    const std::uint64_t left = passed > by_others ? passed - by_others : 0;
    return ns < left ? ns : left;
}

void adapt(Lane& lane, std::uint64_t ns, std::uint32_t launches) {
    const std::uint64_t each = ns / launches;
    lane.launch_ns = lane.launch_ns == 0 ? each : (3 * lane.launch_ns + each) / 4;
    const std::uint64_t fitting = lane.launch_ns == 0 ? kMostLaunches : kBatchNs / lane.launch_ns;
    std::uint64_t batch = fitting < 1 ? 1 : fitting;
    if (batch > 2 * std::uint64_t{lane.batch}) batch = 2 * std::uint64_t{lane.batch};
    lane.batch = static_cast<std::uint32_t>(batch < kMostLaunches ? batch : kMostLaunches);
}

}  // namespace

Lane* lanes(unsigned& count) {
    count = g_high.load(std::memory_order_acquire);
    return g_lanes;
}

Lane* lane_of(CUstream stream, bool per_thread) {
    CUcontext context = nullptr;
    if (g_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return nullptr;
    const std::uint64_t key = key_of(stream, per_thread, context);
    unsigned high = g_high.load(std::memory_order_acquire);
    for (unsigned i = 0; i < high; ++i)
        if (g_lanes[i].key.load(std::memory_order_acquire) == key) return &g_lanes[i];
    const unsigned place = current_place();
    if (place == kNone) return nullptr;
    const ThreadLocked locked(g_lock);
    Lane* free = nullptr;
    high = g_high.load();
    for (unsigned i = 0; i < high; ++i) {
        const std::uint64_t there = g_lanes[i].key.load();
        if (there == key) return &g_lanes[i];
        if (there == 0 && free == nullptr) free = &g_lanes[i];
    }
    if (free == nullptr) {
        if (high == kLanes) return nullptr;
        free = &g_lanes[high];
    }
    free->context = context;
    free->stream = stream;
    free->per_thread = per_thread;
    free->untimed = false;
    free->place = place;
    free->word = &g_constant;
    free->batch = 1;
    free->launch_ns = 0;
    free->credit.store(0);
    free->key.store(key, std::memory_order_release);
    if (free == &g_lanes[high]) g_high.store(high + 1, std::memory_order_release);
    return free;
}

void close_segment(Lane& lane) {
    if (lane.open.start == nullptr) return;
    const std::uint32_t left = lane.credit.load(std::memory_order_relaxed);
    const std::uint32_t launches = lane.open.launches > left ? lane.open.launches - left : 0;
    if (launches == 0 || lane.pending_count == Lane::kPending) {
        if (launches == 0 && lane.open.owns_start) put_back(lane, lane.open.start);
        if (launches == 0) lane.open = Segment{};
        return;
    }
    CUevent end = record(lane);
    if (end == nullptr) return;
    lane.open.end = end;
    lane.open.launches = launches;
    lane.pending[lane.pending_count++] = lane.open;
    lane.open = Segment{};
    lane.credit.store(0, std::memory_order_relaxed);
}

void open_segment(Lane& lane) {
    if (lane.untimed || lane.open.start != nullptr) return;
    Segment segment = {};
    if (lane.pending_count != 0) {
        segment.start = lane.pending[lane.pending_count - 1].end;
    } else {
        segment.start = record(lane);
        segment.owns_start = true;
    }
    if (segment.start == nullptr) return;
    segment.launches = lane.batch;
    segment.opened_ns = kernel::now_ns();
    segment.charged_ns = g_ledger.totals(lane.place).gpu_ns.load(std::memory_order_relaxed);
    segment.lane_ns = lane.charged_ns;
    lane.open = segment;
}

void harvest(Lane& lane) {
    while (lane.pending_count != 0 && is_done(lane.pending[0].end)) {
        const Segment done = lane.pending[0];
        float milliseconds = 0;
        if (g_driver.cuEventElapsedTime(&milliseconds, done.start, done.end) == CUDA_SUCCESS &&
            milliseconds >= 0) {
            const auto ns = static_cast<std::uint64_t>(milliseconds * 1e6);
            adapt(lane, ns, done.launches);
            const std::uint64_t charge = unpaid(lane, done, ns);
            charge_time(lane.place, charge);
            lane.charged_ns += charge;
            g_ledger.totals(lane.place)
                .launches.fetch_add(done.launches, std::memory_order_relaxed);
        }
        if (done.owns_start) put_back(lane, done.start);
        --lane.pending_count;
        for (unsigned i = 0; i < lane.pending_count; ++i) lane.pending[i] = lane.pending[i + 1];
        // The end may be the start of what follows: that owns it then.
        if (lane.pending_count != 0 && lane.pending[0].start == done.end)
            lane.pending[0].owns_start = true;
        else if (lane.open.start == done.end)
            lane.open.owns_start = true;
        else
            put_back(lane, done.end);
    }
}

bool wait_pending(Lane& lane, unsigned count, std::uint64_t longest_ns) {
    harvest(lane);
    if (lane.pending_count <= count) return true;
    const std::uint64_t began = kernel::now_ns();
    constexpr std::uint64_t kShortest = 20'000;
    constexpr std::uint64_t kLongest = 200'000;
    for (;;) {
        const std::uint64_t expected = lane.launch_ns * lane.pending[0].launches / 4;
        kernel::sleep_ns(expected < kShortest  ? kShortest
                         : expected > kLongest ? kLongest
                                               : expected);
        harvest(lane);
        if (lane.pending_count <= count) return true;
        if (kernel::now_ns() - began > longest_ns) return false;
    }
}

void abandon(Lane& lane, bool destroy_events) {
    const auto drop = [&](CUevent event) {
        if (event != nullptr && destroy_events) g_driver.cuEventDestroy_v2(event);
    };
    for (unsigned i = 0; i < lane.pending_count; ++i) {
        if (lane.pending[i].owns_start) drop(lane.pending[i].start);
        drop(lane.pending[i].end);
    }
    if (lane.open.owns_start) drop(lane.open.start);
    for (unsigned i = 0; i < lane.spare_count; ++i) drop(lane.spare[i]);
    lane.pending_count = 0;
    lane.spare_count = 0;
    lane.open = Segment{};
    lane.credit.store(0);
    lane.key.store(0);
}

}  // namespace aliquot::guard
