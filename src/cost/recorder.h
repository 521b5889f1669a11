// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cost/interval.h"
#include "cost/price.h"

namespace aliquot::cost {

/// What somebody has of a node, in words.
struct Holding {
    std::string space;  // namespace
    std::string queue;
    std::string user;
    std::string job;
    std::string pod;
    std::string container;
    std::string workflow;
    std::uint32_t attempt = 0;
    std::string device;  // UUID of the GPU; empty: CPU and memory only
    std::string part;    // UUID of the MIG device
    std::uint32_t share = 0;
    std::uint32_t cpu_milli = 0;
    std::uint32_t memory_mib = 0;
    std::uint32_t gpu_memory_mib = 0;
    friend bool operator==(const Holding&, const Holding&) = default;
};

/// A node as it is now.
struct NodeSight {
    std::string name;
    std::string model;
    std::vector<std::string> devices;
    std::uint32_t cpu_milli = 0;
    std::uint32_t memory_mib = 0;
    Price price;
    std::map<std::string, State> marks{};  // GPUs that are broken, draining or warming
};

/// What a holder has used since it was last asked.
struct Use {
    std::uint64_t busy_us = 0;      // of its share's time
    std::uint64_t measured_us = 0;  // of the time that busy_us is of; 0: nobody has measured
    std::uint64_t energy_millijoules = 0;
    std::uint32_t gpu_memory_mib = 0;  // most; 0: not known
    bool out_of_memory = false;        // it asked for more than it may have
};

/// Makes intervals and spans out of what is seen of nodes and their holders. Whether a share was idle is judged for each five
/// minutes of the clock: below 5 % of its time. What nobody measures counts as used. Intervals and spans are cut at
/// full hours, so that a growing one touches its own hour only. Clocks that go back stand still; where a node was not
/// watched for ten minutes there is a gap, which nobody pays. Not thread-safe.
class Recorder {
public:
    static constexpr TimeMs kWindow = 300'000;
    static constexpr TimeMs kMostGap = 600'000;
    static constexpr std::uint64_t kIdlePpm = 50'000;

    /// The node is there.
    void watch(const NodeSight& node, TimeMs now);
    /// The node is gone, and what was held of it.
    void leave(const std::string& node, TimeMs now);
    /// `key` (of the node) holds this from now on, or still does; other words than before begin an interval anew.
    void hold(const std::string& node, const std::string& key, const Holding& holding, TimeMs now);
    void use(const std::string& node, const std::string& key, const Use& use, TimeMs now);
    void release(const std::string& node, const std::string& key, TimeMs now,
                 bool out_of_memory = false);
    [[nodiscard]] std::vector<std::string> keys(const std::string& node) const;

    /// All that has ended since the last call, and what goes on as far as it is seen: to be put into a store.
    History take();

private:
    struct Sums {
        std::uint64_t busy_us = 0;
        std::uint64_t measured_us = 0;
        std::uint64_t energy_millijoules = 0;
        std::uint32_t peak_mib = 0;
        bool out_of_memory = false;
        void add(const Sums& more);
    };
    struct Live {
        std::shared_ptr<const Holding> of;
        TimeMs begin = 0;
        TimeMs end = 0;
        TimeMs window = 0;  // where the window began that is not judged yet
        State state = State::kBusy;
        bool judged = false;
        Sums sums;         // up to the window
        Sums window_sums;  // of it
    };
    struct Piece {
        std::string node;
        std::shared_ptr<const Holding> of;
        Interval interval;
    };
    struct Watched {
        NodeSight sight;
        TimeMs begin = 0;  // of the span that grows
        TimeMs end = 0;    // seen last
        bool open = false;
        std::map<std::string, Live> live;
    };

    TimeMs at(Watched& node, TimeMs now) const;
    void close_span(const std::string& name, Watched& node, TimeMs end);
    void begin(Live& live, std::shared_ptr<const Holding> of, State state, TimeMs now) const;
    void advance(const std::string& node, Live& live, TimeMs now);
    void close(const std::string& node, const Live& live, const Sums& sums, TimeMs end,
               bool out_of_memory);
    void mark(Watched& node, TimeMs now);
    static Interval interval_of(const Live& live, const Sums& sums, TimeMs end);

    std::map<std::string, Watched> nodes_;
    std::vector<Piece> pieces_;
    struct EndedSpan {
        NodeSight sight;
        TimeMs begin = 0;
        TimeMs end = 0;
    };
    std::vector<EndedSpan> spans_;
};

}  // namespace aliquot::cost
