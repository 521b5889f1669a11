// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/mps/line_socket.h"
#include "sim/node/node.h"

namespace aliquot::sim::mps {

/// The simulated MPS control daemon: servers by user, clients in turn, limits, the commands of
/// nvidia-cuda-mps-control. One process, one thread.
class Daemon {
public:
    struct Options {
        std::filesystem::path node;
        std::filesystem::path pipe_directory;
        std::string visible_devices;  // CUDA_VISIBLE_DEVICES; empty: all
        bool multi_user = false;      // one server for the users together
    };

    /// Makes the pipe directory and its files: control, control_privileged, control_lock, log and
    /// nvidia-cuda-mps-control.pid.
    /// errors   kConflict: another daemon has this pipe directory; kNotFound: no node, no GPU
    static Result<std::unique_ptr<Daemon>> open(const Options& options);
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;
    ~Daemon();

    /// Works until it is told to quit, or SIGTERM.
    void run();

private:
    struct Limits {
        double threads = 100;
        std::map<unsigned, std::uint64_t> memory;  // by GPU of the node
    };
    struct Client {
        pid_t pid = 0;
        uid_t uid = 0;
        std::string command;
    };
    struct Waiting {
        Client client;
        LineSocket socket;
    };
    struct Server {
        pid_t pid = 0;
        uid_t uid = 0;
        LineSocket socket;
        bool up = false;
        bool ending = false;
        Limits limits;
        std::vector<Client> clients;
    };
    struct Reply {
        std::string text;
        int code = 0;
    };
    using Words = std::vector<std::string>;

    Daemon(Node node, std::filesystem::path pipe_directory, bool multi_user);
    Result<Done> listen();
    void poll_once();
    void accept(int listener);
    void hear(std::size_t connection);
    void hear_server(std::size_t server);
    void dispatch();
    bool hand_over(Waiting& waiting);
    Server* start_server(uid_t uid);
    void refuse_waiting(uid_t uid, const std::string& why);
    void say(const std::string& text) const;

    // daemon_commands.cpp
    Reply obey(const Words& words, uid_t uid);
    Reply obey_default(const Words& words);
    Reply obey_server(const Words& words);
    [[nodiscard]] std::string table() const;
    Server* server_of(const std::string& pid);
    [[nodiscard]] std::optional<unsigned> device_of(const std::string& name) const;

    Node node_;
    std::filesystem::path pipe_directory_;
    bool multi_user_;
    std::vector<unsigned> gpus_;
    unsigned most_clients_ = 48;
    bool has_limits_ = true;
    Limits defaults_;
    unsigned priority_ = 0;
    std::vector<int> listeners_;
    int lock_ = -1;
    std::vector<LineSocket> connections_;
    std::vector<Waiting> waiting_;
    std::vector<Server> servers_;
    std::optional<std::chrono::steady_clock::time_point> quit_at_;
};

}  // namespace aliquot::sim::mps
