// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "top/table.h"

namespace aliquot::top {

/// What the user asks for that is not on the screen; the program does it.
struct Request {
    enum class Kind : std::uint8_t {
        kEndProcess,  // SIGTERM to `pid` of this machine
        kDeletePod,   // through the API server
        kReadLog,     // of the pod's container
    };
    Kind kind = Kind::kReadLog;
    Subject subject;
    std::uint32_t pid = 0;  // of kEndProcess
};

/// What it is, for a question: "end process 4711 (python) with SIGTERM".
std::string to_text(const Request& request);

/// A text that is shown in place of the table.
struct Reading {
    std::string title;
    std::vector<std::string> lines;
    std::size_t top = 0;  // the first line on the screen
};

}  // namespace aliquot::top
