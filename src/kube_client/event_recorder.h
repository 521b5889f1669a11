// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "kube_client/api.h"

namespace aliquot::kube_client {

/// What an Event is about.
struct ObjectReference {
    std::string api_version;  // "v1"
    std::string kind;         // "Node"
    std::string namespace_name;
    std::string name;
    std::string uid;
};

/// One thing that happened, for people who ask `kubectl describe`.
struct EventNote {
    ObjectReference regarding;
    bool warning = false;
    std::string reason;  // "GpuFellOffBus": CamelCase, at most 128 bytes
    std::string action;  // "HealthCheck"; at most 128 bytes
    std::string note;    // a sentence with advice; cut at 1024 bytes
};

struct EventRecorderOptions {
    std::string controller = "aliquot.dev/agent";  // reportingController
    std::string instance;                          // reportingInstance: "aliquot-agent-x7f2"
    unsigned burst = 25;                           // Events about one object at once, then
    std::chrono::seconds refill{300};              // one each so long
    std::chrono::seconds series_pause{30};         // between two updates of one series
    std::chrono::seconds series_end{600};          // without a repetition the series is closed
    std::size_t most_waiting = 1000;               // notes; further ones are dropped
    std::size_t most_series = 10'000;              // known at once; the oldest are forgotten
};

struct EventCounts {
    std::uint64_t created = 0;
    std::uint64_t updated = 0;  // series that were counted up
    std::uint64_t dropped = 0;  // over a limit, or the server would not have them
};

/// Writes Events (events.k8s.io/v1) on a thread of its own. The same note again becomes a series
/// that counts; when one object has more than ten different notes for one reason within a series'
/// time they are counted as one. Thread-safe; record() never waits.
class EventRecorder {
public:
    EventRecorder(Api& api, EventRecorderOptions options);
    ~EventRecorder();  // tries for two seconds to write what waits
    EventRecorder(const EventRecorder&) = delete;
    EventRecorder& operator=(const EventRecorder&) = delete;

    void record(EventNote note);

    /// Waits until all that was recorded is written or dropped (counts of running series may still
    /// be due). False: not within `timeout`.
    bool flush(std::chrono::milliseconds timeout);
    [[nodiscard]] EventCounts counts() const;

private:
    class Work;
    std::unique_ptr<Work> work_;
};

}  // namespace aliquot::kube_client
