// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/aliquot-probe/arguments.h"

namespace aliquot::probe {

struct SeenGpu {
    int index = 0;
    std::string uuid;  // "GPU-..." or "MIG-..."
    std::string name;
    std::uint64_t memory_mib = 0;  // as the driver tells this process
};

/// What was found. An empty `ok` of a check: it was not made, `how` says why.
struct Answer {
    std::string driver;  // "12.8": the CUDA version it speaks
    std::vector<SeenGpu> gpus;
    struct {
        std::optional<bool> ok;
        unsigned expected = 0;
    } visible;
    struct {
        std::optional<bool> ok;
        std::uint64_t elements = 0;  // of all GPUs together
        std::string how;
    } arithmetic;
    struct {
        std::optional<bool> ok;
        std::uint64_t limit_mib = 0;
        std::uint64_t held_mib = 0;        // the most that we got
        std::uint64_t refused_at_mib = 0;  // 0: never refused
        std::string how;
    } share;
    std::string problem;     // one line; empty: all well
    bool could_ask = false;  // there is a driver with a GPU

    [[nodiscard]] int exit_code() const;
};

/// Looks at every GPU that is visible. Leaves a context open on each, so that a holder stays one.
Answer look(const Arguments& arguments);

/// One line of JSON.
std::string to_json(const Answer& answer);

}  // namespace aliquot::probe
