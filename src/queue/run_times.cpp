// SPDX-License-Identifier: Apache-2.0
#include "queue/run_times.h"

#include <algorithm>
#include <cmath>

namespace aliquot::queue {
namespace {

constexpr char kBetween = '\x1f';

std::size_t longer_than(const std::vector<Time>& sorted, Time elapsed) {
    return static_cast<std::size_t>(sorted.end() -
                                    std::upper_bound(sorted.begin(), sorted.end(), elapsed));
}

/// Of those above `above`.
Estimate estimate_of(const std::vector<Time>& sorted, Time above) {
    const std::size_t count = longer_than(sorted, above);
    if (count == 0) return {};
    const std::size_t first = sorted.size() - count;
    std::int64_t sum = 0;
    for (std::size_t i = first; i < sorted.size(); ++i) sum += sorted[i] / static_cast<Time>(count);
    return {.p50 = sorted[first + (count - 1) / 2],
            .p90 = sorted[first + (count - 1) * 9 / 10],
            .mean = std::max(sum, above + 1)};
}

constexpr double kPartsOfOne = 1e6;

Time part_of(Time ran, Time declared) {
    constexpr double kMostPart = 1e9;  // a thousand times what was said
    return static_cast<Time>(std::min(kMostPart, std::ceil(static_cast<double>(ran) * kPartsOfOne /
                                                           static_cast<double>(declared))));
}

Time whole_of(Time part, Time declared) {
    return static_cast<Time>(
        std::min(static_cast<double>(kLatest),
                 static_cast<double>(part) / kPartsOfOne * static_cast<double>(declared)));
}

void append_without_digits(std::string& text, std::string_view name) {
    for (const char c : name)
        if (c < '0' || c > '9') text += c;
}

}  // namespace

RunTimes::RunTimes() { groups_.emplace_back(); }

RunTimes::Key RunTimes::group(std::string text) {
    const auto [at, fresh] = names_.try_emplace(std::move(text), static_cast<Key>(groups_.size()));
    if (fresh) groups_.emplace_back();
    return at->second;
}

RunTimes::Key RunTimes::key_of(const Job& job) {
    const std::int64_t milli = static_cast<std::int64_t>(job.request.gpu_milli()) * job.gang;
    const std::string size = std::to_string(milli);
    text_.assign(1, 'j');
    ((text_ += job.user) += kBetween) += job.queue;
    append_without_digits(text_ += kBetween, job.name);
    ((text_ += kBetween) += size) += kBetween;
    text_ += std::to_string(job.request.mib);
    const auto found = names_.find(text_);
    if (found != names_.end()) return found->second;
    const bool full = groups_.size() >= kMostKeys;
    const Key queue = full ? 0 : group("q" + job.queue);
    const Key user = full ? 0 : group("u" + job.user + kBetween + size);
    if (full) return 0;
    const Key mine = group(text_);
    groups_[mine].wider = {user, queue, 0};
    groups_[user].wider = {queue, 0, 0};
    return mine;
}

void RunTimes::Samples::add(Time one) {
    if (order.size() == kKept) {
        Time& last = order[oldest];
        sorted.erase(std::lower_bound(sorted.begin(), sorted.end(), last));
        last = one;
        oldest = (oldest + 1) % kKept;
    } else {
        order.push_back(one);
    }
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), one), one);
}

std::array<RunTimes::Key, 4> RunTimes::groups_of(Key key) const {
    const auto& wider = groups_[key].wider;
    return {key, wider[0], wider[1], wider[2]};
}

void RunTimes::learn(Key key, Time ran, Time declared) {
    ++version_;
    std::array<Key, 4> all = groups_of(key);
    std::sort(all.begin(), all.end());
    const auto last = std::unique(all.begin(), all.end());
    for (auto at = all.begin(); at != last; ++at) {
        groups_[*at].runs.add(ran);
        if (declared > 0) groups_[*at].parts.add(part_of(ran, declared));
    }
}

RunTimes::Key RunTimes::speaker(Key key, Time above, Samples Group::*which) const {
    Key said = key;
    for (const Key one : groups_of(key)) {
        said = one;
        if (longer_than((groups_[one].*which).sorted, above) >= kFewest) break;
    }
    return said;
}

RunTimes::Key RunTimes::speaker(Key key, Time elapsed) const {
    return speaker(key, elapsed, &Group::runs);
}

Estimate RunTimes::of_declared(Key key, Time declared, Time elapsed) const {
    const Time above = elapsed == 0 ? -1 : part_of(elapsed, declared);
    const Estimate parts =
        estimate_of(groups_[speaker(key, above, &Group::parts)].parts.sorted, above);
    if (parts.p50 == 0) return {};
    const auto whole = [&](Time part) { return std::max(elapsed + 1, whole_of(part, declared)); };
    return {.p50 = whole(parts.p50), .p90 = whole(parts.p90), .mean = whole(parts.mean)};
}

Time RunTimes::of_declared_at(Key key, Time declared, Time elapsed, double place) const {
    const Time above = elapsed == 0 ? -1 : part_of(elapsed, declared);
    const auto& parts = groups_[speaker(key, above, &Group::parts)].parts.sorted;
    const std::size_t count = longer_than(parts, above);
    if (count == 0) return 0;
    const auto at = static_cast<std::size_t>(place * static_cast<double>(count));
    return std::max(elapsed + 1,
                    whole_of(parts[parts.size() - count + std::min(at, count - 1)], declared));
}

const Estimate& RunTimes::at_start(Key key) const {
    const Group& group = groups_[key];
    if (group.estimated != version_) {
        group.at_start = estimate(key, 0);
        group.estimated = version_;
    }
    return group.at_start;
}

Estimate RunTimes::estimate(Key key, Time elapsed) const {
    return estimate_of(groups_[speaker(key, elapsed)].runs.sorted, elapsed);
}

}  // namespace aliquot::queue
