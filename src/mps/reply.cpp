// SPDX-License-Identifier: Apache-2.0
#include "mps/reply.h"

#include <algorithm>
#include <cmath>

#include "base/number.h"
#include "base/sentence.h"
#include "base/take_text.h"
#include "base/text.h"

namespace aliquot::mps {
namespace {

constexpr std::size_t kMostRows = 4096;
constexpr std::size_t kLongestQuote = 80;
constexpr std::size_t kLongestWord = 256;

/// What is odd about a reply, for one line of a message.
std::string quoted(std::string_view reply) {
    return "'" + one_line(trim(reply), kLongestQuote) + "'";
}

Error unexpected(std::string_view reply, std::string_view expected) {
    return {ErrorCode::kInvalidInput, "nvidia-cuda-mps-control says " + quoted(reply) + " where " +
                                          std::string(expected) + " is expected"};
}

std::optional<std::uint32_t> pid_of(std::string_view text) {
    const auto pid = parse_number<std::uint32_t>(text);
    return pid == 0U ? std::nullopt : pid;
}

}  // namespace

Result<double> parse_percentage(std::string_view reply) {
    const auto value = parse_decimal(trim(reply));
    if (value && *value > 0 && *value <= 100) return *value;
    return unexpected(reply, "a percentage");
}

Result<std::optional<std::uint64_t>> parse_memory_limit(std::string_view reply) {
    std::string_view text = trim(reply);
    for (const std::string_view word : {"unlimited", "none", "not set", "no limit"}) {
        if (starts_with_folded(text, word)) return std::optional<std::uint64_t>{};
    }
    if (text.empty() || text == "0") return std::optional<std::uint64_t>{};
    double unit = 1;
    if (lower(text.back()) == 'b' && text.size() > 1) text.remove_suffix(1);
    switch (lower(text.back())) {
        case 'k':
            unit = 1024.0;
            break;
        case 'm':
            unit = 1024.0 * 1024;
            break;
        case 'g':
            unit = 1024.0 * 1024 * 1024;
            break;
        default:
            break;
    }
    if (unit != 1) text.remove_suffix(1);
    const auto value = parse_decimal(trim(text));
    constexpr double kMost = 1e18;
    if (!value || *value < 0 || *value * unit > kMost) {
        return unexpected(reply, "an amount of memory");
    }
    return std::optional<std::uint64_t>(static_cast<std::uint64_t>(*value * unit));
}

Result<std::vector<std::uint32_t>> parse_pids(std::string_view reply) {
    std::vector<std::uint32_t> pids;
    for (std::string_view rest = reply; !rest.empty();) {
        const auto line = trim(take_line(rest));
        if (line.empty()) continue;
        const auto pid = pid_of(line);
        if (!pid || pids.size() == kMostRows) return unexpected(line, "a list of process ids");
        pids.push_back(*pid);
    }
    return pids;
}

ServerState parse_server_state(std::string_view reply) {
    const auto text = trim(reply);
    if (starts_with_folded(text, "active")) return ServerState::kActive;
    if (starts_with_folded(text, "initializing")) return ServerState::kInitializing;
    if (starts_with_folded(text, "fault")) return ServerState::kFault;
    return ServerState::kUnknown;
}

std::string_view to_text(ServerState state) {
    switch (state) {
        case ServerState::kInitializing:
            return "INITIALIZING";
        case ServerState::kActive:
            return "ACTIVE";
        case ServerState::kFault:
            return "FAULT";
        case ServerState::kUnknown:
            return "UNKNOWN";
    }
    return "";
}

Result<std::vector<ClientRow>> parse_process_table(std::string_view reply) {
    std::vector<ClientRow> rows;
    if (trim(reply).empty()) return rows;
    std::string_view rest = trim(reply);
    std::vector<std::string_view> columns;
    for (std::string_view header = take_line(rest); !trim(header).empty();) {
        columns.push_back(take_word(header));
        if (columns.size() > 32) break;
    }
    const auto has = [&](std::string_view name) {
        return std::ranges::find(columns, name) != columns.end();
    };
    if (!has("PID") || !has("SERVER")) return unexpected(reply, "a table with PID and SERVER");
    while (!rest.empty() && rows.size() < kMostRows) {
        std::string_view line = take_line(rest);
        ClientRow row;
        bool whole = true;
        for (const std::string_view column : columns) {
            if (column == "COMMAND") {
                row.command = trim(line).substr(0, kLongestWord);
                break;
            }
            const std::string_view word = take_word(line);
            if (column == "PID" || column == "SERVER") {
                const auto pid = pid_of(word);
                whole = whole && pid.has_value();
                (column == "PID" ? row.pid : row.server) = pid.value_or(0);
            }
            if (column == "DEVICE") row.device = word.substr(0, kLongestWord);
        }
        if (whole) rows.push_back(std::move(row));
    }
    return rows;
}

std::string memory_limit_text(std::uint64_t bytes) {
    constexpr unsigned kMiB = 20;
    return std::to_string(bytes >> kMiB) + "M";
}

}  // namespace aliquot::mps
