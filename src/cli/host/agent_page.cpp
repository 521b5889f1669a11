// SPDX-License-Identifier: Apache-2.0
#include "cli/host/agent_page.h"

#include <cstdlib>

#include "cli/local_server.h"

namespace aliquot::cli {

std::string usual_agent() {
    const char* const named =
        std::getenv("ALIQUOT_AGENT");  // NOLINT(concurrency-mt-unsafe): at start
    return named == nullptr || *named == '\0' ? std::string(kAgentAddress) : named;
}

Result<std::string> ask_agent(std::string_view address, std::string_view path) {
    auto answer =
        ask({.who = "node agent", .address = std::string(address), .path = std::string(path)});
    if (!answer && answer.error().code == ErrorCode::kInvalidInput) {
        return Error{ErrorCode::kInvalidInput,
                     "'" + std::string(address) +
                         "' is not an agent address; expected unix:/run/aliquot/agent.sock or "
                         "127.0.0.1:PORT"};
    }
    if (!answer) return std::move(answer).error();
    if (answer->status != 200) {
        return Error{ErrorCode::kUnavailable, "node agent at " + std::string(address) +
                                                  ": answers " + std::to_string(answer->status)};
    }
    return std::move(answer->body);
}

}  // namespace aliquot::cli
