// SPDX-License-Identifier: Apache-2.0
#include "queue/quotas.h"

#include <algorithm>

namespace aliquot::queue {
namespace {

constexpr std::int64_t kMostMilli = std::int64_t{1} << 40;

Error wrong_queue(const std::string& name, const std::string& what) {
    return {ErrorCode::kInvalidInput, "queue " + name + ": " + what};
}

}  // namespace

PoolId Quotas::pool_of(const Queue& queue) {
    const std::string name = queue.cohort.empty() ? "q" + queue.name : "c" + queue.cohort;
    const auto [at, fresh] = pool_names_.try_emplace(name, static_cast<PoolId>(pools_.size()));
    if (fresh) pools_.emplace_back();
    return at->second;
}

void Quotas::add_up() {
    for (Pool& pool : pools_) pool = {.limited = true};
    for (const Seat& seat : seats_) {
        Pool& pool = pools_[seat.pool];
        pool.used += seat.used;
        if (seat.queue.quota_milli)
            pool.quota += *seat.queue.quota_milli;
        else
            pool.limited = false;
    }
}

Result<Done> Quotas::set(const Queue& queue) {
    const auto bad = [](std::int64_t milli) { return milli < 0 || milli > kMostMilli; };
    if (queue.quota_milli && bad(*queue.quota_milli))
        return wrong_queue(queue.name, "quota is " + std::to_string(*queue.quota_milli) +
                                           " milli, expected 0 or more");
    if (queue.borrow_milli && bad(*queue.borrow_milli))
        return wrong_queue(queue.name, "borrowing limit is " + std::to_string(*queue.borrow_milli) +
                                           " milli, expected 0 or more");
    if (queue.weight == 0 || queue.weight > 1'000'000)
        return wrong_queue(queue.name,
                           "weight is " + std::to_string(queue.weight) + ", expected 1 to 1000000");
    if (queue.limit < 0 || queue.limit > kLatest || queue.min_run < 0 || queue.min_run > kLatest)
        return wrong_queue(queue.name, "a time is less than nothing or beyond 2^50 ms");
    Seat& seat = seats_[id_of(queue.name)];
    seat.queue = queue;
    seat.pool = pool_of(queue);
    add_up();
    return Done{};
}

QueueId Quotas::id_of(const std::string& name) {
    const auto [at, fresh] = names_.try_emplace(name, static_cast<QueueId>(seats_.size()));
    if (fresh) {
        seats_.push_back({.queue = {.name = name}});
        seats_.back().pool = pool_of(seats_.back().queue);
    }
    return at->second;
}

std::optional<QueueId> Quotas::find(const std::string& name) const {
    const auto at = names_.find(name);
    if (at == names_.end()) return std::nullopt;
    return at->second;
}

std::int64_t Quotas::own_room(QueueId id) const {
    const Seat& seat = seats_[id];
    if (!seat.queue.quota_milli) return INT64_MAX;
    std::int64_t most = *seat.queue.quota_milli;
    if (!seat.queue.cohort.empty()) {
        if (!seat.queue.borrow_milli) return INT64_MAX;
        most += *seat.queue.borrow_milli;
    }
    return most - seat.used;
}

std::int64_t Quotas::pool_room(PoolId id) const {
    const Pool& pool = pools_[id];
    return pool.limited ? pool.quota - pool.used : INT64_MAX;
}

bool Quotas::ever_fits(QueueId id, std::int64_t milli) const {
    const Seat& seat = seats_[id];
    const std::int64_t own = own_room(id);
    if (own != INT64_MAX && milli > own + seat.used) return false;
    const Pool& pool = pools_[seat.pool];
    return !pool.limited || milli <= pool.quota;
}

std::int64_t Quotas::borrowed(QueueId id) const {
    const Seat& seat = seats_[id];
    return seat.queue.quota_milli ? std::max<std::int64_t>(0, seat.used - *seat.queue.quota_milli)
                                  : 0;
}

void Quotas::take(QueueId id, std::int64_t milli) {
    seats_[id].used += milli;
    pools_[seats_[id].pool].used += milli;
}

}  // namespace aliquot::queue
