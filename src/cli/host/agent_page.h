// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace aliquot::cli {

/// Where the node agent listens unless it was told otherwise.
inline constexpr std::string_view kAgentAddress = "unix:/run/aliquot/agent.sock";

/// The address that ALIQUOT_AGENT names, else kAgentAddress.
std::string usual_agent();

/// Asks the node agent for one of its pages: GET `path`, at most 3 seconds and 16 MiB.
/// address   as the agent's --http-listen: "unix:/run/aliquot/agent.sock", "127.0.0.1:PORT"
/// errors    kInvalidInput: not such an address; kNotFound: nobody listens there; kPermission;
///           kUnavailable: no good answer
Result<std::string> ask_agent(std::string_view address, std::string_view path);

}  // namespace aliquot::cli
