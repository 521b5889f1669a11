// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"
#include "mps/reply.h"

namespace aliquot::mps {

/// kForced   ends the work of its clients; else the server ends when they are gone.
enum class ServerShutdown : std::uint8_t { kWhenIdle, kForced };

/// Speaks to one control daemon through NVIDIA's program: a command on its standard input, the
/// answer from its standard output; each call is one short-lived process with a deadline.
/// Immutable and thread-safe.
/// errors common to all   kNotFound: no such program; kUnavailable: no daemon, or it does not answer
///          in time; kConflict: it refuses (the message has its words); kInvalidInput: an answer
///          that is none
class Control {
public:
    struct Options {
        std::string program;                             // file of this machine
        std::map<std::string, std::string> environment;  // what the program needs to run
        std::string pipe_directory;                      // as this process sees it
        std::chrono::milliseconds deadline{3000};
    };
    explicit Control(Options options) : options_(std::move(options)) {}

    [[nodiscard]] Result<double> default_thread_percentage() const;
    [[nodiscard]] Result<Done> set_default_thread_percentage(unsigned percent) const;
    /// Of the servers that run: counts for clients that come later.
    [[nodiscard]] Result<Done> set_thread_percentage(std::uint32_t server, unsigned percent) const;
    [[nodiscard]] Result<std::optional<std::uint64_t>> default_memory_limit(
        const gpu::Uuid& gpu) const;
    [[nodiscard]] Result<Done> set_default_memory_limit(const gpu::Uuid& gpu,
                                                        std::uint64_t bytes) const;
    [[nodiscard]] Result<Done> set_memory_limit(std::uint32_t server, const gpu::Uuid& gpu,
                                                std::uint64_t bytes) const;
    [[nodiscard]] Result<std::vector<std::uint32_t>> servers() const;
    [[nodiscard]] Result<ServerState> server_state(std::uint32_t server) const;
    [[nodiscard]] Result<std::vector<std::uint32_t>> clients_of(std::uint32_t server) const;
    /// `ps`; a driver too old for it is asked server by server, then commands are empty.
    [[nodiscard]] Result<std::vector<ClientRow>> clients() const;
    /// Ends the work of one client on the GPU; the others of the server go on.
    [[nodiscard]] Result<Done> terminate_client(std::uint32_t server, std::uint32_t client) const;
    [[nodiscard]] Result<Done> shut_down_server(std::uint32_t server,
                                                ServerShutdown shutdown) const;
    /// Ends the daemon; it waits at most `wait` for its clients, then ends them.
    [[nodiscard]] Result<Done> quit(std::chrono::seconds wait) const;

    [[nodiscard]] const Options& options() const { return options_; }

private:
    [[nodiscard]] Result<std::string> ask(const std::string& command,
                                          std::chrono::milliseconds longer = {}) const;
    [[nodiscard]] Result<Done> tell(const std::string& command,
                                    std::chrono::milliseconds longer = {}) const;
    Options options_;
};

}  // namespace aliquot::mps
