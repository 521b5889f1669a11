// SPDX-License-Identifier: Apache-2.0
#include "cost/allocate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "cost/index.h"
#include "cost/node_division.h"

namespace aliquot::cost {
namespace {

/// A node's intervals, as they lie in a History.
struct NodePart {
    std::vector<const Span*> spans;
    std::span<const std::uint32_t> intervals;
};

bool earlier(const Interval& a, const Interval& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
}

struct Holder {
    OwnerId owner = 0;
    NameId device = 0;
    NameId part = 0;
    friend bool operator==(const Holder&, const Holder&) = default;
    [[nodiscard]] std::uint64_t hash() const {
        constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15U;
        std::uint64_t hash = (std::uint64_t{owner} << 32U | device) * kMix;
        hash = (hash ^ hash >> 29U ^ part) * kMix;
        return hash ^ hash >> 32U;
    }
};

struct Last {
    Holder key;
    TimeMs end = INT64_MIN;
};

/// An interval of a History, by what it is sorted by.
struct Start {
    TimeMs begin = 0;
    std::uint32_t interval = 0;
};

/// What divide() needs for one node and can use again for the next.
struct Room {
    std::vector<Start> starts;
    std::vector<Start> other_starts;
    std::vector<Interval> intervals;
    Index<Last> ends;
    Allocation made;
};

/// Of what overlaps of one owner on one part, the first counts. Keeps the order by begin.
void clip_overlaps(Room& room) {
    room.ends.clear();
    bool clipped = false;
    for (Interval& one : room.intervals) {
        if (one.owner == 0) continue;
        TimeMs& last = room.ends.at(Holder{one.owner, one.device, one.part}).end;
        if (one.begin < last) {
            const TimeMs whole = one.end - one.begin;
            one.begin = std::min(last, one.end);
            one.energy_millijoules = static_cast<std::uint64_t>(
                Wide{one.energy_millijoules} * static_cast<Wide>(one.end - one.begin) /
                static_cast<Wide>(whole));
            clipped = true;
        }
        last = std::max(last, one.end);
    }
    if (!clipped) return;
    std::erase_if(room.intervals, [](const Interval& one) { return one.begin >= one.end; });
    std::ranges::stable_sort(room.intervals, earlier);
}

/// The intervals of each node together: a copy of all of them would cost more than to divide them.
class ByNode {
public:
    explicit ByNode(const History& history) : places_(history.names.size(), kNowhere) {
        for (const Span& span : history.spans) {
            if (span.begin >= span.end) continue;
            if (places_[span.node] == kNowhere) {
                places_[span.node] = static_cast<std::uint32_t>(nodes_.size());
                nodes_.emplace_back();
            }
            nodes_[places_[span.node]].spans.push_back(&span);
        }
        std::vector<std::size_t> ends(nodes_.size() + 1, 0);
        const auto counts = [this](const Interval& one) {
            return one.begin < one.end && places_[one.node] != kNowhere;
        };
        for (const Interval& one : history.intervals) {
            if (counts(one)) ++ends[places_[one.node] + 1];
        }
        std::partial_sum(ends.begin(), ends.end(), ends.begin());
        order_.resize(ends.back());
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            nodes_[i].intervals = std::span(order_).subspan(ends[i], ends[i + 1] - ends[i]);
        }
        for (std::uint32_t i = 0; i < history.intervals.size(); ++i) {
            const Interval& one = history.intervals[i];
            if (counts(one)) order_[ends[places_[one.node]]++] = i;
        }
    }
    [[nodiscard]] const std::vector<NodePart>& nodes() const { return nodes_; }

private:
    static constexpr std::uint32_t kNowhere = UINT32_MAX;
    std::vector<std::uint32_t> places_;  // of a node in nodes_, by its name
    std::vector<std::uint32_t> order_;
    std::vector<NodePart> nodes_;
};

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kFewStarts = 1'024;  // are sorted faster by comparison

/// By begin; what is equal stays in its order. Digit by digit from the lowest one: intervals of some weeks have
/// three digits, where comparing takes seventeen rounds for a hundred thousand.
void sort_by_begin(std::vector<Start>& starts, std::vector<Start>& other) {
    if (starts.size() < kFewStarts) {
        std::ranges::stable_sort(starts, {}, &Start::begin);
        return;
    }
    const auto [first, last] = std::ranges::minmax(starts, {}, &Start::begin);
    const auto from = static_cast<std::uint64_t>(first.begin);
    const std::uint64_t range = static_cast<std::uint64_t>(last.begin) - from;
    other.resize(starts.size());
    for (unsigned shift = 0; shift < 64 && range >> shift != 0; shift += kDigitBits) {
        const auto digit = [&](const Start& one) {
            return (static_cast<std::uint64_t>(one.begin) - from) >> shift &
                   ((1U << kDigitBits) - 1);
        };
        std::array<std::uint32_t, std::size_t{1} << kDigitBits> places{};
        for (const Start& one : starts) ++places[digit(one)];
        std::exclusive_scan(places.begin(), places.end(), places.begin(), 0U);
        for (const Start& one : starts) other[places[digit(one)]++] = one;
        starts.swap(other);
    }
}

/// Of those that begin at once the one that ends first comes first.
void sort_by_end(std::vector<Start>& starts, const std::vector<Interval>& intervals) {
    constexpr std::ptrdiff_t kFew = 32;  // are sorted faster one by one
    const auto end_of = [&](const Start& one) { return intervals[one.interval].end; };
    for (auto at = starts.begin(); at != starts.end();) {
        auto next = at + 1;
        while (next != starts.end() && next->begin == at->begin) ++next;
        if (next - at > kFew) {
            std::ranges::stable_sort(at, next, {}, end_of);
            at = next;
        }
        for (const auto first = at; at != next; ++at) {
            const Start moved = *at;
            auto to = at;
            for (; to != first && end_of(moved) < end_of(*(to - 1)); --to) *to = *(to - 1);
            *to = moved;
        }
    }
}

/// Into room.intervals, by begin and end.
void gather(const History& history, const NodePart& part, Room& room) {
    room.starts.clear();
    for (const std::uint32_t i : part.intervals) {
        room.starts.push_back({history.intervals[i].begin, i});
    }
    if (!std::ranges::is_sorted(room.starts, {}, &Start::begin)) {
        sort_by_begin(room.starts, room.other_starts);
    }
    sort_by_end(room.starts, history.intervals);
    room.intervals.clear();
    for (const Start& one : room.starts) room.intervals.push_back(history.intervals[one.interval]);
}

/// Into room.made.
void divide(const History& history, const NodePart& part, Room& room) {
    std::vector<const Span*> spans = part.spans;
    std::ranges::stable_sort(spans, {}, &Span::begin);
    gather(history, part, room);
    clip_overlaps(room);
    room.made.rows.clear();
    room.made.bills.clear();
    NodeDivision(spans, room.intervals, room.made).run();
}

/// Hands over what is made of each node, in their order, as soon as it is its turn.
class InOrder {
public:
    InOrder(const TakeNode& take_node, std::size_t nodes) : take_node_(take_node), made_(nodes) {}
    /// Leaves an empty `made`, which has room for rows where there is some.
    void take(std::size_t node, Allocation& made) {
        const std::scoped_lock lock(mutex_);
        if (node != next_) {
            made_[node] = std::exchange(made, unused());
            return;
        }
        take_node_(made);
        for (++next_; next_ < made_.size() && made_[next_]; ++next_) {
            take_node_(*made_[next_]);
            unused_.push_back(*std::exchange(made_[next_], std::nullopt));
        }
    }

private:
    Allocation unused() {
        if (unused_.empty()) return {};
        Allocation last = std::move(unused_.back());
        unused_.pop_back();
        return last;
    }

    const TakeNode& take_node_;
    std::mutex mutex_;
    std::vector<std::optional<Allocation>> made_;
    std::vector<Allocation> unused_;  // memory that was written to once costs nothing the next time
    std::size_t next_ = 0;
};

}  // namespace

void allocate(const History& history, const TakeNode& take, unsigned threads) {
    const ByNode parts(history);
    const auto& nodes = parts.nodes();
    InOrder order(take, nodes.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        Room room;
        for (std::size_t i = next++; i < nodes.size(); i = next++) {
            divide(history, nodes[i], room);
            order.take(i, room.made);
        }
    };
    std::vector<std::jthread> others;
    const auto useful = std::min<std::size_t>(std::max(threads, 1U), nodes.size());
    for (std::size_t i = 1; i < useful; ++i) others.emplace_back(work);
    work();
}

Allocation allocate(const History& history, unsigned threads) {
    Allocation all;
    const auto append = [&](const Allocation& node) {
        all.rows.insert(all.rows.end(), node.rows.begin(), node.rows.end());
        all.bills.insert(all.bills.end(), node.bills.begin(), node.bills.end());
    };
    all.rows.reserve(history.intervals.size() + history.intervals.size() / 4);
    allocate(history, append, threads);
    return all;
}

}  // namespace aliquot::cost
