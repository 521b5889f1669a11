// SPDX-License-Identifier: Apache-2.0
#include "http/check_order.h"

#include <gtest/gtest.h>

#include "http/budget.h"

namespace aliquot::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Peer peer(unsigned number) {
    Peer made{};
    made[14] = static_cast<unsigned char>(number >> 8U);
    made[15] = static_cast<unsigned char>(number);
    return made;
}

constexpr CheckOrder::Time kStart{std::chrono::hours(1000)};
constexpr milliseconds kCheck{60};

void guess(CheckOrder& order, unsigned who, int times, CheckOrder::Time at) {
    for (int i = 0; i < times; ++i) order.note(peer(who), false, at - kCheck, at);
}

TEST(CheckOrder, WhoWasRightComesBeforeWhoIsNewAndWhoIsNewBeforeWhoGuessed) {
    CheckOrder order;
    order.note(peer(1), true, kStart, kStart + kCheck);
    guess(order, 2, 1, kStart);
    guess(order, 3, 5, kStart);
    EXPECT_LT(order.rank(peer(1), kStart), order.rank(peer(4), kStart + seconds(1)));
    EXPECT_LT(order.rank(peer(4), kStart), order.rank(peer(2), kStart + seconds(1)));
    EXPECT_LT(order.rank(peer(2), kStart), order.rank(peer(3), kStart + seconds(1)));
}

TEST(CheckOrder, OfTwoAlikeTheLaterAndTheEarlierTakeTurns) {
    CheckOrder order;
    const auto later_is_first = [&] {
        return order.rank(peer(1), kStart + milliseconds(1)) < order.rank(peer(2), kStart);
    };
    EXPECT_TRUE(later_is_first());
    order.note(peer(3), false, kStart, kStart);
    EXPECT_FALSE(later_is_first());
    order.note(peer(3), false, kStart, kStart);
    EXPECT_TRUE(later_is_first());
}

TEST(CheckOrder, AfterAWrongOneThereIsARestAsLongAsItsCheck) {
    CheckOrder order;
    EXPECT_EQ(order.earliest(peer(1)), CheckOrder::Time{});
    order.note(peer(1), false, kStart, kStart + kCheck);
    EXPECT_EQ(order.earliest(peer(1)), kStart + 2 * kCheck);
    EXPECT_EQ(order.earliest(peer(2)), kStart + 2 * kCheck) << "one who came with a new address";
}

TEST(CheckOrder, GuessesAreForgivenAfterAMinuteOfSilence) {
    CheckOrder order;
    guess(order, 1, 8, kStart);
    guess(order, 2, 2, kStart);
    EXPECT_LT(order.rank(peer(2), kStart), order.rank(peer(1), kStart));
    guess(order, 1, 1, kStart + seconds(61));
    EXPECT_LT(order.rank(peer(1), kStart), order.rank(peer(2), kStart));
}

TEST(CheckOrder, WhoWasRightDoesNotWaitForOthersRest) {
    CheckOrder order;
    order.note(peer(1), true, kStart, kStart + kCheck);
    guess(order, 2, 20, kStart + seconds(1));
    EXPECT_LE(order.earliest(peer(1)), kStart + seconds(1));
}

TEST(CheckOrder, ManyAddressesDoNotMakeItForgetWhoWasRight) {
    CheckOrder order;
    order.note(peer(0), true, kStart, kStart + kCheck);
    for (unsigned i = 1; i < 5000; ++i) guess(order, i, 1, kStart + milliseconds(i));
    EXPECT_LT(order.rank(peer(0), kStart), order.rank(peer(6000), kStart + seconds(9)));
    EXPECT_EQ(order.rank(peer(1), kStart), order.rank(peer(6000), kStart)) << "forgotten";
}

TEST(Budget, CountsWhatIsHeldAndGivesItBack) {
    Budget budget;
    {
        Budget::Hold first(budget, peer(1));
        Budget::Hold second(budget, peer(1));
        Budget::Hold third(budget, peer(2));
        first.set(100);
        second.set(50);
        third.set(7);
        first.set(10);
        EXPECT_EQ(budget.bytes(), 67U);
        EXPECT_EQ(second.share().bytes, 60U);
        EXPECT_EQ(second.share().connections, 2U);
        EXPECT_EQ(third.share().bytes, 7U);
        first.take_turn();
        EXPECT_GT(second.share().turn, third.share().turn);
    }
    EXPECT_EQ(budget.bytes(), 0U);
    const Budget::Hold again(budget, peer(1));
    EXPECT_EQ(again.share().connections, 1U);
}

}  // namespace
}  // namespace aliquot::http
