// SPDX-License-Identifier: Apache-2.0
#include "pools/spot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace aliquot::pools {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

Pool spot_pool() {
    Pool pool;
    pool.instances = {"g4dn.xlarge", "g4dn.2xlarge"};
    pool.capacity = {CapacityType::kSpot, CapacityType::kOnDemand};
    return pool;
}

// R83.
TEST(Spot, FallsBackInTheOrderOfThePool) {
    const Pool pool = spot_pool();
    std::vector<std::string> order;
    for (const Offer& offer : offers_of(pool, seconds(0))) order.push_back(to_text(offer));
    EXPECT_EQ(order, (std::vector<std::string>{"g4dn.xlarge on spot", "g4dn.2xlarge on spot",
                                               "g4dn.xlarge on demand", "g4dn.2xlarge on demand"}));
}

TEST(Spot, GoesOnDemandForWhoHasWaitedLong) {
    const auto offers = offers_of(spot_pool(), minutes(11));
    ASSERT_EQ(offers.size(), 2U);
    EXPECT_EQ(offers[0].capacity, CapacityType::kOnDemand);
}

// R88.
TEST(Spot, IsNeverForProductionEvenWhenAFileSaysSo) {
    Pool pool = spot_pool();
    pool.environment = "production";
    for (const Offer& offer : offers_of(pool, seconds(0))) {
        EXPECT_EQ(offer.capacity, CapacityType::kOnDemand);
    }
}

// R84.
TEST(Spot, PaysByTheObservedPriceAndNotByAPromise) {
    const SpotJob job{.hours = 4, .checkpoint_hours = 0.5};
    const auto cheap = advise(job, {.on_demand = 0.526, .spot = 0.16});
    EXPECT_TRUE(cheap.pays);
    EXPECT_NE(cheap.words.find("spot pays"), std::string::npos);
    // A zone that sells spot at the list price: nothing is saved, and work is lost besides.
    const auto full = advise(job, {.on_demand = 55.04, .spot = 55.04});
    EXPECT_FALSE(full.pays);
    EXPECT_NE(full.words.find("does not pay"), std::string::npos);
    EXPECT_FALSE(advise(job, {.on_demand = 1}).pays);
    auto late = job;
    late.deadline_hours = 4.0;
    EXPECT_NE(advise(late, {.on_demand = 1, .spot = 0.2}).words.find("deadline of 4.0 h"),
              std::string::npos);
}

TEST(Spot, ExpectsWhatAPlayedMarketGives) {
    std::mt19937 random(11);
    const SpotJob job{.hours = 6, .checkpoint_hours = 1, .save_hours = 0.02, .restart_hours = 0.2};
    const double rate = 0.3;
    std::exponential_distribution<double> until(rate);
    double sum = 0;
    constexpr int kRuns = 40'000;
    for (int run = 0; run < kRuns; ++run) {
        for (int piece = 0; piece < 6; ++piece) {
            while (true) {
                const double notice = until(random);
                if (notice >= 1.02) break;
                sum += notice + 0.2;
            }
            sum += 1.02;
        }
    }
    const auto advice = advise(job, {.on_demand = 1, .spot = 0.3, .notices_per_hour = rate});
    EXPECT_NEAR(advice.spot_hours, sum / kRuns, 0.05);
    EXPECT_NEAR(advice.best_checkpoint_hours, std::sqrt(2 * 0.02 / 0.3), 1e-9);
}

}  // namespace
}  // namespace aliquot::pools
