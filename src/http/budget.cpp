// SPDX-License-Identifier: Apache-2.0
#include "http/budget.h"

#include <netinet/in.h>

#include <algorithm>

namespace aliquot::http {

Peer peer_of(const sockaddr_storage& address) {
    Peer peer{};
    if (address.ss_family == AF_INET6) {
        const auto& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr.s6_addr;
        std::copy(std::begin(six), std::end(six), peer.begin());
    } else if (address.ss_family == AF_INET) {
        const auto& four = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
        const auto* const bytes = reinterpret_cast<const unsigned char*>(&four);
        peer[10] = peer[11] = 0xff;
        std::copy(bytes, bytes + sizeof four, peer.begin() + 12);
    }
    return peer;
}

Budget::Hold::Hold(Budget& budget, const Peer& peer)
    : budget_(budget), of_peer_(budget.shares_.try_emplace(peer).first) {
    ++of_peer_->second.connections;
}

Budget::Hold::~Hold() {
    set(0);
    if (--of_peer_->second.connections == 0) budget_.shares_.erase(of_peer_);
}

void Budget::Hold::set(std::size_t bytes) {
    budget_.bytes_ = budget_.bytes_ - bytes_ + bytes;
    of_peer_->second.bytes = of_peer_->second.bytes - bytes_ + bytes;
    bytes_ = bytes;
}

}  // namespace aliquot::http
