// SPDX-License-Identifier: Apache-2.0
#include "cost/allocate.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>

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

/// Of what overlaps of one owner on one part, the first counts. Says whether the order by begin still holds.
void clip_overlaps(std::vector<Interval>& intervals) {
    std::unordered_map<std::uint64_t, std::vector<std::pair<NameId, TimeMs>>> ends;
    bool clipped = false;
    for (Interval& one : intervals) {
        if (one.owner == 0) continue;
        auto& known = ends[std::uint64_t{one.owner} << 32U | one.device];
        const auto last = std::ranges::find(known, one.part, &std::pair<NameId, TimeMs>::first);
        if (last == known.end()) {
            known.emplace_back(one.part, one.end);
            continue;
        }
        if (one.begin < last->second) {
            const TimeMs whole = one.end - one.begin;
            one.begin = std::min(last->second, one.end);
            one.energy_millijoules = static_cast<std::uint64_t>(
                Wide{one.energy_millijoules} * static_cast<Wide>(one.end - one.begin) /
                static_cast<Wide>(whole));
            clipped = true;
        }
        last->second = std::max(last->second, one.end);
    }
    if (!clipped) return;
    std::erase_if(intervals, [](const Interval& one) { return one.begin >= one.end; });
    std::ranges::stable_sort(intervals, earlier);
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

/// intervals   room that is used again
Allocation divide(const History& history, const NodePart& part, std::vector<Interval>& intervals) {
    std::vector<const Span*> spans = part.spans;
    std::ranges::stable_sort(spans, {}, &Span::begin);
    intervals.clear();
    for (const std::uint32_t i : part.intervals) intervals.push_back(history.intervals[i]);
    if (!std::ranges::is_sorted(intervals, earlier)) {
        std::ranges::stable_sort(intervals, earlier);
    }
    clip_overlaps(intervals);
    Allocation made;
    made.rows.reserve(intervals.size() + intervals.size() / 4);
    NodeDivision(spans, intervals, made).run();
    return made;
}

/// Puts what is made of each node behind the others, in their order, as soon as it is its turn.
class InOrder {
public:
    InOrder(Allocation& all, std::size_t nodes) : all_(all), made_(nodes) {}
    void take(std::size_t node, Allocation made) {
        const std::scoped_lock lock(mutex_);
        made_[node] = std::move(made);
        for (; next_ < made_.size() && made_[next_]; ++next_) {
            std::ranges::copy(made_[next_]->rows, std::back_inserter(all_.rows));
            std::ranges::copy(made_[next_]->bills, std::back_inserter(all_.bills));
            made_[next_].reset();
        }
    }

private:
    Allocation& all_;
    std::mutex mutex_;
    std::vector<std::optional<Allocation>> made_;
    std::size_t next_ = 0;
};

}  // namespace

Allocation allocate(const History& history, unsigned threads) {
    const ByNode parts(history);
    const auto& nodes = parts.nodes();
    Allocation all;
    all.rows.reserve(history.intervals.size() + history.intervals.size() / 4);
    InOrder order(all, nodes.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        std::vector<Interval> room;
        for (std::size_t i = next++; i < nodes.size(); i = next++) {
            order.take(i, divide(history, nodes[i], room));
        }
    };
    {
        std::vector<std::jthread> others;
        const auto useful = std::min<std::size_t>(std::max(threads, 1U), nodes.size());
        for (std::size_t i = 1; i < useful; ++i) others.emplace_back(work);
        work();
    }
    return all;
}

}  // namespace aliquot::cost
