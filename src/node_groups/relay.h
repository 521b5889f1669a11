// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>

#include "base/descriptor.h"
#include "http/tls.h"

namespace aliquot::node_groups {

/// Takes TLS off a connection: bytes between `outside` (TLS, non-blocking) and `inside` (plain), until either ends or a
/// stop. The greeting has 10 seconds. At most 64 KiB lie in between each way.
/// greeted   becomes true once the client has shown its certificate
void relay(Descriptor outside, Descriptor inside, std::shared_ptr<const http::TlsContext> tls,
           std::atomic<bool>& greeted, const std::stop_token& stop);

}  // namespace aliquot::node_groups
