// SPDX-License-Identifier: Apache-2.0
#include "cost/price.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/nearest_word.h"
#include "base/text.h"
#include "catalog/gpu_instances.h"
#include "catalog/gpu_models.h"
#include "cost/money.h"

namespace aliquot::cost {
namespace {

constexpr double kHoursPerYear = 8'766;  // 365.25 days
constexpr double kWattsPerKw = 1'000;
constexpr std::array<std::string_view, 3> kBudgetWords{"queue", "user", "namespace"};
constexpr std::array<std::string_view, 3> kPeriodWords{"day", "week", "month"};

bool is_same_gpu(const std::string& wanted, const std::string& has) {
    if (same_letters(wanted, has)) return true;
    const catalog::GpuModel* const model = catalog::find_gpu_model(wanted);
    return model != nullptr && model == catalog::find_gpu_model(has);
}

bool matches(const PriceRule& rule, const Machine& machine, TimeMs at) {
    if (at < rule.from || at >= rule.until) return false;
    if (!rule.node.empty() && !matches_pattern(rule.node, machine.name)) return false;
    if (!rule.type.empty() && !matches_pattern(rule.type, machine.type)) return false;
    if (!rule.region.empty() && !matches_pattern(rule.region, machine.region)) return false;
    if (!rule.gpu.empty() && !is_same_gpu(rule.gpu, machine.gpu)) return false;
    if (rule.spot && *rule.spot != machine.spot) return false;
    return std::ranges::all_of(rule.labels, [&](const auto& label) {
        const auto found = machine.labels.find(label.first);
        return found != machine.labels.end() && matches_pattern(label.second, found->second);
    });
}

/// The latest price that was seen at or before a time.
std::optional<Micros> seen_at(const PriceRule& rule, TimeMs at) {
    std::optional<Micros> rate;
    for (const auto& [time, price] : rule.seen) {
        if (time <= at) rate = price;
    }
    return rate;
}

Micros micros_of(double amount) {
    return static_cast<Micros>(std::llround(amount * static_cast<double>(kMicrosPerUnit)));
}

Price list_price(const catalog::GpuInstance& instance, bool spot) {
    Price price;
    price.version = concat({instance.cloud, " ", instance.price_date});
    price.rate = micros_of(instance.usd_per_hour);
    price.source = concat(
        {"list price of ", instance.type, " in ", instance.region, ", ", instance.price_date});
    if (spot && instance.spot_usd_per_hour > 0) {
        price.version += " spot";
        price.rate = micros_of(instance.spot_usd_per_hour);
        price.source = concat({"spot price of ", instance.type, " in ", instance.region,
                               " as seen ", instance.price_date});
    } else if (spot) {
        price.source += "; its spot price is not known: give the prices that were seen";
    }
    return price;
}

}  // namespace

double OwnMachine::per_hour() const {
    const double owned = years > 0 ? purchase / (years * kHoursPerYear) : 0;
    return owned + watts / kWattsPerKw * pue * per_kwh + per_year / kHoursPerYear;
}

std::string_view word(Budget::By by) { return kBudgetWords[static_cast<std::size_t>(by)]; }
std::string_view word(Budget::Period period) {
    return kPeriodWords[static_cast<std::size_t>(period)];
}

TimeMs begin_of(Budget::Period period, TimeMs now) {
    using std::chrono::days;
    using std::chrono::floor;
    const std::chrono::sys_days day = floor<days>(
        std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(now)));
    std::chrono::sys_days begin = day;
    if (period == Budget::Period::kWeek) {
        begin -= std::chrono::weekday(day) - std::chrono::Monday;
    } else if (period == Budget::Period::kMonth) {
        const std::chrono::year_month_day date(day);
        begin = date.year() / date.month() / 1;
    }
    return std::chrono::duration_cast<std::chrono::milliseconds>(begin.time_since_epoch()).count();
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
    // Back to the last * each time that something does not fit: no recursion.
    std::size_t at = 0;
    std::size_t here = 0;
    std::size_t star = std::string_view::npos;
    std::size_t from = 0;
    while (here < text.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            from = here;
        } else if (at < pattern.size() && pattern[at] == text[here]) {
            ++at;
            ++here;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            here = ++from;
        } else {
            return false;
        }
    }
    while (at < pattern.size() && pattern[at] == '*') ++at;
    return at == pattern.size();
}

Price price_of(const Machine& machine, TimeMs at, const PriceFile& file) {
    for (const PriceRule& rule : file.rules) {
        if (!matches(rule, machine, at)) continue;
        Price price{.rate = rule.rate, .version = file.version, .source = "own price"};
        if (!rule.seen.empty()) {
            const auto seen = seen_at(rule, at);
            if (!seen) continue;  // before the first one that was seen
            price.rate = *seen;
            price.source = "spot price as it was seen";
        } else if (rule.is_own) {
            price.source = "purchase, power and running costs of an own machine";
        }
        return price;
    }
    const catalog::GpuInstance* const instance =
        machine.type.empty() ? nullptr : catalog::find_gpu_instance(machine.type);
    if (instance != nullptr) return list_price(*instance, machine.spot);
    return {
        .rate = 0,
        .version = "none",
        .source =
            machine.type.empty()
                ? "nobody knows its price: it has no type that is sold; give one in a price file"
                : concat({"nobody knows its price: ", machine.type,
                          " is not in the table; give one in a price file"})};
}

}  // namespace aliquot::cost
