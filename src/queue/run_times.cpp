// SPDX-License-Identifier: Apache-2.0
#include "queue/run_times.h"

#include <algorithm>

namespace aliquot::queue {
namespace {

constexpr char kBetween = '\x1f';

std::size_t longer_than(const std::vector<Time>& sorted, Time elapsed) {
    return static_cast<std::size_t>(sorted.end() -
                                    std::upper_bound(sorted.begin(), sorted.end(), elapsed));
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

void RunTimes::learn(Key key, Time ran) {
    ++version_;
    std::array<Key, 4> all{key, groups_[key].wider[0], groups_[key].wider[1],
                           groups_[key].wider[2]};
    std::sort(all.begin(), all.end());
    const auto last = std::unique(all.begin(), all.end());
    for (auto at = all.begin(); at != last; ++at) {
        Group& group = groups_[*at];
        if (group.order.size() == kKept) {
            Time& oldest = group.order[group.oldest];
            group.sorted.erase(std::lower_bound(group.sorted.begin(), group.sorted.end(), oldest));
            oldest = ran;
            group.oldest = (group.oldest + 1) % kKept;
        } else {
            group.order.push_back(ran);
        }
        group.sorted.insert(std::upper_bound(group.sorted.begin(), group.sorted.end(), ran), ran);
    }
}

const std::vector<Time>& RunTimes::known(Key key, Time elapsed) const {
    const Group* group = &groups_[key];
    if (longer_than(group->sorted, elapsed) >= kFewest) return group->sorted;
    for (const Key wider : groups_[key].wider) {
        group = &groups_[wider];
        if (longer_than(group->sorted, elapsed) >= kFewest) break;
    }
    return group->sorted;
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
    const std::vector<Time>& sorted = known(key, elapsed);
    const std::size_t count = longer_than(sorted, elapsed);
    if (count == 0) return {};
    const std::size_t first = sorted.size() - count;
    std::int64_t sum = 0;
    for (std::size_t i = first; i < sorted.size(); ++i) sum += sorted[i] / static_cast<Time>(count);
    return {.p50 = sorted[first + (count - 1) / 2],
            .p90 = sorted[first + (count - 1) * 9 / 10],
            .mean = std::max(sum, elapsed + 1)};
}

}  // namespace aliquot::queue
