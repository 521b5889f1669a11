// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/interval.h"
#include "pools/problem.h"

namespace aliquot::cost {

/// A machine, as far as its price depends on it.
struct Machine {
    std::string name;    // of the node
    std::string type;    // "g5.xlarge"; empty: not known
    std::string region;  // empty: not known
    std::string gpu;     // model, as a person writes it: "a100-80", "NVIDIA A2"
    std::uint32_t gpus = 0;
    bool spot = false;
    std::map<std::string, std::string> labels;
};

/// What an hour of a machine costs, and from where that is known.
struct Price {
    Micros rate = 0;
    std::string version;  // "aws 2026-07-20", "site.yaml 7"; "none": nobody knows
    std::string source;   // one sentence
    friend bool operator==(const Price&, const Price&) = default;
};

/// How a price is made of a purchase.
struct OwnMachine {
    double purchase = 0;  // of the machine
    double years = 0;     // that it is used
    double watts = 0;     // that it takes on average, wall power
    double per_kwh = 0;
    double pue = 1;
    double per_year = 0;  // room, people, support
    /// Of an hour: purchase over its years, power, the rest.
    [[nodiscard]] double per_hour() const;
};

/// One entry of an own price file.
struct PriceRule {
    std::string node;  // pattern with *; empty: any
    std::string type;
    std::string gpu;
    std::string region;
    std::optional<bool> spot;
    std::map<std::string, std::string> labels;
    TimeMs from = INT64_MIN;
    TimeMs until = INT64_MAX;
    Micros rate = 0;
    bool is_own = false;
    OwnMachine own;
    /// Spot prices as they were seen, by time: each holds until the next.
    std::vector<std::pair<TimeMs, Micros>> seen;
};

/// What may be spent, and what happens then.
struct Budget {
    enum class By : std::uint8_t { kQueue, kUser, kNamespace };
    enum class Period : std::uint8_t { kDay, kWeek, kMonth };
    By by = By::kQueue;
    std::string name;
    Micros amount = 0;
    Period period = Period::kMonth;
    unsigned warn_percent = 80;
    bool hold = false;  // nothing new starts once it is spent
    friend bool operator==(const Budget&, const Budget&) = default;
};
/// "queue", "user", "namespace"; "day", "week", "month".
std::string_view word(Budget::By by);
std::string_view word(Budget::Period period);
/// When the period that `now` is in began, UTC; weeks begin on Mondays.
TimeMs begin_of(Budget::Period period, TimeMs now);

/// Own prices, budgets, and what energy means, as one file has them.
struct PriceFile {
    std::string version;  // "site.yaml 7"
    std::string currency = "USD";
    double pue = 1;                       // of energy that is measured
    std::optional<double> grams_per_kwh;  // CO2e of the grid; empty: not told
    std::vector<PriceRule> rules;         // the first that matches counts
    std::vector<Budget> budgets;
};

struct ReadPrices {
    PriceFile file;
    std::vector<pools::Problem> problems;
    [[nodiscard]] bool has_errors() const;
};

/// Reads an own price file (kind Prices, aliquot.dev/v1alpha1). Any bytes are answered; unknown keys, wrong types and
/// amounts outside of their limits are errors with their place.
/// name    of the file, which is part of its version
ReadPrices read_prices(std::string_view name, std::string_view text);

/// What a machine costs at a time: by the first rule of `file` that matches, else by the table of cloud machines;
/// spot by the latest price that was seen before, else by the table, else as on demand.
Price price_of(const Machine& machine, TimeMs at, const PriceFile& file);

/// "gpu-*" and "gpu-17". Pure.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace aliquot::cost
