// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace aliquot::guard {

enum class LogLevel : std::uint8_t { kOff, kError, kInfo, kDebug };

void set_log_level(LogLevel level);

/// One line to standard error, "aliquot-guard[PID]: ...". At most 100 lines a second.
__attribute__((format(printf, 2, 3))) void log(LogLevel level, const char* format, ...);

}  // namespace aliquot::guard
