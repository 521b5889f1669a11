// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "claims/allocate.h"
#include "claims/constraint.h"

namespace aliquot::claims {

/// One search on one node. What it has chosen is always undone or kept as a whole.
class Attempt {
public:
    Attempt(const Cluster& cluster, const NodeView& node, const std::vector<Claim>& claims,
            const std::function<std::string()>& new_share);

    Answer run();
    /// Each device of each request on its own.
    std::vector<Refusal> look();

private:
    /// A device of the node, with its pool.
    struct Candidate {
        const Pool* pool = nullptr;
        const Device* device = nullptr;
        bool local = false;
        [[nodiscard]] DeviceId id() const { return {pool->id.driver, pool->id.pool, device->name}; }
    };
    struct Place {
        std::size_t claim = 0;
        std::size_t request = 0;
    };
    using CounterId = std::tuple<PoolId, std::string, std::string>;

    bool next(Place place);
    bool choose(Place place, const SubRequest& subrequest, std::size_t count, std::size_t from);
    bool choose_all(Place place, const SubRequest& subrequest);
    bool done_with(Place place, const SubRequest& subrequest);
    bool take(Place place, const SubRequest& subrequest, const Candidate& candidate);
    void give_back(Place place, const SubRequest& subrequest);
    /// Why it cannot be taken; empty: it can, and then `consumed` says how much.
    std::string refusal(const SubRequest& subrequest, const Candidate& candidate,
                        Amounts& consumed);
    std::string selectors_refuse(const SubRequest& subrequest, const Candidate& candidate);
    std::string room_refuses(const SubRequest& subrequest, const Candidate& candidate,
                             Amounts& consumed) const;
    std::string counters_refuse(const Candidate& candidate) const;
    std::string holders_text(const Pool& pool, const std::string& set,
                             const std::string& name) const;
    void count_counters(const Pool& pool, const Device& device, int sign);
    void refuse(Place place, const SubRequest& subrequest, DeviceId device, std::string reason);
    [[nodiscard]] std::string failure_text() const;
    void configure(Place place, const SubRequest& subrequest);

    const Cluster& cluster_;
    const NodeView& node_;
    const std::vector<Claim>& claims_;
    const std::function<std::string()>& new_share_;
    std::vector<Pool> pools_;
    std::vector<Candidate> candidates_;
    Books books_;
    std::map<DeviceId, unsigned> in_use_;  // claims and shares, for counters
    std::map<CounterId, Quantity::Nanos> counters_;
    std::vector<std::vector<ConstraintState>> constraints_;
    std::vector<Allocation> chosen_;
    std::map<std::pair<const SubRequest*, const Device*>, std::string> selected_;
    std::vector<Refusal> refusals_;
    std::set<std::tuple<std::string, std::string, DeviceId>> refused_;
    std::string fatal_;  // an error that ends the search
    std::size_t steps_ = 0;
};

}  // namespace aliquot::claims
