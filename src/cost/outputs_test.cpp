// SPDX-License-Identifier: Apache-2.0
#include "cost/outputs.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cost/allocate.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::cost {
namespace {

constexpr TimeMs kDay = 1'795'737'600'000;  // 2026-11-27

History history() {
    History all;
    const NameId node = all.names.add("n1");
    const NameId gpu = all.names.add("GPU-1");
    all.spans.push_back({.begin = kDay,
                         .end = kDay + 4 * kHourMs,
                         .node = node,
                         .model = all.names.add("L4"),
                         .price = all.names.add("site 1"),
                         .rate = 2'000'000,
                         .devices = {gpu}});
    const auto hold = [&](const char* user, TimeMs begin, State state) {
        all.intervals.push_back({.begin = kDay + begin * kHourMs,
                                 .end = kDay + (begin + 1) * kHourMs,
                                 .node = node,
                                 .device = gpu,
                                 .owner = all.add({.space = all.names.add("team, a"),
                                                   .user = all.names.add(user),
                                                   .pod = all.names.add("p1")}),
                                 .share = kWholeGpu / 2,
                                 .energy_millijoules = 3'600'000'000,
                                 .state = state});
    };
    hold("=ann", 0, State::kBusy);
    hold("=ann", 1, State::kIdle);
    hold("bob", 2, State::kBusy);
    return all;
}

/// The same on a node with 4 cores and 8 GiB, of which each has 2 and 1.
History history_with_cpu() {
    History all = history();
    all.spans[0].cpu_milli = 4'000;
    all.spans[0].memory_mib = 8'192;
    for (Interval& one : all.intervals) {
        one.cpu_milli = 2'000;
        one.memory_mib = 1'024;
    }
    return all;
}

Report report() {
    const History all = history();
    Report made = report_of(allocate(all), all, By::kUser, kHourMs);
    made.grams_per_kwh = 400;
    made.pue = 1.5;
    return made;
}

TEST(Outputs, TheTableHasALineForEachOwnerAndForNobody) {
    EXPECT_EQ(table_of(report(), Output::kTable),
              "USER     USD  OF ALL  IDLE  GPU HOURS\n"
              "=ann    2.00    25 %  1.00       1.00\n"
              "bob     1.00    12 %  0.00       0.50\n"
              "(free)  5.00    62 %  0.00       2.50\n"
              "all     8.00   100 %  1.00       4.00\n");
}

TEST(Outputs, TheWideTableHasEnergyAndCo2e) {
    const std::string text = table_of(report(), Output::kWide);
    EXPECT_NE(text.find("KWH  KG CO2E\n"), std::string::npos) << text;
    EXPECT_NE(text.find("2.000    1.200\n"), std::string::npos) << text;
}

TEST(Outputs, CsvIsExactAndNoFormula) {
    const std::string text = csv_of(report());
    const auto lines = lines_of(std::string_view(text));
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[1].substr(0, 31), "\"'=ann\",false,USD,2.00,1.00,1.0");
    EXPECT_EQ(csv_line({"a\"b", "c,d", "e\nf", "-1"}), "\"a\"\"b\",\"c,d\",\"e\nf\",\"'-1\"\n");
}

TEST(Outputs, JsonSaysTheSame) {
    const auto value = document_of(report());
    EXPECT_EQ(document::text_at(value, {"bill"}), "8");
    const auto& lines = document::items_at(value, {"lines"});
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(document::text_at(lines[0], {"byState", "idle"}), "1");
    EXPECT_EQ(document::text_at(lines[2], {"nobody"}), "true");
    EXPECT_EQ(document::items_at(value, {"trend"}).size(), 4U);
    EXPECT_TRUE(document::parse_json(text_of(report(), Output::kJson)).ok());
}

TEST(Outputs, FocusHasOneChargeForEachRow) {
    const History all = history();
    const Allocation rows = allocate(all);
    const std::string text = focus_of(rows, all, "EUR");
    const auto lines = lines_of(std::string_view(text));
    ASSERT_EQ(lines.size(), rows.rows.size() + 1);
    EXPECT_TRUE(lines[0].starts_with("BilledCost,EffectiveCost,ListCost,ContractedCost,"));
    for (const auto column : split(lines[0], ',')) {
        EXPECT_TRUE(column.find('_') == std::string_view::npos || column.starts_with("x_"));
    }
    EXPECT_NE(text.find("1.00,1.00,1.00,1.00,EUR,aliquot,aliquot,2026-11-01T00:00:00Z,"
                        "2026-12-01T00:00:00Z,2026-11-27T00:00:00Z,2026-11-27T01:00:00Z,Usage,"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find(",Unused,{}"), std::string::npos);
    EXPECT_NE(text.find(R"(,Used,"{""namespace"":""team, a"",""user"":""=ann"",""pod"":""p1""}")"),
              std::string::npos)
        << text;
}

/// What version 1.2 of the specification wants in each data set, and never empty in a row of usage.
TEST(Outputs, FocusHasWhatItsSpecificationWants) {
    const History all = history_with_cpu();
    const std::string text = focus_of(allocate(all), all, "EUR");
    const auto lines = lines_of(std::string_view(text));
    const auto columns = split(lines[0], ',');
    for (const char* const name :
         {"BilledCost",         "BillingAccountId", "BillingCurrency", "BillingPeriodEnd",
          "BillingPeriodStart", "ChargeCategory",   "ChargePeriodEnd", "ChargePeriodStart",
          "ConsumedQuantity",   "ConsumedUnit",     "ContractedCost",  "EffectiveCost",
          "InvoiceIssuerName",  "ListCost",         "PricingQuantity", "PricingUnit",
          "ProviderName",       "PublisherName",    "ServiceCategory", "ServiceName",
          "ChargeFrequency",    "PricingCategory"}) {
        const auto place = std::ranges::find(columns, name) - columns.begin();
        ASSERT_LT(place, static_cast<std::ptrdiff_t>(columns.size())) << name;
        for (std::size_t i = 1; i < lines.size(); ++i) {
            // Texts that have commas come behind these columns.
            EXPECT_FALSE(split(lines[i], ',').at(static_cast<std::size_t>(place)).empty())
                << name << " in " << lines[i];
        }
    }
    for (const char* const name : {"ChargeClass", "ChargeDescription", "BillingAccountName"}) {
        EXPECT_NE(std::ranges::find(columns, name), columns.end()) << name;
    }
    EXPECT_NE(text.find(",0.500000,GPU-Hours,0.500000,GPU-Hours,Standard,"), std::string::npos);
    EXPECT_NE(text.find(",2.000000,Core-Hours,2.000000,Core-Hours,Standard,"), std::string::npos)
        << text;
}

/// Each field that OpenCost's own answer has, with what is not known as null.
TEST(Outputs, OpencostGetsTheFieldsOfItsOwn) {
    const History all = history_with_cpu();
    const auto value = opencost_of(
        allocate(all), all,
        {.begin = kDay, .end = kDay + 2 * kHourMs, .by = By::kNamespace, .with_idle = true});
    const auto& set = document::items_at(value, {"data"})[0];
    for (const char* const field : {"name",
                                    "properties",
                                    "window",
                                    "start",
                                    "end",
                                    "minutes",
                                    "cpuCores",
                                    "cpuCoreRequestAverage",
                                    "cpuCoreUsageAverage",
                                    "cpuCoreHours",
                                    "cpuCost",
                                    "cpuCostAdjustment",
                                    "cpuCostIdle",
                                    "cpuEfficiency",
                                    "gpuCount",
                                    "gpuRequestAverage",
                                    "gpuUsageAverage",
                                    "gpuHours",
                                    "gpuCost",
                                    "gpuCostAdjustment",
                                    "gpuCostIdle",
                                    "gpuEfficiency",
                                    "networkTransferBytes",
                                    "networkReceiveBytes",
                                    "networkCost",
                                    "networkCrossZoneCost",
                                    "networkCrossRegionCost",
                                    "networkInternetCost",
                                    "networkCostAdjustment",
                                    "loadBalancerCost",
                                    "loadBalancerCostAdjustment",
                                    "pvBytes",
                                    "pvByteHours",
                                    "pvCost",
                                    "pvs",
                                    "pvCostAdjustment",
                                    "ramBytes",
                                    "ramByteRequestAverage",
                                    "ramByteUsageAverage",
                                    "ramByteHours",
                                    "ramCost",
                                    "ramCostAdjustment",
                                    "ramCostIdle",
                                    "ramEfficiency",
                                    "externalCost",
                                    "sharedCost",
                                    "totalCost",
                                    "totalEfficiency",
                                    "lbAllocations"}) {
        EXPECT_NE(set.find("team, a")->find(field), nullptr) << field;
    }
    // 2 cores and 1 GiB for two hours.
    EXPECT_EQ(document::text_at(set, {"team, a", "cpuCoreHours"}), "4");
    EXPECT_EQ(document::text_at(set, {"team, a", "cpuCores"}), "2");
    EXPECT_EQ(document::text_at(set, {"team, a", "ramByteHours"}), "2147483648");
    EXPECT_EQ(document::text_at(set, {"__idle__", "cpuCoreHours"}), "4");
}

/// What OpenCost (5f653330, custom prices as it comes) has answered of the same cluster, the same 13 minutes long.
TEST(Outputs, WholeGpusCostWhatTheyCostInOpencost) {
    struct Told {
        const char* space;
        unsigned gpus;
        std::uint32_t cores;
        std::uint32_t gib;
        double gpu, cpu, memory, total;
    };
    constexpr Told kTold[] = {{"lab", 1, 8, 64, 0.20583, 0.05479, 0.05875, 0.31938},
                              {"search", 2, 16, 128, 0.41167, 0.10958, 0.11751, 0.63876},
                              {"vision", 4, 32, 256, 0.82333, 0.21917, 0.23501, 1.27752}};
    constexpr TimeMs kEnd = kDay + 13 * kHourMs / 60;
    History all;
    const NameId node = all.names.add("vm");
    Span span{.begin = kDay, .end = kEnd, .node = node, .rate = 15'515'680};
    span.cpu_milli = 96'000;
    span.memory_mib = 1152 * 1024;
    for (int i = 0; i < 8; ++i) span.devices.push_back(all.names.add("GPU-" + std::to_string(i)));
    all.spans.push_back(span);
    std::size_t next = 0;
    for (const Told& one : kTold) {
        const OwnerId owner = all.add({.space = all.names.add(one.space)});
        for (unsigned i = 0; i < one.gpus; ++i) {
            all.intervals.push_back({.begin = kDay,
                                     .end = kEnd,
                                     .node = node,
                                     .device = span.devices[next++],
                                     .owner = owner,
                                     .share = kWholeGpu,
                                     .cpu_milli = i == 0 ? one.cores * 1'000 : 0,
                                     .memory_mib = i == 0 ? one.gib * 1024 : 0});
        }
    }
    const auto value =
        opencost_of(allocate(all), all, {.begin = kDay, .end = kEnd, .by = By::kNamespace});
    const auto& set = document::items_at(value, {"data"})[0];
    for (const Told& one : kTold) {
        const auto amount = [&](const char* field) {
            return std::stod(document::text_at(set, {one.space, field}));
        };
        EXPECT_NEAR(amount("gpuCost"), one.gpu, 2e-5) << one.space;
        EXPECT_NEAR(amount("cpuCost"), one.cpu, 2e-5) << one.space;
        EXPECT_NEAR(amount("ramCost"), one.memory, 2e-5) << one.space;
        EXPECT_NEAR(amount("totalCost"), one.total, 2e-5) << one.space;
        EXPECT_NEAR(amount("gpuHours"), one.gpus * 13 / 60., 1e-5) << one.space;
        EXPECT_NEAR(amount("cpuCoreHours"), one.cores * 13 / 60., 1e-5) << one.space;
    }
}

TEST(Outputs, HoursOfCpuThatNobodyHasCountedAreNotKnown) {
    const History all = history_with_cpu();
    Allocation old = allocate(all);
    for (Row& row : old.rows) row.core_ms = row.mib_s = 0;
    const auto value =
        opencost_of(old, all, {.begin = kDay, .end = kDay + 2 * kHourMs, .by = By::kNamespace});
    const auto& set = document::items_at(value, {"data"})[0];
    EXPECT_EQ(set.find("team, a")->find("cpuCoreHours")->kind, document::Value::Kind::kNull);
    EXPECT_EQ(set.find("team, a")->find("ramBytes")->kind, document::Value::Kind::kNull);
}

TEST(Outputs, OpencostGetsASetForEachStep) {
    const History all = history();
    const auto rows = allocate(all);
    const auto value = opencost_of(rows, all,
                                   {.begin = kDay,
                                    .end = kDay + 4 * kHourMs,
                                    .step = 2 * kHourMs,
                                    .by = By::kNamespace,
                                    .with_idle = true});
    EXPECT_EQ(document::text_at(value, {"code"}), "200");
    const auto& sets = document::items_at(value, {"data"});
    ASSERT_EQ(sets.size(), 2U);
    EXPECT_EQ(document::text_at(sets[0], {"team, a", "gpuCost"}), "2");
    EXPECT_EQ(document::text_at(sets[0], {"team, a", "gpuCostUnused"}), "1");
    EXPECT_EQ(document::text_at(sets[0], {"team, a", "gpuCostIdle"}), "0");
    EXPECT_EQ(document::text_at(sets[0], {"team, a", "gpuHours"}), "1");
    EXPECT_EQ(document::text_at(sets[0], {"__idle__", "totalCost"}), "2");
    EXPECT_EQ(document::text_at(sets[1], {"team, a", "totalCost"}), "1");
    const auto by_pod =
        opencost_of(rows, all, {.begin = kDay, .end = kDay + kDayMs, .by = By::kPod});
    EXPECT_EQ(document::text_at(document::items_at(by_pod, {"data"})[0],
                                {"team, a/p1", "properties", "pod"}),
              "p1");
    EXPECT_EQ(document::items_at(by_pod, {"data"})[0].find("__idle__"), nullptr);
}

TEST(Outputs, WindowsAreThoseOfOpencost) {
    constexpr TimeMs kNow = kDay + 12 * kHourMs;
    using Window = std::pair<TimeMs, TimeMs>;
    EXPECT_EQ(parse_window("today", kNow), Window(kDay, kNow));
    EXPECT_EQ(parse_window("yesterday", kNow), Window(kDay - kDayMs, kDay));
    EXPECT_EQ(parse_window("week", kNow), Window(kDay - 4 * kDayMs, kNow));
    EXPECT_EQ(parse_window("lastweek", kNow), Window(kDay - 11 * kDayMs, kDay - 4 * kDayMs));
    EXPECT_EQ(parse_window("lastmonth", kNow), Window(kDay - 57 * kDayMs, kDay - 26 * kDayMs));
    EXPECT_EQ(parse_window("7d", kNow), Window(kNow - 7 * kDayMs, kNow));
    EXPECT_EQ(parse_window("30m", kNow), Window(kNow - kHourMs / 2, kNow));
    EXPECT_EQ(parse_window("2026-11-27T00:00:00Z,2026-11-27T01:00:00Z", kNow),
              Window(kDay, kDay + kHourMs));
    EXPECT_EQ(parse_window("1795737600,1795741200", kNow), Window(kDay, kDay + kHourMs));
    for (const char* wrong :
         {"", "x", "0s", "5y", "1795741200,1795737600", "1,999999999999", ","}) {
        EXPECT_EQ(parse_window(wrong, kNow), std::nullopt) << wrong;
    }
}

}  // namespace
}  // namespace aliquot::cost
