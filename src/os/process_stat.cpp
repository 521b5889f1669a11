// SPDX-License-Identifier: Apache-2.0
#include "os/process_stat.h"

#include "base/number.h"
#include "base/take_text.h"

namespace aliquot::os {
namespace {

/// A field that is -1 for "none" counts as 0.
bool read_pid(std::string_view word, std::uint32_t& pid) {
    const auto number = parse_number<std::int64_t>(word);
    if (!number || *number > 0xffff'ffffLL) return false;
    pid = *number < 0 ? 0 : static_cast<std::uint32_t>(*number);
    return true;
}

}  // namespace

std::optional<ProcessStat> parse_stat(std::string_view line) {
    // The name may hold blanks and parentheses: it ends at the last one.
    const auto open = line.find('(');
    const auto close = line.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
        return std::nullopt;
    }
    ProcessStat stat;
    std::string_view before = line.substr(0, open);
    if (!read_pid(take_word(before), stat.pid) || !take_word(before).empty()) return std::nullopt;
    stat.command = line.substr(open + 1, close - open - 1);

    std::string_view rest = line.substr(close + 1);
    const std::string_view state = take_word(rest);
    if (state.size() != 1) return std::nullopt;
    stat.state = state.front();
    if (!read_pid(take_word(rest), stat.parent) || !read_pid(take_word(rest), stat.group) ||
        !read_pid(take_word(rest), stat.session)) {
        return std::nullopt;
    }
    constexpr int kFromTerminalToFaults = 7;  // fields 7 to 13
    for (int i = 0; i < kFromTerminalToFaults; ++i) take_word(rest);
    const auto user = parse_number<std::uint64_t>(take_word(rest));
    const auto kernel = parse_number<std::uint64_t>(take_word(rest));
    stat.cpu_ticks = user.value_or(0) + kernel.value_or(0);
    constexpr int kFromChildrenToNice = 4;  // fields 16 to 19
    for (int i = 0; i < kFromChildrenToNice; ++i) take_word(rest);
    const auto threads = parse_number<decltype(stat.threads)>(take_word(rest));
    take_word(rest);  // field 21
    const auto start = parse_number<decltype(stat.start_ticks)>(take_word(rest));
    if (!threads || !start) return std::nullopt;
    stat.threads = *threads;
    stat.start_ticks = *start;
    return stat;
}

}  // namespace aliquot::os
