// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "sim/smi/driver_library.h"

/// How the tool writes a figure, and what it writes for one that it could not get.
namespace aliquot::sim::smi {

/// printf into a string of any length.
[[gnu::format(printf, 1, 2)]] std::string print(const char* format, ...);

std::string table_problem(nvmlReturn_t code);   // "N/A", "ERR!"
std::string query_problem(nvmlReturn_t code);   // "[N/A]", "[GPU is lost]"
std::string detail_problem(nvmlReturn_t code);  // "N/A", "GPU is lost"

/// The text of a reading, or of its problem.
template <class T, class Text>
std::string text_or(const Reading<T>& reading, std::string (*problem)(nvmlReturn_t), Text text) {
    return reading.ok() ? std::string(text(reading.value)) : problem(reading.code);
}

std::string mib(std::uint64_t bytes);            // "15356"
std::string watts(unsigned milliwatts);          // "5.61"
std::string whole_watts(unsigned milliwatts);    // "6"
std::string on_off(unsigned state);              // "On", "Off"
std::string enabled_disabled(unsigned state);    // "Enabled", "Disabled"
std::string compute_mode_name(unsigned mode);    // "Exclusive_Process"
std::string architecture_name(unsigned number);  // "Ampere"
std::string cuda_text(int version);              // 13000 -> "13.0"
std::string date_text();                         // "Sat Nov 21 09:25:31 2026"
std::string timestamp_text();                    // "2026/11/21 09:25:31.042"

}  // namespace aliquot::sim::smi
