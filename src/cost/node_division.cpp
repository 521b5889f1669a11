// SPDX-License-Identifier: Apache-2.0
#include "cost/node_division.h"

#include <algorithm>
#include <utility>

namespace aliquot::cost {
namespace {

constexpr std::uint64_t kTick =
    std::uint64_t{1'000} * kWholeGpu;                    // all of a pool, for a millisecond
constexpr std::uint64_t kFewTicks = UINT64_MAX / kTick;  // they fit into 64 bits
constexpr unsigned kFineBits = 20;       // of a weight, below a microsecond of a pool
constexpr std::uint64_t kRounding = 64;  // billionths that shares of 1 / n may leave

/// What somebody had of a pool. It is not money, so that a multiplication does.
/// unit   of the pool, for 2^kFineBits of the weight
std::int64_t amount_of(Wide weight, double unit) {
    constexpr double kHalf = 0.5;
    return static_cast<std::int64_t>(
        static_cast<double>(static_cast<std::uint64_t>(weight >> kFineBits)) * unit + kHalf);
}
double unit_of(std::uint64_t capacity) {
    constexpr double kThousand = 1'000;  // of a core or a second
    return static_cast<double>(capacity) * static_cast<double>(std::uint64_t{1} << kFineBits) /
           (static_cast<double>(kTick) * kThousand);
}

std::uint64_t energy_until(const Interval& of, TimeMs time) {
    if (of.energy_millijoules == 0) return 0;
    return static_cast<std::uint64_t>(Wide{of.energy_millijoules} *
                                      static_cast<Wide>(time - of.begin) /
                                      static_cast<Wide>(of.end - of.begin));
}

}  // namespace

void NodeDivision::Pool::advance(TimeMs now) {
    if (now <= since) return;
    const auto passed = static_cast<std::uint64_t>(now - since);
    const Wide all = Wide{kTick} * passed;
    since = now;
    if (marks[static_cast<std::size_t>(State::kBroken)] != 0) {
        rest[static_cast<std::size_t>(State::kBroken)] += all;
        return;
    }
    const bool full = held != 0 && held + kRounding > capacity;
    const std::uint64_t among = full ? held : capacity;
    // 64 bits are divided several times faster.
    Wide moved = 0;
    if (held != 0) moved = passed <= kFewTicks ? kTick * passed / among : all / among;
    clock += moved;
    rest[static_cast<std::size_t>(rest_state())] += all - moved * held;
}

State NodeDivision::Pool::rest_state() const {
    for (const State state : {State::kDraining, State::kWarming}) {
        if (marks[static_cast<std::size_t>(state)] != 0) return state;
    }
    return State::kFree;
}

std::uint64_t NodeDivision::Key::hash() const {
    constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15U;
    std::uint64_t hash = (std::uint64_t{owner} << 32U | device) * kMix;
    hash ^= hash >> 29U;
    hash = (hash ^ (std::uint64_t{part} << 8U | static_cast<std::uint64_t>(state))) * kMix;
    return hash ^ hash >> 32U;
}

NodeDivision::NodeDivision(const std::vector<const Span*>& spans,
                           const std::vector<Interval>& intervals, Allocation& out)
    : spans_(spans), intervals_(intervals), out_(out) {}

void NodeDivision::run() {
    TimeMs covered = INT64_MIN;  // where spans overlap, the first one counts
    for (const Span* span : spans_) {
        const TimeMs begin = std::max(span->begin, covered);
        if (begin >= span->end) continue;
        covered = span->end;
        enter(*span, begin);
        for (TimeMs at = begin; at < span->end;) {
            const TimeMs end = std::min(hour_of(at) + kHourMs, span->end);
            play(at, end);
            write(*span, at, end);
            at = end;
        }
    }
}

void NodeDivision::enter(const Span& span, TimeMs at) {
    rates_ = rates_of(span);
    devices_ = span.devices;
    gpu_of_.clear();
    for (std::size_t i = 0; i < devices_.size(); ++i) gpu_of_.emplace(devices_[i], i);
    gpus_.assign(devices_.size(), Pool{});
    for (Pool& gpu : gpus_) gpu.capacity = kWholeGpu;
    cpu_ = Pool{.capacity = span.cpu_milli};
    memory_ = Pool{.capacity = span.memory_mib};
    for (Pool& gpu : gpus_) gpu.since = at;
    cpu_.since = memory_.since = at;
    while (!ends_.empty() && ends_.top().first <= at) {
        holds_[ends_.top().second].alive = false;
        unused_.push_back(ends_.top().second);
        ends_.pop();
    }
    for (Hold& hold : holds_) {
        if (!hold.alive) continue;
        hold.settled = at;
        attach(hold);
    }
}

void NodeDivision::play(TimeMs begin, TimeMs end) {
    while (true) {
        const TimeMs starts =
            next_ < intervals_.size() ? std::max(intervals_[next_].begin, begin) : INT64_MAX;
        const TimeMs stops = ends_.empty() ? INT64_MAX : ends_.top().first;
        if (std::min(starts, stops) >= end) break;
        if (stops <= starts) {
            const std::size_t at = ends_.top().second;
            ends_.pop();
            settle(holds_[at], stops);
            detach(holds_[at]);
            holds_[at].alive = false;
            unused_.push_back(at);
        } else {
            if (intervals_[next_].end > begin) start(next_, starts);
            ++next_;
        }
    }
    advance_pools(end);
    for (Hold& hold : holds_) {
        if (hold.alive) settle(hold, end);
    }
}

void NodeDivision::advance_pools(TimeMs now) {
    for (Pool& gpu : gpus_) gpu.advance(now);
    cpu_.advance(now);
    memory_.advance(now);
}

void NodeDivision::start(std::size_t interval, TimeMs at) {
    std::size_t place = holds_.size();
    if (unused_.empty()) {
        holds_.emplace_back();
    } else {
        place = unused_.back();
        unused_.pop_back();
    }
    const Interval& of = intervals_[interval];
    holds_[place] = Hold{.interval = interval, .settled = at, .alive = true};
    holds_[place].marks =
        of.share == 0 && of.device != 0 && (of.owner == 0 || of.state == State::kBroken);
    if (const auto gpu = gpu_of_.find(of.device); gpu != gpu_of_.end()) {
        gpus_[gpu->second].advance(at);
    }
    cpu_.advance(at);
    memory_.advance(at);
    attach(holds_[place]);
    ends_.emplace(of.end, place);
}

void NodeDivision::attach(Hold& hold) {
    const Interval& of = intervals_[hold.interval];
    const auto gpu = of.device == 0 ? gpu_of_.end() : gpu_of_.find(of.device);
    hold.gpu = gpu == gpu_of_.end() ? kNoPool : gpu->second;
    if (hold.gpu != kNoPool) {
        Pool& pool = gpus_[hold.gpu];
        if (hold.marks) ++pool.marks[static_cast<std::size_t>(of.state)];
        if (!hold.marks) pool.held += of.share;
        hold.gpu_clock = pool.clock;
    }
    if (cpu_.capacity != 0) cpu_.held += of.cpu_milli;
    if (memory_.capacity != 0) memory_.held += of.memory_mib;
    hold.cpu_clock = cpu_.clock;
    hold.memory_clock = memory_.clock;
}

void NodeDivision::detach(const Hold& hold) {
    const Interval& of = intervals_[hold.interval];
    if (hold.gpu != kNoPool) {
        Pool& pool = gpus_[hold.gpu];
        if (hold.marks) --pool.marks[static_cast<std::size_t>(of.state)];
        if (!hold.marks) pool.held -= of.share;
    }
    if (cpu_.capacity != 0) cpu_.held -= of.cpu_milli;
    if (memory_.capacity != 0) memory_.held -= of.memory_mib;
}

void NodeDivision::settle(Hold& hold, TimeMs now) {
    const Interval& of = intervals_[hold.interval];
    if (now <= hold.settled) return;
    cpu_.advance(now);
    memory_.advance(now);
    Weights& mine = weights_.at(Key{of.owner, of.device, of.part, of.state});
    if (hold.gpu != kNoPool) {
        Pool& pool = gpus_[hold.gpu];
        pool.advance(now);
        if (!hold.marks) mine.gpu += (pool.clock - hold.gpu_clock) * of.share;
        hold.gpu_clock = pool.clock;
        mine.gpu_rate = rates_.gpus[hold.gpu];
    }
    mine.cpu += (cpu_.clock - hold.cpu_clock) * of.cpu_milli;
    mine.memory += (memory_.clock - hold.memory_clock) * of.memory_mib;
    mine.energy += energy_until(of, now) - energy_until(of, hold.settled);
    hold.cpu_clock = cpu_.clock;
    hold.memory_clock = memory_.clock;
    hold.settled = now;
}

void NodeDivision::add_rest() {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
        for (std::size_t state = 0; state < kStates; ++state) {
            const Wide rest = std::exchange(gpus_[i].rest[state], 0);
            if (rest == 0) continue;
            Weights& nobody = weights_.at(Key{0, devices_[i], 0, static_cast<State>(state)});
            nobody.gpu += rest;
            nobody.gpu_rate = rates_.gpus[i];
        }
    }
    Weights& nobody = weights_.at(Key{0, 0, 0, State::kFree});
    for (Wide& rest : cpu_.rest) nobody.cpu += std::exchange(rest, 0);
    for (Wide& rest : memory_.rest) nobody.memory += std::exchange(rest, 0);
}

void NodeDivision::write(const Span& span, TimeMs begin, TimeMs end) {
    add_rest();
    const TimeMs hour = hour_of(begin);
    const Wide paid = static_cast<Wide>(rates_.cpu + rates_.memory) + [this] {
        Wide sum = 0;
        for (const Micros rate : rates_.gpus) sum += static_cast<Wide>(rate);
        return sum;
    }();
    // Rounded at both ends, so that the pieces of an hour add up to the hour.
    const auto until = [&](TimeMs time) {
        return static_cast<Micros>((paid * static_cast<Wide>(time - hour) + kHourMs / 2) / kHourMs);
    };
    const Bill bill{hour, span.node, span.price, end - begin, until(end) - until(begin)};
    const auto& weights = weights_.entries();
    std::vector<Wide> each;
    each.reserve(weights.size() * 3);
    for (const Weights& one : weights) {
        each.push_back(one.gpu * static_cast<Wide>(one.gpu_rate));
        each.push_back(one.cpu * static_cast<Wide>(rates_.cpu));
        each.push_back(one.memory * static_cast<Wide>(rates_.memory));
    }
    const auto parts = largest_remainder(bill.amount, each);
    const double core_ms = unit_of(span.cpu_milli);
    const double mib_s = unit_of(span.memory_mib);
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const Weights& one = weights[i];
        Row row{.hour = hour,
                .node = span.node,
                .device = one.key.device,
                .part = one.key.part,
                .model = span.model,
                .price = span.price,
                .owner = one.key.owner,
                .state = one.key.state,
                .gpu = parts[3 * i],
                .cpu = parts[3 * i + 1],
                .memory = parts[3 * i + 2],
                .energy_millijoules = one.energy};
        row.gpu_ms = static_cast<std::int64_t>((one.gpu + kTick / 2) / kTick);
        row.core_ms = amount_of(one.cpu, core_ms);
        row.mib_s = amount_of(one.memory, mib_s);
        if (row.total() == 0 && row.gpu_ms == 0 && row.energy_millijoules == 0) continue;
        out_.rows.push_back(row);
    }
    out_.bills.push_back(bill);
    weights_.clear();
}

}  // namespace aliquot::cost
