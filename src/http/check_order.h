// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <tuple>

#include "http/peer.h"

namespace aliquot::http {

/// Whose password is checked next, and when. A check costs about 60 ms of a core by design, so who
/// guesses must neither take a core for good nor stand in the way of who knows his password: there is
/// one check at a time, and after a wrong one a rest as long as the check was. Who was right before is
/// next and does not wait for the rest, then who was wrong least. Of those alike the last that came and
/// the first take turns: in a flood the first are attackers, and one who asks again at once would
/// always be the last. Used by one thread.
class CheckOrder {
public:
    using Time = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::steady_clock::duration;

    /// The one with the least is next.
    using Rank = std::tuple<bool, unsigned, Duration>;
    [[nodiscard]] Rank rank(const Peer& peer, Time came) const;

    /// From when on a password of this peer may be checked.
    [[nodiscard]] Time earliest(const Peer& peer) const;

    void note(const Peer& peer, bool right, Time began, Time now);

private:
    struct Record {
        bool was_right = false;
        unsigned wrong = 0;  // since it was right, or silent for a while
        Time last;
    };
    void make_room();

    std::map<Peer, Record> records_;
    Time rest_until_{};
    bool last_first_ = true;
};

}  // namespace aliquot::http
