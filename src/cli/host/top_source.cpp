// SPDX-License-Identifier: Apache-2.0
#include "cli/host/top_source.h"

#include <utility>

#include "cli/host/agent_page.h"
#include "cli/host/process_facts.h"
#include "telemetry/json.h"

namespace aliquot::cli {
namespace {

constexpr std::string_view kUsualHttp = "127.0.0.1:9400";

std::vector<AgentPlace> usual_places() {
    std::vector<AgentPlace> places;
    for (const std::string_view text : {kAgentAddress, kUsualHttp}) {
        if (auto place = parse_agent(text)) places.push_back(*std::move(place));
    }
    return places;
}

/// What is wrong, without who it is about: that stands beside it.
std::string without_name(const std::string& message, const std::string& name) {
    const std::string who = "node agent at " + name + ": ";
    return message.starts_with(who) ? message.substr(who.size()) : message;
}

}  // namespace

bool is_local(const AgentPlace& place) {
    return !place.socket.empty() || place.url.starts_with("http://127.0.0.1") ||
           place.url.starts_with("http://localhost") || place.url.starts_with("http://[::1]");
}

Result<top::Reading> TopSource::carry_out(const top::Request& request) {
    if (request.kind != top::Request::Kind::kEndProcess) {
        return Error{ErrorCode::kUnsupported,
                     "which cluster is the pod of? start with --context or --kubeconfig"};
    }
    if (auto ended = end_process(request.pid, request.subject.command); !ended)
        return std::move(ended).error();
    return top::Reading{.title = "SIGTERM sent to process " + std::to_string(request.pid)};
}

AgentSource::AgentSource(std::vector<AgentPlace> places, const AskOptions& options)
    : states_(places.empty() ? usual_places() : places, options),
      usual_(places.empty()),
      last_(states_.places().size()) {}

TopUpdate AgentSource::poll(const std::stop_token& stop) {
    return take(states_.ask(stop), states_.places());
}

TopUpdate AgentSource::take(std::vector<Result<std::string>> answers,
                            const std::vector<AgentPlace>& places) {
    TopUpdate update;
    update.cluster.now = std::chrono::system_clock::now();
    for (std::size_t i = 0; i < answers.size(); ++i) {
        top::Agent agent{.address = places[i].name};
        std::string state;
        if (answers[i]) {
            auto snapshot = telemetry::parse_state(*answers[i]);
            if (snapshot) {
                last_[i] = std::make_shared<const telemetry::Snapshot>(*std::move(snapshot));
                state = *std::move(answers[i]);
                update.any = true;
            } else {
                agent.problem = "its state is not of this version: " + snapshot.error().message;
            }
        } else {
            agent.problem = without_name(answers[i].error().message, places[i].name);
        }
        agent.snapshot = last_[i];
        if (agent.snapshot && is_local(places[i]))
            agent.processes = read_process_facts(*agent.snapshot);
        update.cluster.agents.push_back(std::move(agent));
        update.states.push_back(std::move(state));
    }
    if (!usual_) return update;
    // Two ways to one agent: the one that works, else the better explanation.
    const auto& agents = update.cluster.agents;
    std::size_t best = 0;
    if (!agents[0].snapshot && (agents[1].snapshot || !answers[0])) {
        const bool absent = !answers[0] && answers[0].error().code == ErrorCode::kNotFound;
        if (agents[1].snapshot || absent) best = 1;
    }
    const bool nobody = !update.any && !answers[0] && !answers[1] &&
                        answers[0].error().code == ErrorCode::kNotFound &&
                        answers[1].error().code == ErrorCode::kNotFound;
    update.cluster.agents = {update.cluster.agents[best]};
    update.states = {update.states[best]};
    if (nobody && !update.cluster.agents[0].snapshot) {
        update.cluster.agents[0].address = "this machine";
        update.cluster.agents[0].problem =
            "no node agent: nobody listens at " + std::string(kAgentAddress) + " or " +
            std::string(kUsualHttp) +
            "; name one with --agent, or a simulated node with --node-state";
    }
    return update;
}

}  // namespace aliquot::cli
