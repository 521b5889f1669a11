// SPDX-License-Identifier: Apache-2.0
#include "guard/admission.h"

#include "guard/bucket.h"
#include "guard/kernel.h"
#include "guard/lane.h"
#include "guard/session.h"
#include "guard/share.h"

namespace aliquot::guard {

constinit Gate g_gates[abi::kRegionDevices];

namespace {

/// A launch waits no longer for work of others to be done, then it goes through and is charged: that
/// work may wait for this launch, a collective's kernel for one. A debt is waited for in full: it gets
/// less with time, whatever others do.
constexpr std::uint64_t kLongestWait = 1'000'000'000;
constexpr std::uint64_t kLongestTurn = 250'000'000;
// Turns that never come must not cost a wait for each launch.
constexpr std::uint64_t kMostVain = 2'000'000'000;
constexpr unsigned kMostTaken = 16;  // turns for one launch
constexpr std::uint64_t kFirstOff = 10'000'000'000;
constexpr std::uint64_t kLongestOff = 160'000'000'000;
constexpr std::uint64_t kLongestSleep = 50'000'000;  // then look whether the cap was changed
/// While others want the GPU: as much work is with the device at once.
constexpr unsigned kInFlight = 2;
constexpr std::uint64_t kInFlightNs = 2'000'000;
constexpr std::int64_t kRound = 5'000'000;  // is saved up before several streams go on
/// Of what is in flight then, by what it is expected to take: it may run at once and take less.
constexpr std::uint64_t kAtOnce = 25'000'000;
constexpr std::int64_t kPlenty = 4'000'000;  // saved up: no thread has to wait for another
constexpr std::uint32_t kUnmetered = 128;

constinit Turns g_turns[abi::kRegionDevices];
std::atomic<std::uint32_t> g_turns_missed{0};  // bit by place: there were none when needed
const std::atomic<std::uint32_t> g_constant{0};

/// The turns of a device; not joined where there is nobody who keeps them.
Turns& turns_of(unsigned place, const Share& share) {
    Turns& turns = g_turns[place];
    if (turns.join(g_settings.node, g_ledger.device(place).uuid, kernel::now_ns()) ||
        share.weight == 0)
        return turns;
    const std::uint32_t bit = 1U << place;
    if ((g_turns_missed.load(std::memory_order_relaxed) & bit) != 0 ||
        (g_turns_missed.fetch_or(bit) & bit) != 0)
        return turns;
    g_ledger.remark(place, abi::kRemarkNoArbiter);
    log(LogLevel::kError,
        "a weight is set, and whoever keeps turns at %s %s: no turns until that is otherwise",
        g_settings.node[0] == '\0' ? "(none)" : g_settings.node,
        g_settings.node[0] == '\0' ? "is not there" : why_no_turns());
    return turns;
}

enum class For : std::uint8_t { kNothing, kLine, kTime, kDone, kTurn };

/// One thread that wants to launch.
class Entry {
public:
    Entry(Lane& lane, CUstream stream, bool per_thread)
        : place_(lane.place),
          gate_(g_gates[lane.place]),
          meter_(gate_.meter),
          lane_(lane),
          stream_(stream),
          per_thread_(per_thread) {}

    void run() {
        for (;;) {
            share_ = share_of(place_);
            const bool shared = share_.cap_ppm != 0 || share_.weight != 0;
            Turns* turns = shared ? &turns_of(place_, share_) : nullptr;
            std::uint32_t served = 0;
            For what = For::kNothing;
            {
                const ThreadLocked locked(meter_.lock);
                now_ = kernel::now_ns();
                if (now_ < gate_.turns_off_until_ns) waived_ = true;
                served = gate_.line.served();
                what = turns == nullptr ? For::kNothing : next_wait(*turns);
                if (what == For::kNothing) grant(turns);
            }
            if (what == For::kNothing) break;
            wait(what, *turns, served);
        }
        if (began_ns_ == 0) return;
        gate_.line.wake();
        abi::DeviceLedger& totals = g_ledger.totals(place_);
        totals.throttled_ns.fetch_add(kernel::now_ns() - began_ns_, std::memory_order_relaxed);
        if (in_time_) return;
        totals.overruns.fetch_add(1, std::memory_order_relaxed);
        g_ledger.remark(place_, abi::kRemarkWaitedTooLong);
    }

private:
    /// Under the meter's lock: what has to be before this launch.
    For next_wait(Turns& turns) {
        sole_ = !turns.joined() || !turns.has_others();
        measured_ = share_.cap_ppm != 0 || !sole_;
        goes_on_ = measured_ && meter_.has_left();
        if (goes_on_ && !queued_ && gate_.line.is_empty() && !turns.joined()) return For::kNothing;
        meter_.harvest_sometimes(now_);
        std::int64_t left = share_.cap_ppm == 0 ? 0 : time_left(place_, share_.cap_ppm, now_);
        const bool is_round = !gate_.is_paying && meter_.has_several_lanes();
        if (is_round)
            left += static_cast<std::int64_t>(
                meter_.in_flight_ns() < kAtOnce ? meter_.in_flight_ns() : kAtOnce);
        // In order, where there is not enough for all.
        const bool first = queued_ ? gate_.line.is_first(ticket_, now_) : gate_.line.is_empty();
        const bool is_plenty = share_.cap_ppm == 0 ? !turns.joined() || turns.is_mine()
                                                   : left > (is_round ? 0 : kPlenty);
        if (!first && !is_plenty) return For::kLine;
        if (turns.joined() && !waived_) {
            if (turns.is_mine()) turns.resume();
            const bool is_over = turns.is_over() || turns.is_late();
            if (is_over && !has_passed_on(turns)) return For::kDone;
            goes_on_ = measured_ && meter_.has_left();
            if (!turns.is_mine() && share_.cap_ppm == 0) return For::kTurn;
        }
        if (share_.cap_ppm != 0 && !goes_on_) {
            // What runs at once is to be launched at once: rounds of it, not one after the other.
            const bool in_rounds = gate_.is_paying && meter_.has_several_lanes();
            until_allowed_ = time_to_pay(in_rounds ? left - kRound : left, share_.cap_ppm);
            gate_.is_paying = until_allowed_ != 0;
            if (until_allowed_ != 0 && turns.joined() && turns.is_mine() && meter_.in_flight() == 0)
                turns.rest();
            if (until_allowed_ != 0) return For::kTime;
            const auto owed = static_cast<std::int64_t>(meter_.overdue(now_));
            if (owed > left && !overdue_is_over_) return For::kDone;
        }
        if (turns.joined() && !waived_ && !turns.is_mine()) return For::kTurn;
        return goes_on_ || !measured_ ? For::kNothing : next_batch();
    }

    /// Under the meter's lock: whether a batch can be begun.
    For next_batch() {
        const bool enough =
            !sole_ && meter_.in_flight() >= kInFlight && meter_.in_flight_ns() >= kInFlightNs;
        if (!overdue_is_over_ && (enough || !meter_.has_room())) return For::kDone;
        if (!meter_.is_about_to() || overdue_is_over_)
            meter_.close(take_unspent(meter_));
        else if (!meter_.make_room())
            return For::kDone;
        return For::kNothing;
    }

    /// Under the meter's lock. The turn goes to somebody else when the device has done our work.
    bool has_passed_on(Turns& turns) {
        meter_.close_soon(take_unspent(meter_));
        if (gate_.draining_ns == 0) gate_.draining_ns = now_;
        if (meter_.is_open() || meter_.in_flight() != 0) {
            if (now_ - gate_.draining_ns < kLongestTurn) return false;
            meter_.close(0);
            g_ledger.remark(place_, abi::kRemarkPersistentKernel);
        }
        gate_.draining_ns = 0;
        turns.pass_on();
        return true;
    }

    void wait(For what, Turns& turns, std::uint32_t served) {
        if (began_ns_ == 0) began_ns_ = now_;
        if (!queued_) {
            const ThreadLocked locked(meter_.lock);
            ticket_ = gate_.line.enter();
            queued_ = true;
            // Not while it waits: marks behind a pause do not tell when the work ended.
            if (!meter_.has_left()) meter_.close_soon(take_unspent(meter_));
            return;  // look again, in line
        }
        switch (what) {
            case For::kLine:
                gate_.line.sleep(served);
                return;
            case For::kTime:
                kernel::sleep_ns(sleep_for_time());
                return;
            case For::kDone:
                kernel::sleep_ns(meter_look());
                done_wait_ns_ += kernel::now_ns() - now_;
                if (done_wait_ns_ > kLongestWait) {
                    overdue_is_over_ = true;
                    in_time_ = false;
                    g_ledger.remark(place_, abi::kRemarkPersistentKernel);
                }
                return;
            default:
                take_turn(turns);
        }
    }

    /// Once turns did not come for so long, launches go on without for a while, then try again.
    void take_turn(Turns& turns) {
        // One that comes and is gone before it can be used comes for ever.
        const bool came = turns.take(kLongestTurn) && ++turns_taken_ < kMostTaken;
        const std::uint64_t then = kernel::now_ns();
        const ThreadLocked locked(meter_.lock);
        if (came) {
            gate_.vain_ns = 0;
            gate_.turns_off_ns = 0;
            return;
        }
        waived_ = true;
        in_time_ = false;
        gate_.vain_ns += then - now_;
        if (gate_.vain_ns < kMostVain && turns_taken_ < kMostTaken) return;
        gate_.vain_ns = 0;
        gate_.turns_off_ns = gate_.turns_off_ns == 0            ? kFirstOff
                             : gate_.turns_off_ns < kLongestOff ? gate_.turns_off_ns * 2
                                                                : kLongestOff;
        gate_.turns_off_until_ns = then + gate_.turns_off_ns;
    }

    /// Until it is paid; while work is in flight that may have cost less, until that may be done.
    std::uint64_t sleep_for_time() {
        const ThreadLocked locked(meter_.lock);
        std::uint64_t longest = kLongestSleep;
        if (meter_.in_flight() != 0) longest = meter_.next_look();
        return until_allowed_ < longest ? until_allowed_ : longest;
    }
    std::uint64_t meter_look() {
        const ThreadLocked locked(meter_.lock);
        return meter_.next_look();
    }

    /// Under the meter's lock.
    void grant(Turns* turns) {
        if (queued_) {
            gate_.line.leave(ticket_, now_);
            meter_.note_pause();
        }
        Recent& last = t_recent;
        last.turn = &g_constant;
        if (turns != nullptr && turns->joined()) last.turn = &turns->word();
        last.seen = last.turn->load(std::memory_order_acquire);
        std::uint32_t drawn = 0;
        if (measured_) {
            meter_.set_place(place_, share_.cap_ppm != 0);
            drawn = meter_.draw(lane_, now_);
            meter_.note_let_in();
            gate_.is_busy.store(1, std::memory_order_relaxed);
            if (turns != nullptr && turns->joined() && turns->is_mine())
                turns->expect(now_ + meter_.in_flight_ns());
        }
        last.stream = stream_;
        last.per_thread = per_thread_;
        last.lane = &lane_;
        last.context = is_default_stream(stream_) ? lane_.context : nullptr;
        last.meter = &meter_;
        last.epoch = epoch_of(meter_);
        last.measured = drawn != 0;
        last.single = drawn == 1;
        last.credit = (drawn != 0 ? drawn : kUnmetered) - 1;
    }

    unsigned place_;
    Gate& gate_;
    Meter& meter_;
    Lane& lane_;
    CUstream stream_;
    bool per_thread_;
    Share share_ = {};
    std::uint64_t now_ = 0;
    std::uint64_t began_ns_ = 0;  // to wait; 0: it did not
    std::uint64_t until_allowed_ = 0;
    std::uint64_t done_wait_ns_ = 0;
    std::uint32_t ticket_ = 0;
    unsigned turns_taken_ = 0;
    bool queued_ = false;
    bool sole_ = true;
    bool measured_ = false;
    bool goes_on_ = false;          // in the open batch
    bool waived_ = false;           // the turn did not come in time
    bool overdue_is_over_ = false;  // nor did work that was waited for end
    bool in_time_ = true;
};

}  // namespace

Share share_of(unsigned place) {
    const abi::DeviceLimits& limits = *g_ledger.device(place).limits;
    Share share;
    share.cap_ppm = limits.cap_ppm.load(std::memory_order_relaxed);
    share.weight = limits.weight.load(std::memory_order_relaxed);
    return share;
}

Turns* joined_turns(unsigned place) { return g_turns[place].joined() ? &g_turns[place] : nullptr; }

std::uint32_t take_unspent(const Meter& meter) {
    Recent& last = t_recent;
    if (last.meter != &meter || !last.measured || last.epoch != epoch_of(meter)) return 0;
    const std::uint32_t unspent = last.credit;
    last.credit = 0;
    return unspent;
}

void admit(Lane& lane, CUstream stream, bool per_thread) { Entry(lane, stream, per_thread).run(); }

void forget_admission() {
    for (Gate& gate : g_gates) {
        gate.meter.forget();
        gate.line.forget();
        gate.draining_ns = 0;
        gate.is_paying = false;
        gate.vain_ns = gate.turns_off_ns = gate.turns_off_until_ns = 0;
        gate.is_busy.store(0);
    }
    g_turns_missed.store(0);
    forget_turns();
}

}  // namespace aliquot::guard
