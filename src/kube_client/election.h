// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "kube_client/api.h"
#include "os/clock.h"

namespace aliquot::kube_client {

struct ElectionOptions {
    ObjectKey lease;
    /// Must differ between all processes that have ever been candidates: see unique_identity().
    std::string identity;
    /// How long others leave a record alone that does not change. Above renew_deadline: what lies
    /// between is what a write may take on its way and clocks may differ in limiter.
    std::chrono::milliseconds lease_duration{15'000};
    /// How long we lead after a renewal. Above twice `retry`.
    std::chrono::milliseconds renew_deadline{10'000};
    std::chrono::milliseconds retry{2'000};
};

struct ElectionCallbacks {
    std::function<void()> started{};
    /// Called when we lead no more; when it returns, no write may be under way.
    std::function<void()> stopped{};
    std::function<void(std::string_view identity)> leader_changed{};
};

/// "HOST_" with 16 random hex digits: never the same twice.
std::string unique_identity(std::string_view host);

/// A clock that also runs while the machine sleeps: a leader that was suspended knows, when it
/// wakes, that its time has passed.
class BootClock final : public os::Clock {
public:
    [[nodiscard]] os::TimePoint now() const override;
    bool sleep_until(os::TimePoint when, std::stop_token stop) override;
};

/// Leader election by a Lease (coordination.k8s.io/v1), such that there are never two who write.
///
/// Nobody's wall clock is believed: a record has expired when this process saw no change of it for
/// its duration, by a monotonic clock. A leader leads until renew_deadline after it sent its last
/// renewal that succeeded; the others wait longer than that. Whoever writes as the leader asks
/// leads() immediately before, and gives the write no more time than left():
///
///     const auto call = elector.call();
///     if (call) api.patch(..., {.write = {.call = *call}});
///
/// One thread runs it; leads(), left(), call() and epoch() are for any.
class Elector {
public:
    Elector(Api& api, os::Clock& clock, ElectionOptions options, ElectionCallbacks callbacks = {});

    /// Until a stop: then the lease is released, so that the next leader need not wait.
    void run(std::stop_token stop);

    /// One round of run(): asks, takes or renews. Returns when the next is due.
    os::TimePoint step(const std::stop_token& stop);
    void release();

    [[nodiscard]] bool leads() const;
    [[nodiscard]] std::chrono::milliseconds left() const;  // 0: we do not lead
    /// A limit for one write as the leader; empty: we do not lead.
    [[nodiscard]] std::optional<Call> call(std::stop_token stop = {}) const;
    /// Grows with each change of the leader: put it into what is written, and refuse what has more.
    [[nodiscard]] std::uint64_t epoch() const { return epoch_.load(); }
    [[nodiscard]] std::string leader() const;  // the identity last seen; empty: none

private:
    struct Record {
        std::string holder;
        std::chrono::milliseconds duration{};
        std::string acquired;
        std::string renewed;
        std::uint64_t transitions = 0;
        friend bool operator==(const Record&, const Record&) = default;
    };
    static Record read(const Object& lease);
    enum class LeaseWrite : std::uint8_t { kHold, kRelease };
    /// The Lease as it shall be, from what it is.
    [[nodiscard]] std::string written(const std::string& json, LeaseWrite write) const;
    void observe(const Object& lease);
    [[nodiscard]] bool is_free() const;
    Call bounded(const std::stop_token& stop) const;
    void hold(os::TimePoint since, const Object& lease);
    void lapse();
    bool look(const std::stop_token& stop);
    bool take(const std::stop_token& stop);
    bool make(const std::stop_token& stop);
    void tell(const Failure& failure);

    Api& api_;
    os::Clock& clock_;
    const ElectionOptions options_;
    const ElectionCallbacks callbacks_;

    // Of the thread.
    std::optional<Object> lease_;  // as last seen; empty: to be asked for
    std::optional<Record> record_;
    os::TimePoint changed_at_{};  // when record_ was seen to change
    bool announced_ = false;      // started() was called, stopped() not yet
    std::string told_;            // the last failure that was logged; empty: all is well

    std::atomic<os::TimePoint> until_{os::TimePoint{}};
    std::atomic<std::uint64_t> epoch_{0};
    mutable std::mutex mutex_;
    std::string leader_;
};

}  // namespace aliquot::kube_client
