// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "os/clock.h"
#include "telemetry/busy.h"
#include "telemetry/departures.h"
#include "telemetry/guard_check.h"
#include "telemetry/occupants.h"
#include "telemetry/snapshot.h"

namespace aliquot::telemetry {

struct AccountOptions {
    /// How long the row of a tenant that is gone is shown, so that its last values are read.
    std::chrono::nanoseconds keep_ended = std::chrono::minutes(2);
    /// How long the last metrics stand for a GPU that does not answer.
    std::chrono::nanoseconds stale_after = std::chrono::seconds(10);
    /// A part never has more rows of tenants that are gone; the oldest leave first.
    std::size_t most_ended = 16;
};

/// The books of one part of a GPU: who has used how much of it. Not thread-safe.
class PartAccount {
public:
    explicit PartAccount(const AccountOptions& options) : options_(options) {}

    /// Goes on where an earlier agent has left its counters; before the first note().
    void resume(const Part& kept, os::TimePoint now);

    /// What one sample has shown.
    struct Sample {
        const gpu::MetricValues& metrics;
        std::optional<BusyStretch> busy;   // of all the part; empty: the driver does not tell
        std::chrono::nanoseconds elapsed;  // since the sample before
        os::TimePoint now;
    };
    void note(const PartIdentity& identity, const Sample& sample, Occupants occupants);

    /// A tenant as it will be shown; power and energy are divided by the account of the GPU.
    struct Entry {
        Tenant row;
        os::TimePoint last_seen{};
        bool seen = false;
        bool whole = false;
        std::optional<std::uint64_t> guard_gpu_ns;  // of its guard, at the sample before
        GuardCheck guard_check;
    };
    [[nodiscard]] std::vector<Entry>& entries() { return entries_; }
    [[nodiscard]] std::optional<std::uint64_t> utilization_ppm() const {
        return total_.utilization_ppm;
    }
    [[nodiscard]] bool server_only() const { return server_only_; }
    [[nodiscard]] unsigned slices() const { return slices_; }

    /// The part as it stands. Total and remainder are without power and energy.
    [[nodiscard]] Part show() const;

private:
    void note_rows(Occupants& occupants, const Sample& sample);
    Entry& entry_of(const Occupant& occupant);
    void fill(Entry& entry, const Occupant& occupant, bool processes_known, const Sample& sample);
    void note_busy(const Occupants& occupants, const Sample& sample);
    void note_memory(const Sample& sample);
    void retire(os::TimePoint now);

    AccountOptions options_;
    Departures departures_;
    std::vector<Entry> entries_;
    Part shown_;  // what does not change with the entries
    Amounts total_;
    std::uint64_t busy_ns_ = 0;
    bool busy_known_ = false;
    bool server_only_ = false;
    unsigned slices_ = 1;
};

}  // namespace aliquot::telemetry
