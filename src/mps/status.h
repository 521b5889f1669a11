// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/inventory.h"
#include "mps/process.h"
#include "mps/reply.h"

namespace aliquot::mps {

/// What one process may use of a GPU, enforced by the MPS server.
struct Limits {
    std::optional<std::uint64_t> memory_bytes;  // whole MiB count; empty: all
    unsigned thread_percent = 100;              // of the multiprocessors, 1 to 100
    friend bool operator==(const Limits&, const Limits&) = default;
};

/// A GPU that is to be shared by MPS.
struct DaemonSpec {
    gpu::Uuid gpu;
    Limits limits;
    friend bool operator==(const DaemonSpec&, const DaemonSpec&) = default;
};

enum class Phase : std::uint8_t {
    kStarting,
    kWaiting,  // for processes to leave the GPU
    kServing,
    kFailed,    // will be tried again
    kStopping,  // not wanted any more; waits for its clients
};
std::string_view to_text(Phase phase);

/// A process that computes on the GPU through MPS.
struct Client {
    std::uint32_t pid = 0;
    std::uint32_t server = 0;
    std::string command;
    PodName pod;  // empty: of no pod, or not to be seen from here
    friend bool operator==(const Client&, const Client&) = default;
};

/// One control daemon at one moment.
struct Status {
    gpu::Uuid gpu;
    Phase phase = Phase::kStarting;
    std::string reason;  // why it does not serve, in words for a person; empty: it serves
    std::chrono::system_clock::time_point since;  // in this phase
    pid_t daemon = 0;                             // 0: none runs
    unsigned restarts = 0;                        // starts after the first, by this agent
    bool private_shm = true;
    Limits limits;
    struct Server {
        std::uint32_t pid = 0;
        ServerState state = ServerState::kUnknown;
        friend bool operator==(const Server&, const Server&) = default;
    };
    std::vector<Server> servers;
    std::vector<Client> clients;

    [[nodiscard]] bool serves() const { return phase == Phase::kServing; }
    friend bool operator==(const Status&, const Status&) = default;
};

}  // namespace aliquot::mps
