// SPDX-License-Identifier: Apache-2.0
#include "mps/control.h"

#include <algorithm>

#include "base/sentence.h"
#include "base/text.h"
#include "os/exchange.h"

namespace aliquot::mps {
namespace {

constexpr std::size_t kMostOutput = 256UL << 10U;
constexpr std::size_t kLongestQuote = 160;

bool says_any(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](std::string_view word) { return text.contains(word); });
}

/// The program's last words, on one line.
std::string shown(const std::string& output) {
    const std::string text = one_line(join(words_of(output), " "), kLongestQuote);
    return text.empty() ? "nothing" : "'" + text + "'";
}

/// Only what is in uuids: nothing else may come into a command.
bool is_plain(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '-';
    });
}

}  // namespace

Result<std::string> Control::ask(const std::string& command,
                                 std::chrono::milliseconds longer) const {
    auto environment = options_.environment;
    environment["CUDA_MPS_PIPE_DIRECTORY"] = options_.pipe_directory;
    auto done = os::exchange({.argv = {options_.program}, .environment = std::move(environment)},
                             command + "\n",
                             {.deadline = options_.deadline + longer, .output_bytes = kMostOutput});
    if (!done) return std::move(done).error().during(command);
    if (done->exit.code == 0) return std::move(done->output);
    // "Cannot find MPS control daemon process"
    const bool away = done->exit.signal != 0 || done->output.contains("Cannot find");
    return Error{away ? ErrorCode::kUnavailable : ErrorCode::kConflict,
                 command + ": nvidia-cuda-mps-control ended with code " +
                     std::to_string(done->exit.code) + " and says " + shown(done->output)};
}

Result<Done> Control::tell(const std::string& command, std::chrono::milliseconds longer) const {
    auto answer = ask(command, longer);
    if (!answer) return std::move(answer).error();
    // Success is silent or a bare number; a refusal may come with exit code 0.
    if (says_any(*answer,
                 {"rror", "nvalid", "nrecognized", "nknown", "ailed", "annot", "denied"})) {
        return Error{ErrorCode::kConflict,
                     command + ": nvidia-cuda-mps-control says " + shown(*answer)};
    }
    return Done{};
}

Result<double> Control::default_thread_percentage() const {
    auto answer = ask("get_default_active_thread_percentage");
    if (!answer) return std::move(answer).error();
    return parse_percentage(*answer);
}

Result<Done> Control::set_default_thread_percentage(unsigned percent) const {
    return tell("set_default_active_thread_percentage " + std::to_string(percent));
}

Result<Done> Control::set_thread_percentage(std::uint32_t server, unsigned percent) const {
    return tell("set_active_thread_percentage " + std::to_string(server) + " " +
                std::to_string(percent));
}

Result<std::optional<std::uint64_t>> Control::default_memory_limit(const gpu::Uuid& gpu) const {
    if (!is_plain(gpu.text)) return Error{ErrorCode::kInvalidInput, gpu.text + " is no GPU's name"};
    auto answer = ask("get_default_device_pinned_mem_limit " + gpu.text);
    if (!answer) return std::move(answer).error();
    return parse_memory_limit(*answer);
}

Result<Done> Control::set_default_memory_limit(const gpu::Uuid& gpu, std::uint64_t bytes) const {
    if (!is_plain(gpu.text)) return Error{ErrorCode::kInvalidInput, gpu.text + " is no GPU's name"};
    return tell("set_default_device_pinned_mem_limit " + gpu.text + " " + memory_limit_text(bytes));
}

Result<Done> Control::set_memory_limit(std::uint32_t server, const gpu::Uuid& gpu,
                                       std::uint64_t bytes) const {
    if (!is_plain(gpu.text)) return Error{ErrorCode::kInvalidInput, gpu.text + " is no GPU's name"};
    return tell("set_device_pinned_mem_limit " + std::to_string(server) + " " + gpu.text + " " +
                memory_limit_text(bytes));
}

Result<std::vector<std::uint32_t>> Control::servers() const {
    auto answer = ask("get_server_list");
    if (!answer) return std::move(answer).error();
    return parse_pids(*answer);
}

Result<ServerState> Control::server_state(std::uint32_t server) const {
    auto answer = ask("get_server_status " + std::to_string(server));
    if (!answer) return std::move(answer).error();
    return parse_server_state(*answer);
}

Result<std::vector<std::uint32_t>> Control::clients_of(std::uint32_t server) const {
    auto answer = ask("get_client_list " + std::to_string(server));
    if (!answer) return std::move(answer).error();
    return parse_pids(*answer);
}

Result<std::vector<ClientRow>> Control::clients() const {
    auto answer = ask("ps");
    if (answer) {
        auto rows = parse_process_table(*answer);
        if (rows) return rows;
    } else if (answer.error().code == ErrorCode::kUnavailable) {
        return std::move(answer).error();
    }
    const auto all = servers();
    if (!all) return all.error();
    std::vector<ClientRow> rows;
    for (const std::uint32_t server : *all) {
        const auto clients = clients_of(server);
        if (!clients) return clients.error();
        for (const std::uint32_t pid : *clients) rows.push_back({.pid = pid, .server = server});
    }
    return rows;
}

Result<Done> Control::terminate_client(std::uint32_t server, std::uint32_t client) const {
    return tell("terminate_client " + std::to_string(server) + " " + std::to_string(client));
}

Result<Done> Control::shut_down_server(std::uint32_t server, ServerShutdown shutdown) const {
    return tell("shutdown_server " + std::to_string(server) +
                (shutdown == ServerShutdown::kForced ? " -f" : ""));
}

Result<Done> Control::quit(std::chrono::seconds wait) const {
    return tell("quit -t " + std::to_string(wait.count()), wait);
}

}  // namespace aliquot::mps
