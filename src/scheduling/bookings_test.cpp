// SPDX-License-Identifier: Apache-2.0
#include "scheduling/bookings.h"

#include <gtest/gtest.h>

#include "scheduling/plan.h"
#include "scheduling/test_books.h"

namespace aliquot::scheduling {
namespace {

using Kind = Decision::Kind;

/// Two pods of one unit each, of whom the plan says GPU 0 and GPU 1 of a node with three.
Books two_of_three() {
    Books books({.targets = 1});
    books.set_node(node("a", kWhole, 3, 1));
    for (const unsigned gpu : {0U, 1U}) {
        GpuPod one = bound(pod("p" + std::to_string(gpu), kWhole, 1), "a");
        one.plan = to_json(
            Plan{.targets = {
                     {.node = "a", .units = {{kWhole, {{"GPU-a-" + std::to_string(gpu), 1}}}}}}});
        books.set_pod(one);
    }
    return books;
}

void tell(Books& books, const std::map<std::string, std::string>& gpus) {
    ServedNode told = node("a", kWhole, 3, 1);
    for (const auto& [uid, gpu] : gpus) told.granted[uid][kWhole][gpu] = 1;
    books.set_node(std::move(told));
}

TEST(Bookings, CountPodsThatGotEachOthersGpus) {
    for (const bool one_by_one : {false, true}) {
        Books books = two_of_three();
        if (one_by_one) tell(books, {{"p0", "GPU-a-1"}});
        tell(books, {{"p0", "GPU-a-1"}, {"p1", "GPU-a-0"}});
        EXPECT_EQ(free_on(books, "GPU-a-0"), 0U) << one_by_one;
        EXPECT_EQ(free_on(books, "GPU-a-1"), 0U) << one_by_one;
        EXPECT_EQ(free_on(books, "GPU-a-2"), 1U) << one_by_one;
        EXPECT_EQ(books.decide(pod("q", kWhole, 2)).kind, Kind::kWaits);
        EXPECT_EQ(books.self_check(), "");
    }
}

TEST(Bookings, CountAPodWhosePlannedGpuWentToAnother) {
    Books books = two_of_three();
    tell(books, {{"p0", "GPU-a-1"}});  // of p1 nothing is told yet
    EXPECT_EQ(books.decide(pod("q", kWhole, 2)).kind, Kind::kWaits);
    EXPECT_EQ(books.decide(pod("q", kWhole, 1)).kind, Kind::kPlaced);
    EXPECT_EQ(books.self_check(), "");
}

TEST(Bookings, CountAPodThatFoundNoRoomAsSoonAsThereIsSome) {
    Books books({.targets = 1});
    books.set_node(node("a", kWhole, 2, 1));
    for (const char* const name : {"p0", "p1", "p2"})
        books.set_pod(bound(pod(name, kWhole, 1), "a"));  // one too many: p0 is just ending
    books.remove_pod("p0");
    EXPECT_EQ(books.decide(pod("q", kWhole, 1)).kind, Kind::kWaits);
    books.remove_pod("p1");
    EXPECT_EQ(books.decide(pod("q", kWhole, 1)).kind, Kind::kPlaced);
    EXPECT_EQ(books.self_check(), "");
}

}  // namespace
}  // namespace aliquot::scheduling
