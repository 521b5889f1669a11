// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/region.h"
#include "guard/log.h"

namespace aliquot::guard {

inline constexpr unsigned kMaxPath = 4096;

/// What this process is asked to keep to, by the mounted config or else by the environment.
struct Settings {
    bool wanted = false;     // something limits this process, or wants it to be counted
    bool mounted = false;    // set by the agent: the environment has no say
    bool fail_open = false;  // run without limits when the guard cannot work
    char problem[64] = {};   // the variable that could not be understood; empty: none
    char config[kMaxPath] = {};
    char ledger[kMaxPath] = {};  // empty: this process alone
    char node[kMaxPath] = {};    // empty: none
    LogLevel log_level = LogLevel::kError;

    // Of the environment, by the container's GPU index; 0: none.
    std::uint64_t memory_bytes[abi::kRegionDevices] = {};
    std::uint32_t cap_ppm[abi::kRegionDevices] = {};
    std::uint32_t weight = 0;
};

/// Reads them; nothing is opened.
void read_settings(Settings& settings);

/// "2Gi", "512m", "3.5GiB", "1073741824" in bytes. Suffixes k, m, g, t in any case, with or without
/// i and B, are powers of 1024, as in HAMi; the decimal ones are not told apart.
/// returns  false: not of that form, or beyond 2^60
bool parse_bytes(const char* text, std::uint64_t& bytes);
/// "25", "12.5", "25%" as parts per million; 0 to 100 %.
bool parse_percent(const char* text, std::uint32_t& ppm);

/// Which of the container's GPUs CUDA's device `ordinal` of this process is, by
/// CUDA_VISIBLE_DEVICES; the ordinal itself where that names no numbers.
unsigned container_index(unsigned ordinal);

}  // namespace aliquot::guard
