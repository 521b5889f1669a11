// SPDX-License-Identifier: Apache-2.0
#include "sim/mps/server.h"

#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace aliquot::sim::mps {
namespace {

constexpr std::uint64_t kContextBytes = 28ULL << 20U;  // what a server takes of each GPU
constexpr int kGlanceMs = 250;                         // between looks whether the GPU still works

class Server {
public:
    Server(Node& node, const ServerOptions& options, LineSocket control)
        : node_(node), options_(options), control_(std::move(control)) {}

    int run() {
        if (!take_gpus()) return 1;
        control_.send("up\n");
        while (!ending_ || !clients_.empty()) {
            if (!gpus_work()) return 1;
            wait();
        }
        return 0;
    }

private:
    struct Client {
        pid_t pid = 0;
        LineSocket socket;
    };

    bool take_gpus() {
        const auto pid = static_cast<std::uint32_t>(::getpid());
        for (const unsigned gpu : options_.gpus) {
            const auto taken =
                node_.set_process(gpu, pid, kContextBytes, 0, {}, ProcessKind::kMpsServer);
            if (taken) continue;
            control_.send("failed " + taken.error().message + "\n");
            return false;
        }
        return true;
    }

    [[nodiscard]] bool gpus_work() const {
        const auto all = node_.gpus();
        return std::ranges::all_of(options_.gpus, [&](unsigned gpu) {
            return gpu < all.size() && !all[gpu].fault.starts_with("lost");
        });
    }

    void wait() {
        std::vector<pollfd> sources;
        sources.push_back(
            {.fd = control_gone_ ? -1 : control_.descriptor(), .events = POLLIN, .revents = 0});
        for (const Client& client : clients_) {
            sources.push_back({.fd = client.socket.descriptor(), .events = POLLIN, .revents = 0});
        }
        if (::poll(sources.data(), sources.size(), kGlanceMs) <= 0) return;
        for (std::size_t i = clients_.size(); i-- > 0;) {
            if (sources[i + 1].revents == 0 || clients_[i].socket.receive()) continue;
            drop(i);
        }
        if (sources.front().revents != 0) obey();
    }

    void drop(std::size_t i) {
        control_.send("gone " + std::to_string(clients_[i].pid) + "\n");
        clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
    }

    void obey() {
        const bool open = control_.receive();
        while (const auto line = control_.take_line()) obey(*line);
        if (open) return;
        control_gone_ = true;
        ending_ = true;
    }

    void obey(const std::string& line) {
        std::istringstream words(line);
        std::string verb;
        pid_t pid = 0;
        words >> verb >> pid;
        if (verb == "client") {
            std::string memory;
            std::string threads;
            words >> memory >> threads;
            greet({.pid = pid, .socket = LineSocket(control_.take_descriptor())}, memory, threads);
        } else if (verb == "terminate") {
            for (std::size_t i = clients_.size(); i-- > 0;) {
                if (clients_[i].pid == pid) drop(i);
            }
        } else if (verb == "shutdown") {
            ending_ = true;
        } else if (verb == "abandon") {
            ending_ = true;
            clients_.clear();
        }
    }

    void greet(Client client, const std::string& memory, const std::string& threads) {
        if (clients_.size() >= options_.most_clients) {
            client.socket.send("refused the MPS server has its " +
                               std::to_string(options_.most_clients) + " clients already\n");
            control_.send("gone " + std::to_string(client.pid) + "\n");
            return;
        }
        client.socket.send("ready " + std::to_string(::getpid()) + " " +
                           std::to_string(options_.gpus.front()) + " " + memory + " " + threads +
                           "\n");
        clients_.push_back(std::move(client));
    }

    Node& node_;
    const ServerOptions& options_;
    LineSocket control_;
    std::vector<Client> clients_;
    bool control_gone_ = false;
    bool ending_ = false;
};

}  // namespace

int serve(Node& node, const ServerOptions& options, LineSocket control) {
    ::prctl(PR_SET_NAME, "nvidia-cuda-mps-server");
    if (::geteuid() == 0 && options.uid != 0) {
        const bool changed = ::setgroups(0, nullptr) == 0 && ::setgid(options.uid) == 0 &&
                             ::setuid(options.uid) == 0;
        if (!changed) {
            control.send("failed cannot become user " + std::to_string(options.uid) + "\n");
            return 1;
        }
    }
    return Server(node, options, std::move(control)).run();
}

}  // namespace aliquot::sim::mps
