// SPDX-License-Identifier: Apache-2.0
#include "pods/process_stat.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace aliquot::pods {
namespace {

/// Cuts the next word off; empty: there is none.
std::string_view next_word(std::string_view& rest) {
    const auto begin = rest.find_first_not_of(" \n");
    if (begin == std::string_view::npos) return {};
    rest.remove_prefix(begin);
    const auto end = std::min(rest.find_first_of(" \n"), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end);
    return word;
}

template <class Number>
bool read_number(std::string_view word, Number& number) {
    const char* const end = word.data() + word.size();
    const auto [stop, problem] = std::from_chars(word.data(), end, number);
    return problem == std::errc{} && stop == end && !word.empty();
}

/// A field that is -1 for "none" counts as 0.
bool read_pid(std::string_view word, std::uint32_t& pid) {
    std::int64_t number = 0;
    if (!read_number(word, number) || number > 0xffff'ffffLL) return false;
    pid = number < 0 ? 0 : static_cast<std::uint32_t>(number);
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
    if (!read_pid(next_word(before), stat.pid) || !next_word(before).empty()) return std::nullopt;
    stat.command = line.substr(open + 1, close - open - 1);

    std::string_view rest = line.substr(close + 1);
    const std::string_view state = next_word(rest);
    if (state.size() != 1) return std::nullopt;
    stat.state = state.front();
    if (!read_pid(next_word(rest), stat.parent) || !read_pid(next_word(rest), stat.group) ||
        !read_pid(next_word(rest), stat.session)) {
        return std::nullopt;
    }
    constexpr int kFromTerminalToNice = 13;  // fields 7 to 19
    for (int i = 0; i < kFromTerminalToNice; ++i) next_word(rest);
    if (!read_number(next_word(rest), stat.threads)) return std::nullopt;
    next_word(rest);  // field 21
    if (!read_number(next_word(rest), stat.start_ticks)) return std::nullopt;
    return stat;
}

}  // namespace aliquot::pods
