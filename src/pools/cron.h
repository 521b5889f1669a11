// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <string>
#include <string_view>

#include "base/result.h"

/// Pools of GPU nodes as values: their file, their schedules, how many nodes they should have and why, and what
/// the autoscalers of a cluster read. Pure: no clock, no network; of files only the system's time zones.
namespace aliquot::pools {

/// A cron expression of five fields: minute, hour, day of the month, month, day of the week. Lists, ranges,
/// steps, names of months and days in any case, 7 for Sunday, "?" for "*"; @hourly, @daily, @midnight, @weekly,
/// @monthly, @yearly, @annually. When both kinds of day are restricted, either is enough.
/// source   crontab(5); what Kubernetes' CronJob takes, without TZ= in front
class Cron {
public:
    /// errors   kInvalidInput: not such an expression, or one that never matches ("0 0 30 2 *")
    static Result<Cron> parse(std::string_view text);

    [[nodiscard]] bool has_minute(unsigned minute) const { return minutes_[minute]; }
    [[nodiscard]] bool has_hour(unsigned hour) const { return hours_[hour]; }
    /// Every hour: then the expression counts minutes as they pass, also when clocks are changed.
    [[nodiscard]] bool is_every_hour() const { return hours_.all(); }
    /// month 1 to 12, day 1 to 31, weekday 0 (Sunday) to 6
    [[nodiscard]] bool has_date(unsigned month, unsigned day, unsigned weekday) const;
    /// As it was written, with single blanks.
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    Cron() = default;
    [[nodiscard]] bool ever_matches() const;

    std::bitset<60> minutes_;
    std::bitset<24> hours_;
    std::bitset<32> days_;
    std::bitset<13> months_;
    std::bitset<7> weekdays_;
    bool any_day_ = false;
    bool any_weekday_ = false;
    std::string text_;
};

}  // namespace aliquot::pools
