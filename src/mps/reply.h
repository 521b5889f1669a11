// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// What nvidia-cuda-mps-control prints, read. Any bytes may come; nothing throws.
/// source   NVIDIA, Multi-Process Service, "Tools and Interface Reference"
namespace aliquot::mps {

enum class ServerState : std::uint8_t { kInitializing, kActive, kFault, kUnknown };

/// One line of `ps`.
struct ClientRow {
    std::uint32_t pid = 0;  // in the daemon's pid namespace
    std::uint32_t server = 0;
    std::string device;   // the beginning of the GPU's uuid
    std::string command;  // as far as the daemon knows it
    friend bool operator==(const ClientRow&, const ClientRow&) = default;
};

/// "25.0" or "25": above 0 to 100.
Result<double> parse_percentage(std::string_view reply);

/// "3G", "3072M", "512K", "1073741824": powers of 1024. Empty value: there is no limit (the reply is
/// empty or says so).
/// errors   kInvalidInput: something else
Result<std::optional<std::uint64_t>> parse_memory_limit(std::string_view reply);

/// Pids, one a line; of get_server_list and get_client_list. At most 4096.
Result<std::vector<std::uint32_t>> parse_pids(std::string_view reply);

/// Of get_server_status.
ServerState parse_server_state(std::string_view reply);
std::string_view to_text(ServerState state);

/// The table of `ps`: the first line names the columns, which are found by name; lines that are no
/// rows are passed over. At most 4096 rows.
/// errors   kInvalidInput: text without the columns PID and SERVER
Result<std::vector<ClientRow>> parse_process_table(std::string_view reply);

/// How a memory limit is written in commands and variables: whole MiB, rounded down: "3072M".
std::string memory_limit_text(std::uint64_t bytes);

}  // namespace aliquot::mps
