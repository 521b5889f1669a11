// SPDX-License-Identifier: Apache-2.0
#include "cost/allocate.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>
#include <unordered_map>

#include "cost/node_division.h"

namespace aliquot::cost {
namespace {

struct NodeHistory {
    NameId node = 0;
    std::vector<const Span*> spans;
    std::vector<Interval> intervals;
    Allocation result;
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

void divide(NodeHistory& node) {
    std::ranges::stable_sort(node.spans, {}, &Span::begin);
    if (!std::ranges::is_sorted(node.intervals, earlier)) {
        std::ranges::stable_sort(node.intervals, earlier);
    }
    clip_overlaps(node.intervals);
    NodeDivision(node.spans, node.intervals, node.result).run();
    node.intervals = {};
}

std::vector<NodeHistory> by_node(const History& history) {
    std::vector<std::uint32_t> place(history.names.size(), UINT32_MAX);
    std::vector<NodeHistory> nodes;
    for (const Span& span : history.spans) {
        if (span.begin >= span.end) continue;
        if (place[span.node] == UINT32_MAX) {
            place[span.node] = static_cast<std::uint32_t>(nodes.size());
            nodes.push_back({.node = span.node});
        }
        nodes[place[span.node]].spans.push_back(&span);
    }
    std::vector<std::size_t> counts(nodes.size(), 0);
    for (const Interval& one : history.intervals) {
        if (place[one.node] != UINT32_MAX) ++counts[place[one.node]];
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].intervals.reserve(counts[i]);
    for (const Interval& one : history.intervals) {
        if (one.begin < one.end && place[one.node] != UINT32_MAX) {
            nodes[place[one.node]].intervals.push_back(one);
        }
    }
    return nodes;
}

}  // namespace

Allocation allocate(const History& history, unsigned threads) {
    std::vector<NodeHistory> nodes = by_node(history);
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < nodes.size(); i = next++) divide(nodes[i]);
    };
    {
        std::vector<std::jthread> others;
        const auto useful = std::min<std::size_t>(std::max(threads, 1U), nodes.size());
        for (std::size_t i = 1; i < useful; ++i) others.emplace_back(work);
        work();
    }
    Allocation all;
    for (NodeHistory& node : nodes) {
        std::ranges::move(node.result.rows, std::back_inserter(all.rows));
        std::ranges::move(node.result.bills, std::back_inserter(all.bills));
        node.result = {};
    }
    return all;
}

}  // namespace aliquot::cost
