// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/spawner.h"

namespace aliquot::os {

struct ExchangeLimits {
    std::chrono::milliseconds deadline{5000};  // for the whole of it
    std::size_t output_bytes = 64UL << 10U;    // more is an error
    std::stop_token stop{};                    // ends it before, within a tenth of a second
};

struct Exchange {
    Exit exit;
    std::string output;  // stdout and stderr
};

/// Runs a program to its end with `input` as its standard input. The program (with its group) is
/// killed when a limit passes. Blocks the caller; no thread.
/// input    at most 4096 bytes: it is written before anything is read
/// errors   those of Process::start(); kInvalidInput: the input is too long; kUnavailable: not done
///          in time or before a stop, or too much output
Result<Exchange> exchange(Command command, std::string_view input, const ExchangeLimits& limits);

}  // namespace aliquot::os
