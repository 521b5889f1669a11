// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace aliquot::http {

/// A listening socket: non-blocking, not inherited by programs that are started.
/// address   "HOST:PORT" with an IP address or "localhost", ":PORT" (all addresses, IPv6 and IPv4),
///           "[::1]:PORT"
/// errors    kInvalidInput: not such an address; kConflict: in use; kPermission
Result<Descriptor> listen_on(const std::string& address);

/// Whether listen_on() would understand it; opens nothing.
/// errors    kInvalidInput: not such an address
Result<Done> check_address(std::string_view address);

/// The port a socket is bound to; 0 when that cannot be told.
unsigned port_of(const Descriptor& socket);

}  // namespace aliquot::http
