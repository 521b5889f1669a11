// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "queue/queue.h"

namespace aliquot::queue {

using QueueId = std::uint32_t;
using PoolId = std::uint32_t;  // a cohort, or a queue that is in none: whose quotas count together

/// What queues may use and use. All in milli GPU.
class Quotas {
public:
    Result<Done> set(const Queue& queue);
    QueueId id_of(const std::string& name);  // makes one without quota where there is none
    [[nodiscard]] std::optional<QueueId> find(const std::string& name) const;
    [[nodiscard]] const Queue& queue(QueueId id) const { return seats_[id].queue; }
    [[nodiscard]] PoolId pool(QueueId id) const { return seats_[id].pool; }
    [[nodiscard]] std::size_t size() const { return seats_.size(); }
    [[nodiscard]] std::size_t pools() const { return pools_.size(); }
    [[nodiscard]] std::int64_t used(QueueId id) const { return seats_[id].used; }
    [[nodiscard]] std::int64_t pool_used(PoolId id) const { return pools_[id].used; }

    /// How much more the queue may take: by its own quota and borrowing limit, and by what its pool has left.
    /// INT64_MAX: no limit.
    [[nodiscard]] std::int64_t own_room(QueueId id) const;
    [[nodiscard]] std::int64_t pool_room(PoolId id) const;
    [[nodiscard]] bool fits(QueueId id, std::int64_t milli) const {
        return milli <= own_room(id) && milli <= pool_room(seats_[id].pool);
    }
    /// It could ever, with nothing else running.
    [[nodiscard]] bool ever_fits(QueueId id, std::int64_t milli) const;
    [[nodiscard]] bool is_limited(QueueId id) const {
        return seats_[id].queue.quota_milli.has_value() || pools_[seats_[id].pool].limited;
    }
    /// With so much more it is still within its own quota.
    [[nodiscard]] bool within_quota(QueueId id, std::int64_t milli) const {
        return seats_[id].queue.quota_milli &&
               seats_[id].used + milli <= *seats_[id].queue.quota_milli;
    }
    /// By how much it uses more than its quota; 0: it does not borrow.
    [[nodiscard]] std::int64_t borrowed(QueueId id) const;
    void take(QueueId id, std::int64_t milli);  // negative: gives back

private:
    struct Seat {
        Queue queue;
        PoolId pool = 0;
        std::int64_t used = 0;
    };
    struct Pool {
        std::int64_t quota = 0;  // of all its queues; counts where limited
        std::int64_t used = 0;
        bool limited = false;  // every queue of it has a quota
    };
    PoolId pool_of(const Queue& queue);
    void add_up();

    std::vector<Seat> seats_;
    std::vector<Pool> pools_;
    std::unordered_map<std::string, QueueId> names_;
    std::unordered_map<std::string, PoolId> pool_names_;
};

}  // namespace aliquot::queue
