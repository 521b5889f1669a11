// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scaling/metric.h"
#include "telemetry/snapshot.h"

namespace aliquot::scaling {

using Instant = std::chrono::system_clock::time_point;

struct RecentMetricsOptions {
    std::chrono::seconds window{60};       // what is smoothed is a mean over so long
    std::chrono::seconds stale_after{60};  // what was seen longer ago is not told
    std::size_t most_pods = 50'000;        // further ones are left out
};

/// Who a value is of. A part that the agent did not know is empty.
struct Subject {
    std::string namespace_name;  // of a node: empty
    std::string name;
    std::string uid;
    std::string node;
};

/// A value, when there is one to tell.
struct Value {
    Subject subject;
    std::int64_t thousandths = 0;
    Instant at;                      // when it was true, by our clock
    std::chrono::seconds window{0};  // 0: it is of that moment
};

/// What the agents have told of their pods, for a minute. Of a pod that holds a GPU and does not
/// use it the utilization is 0; of one whose use is not known there is no value. Thread-safe.
class RecentMetrics {
public:
    explicit RecentMetrics(RecentMetricsOptions options = {}) : options_(options) {}

    /// received   when it came, by our clock: those of the nodes may be wrong
    void add(const telemetry::Snapshot& snapshot, Instant received);

    /// Of the pods of a namespace, in any order. A pod whose name the agent did not know has only
    /// a uid (and, it may be, no namespace): such ones are told for every namespace.
    [[nodiscard]] std::vector<Value> pods(Metric metric, std::string_view namespace_name,
                                          Instant now) const;
    [[nodiscard]] std::optional<Value> node(Metric metric, const std::string& name,
                                            Instant now) const;

    /// Forgets what is stale.
    void sweep(Instant now);

    struct Size {
        std::size_t nodes = 0;
        std::size_t pods = 0;
    };
    [[nodiscard]] Size size() const;

    /// What one sample tells of a pod or node. Absent: not known.
    struct Sample {
        unsigned parts = 0;                 // GPUs or instances
        std::uint64_t entitlement_ppm = 0;  // of all parts together
        struct Use {
            std::optional<std::uint64_t> busy_ns;
            std::optional<std::uint64_t> utilization_ppm;
            std::optional<std::uint64_t> throttled_ns;
        };
        std::map<std::string, Use> uses;  // by part and container
        bool use_known = true;            // of all that hold something
        std::optional<std::uint64_t> memory_bytes;
        std::optional<std::uint64_t> limited_bytes;  // used by what has a limit
        std::optional<std::uint64_t> limit_bytes;
        std::optional<std::uint64_t> idle_ns;
        std::optional<std::uint64_t> power_milliwatts;
        telemetry::Moment at;  // by the node's clock
    };

private:
    /// Counters since we know of it, at one moment.
    struct Point {
        telemetry::Moment at;
        double busy_ns = 0;
        double throttled_ns = 0;
    };
    struct History {
        Subject subject;
        Sample last;
        std::deque<Point> points;  // of the window, oldest first
        Instant seen;              // when `last` was true, by our clock
    };
    void note(History& history, Sample sample, Instant seen) const;
    [[nodiscard]] std::optional<Value> value(Metric metric, const History& history,
                                             Instant now) const;

    const RecentMetricsOptions options_;
    mutable std::mutex mutex_;
    std::map<std::string, History> pods_;   // by uid, else by namespace/name
    std::map<std::string, History> nodes_;  // by name
};

}  // namespace aliquot::scaling
