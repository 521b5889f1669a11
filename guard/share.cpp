// SPDX-License-Identifier: Apache-2.0
#include "guard/share.h"

#include "guard/arbiter.h"
#include "guard/bucket.h"
#include "guard/kernel.h"
#include "guard/lane.h"
#include "guard/node_page.h"
#include "guard/session.h"

namespace aliquot::guard {

std::atomic<std::uint32_t> g_launch_mode{kLaunchMetered};

namespace {

/// A launch is held back that long at most, then it goes through and is only charged: whatever
/// waits for it, a collective on another GPU for one, must not wait for ever.
constexpr std::uint64_t kLongestWait = 1'000'000'000;
constexpr std::uint64_t kLongestTurn = 250'000'000;
constexpr unsigned kInFlight = 1;  // whole segments behind the one that is being launched
/// The GPU has to rest anyway under such a cap, or with such long kernels under the higher one: what
/// was launched before is waited for and paid first.
constexpr std::uint32_t kPaidFirst = 500'000;
constexpr std::uint32_t kLongPaidFirst = 800'000;
constexpr std::uint64_t kLong = 4'000'000;
constexpr std::uint32_t kUnmetered = 128;
constexpr std::uint64_t kRefresh = 10'000'000;

constinit Turns g_turns[abi::kRegionDevices];
std::atomic<std::uint32_t> g_turns_asked{0};  // bit by place
ThreadLock g_lock;
std::atomic<std::uint64_t> g_refreshed_ns{0};

struct LastLane {
    CUstream stream;
    Lane* lane;
    std::uint64_t key;  // of the lane then
    bool per_thread;
};

thread_local LastLane t_last = {};

bool is_current(CUcontext context) {
    CUcontext current = nullptr;
    return g_driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context;
}

/// Whether the lane that this thread used last is still this stream's: the stream may have been
/// destroyed and the lane given to another one, and a default stream is another one after a change of
/// context.
bool is_lane_of(const LastLane& last, CUstream stream, bool per_thread) {
    if (last.lane == nullptr || last.stream != stream || last.per_thread != per_thread)
        return false;
    const auto handle = reinterpret_cast<std::uintptr_t>(stream);
    const std::uint64_t key = last.lane->key.load(std::memory_order_relaxed);
    if (handle > CU_STREAM_PER_THREAD_VALUE) return key == handle;
    return key == last.key && is_current(last.lane->context);
}

struct Share {
    std::uint32_t cap_ppm = 0;
    std::uint32_t weight = 0;
};

Share share_of(unsigned place) {
    const abi::DeviceLimits& limits = *g_ledger.device(place).limits;
    Share share;
    share.cap_ppm = limits.cap_ppm.load(std::memory_order_relaxed);
    share.weight = limits.weight.load(std::memory_order_relaxed);
    return share;
}

/// A cap is a weight as well: while others have the GPU, its time cannot be measured.
std::uint32_t weight_of(const Share& share) {
    return share.weight != 0 ? share.weight : share.cap_ppm / 10'000 + 1;
}

/// The turns of a device; not joined where there is no page or no need.
Turns& turns_of(unsigned place, const Share& share) {
    Turns& turns = g_turns[place];
    const std::uint32_t bit = 1U << place;
    if ((g_turns_asked.load(std::memory_order_acquire) & bit) != 0) return turns;
    const ThreadLocked locked(g_lock);
    if ((g_turns_asked.load() & bit) != 0) return turns;
    const bool joined =
        g_settings.node[0] != '\0' && turns.join(g_settings.node, g_ledger.device(place).uuid,
                                                 g_ledger.region(), weight_of(share));
    if (!joined && share.weight != 0) {
        g_ledger.remark(place, abi::kRemarkNoArbiter);
        log(LogLevel::kError, "a weight is set, and the node page %s cannot be used: no turns",
            g_settings.node[0] == '\0' ? "(none)" : g_settings.node);
    }
    g_turns_asked.fetch_or(bit, std::memory_order_release);
    return turns;
}

/// All of this process' work on the device is done, or it takes too long to wait for.
void drain(unsigned place) {
    unsigned count = 0;
    Lane* all = lanes(count);
    for (unsigned i = 0; i < count; ++i) {
        Lane& lane = all[i];
        if (lane.place != place || lane.key.load() == 0 || !lane.lock.try_lock()) continue;
        close_segment(lane);
        if (!wait_pending(lane, 0, kLongestTurn))
            g_ledger.remark(place, abi::kRemarkPersistentKernel);
        lane.lock.unlock();
    }
}

bool is_at_work(unsigned place) {
    unsigned count = 0;
    const Lane* all = lanes(count);
    for (unsigned i = 0; i < count; ++i)
        if (all[i].place == place && all[i].key.load() != 0 &&
            (all[i].pending_count != 0 || all[i].open.start != nullptr))
            return true;
    return false;
}

void note_wait(unsigned place, std::uint64_t since, bool in_time) {
    abi::DeviceLedger& totals = g_ledger.totals(place);
    totals.throttled_ns.fetch_add(kernel::now_ns() - since, std::memory_order_relaxed);
    if (in_time) return;
    totals.overruns.fetch_add(1, std::memory_order_relaxed);
    g_ledger.remark(place, abi::kRemarkWaitedTooLong);
}

/// Waits for GPU time under the cap. Without the turn: others may use what we may not.
void wait_for_time(unsigned place, std::uint32_t cap_ppm, Turns& turns) {
    std::uint64_t wait = time_until_allowed(place, cap_ppm);
    if (wait == 0) return;
    if (turns.joined()) turns.rest();
    const std::uint64_t since = kernel::now_ns();
    bool in_time = true;
    while (wait != 0 && in_time) {
        const std::uint64_t waited = kernel::now_ns() - since;
        const std::uint64_t left = waited < kLongestWait ? kLongestWait - waited : 0;
        kernel::sleep_ns(wait < left ? wait : left);
        wait = time_until_allowed(place, cap_ppm);
        in_time = kernel::now_ns() - since < kLongestWait;
    }
    note_wait(place, since, wait == 0);
}

void wait_for_turn(unsigned place, Turns& turns) {
    if (turns.is_mine()) {
        turns.resume();
        if (turns.is_wanted() && turns.is_over(kernel::now_ns())) {
            drain(place);
            turns.pass_on();
        }
        if (turns.is_mine()) return;
    }
    const std::uint64_t since = kernel::now_ns();
    const bool mine = turns.take(kLongestTurn);
    note_wait(place, since, mine);
}

/// The lane may launch so many times from here.
void checkpoint(Lane& lane) {
    const unsigned place = lane.place;
    const Share share = share_of(place);
    if (share.cap_ppm == 0 && share.weight == 0) {
        lane.credit.store(kUnmetered, std::memory_order_relaxed);
        return;
    }
    Turns& turns = turns_of(place, share);
    close_segment(lane);
    const bool sole = !turns.joined() || !turns.has_others();
    const bool metered = share.cap_ppm != 0 || !sole;
    const bool paid_first = share.cap_ppm != 0 &&
                            share.cap_ppm <= (lane.launch_ns > kLong ? kLongPaidFirst : kPaidFirst);
    if (metered)
        if (!wait_pending(lane, paid_first ? 0 : kInFlight, kLongestWait))
            g_ledger.remark(place, abi::kRemarkPersistentKernel);
    if (share.cap_ppm != 0) wait_for_time(place, share.cap_ppm, turns);
    if (turns.joined()) {
        turns.set_weight(weight_of(share));  // it may have been changed
        lane.word = &turns.word();
        const std::uint32_t seen = turns.word().load(std::memory_order_acquire);
        lane.lock.unlock();  // others drain this lane while we wait
        wait_for_turn(place, turns);
        lane.lock.lock();
        lane.seen.store(turns.is_mine() ? turns.word().load() : seen, std::memory_order_relaxed);
    }
    if (metered) {
        harvest(lane);
        open_segment(lane);
        if (turns.joined() && turns.is_mine())
            turns.expect(kernel::now_ns() + lane.launch_ns * lane.batch * (lane.pending_count + 1));
    }
    lane.credit.store(metered ? lane.batch : kUnmetered, std::memory_order_relaxed);
}

bool share_is_set() {
    for (unsigned place = 0; place < abi::kRegionDevices; ++place)
        if (g_ledger.knows(place)) {
            const Share share = share_of(place);
            if (share.cap_ppm != 0 || share.weight != 0) return true;
        }
    return false;
}

}  // namespace

void pass_launches() { g_launch_mode.store(kLaunchPassed); }

void refresh_share() {
    const std::uint64_t now = kernel::now_ns();
    std::uint64_t last = g_refreshed_ns.load(std::memory_order_relaxed);
    if (now - last < kRefresh || !g_refreshed_ns.compare_exchange_strong(last, now)) return;
    g_launch_mode.store(share_is_set() ? kLaunchMetered : kLaunchPassed);
}

void before_launch(CUstream stream, bool per_thread) {
    LastLane& last = t_last;
    Lane* lane = last.lane;
    if (!is_lane_of(last, stream, per_thread)) {
        if (g_captures.load(std::memory_order_relaxed) != 0 && is_capturing(stream, per_thread))
            return;
        lane = lane_of(stream, per_thread);
        if (lane == nullptr) return;
        last = LastLane{stream, lane, lane->key.load(std::memory_order_relaxed), per_thread};
    }
    const std::uint32_t credit = lane->credit.load(std::memory_order_relaxed);
    if (__builtin_expect(credit != 0 && lane->word->load(std::memory_order_relaxed) ==
                                            lane->seen.load(std::memory_order_relaxed),
                         1)) {
        lane->credit.store(credit - 1, std::memory_order_relaxed);
        return;
    }
    const Inside inside;
    if (!inside || is_capturing(stream, per_thread)) return;
    const CaptureRelaxed relaxed;
    if (!lane->lock.try_lock()) return;  // another thread is at it
    if (lane->key.load() != last.key) {  // dropped meanwhile
        lane->lock.unlock();
        last = LastLane{};
        return;
    }
    checkpoint(*lane);
    const std::uint32_t given = lane->credit.load(std::memory_order_relaxed);
    if (given != 0) lane->credit.store(given - 1, std::memory_order_relaxed);
    const bool metered = lane->open.start != nullptr;
    lane->lock.unlock();
    if (!metered) refresh_share();
}

void before_wait() {
    const Inside inside;
    if (!inside || g_captures.load(std::memory_order_relaxed) != 0) return;
    unsigned count = 0;
    Lane* all = lanes(count);
    for (unsigned i = 0; i < count; ++i) {
        Lane& lane = all[i];
        if (lane.open.start == nullptr || !lane.lock.try_lock()) continue;
        close_segment(lane);
        lane.lock.unlock();
    }
}

void after_wait() {
    const Inside inside;
    if (!inside || g_captures.load(std::memory_order_relaxed) != 0) return;
    unsigned count = 0;
    Lane* all = lanes(count);
    std::uint32_t places = 0;
    for (unsigned i = 0; i < count; ++i) {
        Lane& lane = all[i];
        if (lane.key.load() == 0) continue;
        places |= 1U << lane.place;
        if (lane.pending_count == 0 || !lane.lock.try_lock()) continue;
        harvest(lane);
        lane.lock.unlock();
    }
    for (unsigned place = 0; place < abi::kRegionDevices; ++place) {
        if ((places & 1U << place) == 0 || !g_turns[place].joined() || !g_turns[place].is_mine() ||
            is_at_work(place))
            continue;
        g_turns[place].rest();
        // The next launch has to say that there is work again.
        for (unsigned i = 0; i < count; ++i)
            if (all[i].place == place) all[i].credit.store(0, std::memory_order_relaxed);
    }
    refresh_share();
}

void drop_share_of_stream(CUstream stream) {
    unsigned count = 0;
    Lane* all = lanes(count);
    for (unsigned i = 0; i < count; ++i) {
        Lane& lane = all[i];
        if (lane.key.load() != reinterpret_cast<std::uintptr_t>(stream) || stream == nullptr)
            continue;
        const Inside inside;
        lane.lock.lock();
        close_segment(lane);
        harvest(lane);
        abandon(lane, true);
        lane.lock.unlock();
    }
}

void drop_share(CUcontext context) {
    unsigned count = 0;
    Lane* all = lanes(count);
    for (unsigned i = 0; i < count; ++i) {
        Lane& lane = all[i];
        if (lane.key.load() == 0 || lane.context != context || context == nullptr) continue;
        lane.lock.lock();
        harvest(lane);
        abandon(lane, false);  // the context takes its events with it
        lane.lock.unlock();
    }
}

void forget_share() {
    unsigned count = 0;
    Lane* all = lanes(count);
    for (unsigned i = 0; i < count; ++i) {
        all[i].lock.forget();
        abandon(all[i], false);
    }
    for (Turns& turns : g_turns) turns.forget();
    g_turns_asked.store(0);
    g_lock.forget();
    forget_node_page();
    t_last = LastLane{};
    g_launch_mode.store(kLaunchMetered);
}

}  // namespace aliquot::guard
