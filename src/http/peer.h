// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <array>

namespace aliquot::http {

/// Whom a connection comes from: its IP address, IPv4 as it is mapped into IPv6. All who use a unix
/// socket are one peer.
using Peer = std::array<unsigned char, 16>;

Peer peer_of(const sockaddr_storage& address);

}  // namespace aliquot::http
