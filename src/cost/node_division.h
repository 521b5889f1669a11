// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <queue>
#include <unordered_map>
#include <vector>

#include "cost/index.h"
#include "cost/row.h"
#include "cost/share.h"

namespace aliquot::cost {

/// Plays the time of one node, from event to event, and writes a bill and rows for each of its hours.
/// A pool (a GPU, the CPU, the memory) keeps a virtual clock that runs slower the more is held than there is, so
/// that a holder's part of any time is its share times what the clock has moved, and no event looks at others.
class NodeDivision {
public:
    /// intervals    of this node, by begin; those of one owner on one part do not overlap
    /// spans        of this node, by begin; they do not overlap
    NodeDivision(const std::vector<const Span*>& spans, const std::vector<Interval>& intervals,
                 Allocation& out);
    void run();

private:
    static constexpr std::size_t kNoPool = ~std::size_t{0};

    struct Pool {
        std::uint64_t capacity = 0;
        std::uint64_t held = 0;
        Wide clock = 0;
        std::array<Wide, kStates> rest{};  // nobody's, by state
        std::array<unsigned, kStates> marks{};
        TimeMs since = 0;
        void advance(TimeMs now);
        [[nodiscard]] State rest_state() const;
    };
    struct Hold {
        std::size_t interval = 0;
        std::size_t gpu = kNoPool;
        TimeMs settled = 0;
        Wide gpu_clock = 0;
        Wide cpu_clock = 0;
        Wide memory_clock = 0;
        bool marks = false;  // it holds nothing: it says what the GPU is
        bool alive = false;
    };
    struct Key {
        OwnerId owner = 0;
        NameId device = 0;
        NameId part = 0;
        State state = State::kFree;
        friend bool operator==(const Key&, const Key&) = default;
        [[nodiscard]] std::uint64_t hash() const;
    };
    struct Weights {
        Key key;
        Wide gpu = 0;  // part of the GPU times time; the price comes in at the end
        Wide cpu = 0;
        Wide memory = 0;
        Micros gpu_rate = 0;
        std::uint64_t energy = 0;
    };

    void enter(const Span& span, TimeMs at);
    void play(TimeMs begin, TimeMs end);
    void start(std::size_t interval, TimeMs at);
    void attach(Hold& hold);
    void detach(const Hold& hold);
    void settle(Hold& hold, TimeMs now);
    void write(const Span& span, TimeMs begin, TimeMs end);
    void add_rest();
    void advance_pools(TimeMs now);

    const std::vector<const Span*>& spans_;
    const std::vector<Interval>& intervals_;
    Allocation& out_;
    std::size_t next_ = 0;
    std::vector<Hold> holds_;
    std::vector<std::size_t> unused_;
    using End = std::pair<TimeMs, std::size_t>;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
    std::vector<Pool> gpus_;
    std::vector<NameId> devices_;
    std::unordered_map<NameId, std::size_t> gpu_of_;
    Pool cpu_;
    Pool memory_;
    Rates rates_;
    Index<Weights> weights_;  // of this piece of an hour
};

}  // namespace aliquot::cost
