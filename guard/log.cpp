// SPDX-License-Identifier: Apache-2.0
#include "guard/log.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "guard/kernel.h"

namespace aliquot::guard {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kError};
std::atomic<std::uint64_t> g_second{0};
std::atomic<unsigned> g_lines{0};
constexpr unsigned kMostLines = 100;

bool too_many() {
    const std::uint64_t second = kernel::now_ns() / 1'000'000'000u;
    if (g_second.exchange(second, std::memory_order_relaxed) != second)
        g_lines.store(0, std::memory_order_relaxed);
    return g_lines.fetch_add(1, std::memory_order_relaxed) >= kMostLines;
}

}  // namespace

void set_log_level(LogLevel level) { g_level.store(level, std::memory_order_relaxed); }

void log(LogLevel level, const char* format, ...) {
    if (level > g_level.load(std::memory_order_relaxed) || too_many()) return;
    const int error = errno;
    char line[512];
    int length = std::snprintf(line, sizeof line, "aliquot-guard[%d]: ", kernel::own_pid());
    va_list arguments;
    va_start(arguments, format);
    const int rest = std::vsnprintf(line + length, sizeof line - static_cast<unsigned>(length) - 1,
                                    format, arguments);
    va_end(arguments);
    length = length + rest < static_cast<int>(sizeof line) - 2 ? length + rest
                                                               : static_cast<int>(sizeof line) - 2;
    line[length++] = '\n';
    kernel::call(SYS_write, 2, kernel::as_long(line), length);
    errno = error;
}

}  // namespace aliquot::guard
