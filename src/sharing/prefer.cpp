// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>
#include <queue>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "sharing/offer.h"

namespace aliquot::sharing {
namespace {

using Links = std::vector<std::vector<gpu::LinkScore>>;

/// The uuid in a device id, without copying: "GPU-a::2" and "GPU-a" give "GPU-a".
std::string_view uuid_of(std::string_view id) { return id.substr(0, id.rfind("::")); }

/// The ids of one GPU that may be chosen, in the order in which they are to be handed out.
struct Board {
    std::vector<std::string_view> free;
    std::size_t next = 0;      // the first of `free` not yet handed out
    std::size_t replicas = 0;  // in all
    unsigned taken = 0;        // by this request

    [[nodiscard]] std::size_t left() const { return free.size() - next; }
    [[nodiscard]] std::size_t in_use() const { return replicas - std::min(replicas, left()); }
};

bool shorter_then_less(std::string_view a, std::string_view b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;  // "::2" before "::10"
}

class Chooser {
public:
    Chooser(const Resource& resource, std::span<const std::string> available,
            std::span<const std::string> must_include)
        : boards_(resource.gpus.size()) {
        for (std::size_t i = 0; i < resource.gpus.size(); ++i) {
            position_.emplace(resource.gpus[i].gpu.uuid.text, i);
            boards_[i].replicas = resource.gpus[i].replicas;
        }
        for (const std::string& id : must_include) take_given(id);
        std::vector<std::string_view> given(chosen_.begin(), chosen_.end());
        std::ranges::sort(given);
        for (const std::string& id : available) {
            const auto found = position_.find(uuid_of(id));
            if (found == position_.end() || std::ranges::binary_search(given, id)) continue;
            boards_[found->second].free.push_back(id);
        }
        for (Board& board : boards_) {
            std::ranges::sort(board.free, shorter_then_less);
            const auto repeated = std::ranges::unique(board.free);
            board.free.erase(repeated.begin(), repeated.end());
        }
    }

    [[nodiscard]] std::size_t count() const { return chosen_.size(); }
    std::vector<Board>& boards() { return boards_; }

    void take_from(std::size_t board) {
        Board& from = boards_[board];
        chosen_.push_back(from.free[from.next++]);
        ++from.taken;
    }

    [[nodiscard]] std::vector<std::string> result() const {
        return {chosen_.begin(), chosen_.end()};
    }

private:
    void take_given(std::string_view id) {
        const auto found = position_.find(uuid_of(id));
        if (found == position_.end()) return;
        if (std::ranges::find(chosen_, id) != chosen_.end()) return;
        chosen_.push_back(id);
        ++boards_[found->second].taken;
    }

    std::unordered_map<std::string_view, std::size_t> position_;
    std::vector<Board> boards_;
    std::vector<std::string_view> chosen_;
};

void choose_replicas(Chooser& chooser, AllocationPolicy policy, std::size_t size) {
    // Fewest taken by this request first: two shares of one GPU are no more than one.
    const auto rank = [&](std::size_t i) {
        const Board& board = chooser.boards()[i];
        const auto use = static_cast<std::int64_t>(board.in_use());
        return std::tuple(board.taken, policy == AllocationPolicy::kPacked ? -use : use, i);
    };
    using Rank = decltype(rank(0));
    std::priority_queue<Rank, std::vector<Rank>, std::greater<>> queue;
    for (std::size_t i = 0; i < chooser.boards().size(); ++i) {
        if (chooser.boards()[i].left() > 0) queue.push(rank(i));
    }
    while (chooser.count() < size && !queue.empty()) {
        const std::size_t best = std::get<2>(queue.top());
        queue.pop();
        chooser.take_from(best);
        if (chooser.boards()[best].left() > 0) queue.push(rank(best));
    }
}

/// Searches all ways to add `wanted` GPUs to the ones that are taken already.
class LinkSearch {
public:
    LinkSearch(const Links& links, std::vector<std::size_t> taken, std::vector<std::size_t> free)
        : links_(links), taken_(std::move(taken)), free_(std::move(free)) {}

    std::vector<std::size_t> best(std::size_t wanted) {
        picked_.clear();
        extend(0, wanted, 0);
        return best_;
    }

private:
    [[nodiscard]] std::uint64_t link(std::size_t a, std::size_t b) const {
        return a < links_.size() && b < links_[a].size() ? links_[a][b] : 0;
    }

    [[nodiscard]] std::uint64_t gain(std::size_t gpu) const {
        std::uint64_t sum = 0;
        for (const std::size_t other : taken_) sum += link(gpu, other);
        for (const std::size_t other : picked_) sum += link(gpu, other);
        return sum;
    }

    [[nodiscard]] std::uint64_t remainder() const {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < free_.size(); ++i) {
            if (std::ranges::find(picked_, free_[i]) != picked_.end()) continue;
            for (std::size_t j = i + 1; j < free_.size(); ++j) {
                if (std::ranges::find(picked_, free_[j]) != picked_.end()) continue;
                sum += link(free_[i], free_[j]);
            }
        }
        return sum;
    }

    void extend(std::size_t from, std::size_t wanted, std::uint64_t score) {
        if (picked_.size() == wanted) {
            if (found_ && score < best_score_) return;
            const std::uint64_t rest = remainder();
            if (found_ && score == best_score_ && rest <= best_rest_) return;
            found_ = true;
            best_ = picked_;
            best_score_ = score;
            best_rest_ = rest;
            return;
        }
        for (std::size_t i = from; i + (wanted - picked_.size()) <= free_.size(); ++i) {
            const std::uint64_t more = gain(free_[i]);
            picked_.push_back(free_[i]);
            extend(i + 1, wanted, score + more);
            picked_.pop_back();
        }
    }

    const Links& links_;
    std::vector<std::size_t> taken_;
    std::vector<std::size_t> free_;
    std::vector<std::size_t> picked_;
    std::vector<std::size_t> best_;
    std::uint64_t best_score_ = 0;
    std::uint64_t best_rest_ = 0;
    bool found_ = false;
};

/// n over k, or "too many" once it passes `limit`.
std::uint64_t combinations(std::size_t n, std::size_t k, std::uint64_t limit) {
    std::uint64_t result = 1;
    for (std::size_t i = 1; i <= k; ++i) {
        result = result * (n - k + i) / i;
        if (result > limit) return limit + 1;
    }
    return result;
}

void choose_whole(Chooser& chooser, const Links& links, std::size_t size) {
    constexpr std::uint64_t kMostSets = 20'000;  // C(16, 8) is 12,870
    std::vector<std::size_t> taken;
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < chooser.boards().size(); ++i) {
        if (chooser.boards()[i].taken > 0) taken.push_back(i);
        if (chooser.boards()[i].left() > 0) free.push_back(i);
    }
    const std::size_t wanted = std::min(size - std::min(size, chooser.count()), free.size());
    if (wanted == 0) return;
    if (combinations(free.size(), wanted, kMostSets) <= kMostSets) {
        for (const std::size_t i : LinkSearch(links, taken, free).best(wanted))
            chooser.take_from(i);
        return;
    }
    for (std::size_t step = 0; step < wanted; ++step) {  // more GPUs than a node has: one by one
        const std::size_t i = LinkSearch(links, taken, free).best(1).front();
        chooser.take_from(i);
        taken.push_back(i);
        std::erase(free, i);
    }
}

}  // namespace

std::vector<std::string> prefer(const Resource& resource, const Links& links,
                                AllocationPolicy policy, std::span<const std::string> available,
                                std::span<const std::string> must_include, std::size_t size) {
    Chooser chooser(resource, available, must_include);
    if (resource.shared) {
        choose_replicas(chooser, policy, size);
    } else {
        choose_whole(chooser, links, size);
    }
    return chooser.result();
}

}  // namespace aliquot::sharing
