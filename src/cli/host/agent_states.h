// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::cli {

/// Where the state of one node agent is to be had.
struct AgentPlace {
    std::string name;    // as the user wrote it
    std::string socket;  // of its unix socket; empty: none
    std::string url;     // of /api/v1/state there
};

/// Reads an address of an agent: "unix:/run/aliquot/agent.sock", "HOST" (port 9400), "HOST:PORT",
/// "[::1]:9400", "http://...", "https://..."; of a URL with a path that is a prefix (a proxy).
/// errors   kInvalidInput: none of these, or a URL with a name and password in it
Result<AgentPlace> parse_agent(std::string_view text);

struct AskOptions {
    std::chrono::milliseconds deadline{3000};
    std::string ca_file;      // who vouches for https; empty: the system's
    std::string credentials;  // "name:password"; empty: none
};

/// Asks many node agents for their state, all at once, over connections that stay open between
/// looks. Answers are limited to 16 MiB each, redirects are not followed, proxies not used. For one
/// thread at a time.
class AgentStates {
public:
    AgentStates(std::vector<AgentPlace> places, AskOptions options);
    ~AgentStates();
    AgentStates(const AgentStates&) = delete;
    AgentStates& operator=(const AgentStates&) = delete;

    /// One look: the bodies in the order of the places. Ends at the deadline, or when `stop` is
    /// requested.
    /// errors   kNotFound: nobody listens there; kPermission: it lets us not, or wants a name and
    ///          password; kUnsupported: it has no such page; kUnavailable: all else
    std::vector<Result<std::string>> ask(const std::stop_token& stop = {});

    [[nodiscard]] const std::vector<AgentPlace>& places() const;

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::cli
