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
#include "agent/http_endpoint.h"
#include "agent/observer.h"
#include "agent/telemetry_options.h"
#include "base/latest.h"
#include "base/result.h"
#include "exposition/own.h"
#include "exposition/style.h"
#include "gpu/meters.h"
#include "http/server.h"
#include "kubelet/pod_resources.h"
#include "os/clock.h"
#include "os/root.h"
#include "pods/census.h"
#include "sharing/offer.h"
#include "telemetry/sampler.h"

namespace aliquot::agent {

/// Measures who uses the GPUs and tells it: samples on threads of its own (telemetry/sampler.h),
/// serves /metrics, /api/v1/state, /health and an index on an address of the node. Each text is
/// made once for a snapshot, however many ask. Nothing here can fail the agent: what cannot be
/// served is logged.
///
/// apply() and set_guard() may be called by any thread, like the answers.
class TelemetryLink {
public:
    struct Sources {
        gpu::Meters& meters;
        std::function<Result<std::vector<kubelet::Holder>>(std::chrono::milliseconds)> holders;
        const Latest<Observation>& observations;
    };

    /// root, clock and sources   must outlive this
    TelemetryLink(const os::Root& root, os::Clock& clock, Sources sources,
                  TelemetryOptions options);
    ~TelemetryLink();

    /// Begins to sample and to listen.
    void start();

    /// What /live and /ready answer, for kubelet; before start(). Neither may ask the driver: one
    /// that hangs must not have the agent restarted.
    void set_probes(std::function<HttpAnswer()> live, std::function<HttpAnswer()> ready) {
        live_ = std::move(live);
        ready_ = std::move(ready);
    }

    /// How GPUs are offered from now on.
    void apply(const sharing::Offer& offer);
    void set_guard(std::shared_ptr<const GuardSnapshot> snapshot);

    /// The state as JSON and the metrics as text, for the status page.
    [[nodiscard]] HttpAnswer state() const;
    [[nodiscard]] HttpAnswer metrics() const;
    /// That /metrics is served on; 0: it is not.
    [[nodiscard]] unsigned port() const;

private:
    /// A text that was made of a snapshot.
    struct Page {
        std::uint64_t version = 0;
        std::shared_ptr<const std::string> text;
    };
    enum Kind : std::uint8_t { kText, kOpenMetrics, kState, kKinds };

    telemetry::Observed observed() const;
    http::Answer answer(const http::Request& request);
    [[nodiscard]] std::shared_ptr<const std::string> page(Kind kind) const;
    [[nodiscard]] std::string make(Kind kind, const telemetry::Snapshot& snapshot) const;
    http::Answer health() const;
    void read_counters();

    const os::Root& root_;
    os::Clock& clock_;
    Sources sources_;
    TelemetryOptions options_;
    std::function<HttpAnswer()> live_;
    std::function<HttpAnswer()> ready_;
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

    telemetry::Sampler sampler_;
    std::unique_ptr<http::Server> server_;  // last: it asks all the others
};

/// The offer as telemetry needs it, by uuid. Pure.
telemetry::Offered offered_devices(const sharing::Offer& offer);

}  // namespace aliquot::agent
