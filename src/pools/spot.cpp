// SPDX-License-Identifier: Apache-2.0
#include "pools/spot.h"

#include <algorithm>
#include <cmath>

#include "base/number.h"
#include "base/units.h"

namespace aliquot::pools {
namespace {

using std::chrono::seconds;

/// Expected hours until `work` is done when interruptions come with `rate` an hour and each begins it anew after
/// `restart`. source   the mean of a restarted task, (1/rate + restart) * (e^(rate*work) - 1)
double expected_hours(double work, double rate, double restart) {
    if (rate <= 0) return work;
    return (1 / rate + restart) * std::expm1(rate * work);
}

std::string usd(double amount) { return "$" + fixed_text(amount, 2); }

}  // namespace

std::string to_text(const Offer& offer) {
    return offer.type + (offer.capacity == CapacityType::kSpot ? " on spot" : " on demand");
}

std::vector<Offer> offers_of(const Pool& pool, seconds waited) {
    std::vector<Offer> offers;
    const bool has_on_demand =
        std::ranges::find(pool.capacity, CapacityType::kOnDemand) != pool.capacity.end();
    for (const CapacityType capacity : pool.capacity) {
        const bool is_spot = capacity == CapacityType::kSpot;
        if (is_spot && pool.is_production()) continue;
        if (is_spot && has_on_demand && waited > pool.spot_patience) continue;
        for (const std::string& type : pool.instances) offers.push_back({type, capacity});
    }
    return offers;
}

SpotAdvice advise(const SpotJob& job, const SpotMarket& market) {
    SpotAdvice advice;
    const double rate = std::max(0.0, market.notices_per_hour);
    advice.on_demand_cost = market.on_demand * job.hours;
    const bool saves = job.checkpoint_hours > 0 && job.checkpoint_hours < job.hours;
    const double piece = saves ? job.checkpoint_hours : job.hours;
    const double pieces = piece > 0 ? job.hours / piece : 0;
    const double cost_of_saving = saves ? job.save_hours : 0;
    advice.spot_hours = pieces * expected_hours(piece + cost_of_saving, rate, job.restart_hours);
    advice.spot_cost = market.spot * advice.spot_hours;
    if (rate > 0) advice.best_checkpoint_hours = std::sqrt(2 * job.save_hours / rate);
    const bool in_time = !job.deadline_hours || advice.spot_hours <= *job.deadline_hours;
    advice.pays = market.spot > 0 && advice.spot_cost < advice.on_demand_cost && in_time;
    if (market.spot <= 0) {
        advice.words = "the price on spot is not known; on demand " + usd(advice.on_demand_cost);
        return advice;
    }
    const double saving =
        advice.on_demand_cost > 0 ? kPercent * (1 - advice.spot_cost / advice.on_demand_cost) : 0;
    advice.words = "spot " + usd(advice.spot_cost) + " in " + fixed_text(advice.spot_hours, 1) +
                   " h expected, on demand " + usd(advice.on_demand_cost) + " in " +
                   fixed_text(job.hours, 1) + " h: " +
                   (advice.pays ? "spot pays, " + fixed_text(saving, 0) + " % less"
                    : !in_time  ? "spot is expected to miss the deadline of " +
                                     fixed_text(*job.deadline_hours, 1) + " h"
                               : "spot does not pay");
    if (!saves && rate > 0 && advice.best_checkpoint_hours < job.hours) {
        advice.words += "; with a checkpoint every " +
                        fixed_text(60 * advice.best_checkpoint_hours, 0) + " min less is lost";
    }
    return advice;
}

}  // namespace aliquot::pools
