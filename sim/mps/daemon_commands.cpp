// SPDX-License-Identifier: Apache-2.0
// The commands of nvidia-cuda-mps-control.
#include <algorithm>
#include <array>
#include <cstdio>

#include "base/number.h"
#include "sim/mps/amount.h"
#include "sim/mps/daemon.h"

namespace aliquot::sim::mps {
namespace {

std::optional<double> percentage_of(const std::string& text) {
    const auto value = parse_decimal(text);
    return value && *value > 0 && *value <= 100 ? value : std::nullopt;
}

std::string percentage_text(double value) { return fixed_text(value, 1) + "\n"; }

}  // namespace

Daemon::Server* Daemon::server_of(const std::string& pid) {
    const auto found = std::ranges::find_if(
        servers_, [&](const Server& server) { return std::to_string(server.pid) == pid; });
    return found == servers_.end() ? nullptr : &*found;
}

std::optional<unsigned> Daemon::device_of(const std::string& name) const {
    const auto all = node_.gpus();
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
        const bool same = gpus_[i] < all.size() && all[gpus_[i]].uuid == name;
        if (same || std::to_string(i) == name) return gpus_[i];
    }
    return std::nullopt;
}

Daemon::Reply Daemon::obey(const Words& words, uid_t uid) {
    const Reply unknown{.text =
                            "Unrecognized command. Available commands: get_server_list, ps, "
                            "get_client_list, quit, ...\n",
                        .code = 1};
    if (words.empty()) return unknown;
    const std::string& verb = words.front();
    const bool changes = !verb.starts_with("get_") && verb != "ps";
    if (changes && uid != 0 && uid != ::geteuid())
        return {.text = "Permission denied\n", .code = 1};
    if (verb == "get_server_list") {
        std::string text;
        for (const Server& server : servers_) text += std::to_string(server.pid) + "\n";
        return {.text = std::move(text)};
    }
    if (verb == "ps") return {.text = table()};
    if (verb == "quit") {
        const auto seconds = words.size() == 3 && words[1] == "-t"
                                 ? parse_number<unsigned>(words[2]).value_or(0)
                                 : 0;
        quit_at_ = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
        return {};
    }
    if (verb == "start_server" && words.size() == 3 && words[1] == "-uid") {
        const auto user = parse_number<uid_t>(words[2]);
        if (!user) return {.text = "Invalid user id\n", .code = 1};
        if (servers_.empty()) start_server(*user);
        return {};
    }
    if (verb == "get_default_client_priority") return {.text = std::to_string(priority_) + "\n"};
    if (verb == "set_default_client_priority" && words.size() == 2) {
        const auto level = parse_number<unsigned>(words[1]);
        if (!level || *level > 1) return {.text = "Invalid priority\n", .code = 1};
        priority_ = *level;
        return {};
    }
    if (verb.find("_default_") != std::string::npos) return obey_default(words);
    if (verb == "get_device_client_list" && words.size() == 1) {
        std::string text;
        for (const Server& server : servers_) {
            for (const Client& client : server.clients) text += std::to_string(client.pid) + "\n";
        }
        return {.text = std::move(text)};
    }
    if (words.size() < 2) return unknown;
    return obey_server(words);
}

Daemon::Reply Daemon::obey_default(const Words& words) {
    const std::string& verb = words.front();
    if (verb == "get_default_active_thread_percentage") {
        return {.text = percentage_text(defaults_.threads)};
    }
    if (verb == "set_default_active_thread_percentage" && words.size() == 2) {
        const auto percent = percentage_of(words[1]);
        if (!percent) return {.text = "Invalid percentage\n", .code = 1};
        defaults_.threads = *percent;
        return {.text = percentage_text(*percent)};
    }
    const auto device = words.size() >= 2 ? device_of(words[1]) : gpus_.front();
    if (!device) return {.text = "Invalid device\n", .code = 1};
    if (verb == "get_default_device_pinned_mem_limit") {
        const auto limit = defaults_.memory.find(*device);
        return {.text = limit == defaults_.memory.end() ? "" : amount_text(limit->second) + "\n"};
    }
    if (verb == "set_default_device_pinned_mem_limit" && words.size() == 3) {
        const auto bytes = parse_amount(words[2]);
        if (!bytes) return {.text = "Invalid memory limit\n", .code = 1};
        defaults_.memory[*device] = *bytes;
        return {};
    }
    return {.text = "Unrecognized command\n", .code = 1};
}

Daemon::Reply Daemon::obey_server(const Words& words) {
    const std::string& verb = words.front();
    Server* const server = server_of(words[1]);
    if (server == nullptr) return {.text = "Cannot find server " + words[1] + "\n", .code = 1};
    if (verb == "get_server_status") return {.text = server->up ? "ACTIVE\n" : "INITIALIZING\n"};
    if (verb == "get_client_list" || verb == "get_device_client_list") {
        std::string text;
        for (const Client& client : server->clients) text += std::to_string(client.pid) + "\n";
        return {.text = std::move(text)};
    }
    if (verb == "shutdown_server") {
        const bool force = words.size() == 3 && words[2] == "-f";
        server->ending = true;
        server->socket.send(force ? "abandon 0\n" : "shutdown 0\n");
        return {};
    }
    if (verb == "get_active_thread_percentage") {
        return {.text = percentage_text(server->limits.threads)};
    }
    if (words.size() < 3) return {.text = "Unrecognized command\n", .code = 1};
    if (verb == "set_active_thread_percentage") {
        const auto percent = percentage_of(words[2]);
        if (!percent) return {.text = "Invalid percentage\n", .code = 1};
        server->limits.threads = *percent;
        return {.text = percentage_text(*percent)};
    }
    if (verb == "terminate_client") {
        const bool known = std::ranges::any_of(server->clients, [&](const Client& client) {
            return std::to_string(client.pid) == words[2];
        });
        if (!known) return {.text = "Cannot find client " + words[2] + "\n", .code = 1};
        server->socket.send("terminate " + words[2] + "\n");
        return {};
    }
    const auto device = device_of(words[2]);
    if (!device) return {.text = "Invalid device\n", .code = 1};
    if (verb == "get_device_pinned_mem_limit") {
        const auto limit = server->limits.memory.find(*device);
        return {.text =
                    limit == server->limits.memory.end() ? "" : amount_text(limit->second) + "\n"};
    }
    if (verb == "set_device_pinned_mem_limit" && words.size() == 4) {
        const auto bytes = parse_amount(words[3]);
        if (!bytes) return {.text = "Invalid memory limit\n", .code = 1};
        server->limits.memory[*device] = *bytes;
        return {};
    }
    return {.text = "Unrecognized command\n", .code = 1};
}

std::string Daemon::table() const {
    constexpr std::size_t kUuidShown = 22;  // the real program shortens it
    std::string text = "PID       ID    SERVER    DEVICE                  NAMESPACE     COMMAND\n";
    const auto all = node_.gpus();
    for (const Server& server : servers_) {
        for (const Client& client : server.clients) {
            for (std::size_t i = 0; i < gpus_.size() && gpus_[i] < all.size(); ++i) {
                std::array<char, 256> row{};
                std::snprintf(row.data(), row.size(), "%-9d %-5zu %-9d %-23s %-13u %.120s\n",
                              client.pid, i, server.pid,
                              all[gpus_[i]].uuid.substr(0, kUuidShown).c_str(), 4026531836U,
                              client.command.c_str());
                text += row.data();
            }
        }
    }
    return text;
}

}  // namespace aliquot::sim::mps
