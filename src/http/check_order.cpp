// SPDX-License-Identifier: Apache-2.0
#include "http/check_order.h"

#include <algorithm>

namespace aliquot::http {
namespace {

constexpr std::size_t kMostRecords = 1024;
constexpr unsigned kTrust = 8;  // so often may be wrong who was right
constexpr std::chrono::seconds kForgiven{60};

}  // namespace

CheckOrder::Rank CheckOrder::rank(const Peer& peer, Time came) const {
    const auto found = records_.find(peer);
    const Record known = found == records_.end() ? Record{} : found->second;
    const bool trusted = known.was_right && known.wrong < kTrust;
    const Duration since = came.time_since_epoch();
    return {!trusted, known.wrong, last_first_ ? -since : since};
}

CheckOrder::Time CheckOrder::earliest(const Peer& peer) const {
    const auto found = records_.find(peer);
    const bool rests =
        found == records_.end() || !found->second.was_right || found->second.wrong > 0;
    return rests ? rest_until_ : Time{};
}

void CheckOrder::note(const Peer& peer, bool right, Time began, Time now) {
    last_first_ = !last_first_;
    if (!right) rest_until_ = now + (now - began);
    if (records_.size() >= kMostRecords && !records_.contains(peer)) make_room();
    Record& record = records_[peer];
    if (now - record.last > kForgiven) record.wrong = 0;
    record.was_right = record.was_right || right;
    record.wrong = right ? 0 : record.wrong + 1;
    record.last = now;
}

/// Forgets the one that was heard of longest ago, one who never was right before one who was.
void CheckOrder::make_room() {
    const auto oldest =
        std::min_element(records_.begin(), records_.end(), [](const auto& a, const auto& b) {
            return std::pair(a.second.was_right, a.second.last) <
                   std::pair(b.second.was_right, b.second.last);
        });
    records_.erase(oldest);
}

}  // namespace aliquot::http
