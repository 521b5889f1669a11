// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "http/peer.h"

namespace aliquot::http {

/// What the open connections of a server hold, over all and for each peer. Used by one thread.
class Budget {
public:
    struct Share {
        std::size_t connections = 0;
        std::size_t bytes = 0;
        std::uint64_t turn = 0;  // when one of its requests was last given to a worker
    };
    using Shares = std::map<Peer, Share>;

    /// One connection's part; given back at its end.
    class Hold {
    public:
        Hold(Budget& budget, const Peer& peer);
        ~Hold();
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

        void set(std::size_t bytes);
        [[nodiscard]] std::size_t bytes() const { return bytes_; }
        [[nodiscard]] const Peer& peer() const { return of_peer_->first; }
        /// What all connections of its peer hold.
        [[nodiscard]] const Share& share() const { return of_peer_->second; }
        void take_turn() { of_peer_->second.turn = ++budget_.turns_; }

    private:
        Budget& budget_;
        Shares::iterator of_peer_;
        std::size_t bytes_ = 0;
    };

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    Shares shares_;  // of peers with a connection
    std::size_t bytes_ = 0;
    std::uint64_t turns_ = 0;
};

}  // namespace aliquot::http
