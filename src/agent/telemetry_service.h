// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guard_snapshot.h"
#include "agent/observer.h"
#include "agent/telemetry_options.h"
#include "base/latest.h"
#include "base/result.h"
#include "exposition/own.h"
#include "exposition/style.h"
#include "gpu/meters.h"
#include "http/message.h"
#include "kubelet/pod_resources.h"
#include "os/clock.h"
#include "os/root.h"
#include "pods/census.h"
#include "sharing/offer.h"
#include "telemetry/sampler.h"

namespace aliquot::agent {

/// Measures who uses the GPUs and tells it: samples on threads of its own (telemetry/sampler.h),
/// answers /metrics, /api/v1/state and /health (agent/pages.h). Each text is made once for a
/// snapshot, however many ask.
///
/// apply() and set_guard() may be called by any thread, like the answers.
class TelemetryService {
public:
    struct Sources {
        gpu::Meters& meters;
        std::function<Result<std::vector<kubelet::Holder>>(std::chrono::milliseconds)> holders;
        const Latest<Observation>& observations;
    };

    /// root, clock and sources   must outlive this
    TelemetryService(const os::Root& root, os::Clock& clock, Sources sources,
                     TelemetryOptions options);

    /// Begins to sample.
    void start();

    /// How GPUs are offered from now on.
    void apply(const sharing::Offer& offer);
    void set_guard(std::shared_ptr<const GuardSnapshot> snapshot);

    /// Who holds devices, as last looked; null before the first look. Thread-safe.
    [[nodiscard]] std::shared_ptr<const pods::Holders> holders() const { return census_.holders(); }
    /// Whose container a process is in; empty: in none, or it cannot be told. Thread-safe.
    std::optional<pods::Owner> owner_of(pid_t pid);

    /// What was measured last; null: nothing yet. Thread-safe.
    [[nodiscard]] std::shared_ptr<const telemetry::Snapshot> snapshot() const {
        return sampler_.snapshots().get().value;
    }

    /// The state as JSON. This and the others: 503 as long as nothing was measured.
    [[nodiscard]] http::Response state() const;
    /// The metrics as text.
    [[nodiscard]] http::Response metrics() const;
    /// The metrics in the form that is asked for, of the counters that are listed now; counted.
    http::Response scrape(const http::Request& request);
    /// 503 when nothing was measured for a while, too.
    [[nodiscard]] http::Response health() const;

private:
    /// A text that was made of a snapshot.
    struct Page {
        std::uint64_t version = 0;
        std::shared_ptr<const std::string> text;
    };
    enum Kind : std::uint8_t { kText, kOpenMetrics, kState, kKinds };

    telemetry::Observed observed() const;
    /// Writes down what will be told, before it is, so that no counter ever goes back.
    void keep(const telemetry::Snapshot& snapshot);
    void resume();
    [[nodiscard]] std::shared_ptr<const std::string> page(Kind kind) const;
    [[nodiscard]] std::string make(Kind kind, const telemetry::Snapshot& snapshot) const;
    [[nodiscard]] http::Response answer(Kind kind, std::string_view content_type) const;
    void read_counters();

    const os::Root& root_;
    os::Clock& clock_;
    Sources sources_;
    TelemetryOptions options_;
    pods::Census census_;

    mutable std::mutex mutex_;  // guards what follows, up to the sampler
    std::shared_ptr<const telemetry::Offered> offered_;
    std::shared_ptr<const GuardSnapshot> guard_;
    std::shared_ptr<const exposition::CounterList> counters_;
    std::optional<os::FileStatus::Identity> counters_identity_;
    os::TimePoint counters_looked_{};
    mutable std::array<Page, kKinds> pages_;
    mutable std::mutex making_;     // one thread makes texts; the others wait for that one
    mutable exposition::Own last_;  // under making_: how making the last text of metrics went
    std::atomic<std::uint64_t> scrapes_{0};

    std::string keep_problem_;    // the sampler's thread
    telemetry::Sampler sampler_;  // last: it asks all the others
};

/// The offer as telemetry needs it, by uuid. Pure.
telemetry::Offered offered_devices(const sharing::Offer& offer);

}  // namespace aliquot::agent
