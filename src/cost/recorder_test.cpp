// SPDX-License-Identifier: Apache-2.0
#include "cost/recorder.h"

#include <gtest/gtest.h>

#include <random>

#include "cost/allocate.h"
#include "cost/report.h"

namespace aliquot::cost {
namespace {

constexpr TimeMs kStart = 1'790'000'000'000 / kDayMs * kDayMs;
constexpr TimeMs kMinute = 60'000;

NodeSight node_of(Micros rate = 3'600'000) {
    return {.name = "n1",
            .model = "L4",
            .devices = {"GPU-1"},
            .cpu_milli = 0,
            .memory_mib = 0,
            .price = {.rate = rate, .version = "test 1", .source = ""}};
}

Holding whole_gpu(const std::string& user) {
    return {.user = user, .device = "GPU-1", .share = kWholeGpu, .gpu_memory_mib = 24'000};
}

/// As a store does: an interval that begins at the same time takes the place of the earlier one.
class Book {
public:
    void put(const History& taken) {
        for (const Span& span : taken.spans) {
            spans_[{taken.names.text(span.node), span.begin}] = {span,
                                                                 taken.names.text(span.price)};
        }
        for (const Interval& one : taken.intervals) {
            const Owner& owner = taken.owners[one.owner];
            intervals_[{taken.names.text(one.node), taken.names.text(owner.user), one.begin}] = one;
        }
    }
    [[nodiscard]] History history() const {
        History all;
        for (const auto& [key, span] : spans_) {
            Span one = span.first;
            one.node = all.names.add(key.first);
            one.price = all.names.add(span.second);
            one.devices = {all.names.add("GPU-1")};
            all.spans.push_back(one);
        }
        for (const auto& [key, interval] : intervals_) {
            Interval one = interval;
            one.node = all.names.add(std::get<0>(key));
            one.device = all.names.add("GPU-1");
            one.owner = all.add({.user = all.names.add(std::get<1>(key))});
            all.intervals.push_back(one);
        }
        return all;
    }
    [[nodiscard]] Report report() const {
        const History all = history();
        return report_of(allocate(all), all, By::kUser);
    }

private:
    std::map<std::pair<std::string, TimeMs>, std::pair<Span, std::string>> spans_;
    std::map<std::tuple<std::string, std::string, TimeMs>, Interval> intervals_;
};

TEST(Recorder, WhatIsHeldAndWhatIsFreeAreTheBill) {
    Recorder recorder;
    Book book;
    recorder.watch(node_of(), kStart);
    recorder.hold("n1", "a", whole_gpu("ann"), kStart + 10 * kMinute);
    for (int i = 1; i <= 180; ++i) {
        const TimeMs now = kStart + i * kMinute;
        if (i == 100) recorder.release("n1", "a", now - kMinute / 2);
        recorder.watch(node_of(), now);
        book.put(recorder.take());
    }
    const Report report = book.report();
    ASSERT_EQ(report.lines.size(), 2U);
    EXPECT_EQ(report.lines[0].key, "ann");
    EXPECT_EQ(report.lines[0].sums.total(), (100 * kMinute - kMinute / 2 - 10 * kMinute));
    EXPECT_EQ(report.bill, 180 * kMinute);  // one micro a millisecond
    EXPECT_EQ(report.gap_ms, 0);
}

TEST(Recorder, IdleIsJudgedForEachFiveMinutes) {
    Recorder recorder;
    Book book;
    recorder.watch(node_of(), kStart);
    recorder.hold("n1", "a", whole_gpu("ann"), kStart);
    for (int i = 1; i <= 60; ++i) {
        const TimeMs now = kStart + i * kMinute;
        const bool busy = i <= 20;
        recorder.use("n1", "a",
                     {.busy_us = busy ? 50'000'000U : 0U,
                      .measured_us = 60'000'000,
                      .energy_millijoules = 1'000,
                      .gpu_memory_mib = busy ? 9'000U : 500U},
                     now);
        recorder.watch(node_of(), now);
        book.put(recorder.take());
    }
    const Report report = book.report();
    ASSERT_EQ(report.lines.size(), 1U);
    EXPECT_EQ(report.lines[0].sums.of(State::kBusy), 20 * kMinute);
    EXPECT_EQ(report.lines[0].sums.of(State::kIdle), 40 * kMinute);
    EXPECT_EQ(report.lines[0].sums.energy_millijoules, 60'000U);
}

TEST(Recorder, WhatNobodyMeasuresCountsAsUsed) {
    Recorder recorder;
    Book book;
    recorder.watch(node_of(), kStart);
    recorder.hold("n1", "a", whole_gpu("ann"), kStart);
    for (int i = 1; i <= 10; ++i) recorder.watch(node_of(), kStart + i * kMinute);
    book.put(recorder.take());
    EXPECT_EQ(book.report().lines[0].sums.of(State::kBusy), 10 * kMinute);
}

TEST(Recorder, WhereNobodyLookedIsAGapThatNobodyPays) {
    Recorder recorder;
    Book book;
    recorder.watch(node_of(), kStart);
    recorder.hold("n1", "a", whole_gpu("ann"), kStart);
    recorder.watch(node_of(), kStart + 5 * kMinute);
    recorder.watch(node_of(), kStart + 45 * kMinute);
    recorder.watch(node_of(), kStart + 50 * kMinute);
    book.put(recorder.take());
    const Report report = book.report();
    EXPECT_EQ(report.bill, 10 * kMinute);
    EXPECT_EQ(report.lines[0].sums.total(), 10 * kMinute);
}

TEST(Recorder, AClockThatGoesBackStandsStill) {
    Recorder recorder;
    Book book;
    recorder.watch(node_of(), kStart + 10 * kMinute);
    recorder.hold("n1", "a", whole_gpu("ann"), kStart);
    recorder.watch(node_of(), kStart + 2 * kMinute);
    recorder.release("n1", "a", kStart + 3 * kMinute);
    recorder.watch(node_of(), kStart + 12 * kMinute);
    book.put(recorder.take());
    const Report report = book.report();
    EXPECT_EQ(report.bill, 2 * kMinute);
    EXPECT_EQ(report.lines.size(), 1U);
}

TEST(Recorder, AnotherPriceHoldsFromWhenItIsSeen) {
    Recorder recorder;
    Book book;
    recorder.watch(node_of(3'600'000), kStart);
    NodeSight dearer = node_of(7'200'000);
    dearer.price.version = "test 2";
    recorder.watch(dearer, kStart + 5 * kMinute);
    recorder.watch(dearer, kStart + 10 * kMinute);
    book.put(recorder.take());
    EXPECT_EQ(book.report().bill, 15 * kMinute);
}

TEST(Recorder, ABrokenGpuIsNobodysCost) {
    Recorder recorder;
    recorder.watch(node_of(), kStart);
    recorder.hold("n1", "a", whole_gpu("ann"), kStart);
    NodeSight broken = node_of();
    broken.marks = {{"GPU-1", State::kBroken}};
    recorder.watch(broken, kStart + 5 * kMinute);
    recorder.watch(node_of(), kStart + 8 * kMinute);
    recorder.watch(node_of(), kStart + 9 * kMinute);
    const History all = recorder.take();
    const Report report = report_of(allocate(all), all, By::kUser);
    EXPECT_EQ(report.sums.of(State::kBroken), 3 * kMinute);
    EXPECT_EQ(report.bill, 9 * kMinute);
    EXPECT_EQ(report.lines[0].sums.total(), 6 * kMinute);
}

TEST(Recorder, WhateverHappensThePiecesFitTogether) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        std::mt19937 random(seed);
        const auto up_to = [&](int most) {
            return std::uniform_int_distribution<int>(0, most)(random);
        };
        Recorder recorder;
        Book book;
        TimeMs now = kStart;
        recorder.watch(node_of(), now);
        for (int i = 0; i < 200; ++i) {
            now += up_to(9) == 0 ? up_to(20) * kMinute : up_to(70'000) - 5'000;
            const std::string key(1, static_cast<char>('a' + up_to(3)));
            switch (up_to(5)) {
                case 0:
                    recorder.hold("n1", key, whole_gpu(key), now);
                    break;
                case 1:
                    recorder.release("n1", key, now);
                    break;
                case 2:
                    recorder.use("n1", key,
                                 {.busy_us = static_cast<std::uint64_t>(up_to(10'000'000)),
                                  .measured_us = 30'000'000},
                                 now);
                    break;
                case 3:
                    if (up_to(9) != 0) break;
                    recorder.leave("n1", now);
                    now += kMinute;  // one that is gone and comes again is a new one
                    break;
                default:
                    recorder.watch(node_of(), now);
            }
            if (up_to(3) == 0) book.put(recorder.take());
        }
        book.put(recorder.take());
        const History all = book.history();
        TimeMs end = 0;
        for (const Span& span : all.spans) {
            ASSERT_LE(end, span.begin) << seed;
            ASSERT_LT(span.begin, span.end) << seed;
            ASSERT_EQ(hour_of(span.begin), hour_of(span.end - 1)) << seed;
            end = span.end;
        }
        std::map<OwnerId, TimeMs> ends;
        for (const Interval& one : all.intervals) {
            ASSERT_LT(one.begin, one.end) << seed;
            ASSERT_EQ(hour_of(one.begin), hour_of(one.end - 1)) << seed;
            ASSERT_LE(ends[one.owner], one.begin) << seed;
            ends[one.owner] = one.end;
        }
        const Report report = book.report();
        ASSERT_EQ(report.sums.total(), report.bill) << seed;
    }
}

}  // namespace
}  // namespace aliquot::cost
