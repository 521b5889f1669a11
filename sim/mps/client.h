// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "sim/mps/line_socket.h"

namespace aliquot::sim::mps {

/// What a CUDA program is to MPS: connected to a server through the control daemon of its pipe
/// directory, until it is destroyed. Not thread-safe.
class Client {
public:
    /// Waits its turn while a server of another user is still needed.
    /// pipe_directory   CUDA_MPS_PIPE_DIRECTORY
    /// errors   kNotFound, kUnavailable: no daemon there (a CUDA program then goes on without MPS);
    ///          kConflict: the server does not take it (too many clients, the GPU is busy)
    static Result<Client> connect(const std::string& pipe_directory, const std::string& command);

    [[nodiscard]] std::uint32_t server() const { return server_; }
    [[nodiscard]] unsigned gpu() const { return gpu_; }  // of the node
    /// Limits of this process, after what CUDA_MPS_PINNED_DEVICE_MEM_LIMIT and
    /// CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of its environment lower.
    [[nodiscard]] std::optional<std::uint64_t> memory_limit() const { return memory_limit_; }
    [[nodiscard]] unsigned thread_percent() const { return thread_percent_; }
    /// Whether the server is still there; a CUDA program gets an error from its next call when not.
    bool connected();

private:
    explicit Client(LineSocket socket) : socket_(std::move(socket)) {}
    LineSocket socket_;
    std::uint32_t server_ = 0;
    unsigned gpu_ = 0;
    std::optional<std::uint64_t> memory_limit_;
    unsigned thread_percent_ = 100;
};

/// The limit for the first device in "0=1G,1=512M"; empty: none, or not readable.
std::optional<std::uint64_t> limit_of_first_device(const std::string& variable);

}  // namespace aliquot::sim::mps
