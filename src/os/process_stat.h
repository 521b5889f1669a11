// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aliquot::os {

/// What one line of /proc/PID/stat tells, as far as we ask.
/// source   proc(5)
struct ProcessStat {
    std::uint32_t pid = 0;
    std::string command;  // at most 15 bytes of the program's name; may hold any byte
    char state = '?';
    std::uint32_t parent = 0;
    std::uint32_t group = 0;  // process group and session: the pid of who began it
    std::uint32_t session = 0;
    std::uint64_t cpu_ticks = 0;  // of all its threads, in the kernel and outside of it
    unsigned threads = 0;
    std::uint64_t start_ticks = 0;  // since boot

    /// It only waits for its parent to notice. A first thread that ended while others run on is
    /// shown like that too: such a process lives.
    [[nodiscard]] bool has_ended() const {
        return state == 'X' || state == 'x' || (state == 'Z' && threads <= 1);
    }
    friend bool operator==(const ProcessStat&, const ProcessStat&) = default;
};

/// How many ticks the kernel's files have in a second (USER_HZ: the same on all our machines).
inline constexpr std::uint64_t kTicksPerSecond = 100;

/// Empty: not such a line. Pure.
std::optional<ProcessStat> parse_stat(std::string_view line);

}  // namespace aliquot::os
