// SPDX-License-Identifier: Apache-2.0
#include "cost/price.h"

#include <gtest/gtest.h>

namespace aliquot::cost {
namespace {

constexpr TimeMs kNow = 1'795'000'000'000;

const char* const kFile = R"(apiVersion: aliquot.dev/v1alpha1
kind: Prices
version: "7"
currency: EUR
energy: {pue: 1.3, gramsPerKwh: 380}
prices:
- type: g5.xlarge
  spot: true
  seen:
  - {at: 2026-11-02, perHour: 0.5}
  - {at: 2026-11-01, perHour: 0.41}
- {type: "g5.*", perHour: 1.1}
- node: "lab-*"
  labels: {pool: train}
  own: {purchase: 87660, years: 2, watts: 1000, pue: 1.5, perKwh: 0.2, perYear: 8766}
- {gpu: a100-80, perHour: 20.25, until: 2026-01-01}
budgets:
- {queue: train, amount: 500, hold: true}
- {user: ann, amount: 10.50, period: day, warnPercent: 50}
)";

ReadPrices read(std::string_view text) { return read_prices("/etc/site.yaml", text); }

PriceFile site() {
    auto made = read(kFile);
    EXPECT_FALSE(made.has_errors()) << (made.problems.empty() ? "" : made.problems[0].message);
    return made.file;
}

TEST(Price, OfATypeThatIsSoldIsInTheTable) {
    const Price price = price_of({.type = "g5.xlarge", .labels = {}}, kNow, {});
    EXPECT_EQ(price.rate, 1'006'000);
    EXPECT_EQ(price.version.substr(0, 4), "aws ");
    EXPECT_EQ(price_of({.type = "", .labels = {}}, kNow, {}).version, "none");
    EXPECT_EQ(price_of({.type = "g99.xlarge", .labels = {}}, kNow, {}).rate, 0);
}

TEST(Price, OfSpotIsTheTablesWhereItHasOne) {
    const Machine machine{.type = "g2-standard-4", .spot = true, .labels = {}};
    const Price spot = price_of(machine, kNow, {});
    EXPECT_EQ(spot.rate, 230'000);
    EXPECT_TRUE(spot.version.ends_with(" spot"));
    const Price unknown = price_of({.type = "g5.xlarge", .spot = true, .labels = {}}, kNow, {});
    EXPECT_EQ(unknown.rate, 1'006'000);
    EXPECT_NE(unknown.source.find("not known"), std::string::npos);
}

TEST(Price, OwnOnesGoFirstAndTheLatestThatWasSeenHolds) {
    const PriceFile file = site();
    constexpr TimeMs kFirstNoon = 1'793'534'400'000;  // 2026-11-01T12:00:00Z
    const Machine spot{.type = "g5.xlarge", .spot = true, .labels = {}};
    EXPECT_EQ(price_of(spot, kFirstNoon, file).rate, 410'000);
    EXPECT_EQ(price_of(spot, kFirstNoon + kDayMs, file).rate, 500'000);
    // Before anything was seen the next rule that matches counts.
    EXPECT_EQ(price_of(spot, kFirstNoon - kDayMs, file).rate, 1'100'000);
    EXPECT_EQ(price_of({.type = "g5.48xlarge", .labels = {}}, kNow, file).rate, 1'100'000);
    EXPECT_EQ(price_of(spot, kFirstNoon, file).version, "site.yaml 7");
}

TEST(Price, OfAnOwnMachineIsPurchasePowerAndTheRest) {
    const PriceFile file = site();
    const Machine machine{.name = "lab-7", .labels = {{"pool", "train"}}};
    EXPECT_EQ(price_of(machine, kNow, file).rate, 6'300'000);  // 5 + 0.3 + 1
    EXPECT_EQ(price_of({.name = "lab-7", .labels = {}}, kNow, file).version, "none");
}

TEST(Price, OfAModelHoldsUntilItsDay) {
    const PriceFile file = site();
    const Machine machine{.gpu = "NVIDIA A100-SXM4-80GB", .labels = {}};
    constexpr TimeMs k2025 = 1'760'000'000'000;
    EXPECT_EQ(price_of(machine, k2025, file).rate, 20'250'000);
    EXPECT_EQ(price_of(machine, kNow, file).rate, 0);
}

TEST(Price, FileHasBudgets) {
    const PriceFile file = site();
    ASSERT_EQ(file.budgets.size(), 2U);
    EXPECT_EQ(file.budgets[0], (Budget{.name = "train", .amount = 500'000'000, .hold = true}));
    EXPECT_EQ(file.budgets[1].period, Budget::Period::kDay);
    EXPECT_EQ(file.budgets[1].amount, 10'500'000);
    EXPECT_EQ(file.currency, "EUR");
    EXPECT_EQ(file.grams_per_kwh, 380);
}

TEST(Price, FileIsReadStrictly) {
    const std::string head = "apiVersion: aliquot.dev/v1alpha1\nkind: Prices\nversion: '1'\n";
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "a mapping expected"},
        {"[]", "a mapping expected"},
        {head + "price: []", "no such key, did you mean 'prices'?"},
        {head + "currency: euro", "three capital letters"},
        {head + "prices: [{type: g5.xlarge}]", "one of perHour, own and seen expected, none"},
        {head + "prices: [{perHour: 1, own: {watts: 3}}]", "2 found"},
        {head + "prices: [{perHour: -1}]", "an amount from 0"},
        {head + "prices: [{perHour: 0.1234567}]", "at most six decimals"},
        {head + "prices: [{gpu: a1000, perHour: 1}]", "no GPU model"},
        {head + "prices: [{own: {purchase: 5}}]", "years: missing"},
        {head + "prices: [{own: {purchase: 5, years: 0}}]", "a number from 0.1"},
        {head + "prices: [{seen: []}]", "a list of {at, perHour}"},
        {head + "prices: [{seen: [{at: monday, perHour: 1}]}]", "a day or a time"},
        {head + "prices: [{perHour: 1, from: 2026-02-01, until: 2026-01-01}]", "not after from"},
        {head + "energy: {pue: 0.5}", "a number from 1"},
        {head + "budgets: [{amount: 5}]", "one of queue, user and namespace expected"},
        {head + "budgets: [{queue: a}]", "amount: missing"},
        {head + "budgets: [{queue: a, amount: 5, period: year}]", "one of day, week, month"},
        {"{", ""},
    };
    for (const auto& [text, expected] : cases) {
        const ReadPrices made = read(text);
        EXPECT_TRUE(made.has_errors()) << text;
        bool found = false;
        for (const auto& one : made.problems) {
            found |= one.message.find(expected) != std::string::npos;
        }
        EXPECT_TRUE(found) << text << "\n"
                           << (made.problems.empty() ? "" : made.problems[0].message);
    }
}

TEST(Price, PatternsHaveStars) {
    EXPECT_TRUE(matches_pattern("gpu-*", "gpu-17"));
    EXPECT_TRUE(matches_pattern("*", ""));
    EXPECT_TRUE(matches_pattern("a*b*c", "axxbyybc"));
    EXPECT_FALSE(matches_pattern("a*b*c", "axxbyyb"));
    EXPECT_FALSE(matches_pattern("gpu", "gpu-1"));
    EXPECT_FALSE(matches_pattern("", "x"));
    const std::string stars(2'000, '*');
    EXPECT_FALSE(matches_pattern(stars + "b", std::string(2'000, 'a')));
}

TEST(Budget, PeriodsBeginInUtc) {
    constexpr TimeMs kFriday = 1'795'787'130'000;  // 2026-11-27T13:45:30Z
    EXPECT_EQ(begin_of(Budget::Period::kDay, kFriday), 1'795'737'600'000);
    EXPECT_EQ(begin_of(Budget::Period::kWeek, kFriday), 1'795'392'000'000);  // Monday 23
    EXPECT_EQ(begin_of(Budget::Period::kMonth, kFriday), 1'793'491'200'000);
}

}  // namespace
}  // namespace aliquot::cost
