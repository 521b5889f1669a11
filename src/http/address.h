// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace aliquot::http {

/// A listening socket: non-blocking, not inherited by programs that are started.
/// address   "HOST:PORT" with an IP address or "localhost", ":PORT" (all addresses, IPv6 and IPv4),
///           "[::1]:PORT", "unix:PATH" (a host path; for its owner only, folders are made, a socket
///           where nobody answers is replaced)
/// errors    kInvalidInput: not such an address; kConflict: in use; kPermission
Result<Descriptor> listen_on(const std::string& address);

/// Whether listen_on() would understand it; opens nothing.
/// errors    kInvalidInput: not such an address
Result<Done> check_address(std::string_view address);

/// Whether only this host can reach it: a unix socket, 127.0.0.0/8 or [::1]. Opens nothing.
/// errors    kInvalidInput: not such an address, or others could
Result<Done> check_local(std::string_view address);

/// Gives a unix socket's file another mode and group; nothing to do for other addresses.
/// errors    kPermission: not a group of this process
Result<Done> open_socket_file(std::string_view address, unsigned mode,
                              std::optional<unsigned> group);

/// Removes a unix socket's file; nothing to do for other addresses.
void remove_socket_file(std::string_view address);

/// The port a socket is bound to; 0: it has none, as a unix socket.
unsigned port_of(const Descriptor& socket);

}  // namespace aliquot::http
