// SPDX-License-Identifier: Apache-2.0
#include "pools/cron.h"

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"

namespace aliquot::pools {
namespace {

constexpr std::size_t kLongestCron = 256;

struct CronField {
    std::string_view name;
    unsigned least;
    unsigned most;
    std::span<const std::string_view> names;  // of the values from `least` on
};

constexpr std::array<std::string_view, 12> kMonthNames{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kDayNames{"sun", "mon", "tue", "wed",
                                                    "thu", "fri", "sat"};
constexpr std::array<CronField, 5> kFields{{{"minute", 0, 59, {}},
                                            {"hour", 0, 23, {}},
                                            {"day of the month", 1, 31, {}},
                                            {"month", 1, 12, kMonthNames},
                                            {"day of the week", 0, 7, kDayNames}}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kMacros{
    {{"@hourly", "0 * * * *"},
     {"@daily", "0 0 * * *"},
     {"@midnight", "0 0 * * *"},
     {"@weekly", "0 0 * * 0"},
     {"@monthly", "0 0 1 * *"},
     {"@yearly", "0 0 1 1 *"},
     {"@annually", "0 0 1 1 *"}}};

Error bad(const CronField& field, std::string_view text, const std::string& why) {
    return {ErrorCode::kInvalidInput,
            "'" + one_line(text, 40) + "' is no " + std::string(field.name) + ": " + why +
                ", expected " + std::to_string(field.least) + " to " + std::to_string(field.most) +
                ", a list, a range or a step, as in 9, 1-5, */15"};
}

Result<unsigned> value_of(const CronField& field, std::string_view text) {
    for (std::size_t i = 0; i < field.names.size(); ++i) {
        if (equals_folded(text, field.names[i])) return field.least + static_cast<unsigned>(i);
    }
    const auto number = parse_number<unsigned>(text);
    if (!number) return bad(field, text, "it is not a number");
    if (*number < field.least || *number > field.most) return bad(field, text, "out of range");
    return *number;
}

/// Sets what one part of a list means; true: it is "*" without a step.
Result<bool> add_part(const CronField& field, std::string_view part, std::bitset<64>& into) {
    const auto slash = part.find('/');
    const std::string_view range = part.substr(0, slash);
    unsigned first = field.least;
    unsigned last = field.most;
    const bool any = range == "*" || range == "?";
    if (!any) {
        const auto dash = range.find('-');
        const auto from = value_of(field, range.substr(0, dash));
        if (!from) return from.error();
        first = *from;
        if (dash != std::string_view::npos) {
            const auto to = value_of(field, range.substr(dash + 1));
            if (!to) return to.error();
            last = *to;
            if (last < first) return bad(field, part, "the range runs backwards");
        } else if (slash == std::string_view::npos) {
            last = first;
        }
    }
    unsigned step = 1;
    if (slash != std::string_view::npos) {
        const auto read = parse_number<unsigned>(part.substr(slash + 1));
        if (!read || *read == 0 || *read > field.most) {
            return bad(field, part, "the step is not a number in range");
        }
        step = *read;
    }
    if (any && field.most == 7) last = 6;  // Sunday is there once
    for (unsigned value = first; value <= last; value += step) into.set(value);
    return any && step == 1;
}

Result<bool> read_field(const CronField& field, std::string_view text, std::bitset<64>& into) {
    bool any = false;
    for (const std::string_view part : split(text, ',')) {
        if (part.empty()) return bad(field, text, "an entry of the list is empty");
        auto added = add_part(field, part, into);
        if (!added) return added;
        any = any || *added;
    }
    return any;
}

template <std::size_t Size>
std::bitset<Size> cut(const std::bitset<64>& set) {
    return std::bitset<Size>(set.to_ullong() & ((1ULL << Size) - 1));
}

}  // namespace

Result<Cron> Cron::parse(std::string_view text) {
    if (text.size() > kLongestCron) {
        return Error{ErrorCode::kInvalidInput, "a schedule of " + std::to_string(text.size()) +
                                                   " bytes, at most " +
                                                   std::to_string(kLongestCron) + " are read"};
    }
    text = trim(text);
    std::string_view fields = text;
    for (const auto& [word, meaning] : kMacros) {
        if (equals_folded(text, word)) fields = meaning;
    }
    if (fields.starts_with("TZ=") || fields.starts_with("CRON_TZ=")) {
        return Error{ErrorCode::kInvalidInput,
                     "a time zone inside of the schedule is not read: write it as timeZone"};
    }
    const auto words = words_of(fields);
    if (words.size() != kFields.size()) {
        return Error{ErrorCode::kInvalidInput,
                     "'" + one_line(text, 60) + "' has " + counted(words.size(), "field") +
                         ", expected five: minute hour day month weekday, as in \"0 9 * * 1-5\""};
    }
    std::array<std::bitset<64>, kFields.size()> sets;
    std::array<bool, kFields.size()> any{};
    for (std::size_t i = 0; i < kFields.size(); ++i) {
        const auto read = read_field(kFields[i], words[i], sets[i]);
        if (!read) return read.error();
        any[i] = *read;
    }
    if (sets[4][7]) sets[4].set(0);
    Cron cron;
    cron.minutes_ = cut<60>(sets[0]);
    cron.hours_ = cut<24>(sets[1]);
    cron.days_ = cut<32>(sets[2]);
    cron.months_ = cut<13>(sets[3]);
    cron.weekdays_ = cut<7>(sets[4]);
    cron.any_day_ = any[2];
    cron.any_weekday_ = any[4];
    cron.text_ = equals_folded(fields, text) ? join(words, " ") : std::string(text);
    if (!cron.ever_matches()) {
        return Error{ErrorCode::kInvalidInput,
                     "'" + cron.text_ + "' never comes: no month of it has such a day"};
    }
    return cron;
}

bool Cron::has_date(unsigned month, unsigned day, unsigned weekday) const {
    if (!months_[month]) return false;
    const bool by_day = days_[day];
    const bool by_weekday = weekdays_[weekday];
    if (any_day_ || any_weekday_) return by_day && by_weekday;
    return by_day || by_weekday;
}

bool Cron::ever_matches() const {
    constexpr std::array<unsigned, 13> kMostDays{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (!any_weekday_ && !any_day_) return true;  // some weekday is in every month
    for (unsigned month = 1; month <= 12; ++month) {
        if (!months_[month]) continue;
        for (unsigned day = 1; day <= kMostDays[month]; ++day) {
            if (days_[day]) return true;
        }
    }
    return false;
}

}  // namespace aliquot::pools
