// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "cli/host/agent_states.h"
#include "top/cluster_snapshot.h"
#include "top/request.h"

namespace aliquot::cli {

/// Whether an agent at this place is this machine's.
bool is_local(const AgentPlace& place);

/// What one poll of all nodes gave.
struct TopUpdate {
    top::ClusterSnapshot cluster;
    std::vector<std::string> states;  // the agents' own JSON, as they gave it; empty: none
    bool any = false;                 // somebody has answered
};

/// Where `aliquot top` has its nodes from. For one thread at a time.
class TopSource {
public:
    virtual ~TopSource() = default;
    /// Ends at the source's deadline, or soon after `stop`. An agent that does not answer keeps the
    /// snapshot that it gave last, with the problem beside it.
    virtual TopUpdate poll(const std::stop_token& stop) = 0;
    /// Does what the user asked for: a text to show, or one line that says what was done. Thread-safe
    /// beside poll(). Without a cluster only processes of this machine can be ended.
    virtual Result<top::Reading> carry_out(const top::Request& request);
};

/// Agents by their addresses; none given: the one of this machine, by its socket or else its port.
class AgentSource : public TopSource {
public:
    AgentSource(std::vector<AgentPlace> places, const AskOptions& options);
    TopUpdate poll(const std::stop_token& stop) override;

private:
    TopUpdate take(std::vector<Result<std::string>> answers, const std::vector<AgentPlace>& places);

    AgentStates states_;
    bool usual_ = false;  // the places are two ways to the same agent
    std::vector<std::shared_ptr<const telemetry::Snapshot>> last_;
};

}  // namespace aliquot::cli
