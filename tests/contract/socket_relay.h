// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace aliquot::contract {

/// Stands between two ends of a unix socket, passes every byte on and keeps a copy. Thread-safe.
class SocketRelay {
public:
    /// Listens on `from` and connects to `to` for each client. Throws std::system_error when it
    /// cannot listen.
    SocketRelay(const std::string& from, std::string to);
    ~SocketRelay();

    /// All bytes so far: from the clients, and from the server.
    [[nodiscard]] std::string sent_by_client() const;
    [[nodiscard]] std::string sent_by_server() const;

private:
    void accept_clients();
    void pass(int client);

    const std::string to_;
    int listener_ = -1;
    std::atomic<bool> ended_ = false;
    mutable std::mutex mutex_;
    std::string client_bytes_;
    std::string server_bytes_;
    std::vector<std::jthread> connections_;
    std::jthread acceptor_;
};

}  // namespace aliquot::contract
