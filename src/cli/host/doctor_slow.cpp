// SPDX-License-Identifier: Apache-2.0
#include "cli/host/doctor_slow.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "base/text.h"
#include "cli/host/agent_states.h"
#include "cli/host/top_driver.h"
#include "cli/host/top_source.h"
#include "command_line/command.h"
#include "doctor/cluster.h"
#include "doctor/measured.h"

namespace aliquot::cli {
namespace {

constexpr std::chrono::milliseconds kProxyDeadline{5000};

std::string path_of(const std::string& node, bool later) {
    return "agent/" + node + (later ? "/state-later.json" : "/state.json");
}

/// A node's name as a part of a path.
std::string safe_name(std::string name) {
    std::ranges::replace(name, '/', '_');
    if (name.empty() || name.starts_with('.')) name = "this-host";
    return name.substr(0, 253);
}

void refuse(bundle::Tree& tree, const std::string& node, const std::string& why) {
    tree.add(path_of(safe_name(node), false),
             {.kind = bundle::Entry::Kind::kUnreadable, .content = why});
}

void add_update(TopUpdate update, bool later, bundle::Tree& tree) {
    for (std::size_t i = 0; i < update.cluster.agents.size(); ++i) {
        const top::Agent& agent = update.cluster.agents[i];
        if (update.states[i].empty() || !agent.snapshot) {
            if (!later) refuse(tree, agent.address, agent.problem);
            continue;
        }
        tree.add_text(path_of(safe_name(agent.snapshot->node), later), std::move(update.states[i]));
    }
}

void look_twice(TopSource& source, TopUpdate first, unsigned seconds, bundle::Tree& tree) {
    add_update(std::move(first), false, tree);
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    add_update(source.poll({}), true, tree);
}

/// The pod of our agent on a node; nullptr: none runs there.
const doctor::Object* agent_on(const doctor::ClusterFacts& cluster, const std::string& node) {
    for (const doctor::Object* const pod : cluster.pods_on(node)) {
        const auto labels = doctor::labels_of(*pod);
        const auto part = labels.find("app.kubernetes.io/component");
        const auto name = labels.find("app.kubernetes.io/name");
        const bool ours = part != labels.end() && part->second == "agent" && name != labels.end() &&
                          name->second == "aliquot";
        if (ours || pod->name.starts_with("aliquot-agent")) return pod;
    }
    return nullptr;
}

/// The port that its container calls "metrics".
std::string metrics_port(const doctor::Object& pod) {
    for (const doctor::Value* const container : doctor::containers_of(pod)) {
        for (const doctor::Value& port : document::items_at(*container, {"ports"})) {
            if (document::text_at(port, {"name"}) == "metrics") {
                return document::text_at(port, {"containerPort"});
            }
        }
    }
    return "9400";
}

std::string reason_of(const kube_client::Failure& failure, const doctor::Object& agent) {
    if (failure.is(kube_client::Reason::kForbidden)) {
        return "the agent's page: a role must allow: get pods/proxy in the namespace " +
               agent.space;
    }
    return "the agent's page of pod " + agent.id() + ": " + failure.message;
}

/// "4711 python3, 4800 tritonserver"; the first ones.
std::string processes_on_gpus(const doctor::TelemetryFacts& told) {
    constexpr std::size_t kMost = 8;
    std::vector<std::string> names;
    for (const doctor::ShareUse& share : told.shares) {
        for (const std::uint32_t pid : share.pids) {
            names.push_back(std::to_string(pid) + " " +
                            (share.pod.empty() ? share.container : share.pod));
        }
    }
    if (names.size() > kMost) {
        names.resize(kMost);
        names.emplace_back("...");
    }
    return names.empty() ? "none" : join(names, ", ");
}

}  // namespace

bool uses_a_gpu(Context& context, const doctor::Facts& facts) {
    const std::uint32_t pid = facts.target.pid;
    if (pid == 0 || !facts.telemetry.known || !doctor::asked_shares(facts).empty()) return true;
    fail(context, kUsage,
         "--pid " + std::to_string(pid) +
             " uses no GPU of this host; processes that do: " + processes_on_gpus(facts.telemetry));
    return false;
}

void add_slow_flags(command_line::Command& command, SlowOptions& options) {
    command.add_flag("--slow", options.asked,
                     "Measure for a few seconds what slows down the pod, node or host");
    command
        .add_option("--slow-seconds", options.seconds, "With --slow: how long to measure",
                    "SECONDS")
        ->range(1U, 60U);
    command
        .add_option("--agent", options.agents,
                    "With --slow: node agents to ask, as `aliquot top --agent`", "ADDRESS")
        ->delimiter(',');
    command.add_option("--container", options.container,
                       "With --slow: only this container of the pod", "NAME");
    command.add_option("--pid", options.pid, "With --slow: only this process of the host", "PID");
}

bool complete(Context& context, SlowOptions& options, const std::vector<std::string>& target) {
    const std::string kind = target.empty() ? "" : target[0];
    options.asked =
        options.asked || !options.agents.empty() || options.pid != 0 || !options.container.empty();
    std::string problem;
    if (!options.container.empty() && kind != "pod") {
        problem = "--container belongs to doctor pod NAMESPACE/POD";
    } else if (options.pid != 0 && !kind.empty() && kind != "host") {
        problem = "--pid is a process of this machine; expected doctor host, found " + kind;
    } else if (options.asked && kind == "cluster") {
        problem =
            "--slow measures one host, node or pod; expected doctor pod NAMESPACE/POD --slow, "
            "found cluster";
    }
    if (!problem.empty()) fail(context, kUsage, problem);
    return problem.empty();
}

bool add_states(Context& context, const SlowOptions& options, const std::string& node_state,
                bundle::Tree& tree) {
    std::vector<std::string> addresses = options.agents;
    if (addresses.empty() && !node_state.empty()) {
        const std::string agent = agent_of_node(node_state);
        if (!agent.empty()) addresses = {agent};
    }
    std::vector<AgentPlace> places;
    for (const std::string& text : addresses) {
        auto place = parse_agent(text);
        if (!place) {
            fail(context, kUsage, place.error().message);
            return false;
        }
        places.push_back(*std::move(place));
    }
    const bool driver_only = addresses.empty() && !node_state.empty();
    std::unique_ptr<TopSource> source;
    TopUpdate first;
    if (!driver_only) {
        source = std::make_unique<AgentSource>(std::move(places), AskOptions{});
        first = source->poll({});
    }
    if (!first.any && addresses.empty()) {
        auto driver = open_driver_source({.node_state = node_state});
        if (!driver) {
            const std::string no_agent =
                first.cluster.agents.empty() ? "" : first.cluster.agents[0].problem + "; ";
            refuse(tree, "this-host", no_agent + driver.error().message);
            return true;
        }
        source = *std::move(driver);
        first = source->poll({});
    }
    look_twice(*source, std::move(first), options.seconds, tree);
    return true;
}

void add_states_of_cluster(kube_client::Api& api, const SlowOptions& options,
                           const std::vector<std::string>& target, bundle::Tree& tree) {
    if (target.size() != 2) return;
    const doctor::ClusterFacts cluster = doctor::cluster_of(tree);
    std::string node = target[1];
    if (target[0] == "pod") {
        const auto slash = std::min(node.find('/'), node.size());
        const doctor::Object* const pod = cluster.find(
            "Pod", node.substr(0, slash), node.substr(std::min(slash + 1, node.size())));
        node = pod == nullptr ? "" : doctor::node_of(*pod);
        if (node.empty()) return refuse(tree, "no-node", "the pod is on no node yet");
    }
    const doctor::Object* const agent = agent_on(cluster, node);
    if (agent == nullptr) {
        return refuse(tree, node,
                      "no node agent runs on " + node +
                          " (or its pod may not be listed); name one with --agent");
    }
    const std::string path = "/api/v1/namespaces/" + kube_client::encode_part(agent->space) +
                             "/pods/http:" + kube_client::encode_part(agent->name) + ":" +
                             metrics_port(*agent) + "/proxy/api/v1/state";
    for (const bool later : {false, true}) {
        auto state = api.get_raw(path, {.deadline = kProxyDeadline});
        if (!state && !later) return refuse(tree, node, reason_of(state.failure(), *agent));
        if (state) tree.add_text(path_of(safe_name(node), later), *std::move(state));
        if (!later) std::this_thread::sleep_for(std::chrono::seconds(options.seconds));
    }
}

}  // namespace aliquot::cli
