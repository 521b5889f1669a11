// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <unordered_map>

#include "gpu/replica_id.h"
#include "sharing/offer.h"

namespace aliquot::sharing {
namespace {

using Links = std::vector<std::vector<gpu::LinkScore>>;

/// The ids of one GPU that may be chosen, by replica. Handed out lowest first.
struct Board {
    std::vector<const std::string*> free;  // by replica; nullptr: not to be had
    std::size_t next = 0;                  // every replica below is handed out or not to be had
    std::size_t left = 0;                  // not nullptr at `next` and after
    unsigned taken = 0;                    // by this request

    [[nodiscard]] std::size_t in_use() const { return free.size() - left; }
};

class Chooser {
public:
    Chooser(const Resource& resource, std::span<const std::string> available,
            std::span<const std::string> must_include)
        : boards_(resource.gpus.size()) {
        position_.reserve(resource.gpus.size());
        for (std::size_t i = 0; i < resource.gpus.size(); ++i) {
            position_.emplace(resource.gpus[i].uuid().text, i);
            boards_[i].free.resize(resource.gpus[i].replicas);
        }
        for (const std::string& id : available) {
            const std::string** slot = slot_of(id).second;
            if (slot != nullptr) *slot = &id;
        }
        for (const std::string& id : must_include) take_given(id);
        for (Board& board : boards_) {
            board.left =
                board.free.size() - static_cast<std::size_t>(std::ranges::count(
                                        board.free, static_cast<const std::string*>(nullptr)));
        }
    }

    [[nodiscard]] std::size_t count() const { return chosen_.size(); }
    std::vector<Board>& boards() { return boards_; }

    void take_from(std::size_t board) {
        Board& from = boards_[board];
        while (from.free[from.next] == nullptr) ++from.next;
        chosen_.push_back(from.free[from.next++]);
        --from.left;
        ++from.taken;
    }

    [[nodiscard]] std::vector<std::string> result() const {
        std::vector<std::string> ids;
        ids.reserve(chosen_.size());
        for (const std::string* id : chosen_) ids.push_back(*id);
        return ids;
    }

private:
    /// The board and the place of an id of this resource; nullptr for any other.
    std::pair<Board*, const std::string**> slot_of(const std::string& id) {
        const gpu::DeviceIdView view = gpu::split_device_id(id);
        const auto found = position_.find(view.device);
        if (!view.valid || found == position_.end()) return {nullptr, nullptr};
        Board& board = boards_[found->second];
        if (view.replica >= board.free.size()) return {nullptr, nullptr};
        return {&board, &board.free[view.replica]};
    }

    void take_given(const std::string& id) {
        const auto [board, slot] = slot_of(id);
        if (slot == nullptr) return;
        const auto same = [&](const std::string* other) { return *other == id; };
        if (std::ranges::any_of(chosen_, same)) return;
        chosen_.push_back(&id);
        *slot = nullptr;  // not to be chosen a second time
        ++board->taken;
    }

    std::unordered_map<std::string_view, std::size_t> position_;
    std::vector<Board> boards_;
    std::vector<const std::string*> chosen_;
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
        if (chooser.boards()[i].left > 0) queue.push(rank(i));
    }
    while (chooser.count() < size && !queue.empty()) {
        const std::size_t best = std::get<2>(queue.top());
        queue.pop();
        chooser.take_from(best);
        if (chooser.boards()[best].left > 0) queue.push(rank(best));
    }
}

/// MPS connects a container to one GPU: all its shares are of the GPU that can give them all, by
/// policy; where none can, of the one that can give most.
void choose_on_one_gpu(Chooser& chooser, AllocationPolicy policy, std::size_t size) {
    const std::size_t wanted = size - std::min(size, chooser.count());
    if (wanted == 0) return;
    const bool begun = chooser.count() > 0;
    const auto rank = [&](std::size_t i) {
        const Board& board = chooser.boards()[i];
        const auto use = static_cast<std::int64_t>(board.in_use());
        const std::size_t missing = wanted - std::min(wanted, board.left);
        return std::tuple(begun && board.taken == 0, missing,
                          policy == AllocationPolicy::kPacked ? -use : use, i);
    };
    std::size_t best = 0;
    for (std::size_t i = 1; i < chooser.boards().size(); ++i) {
        if (rank(i) < rank(best)) best = i;
    }
    if (chooser.boards().empty()) return;
    while (chooser.count() < size && chooser.boards()[best].left > 0) chooser.take_from(best);
}

/// MIG devices: of how many each GPU has in use, as for replicas. A node has few, so that each
/// choice looks at all of them: every one changes the rank of its neighbours.
void choose_instances(Chooser& chooser, const Resource& resource, AllocationPolicy policy,
                      std::size_t size) {
    std::map<unsigned, std::int64_t> in_use;  // by GPU
    for (std::size_t i = 0; i < chooser.boards().size(); ++i) {
        in_use[resource.gpus[i].gpu.index] +=
            static_cast<std::int64_t>(chooser.boards()[i].in_use());
    }
    const std::int64_t sign = policy == AllocationPolicy::kPacked ? -1 : 1;
    while (chooser.count() < size) {
        std::optional<std::tuple<unsigned, std::int64_t, std::int64_t, std::size_t>> best;
        for (std::size_t i = 0; i < chooser.boards().size(); ++i) {
            const Board& board = chooser.boards()[i];
            if (board.left == 0) continue;
            const std::tuple rank(board.taken, sign * in_use[resource.gpus[i].gpu.index],
                                  sign * static_cast<std::int64_t>(board.in_use()), i);
            if (!best || rank < *best) best = rank;
        }
        if (!best) return;
        const std::size_t chosen = std::get<3>(*best);
        chooser.take_from(chosen);
        ++in_use[resource.gpus[chosen].gpu.index];
    }
}

/// Searches all ways to add `wanted` GPUs to the ones that are taken already.
class LinkSearch {
public:
    LinkSearch(const Links& links, const std::vector<std::size_t>& taken,
               const std::vector<std::size_t>& free)
        : free_(free), score_(free.size() * free.size()), base_(free.size()), degree_(free.size()) {
        const auto link = [&](std::size_t a, std::size_t b) -> std::uint64_t {
            return a < links.size() && b < links[a].size() ? links[a][b] : 0;
        };
        for (std::size_t i = 0; i < free.size(); ++i) {
            for (const std::size_t other : taken) base_[i] += link(free[i], other);
            for (std::size_t j = 0; j < free.size(); ++j) {
                if (i == j) continue;
                score_[i * free.size() + j] = link(free[i], free[j]);
                degree_[i] += link(free[i], free[j]);
            }
        }
    }

    /// Positions in the list of GPUs, ascending.
    std::vector<std::size_t> best(std::size_t wanted) {
        extend(0, wanted, {});
        std::vector<std::size_t> result;
        for (const std::size_t i : best_) result.push_back(free_[i]);
        return result;
    }

private:
    /// Of the GPUs picked so far. The links among what remains are a constant less `cut`.
    struct Sum {
        std::uint64_t score = 0;   // links to what is taken and among the picked
        std::uint64_t inside = 0;  // links among the picked
        std::uint64_t degree = 0;  // links of the picked to all that is free
        [[nodiscard]] std::uint64_t cut() const { return degree - inside; }
    };

    void extend(std::size_t from, std::size_t wanted, Sum sum) {
        if (picked_.size() == wanted) {
            const bool better = !found_ || sum.score > best_sum_.score ||
                                (sum.score == best_sum_.score && sum.cut() < best_sum_.cut());
            if (!better) return;
            found_ = true;
            best_ = picked_;
            best_sum_ = sum;
            return;
        }
        for (std::size_t i = from; i + (wanted - picked_.size()) <= free_.size(); ++i) {
            std::uint64_t inside = 0;
            for (const std::size_t other : picked_) inside += score_[i * free_.size() + other];
            picked_.push_back(i);
            extend(i + 1, wanted,
                   {.score = sum.score + base_[i] + inside,
                    .inside = sum.inside + inside,
                    .degree = sum.degree + degree_[i]});
            picked_.pop_back();
        }
    }

    const std::vector<std::size_t>& free_;
    std::vector<std::uint64_t> score_;   // between free GPUs, a matrix by position in free_
    std::vector<std::uint64_t> base_;    // to what is taken
    std::vector<std::uint64_t> degree_;  // to all that is free
    std::vector<std::size_t> picked_;
    std::vector<std::size_t> best_;
    Sum best_sum_;
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
        if (chooser.boards()[i].left > 0) free.push_back(i);
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

bool is_draining(const OfferedGpu& offered) { return offered.only.has_value(); }

/// By what the devices are that serve as they are configured.
void choose(Chooser& chooser, const Resource& resource, const Links& links, AllocationPolicy policy,
            std::size_t size) {
    const auto any = [&](auto is) {
        return std::ranges::any_of(resource.gpus, [&](const OfferedGpu& offered) {
            return !is_draining(offered) && is(offered);
        });
    };
    if (any([](const OfferedGpu& offered) { return offered.by_mps(); })) {
        choose_on_one_gpu(chooser, policy, size);
    } else if (any([](const OfferedGpu& offered) { return offered.mig.has_value(); })) {
        choose_instances(chooser, resource, policy, size);
    } else if (resource.shared) {
        choose_replicas(chooser, policy, size);
    } else {
        choose_whole(chooser, links, size);
    }
}

}  // namespace

std::vector<std::string> prefer(const Resource& resource, const Links& links,
                                AllocationPolicy policy, std::span<const std::string> available,
                                std::span<const std::string> must_include, std::size_t size) {
    if (std::ranges::none_of(resource.gpus, is_draining)) {
        Chooser chooser(resource, available, must_include);
        choose(chooser, resource, links, policy, size);
        return chooser.result();
    }
    // What was given back of a device that waits to be free is taken only where nothing else is.
    std::set<std::string_view> draining;
    for (const OfferedGpu& offered : resource.gpus) {
        if (is_draining(offered)) draining.insert(offered.uuid().text);
    }
    std::vector<std::string> others;
    for (const std::string& id : available) {
        if (!draining.contains(gpu::device_of(id))) others.push_back(id);
    }
    Chooser first(resource, others, must_include);
    choose(first, resource, links, policy, size);
    if (first.count() >= size) return first.result();
    Chooser chooser(resource, available, must_include);
    choose_replicas(chooser, policy, size);
    return chooser.result();
}

}  // namespace aliquot::sharing
