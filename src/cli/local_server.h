// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace aliquot::cli {

/// What is asked of a server of this machine.
struct Asked {
    std::string who;      // "node agent", for messages
    std::string address;  // "unix:/run/aliquot/agent.sock", "127.0.0.1:9401"
    std::string method = "GET";
    std::string path;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    std::chrono::milliseconds deadline{3000};  // for all of it
};

struct Answer {
    int status = 0;
    std::string head;  // in lower case
    std::string body;
    /// Empty: there is none.
    [[nodiscard]] std::string header(std::string_view lower_case_name) const;
};

/// One question on a connection of its own; the answer has at most 32 MiB.
/// errors   kInvalidInput: no such address; kNotFound: nobody listens there; kPermission; kUnavailable
Result<Answer> ask(const Asked& asked);

}  // namespace aliquot::cli
