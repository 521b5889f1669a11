// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

#include "sim/apiserver/http_server.h"

namespace aliquot::sim::apiserver {

/// An SSL_CTX; empty for plain HTTP.
using TlsContext = std::shared_ptr<void>;

/// errors   kInvalidInput: the PEM texts are no certificate and its key
Result<TlsContext> make_tls_context(const HttpTls& tls);

/// Answers what comes over one socket until it is closed. Does not close the socket itself.
void serve_connection(int socket, const TlsContext& context, const HttpServer::Handler& handler,
                      const std::atomic<bool>& stopping);

}  // namespace aliquot::sim::apiserver
