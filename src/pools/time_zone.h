// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pools/cron.h"

namespace aliquot::pools {

using Instant = std::chrono::sys_seconds;

/// A time zone of the IANA database, as the system's tzdata has it, with its changes of clocks. Immutable; copies
/// are cheap. Thread-safe.
class TimeZone {
public:
    static TimeZone utc();
    /// name     "Europe/Berlin", "UTC"
    /// errors   kInvalidInput: no such zone, or the system has no tzdata
    static Result<TimeZone> find(std::string_view name);

    [[nodiscard]] const std::string& name() const { return name_; }
    /// "2026-03-29 09:00 CEST"
    [[nodiscard]] std::string text_of(Instant when) const;

    /// The first tick after `after`; empty: none for nine years. An hour that is skipped when clocks go forward
    /// ticks once, at the end of the gap, and an hour that comes twice ticks the first time only; expressions
    /// of every hour count minutes as they pass.
    [[nodiscard]] std::optional<Instant> next_tick(const Cron& cron, Instant after) const;
    /// The last tick at or before `now`; empty: none for nine years.
    [[nodiscard]] std::optional<Instant> last_tick(const Cron& cron, Instant now) const;

private:
    struct Rules;
    TimeZone(std::string name, std::shared_ptr<const Rules> rules)
        : name_(std::move(name)), rules_(std::move(rules)) {}
    [[nodiscard]] std::optional<Instant> next_passing(const Cron& cron, Instant after,
                                                      Instant until) const;
    [[nodiscard]] std::optional<Instant> next_fixed(const Cron& cron, Instant after,
                                                    Instant until) const;

    std::string name_;
    std::shared_ptr<const Rules> rules_;
};

}  // namespace aliquot::pools
