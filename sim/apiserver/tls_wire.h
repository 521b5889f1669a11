// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/apiserver/http_connection.h"

namespace aliquot::sim::apiserver {

/// Bytes over a socket, with TLS or without. For one thread.
class Wire {
public:
    /// nullptr: the handshake failed.
    static std::unique_ptr<Wire> open(int socket, const TlsContext& context);
    Wire() = default;
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;
    virtual ~Wire() = default;

    /// 0: the other side has closed or nothing came within `patience_ms`.
    virtual std::size_t read(char* buffer, std::size_t size, int patience_ms) = 0;
    virtual bool write(std::string_view bytes) = 0;
    /// The subject of a verified client certificate; empty: none.
    [[nodiscard]] virtual std::string peer_name() const { return {}; }
    [[nodiscard]] virtual std::vector<std::string> peer_groups() const { return {}; }
};

}  // namespace aliquot::sim::apiserver
