// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pools/pool.h"

namespace aliquot::pools {

/// One thing that a cloud sells: a type, on spot or on demand.
struct Offer {
    std::string type;
    CapacityType capacity = CapacityType::kOnDemand;
    friend auto operator<=>(const Offer&, const Offer&) = default;
};
std::string to_text(const Offer& offer);  // "g4dn.xlarge on spot"

/// All offers of a pool in the order in which they are tried: by capacity type first, then by instance. Spot is
/// left out in production, and once a pod has waited longer than spotPatience.
std::vector<Offer> offers_of(const Pool& pool, std::chrono::seconds waited);

/// A job as far as spot nodes matter to it.
struct SpotJob {
    double hours = 0;               // of work
    double checkpoint_hours = 0;    // between two checkpoints; 0: it saves nothing
    double save_hours = 1.0 / 120;  // that one checkpoint takes
    double restart_hours = 0.1;     // until work goes on elsewhere: a node, an image, a load
    std::optional<double> deadline_hours{};
};

/// Prices of one hour and how often a spot node is taken away.
struct SpotMarket {
    double on_demand = 0;
    double spot = 0;
    double notices_per_hour = 0.05;
};

struct SpotAdvice {
    double on_demand_cost = 0;
    double spot_cost = 0;   // expected, with work that is done twice
    double spot_hours = 0;  // expected
    double best_checkpoint_hours =
        0;  // sqrt(2 * save / rate) (Young); 0: spot nodes are not taken away
    bool pays = false;
    std::string words;  // one line for a person
};

/// Whether spot pays: its expected cost is lower, and its expected end is before the deadline. Interruptions come
/// at random at a constant rate; each loses the work since the last checkpoint.
SpotAdvice advise(const SpotJob& job, const SpotMarket& market);

}  // namespace aliquot::pools
