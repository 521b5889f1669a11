// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/top_cluster.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json_value.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/cluster/cluster_flags.h"
#include "telemetry/json.h"

namespace aliquot::cli {
namespace {

using std::chrono::milliseconds;

constexpr const char* kAgents = "app.kubernetes.io/name=aliquot,app.kubernetes.io/component=agent";
constexpr std::chrono::seconds kBetweenLists{30};
constexpr std::size_t kAtOnce = 16;
constexpr unsigned kLogLines = 1000;

struct AgentPod {
    std::string node;
    std::string path;  // of its state, through the API server
    friend bool operator==(const AgentPod&, const AgentPod&) = default;
};

/// Of a pod's JSON; empty: it is on no node yet.
std::optional<AgentPod> read_agent(const kube_client::Object& object) {
    const nlohmann::json pod = parse_json<nlohmann::json>(object.json);
    if (pod.is_discarded() || !pod.contains("spec") || !pod["spec"].is_object())
        return std::nullopt;
    const auto& spec = pod["spec"];
    const auto node = spec.find("nodeName");
    if (node == spec.end() || !node->is_string()) return std::nullopt;
    return AgentPod{.node = node->get<std::string>(),
                    .path = "/api/v1/namespaces/" + object.namespace_name + "/pods/" + object.name +
                            ":9400/proxy/api/v1/state"};
}

std::string words_of(const kube_client::Failure& failure) {
    const std::string right = missing_right(failure.message);
    return right.empty() ? failure.message : failure.message + "; a role must allow: " + right;
}

class ClusterSource final : public TopSource {
public:
    ClusterSource(kube_client::Connection connection, milliseconds timeout)
        : connection_(std::move(connection)), timeout_(timeout) {}

    TopUpdate poll(const std::stop_token& stop) override {
        const auto now = std::chrono::steady_clock::now();
        if (!listed_ || now - *listed_ >= kBetweenLists) {
            if (auto problem = list(stop); !problem.empty() && agents_.empty())
                return nobody(std::move(problem));
        }
        if (agents_.empty()) {
            listed_.reset();
            return nobody("no pod with the labels " + std::string(kAgents) +
                          " runs there; aliquot install brings the agent");
        }
        std::vector<kube_client::Outcome<std::string>> answers(
            agents_.size(), kube_client::Outcome<std::string>(std::string()));
        for_each_in_parallel(agents_.size(), kAtOnce, [&](std::size_t i) {
            answers[i] =
                connection_.api->get_raw(agents_[i].path, {.deadline = timeout_, .stop = stop});
        });
        TopUpdate update;
        update.cluster.now = std::chrono::system_clock::now();
        for (std::size_t i = 0; i < agents_.size(); ++i) take(update, agents_[i], answers[i]);
        return update;
    }

    Result<top::Reading> carry_out(const top::Request& request) override {
        if (request.kind == top::Request::Kind::kEndProcess) return TopSource::carry_out(request);
        const top::Subject& pod = request.subject;
        const kube_client::ObjectKey key{pod.pod_namespace, pod.pod};
        const kube_client::Call call{.deadline = std::max(timeout_, milliseconds{10'000})};
        if (request.kind == top::Request::Kind::kDeletePod) {
            const auto gone =
                connection_.api->remove(kube_client::resources::pods(), key, {.call = call});
            if (!gone) return Error{ErrorCode::kUnavailable, words_of(gone.failure())};
            return top::Reading{.title = "pod " + pod.pod + " deleted"};
        }
        const auto log = connection_.api->get_raw(
            "/api/v1/namespaces/" + pod.pod_namespace + "/pods/" + pod.pod +
                "/log?tailLines=" + std::to_string(kLogLines) +
                (pod.container.empty() ? "" : "&container=" + pod.container),
            call);
        if (!log) return Error{ErrorCode::kUnavailable, words_of(log.failure())};
        top::Reading reading{.title = "log of " + pod.pod_namespace + "/" + pod.pod};
        for (const std::string_view line : split(*log, '\n')) reading.lines.emplace_back(line);
        while (!reading.lines.empty() && reading.lines.back().empty()) reading.lines.pop_back();
        reading.top = reading.lines.size();  // the newest
        return reading;
    }

private:
    /// Empty, or why not.
    std::string list(const std::stop_token& stop) {
        const auto pods = connection_.api->list(
            kube_client::resources::pods(),
            {.label_selector = kAgents,
             .field_selector = "status.phase=Running",
             .keep_managed_fields = false},
            {.deadline = std::max(timeout_, milliseconds{10'000}), .stop = stop});
        if (!pods) return words_of(pods.failure());
        listed_ = std::chrono::steady_clock::now();
        agents_.clear();
        for (const kube_client::Object& object : pods->items) {
            if (auto agent = read_agent(object)) agents_.push_back(*std::move(agent));
        }
        std::ranges::sort(agents_, {}, &AgentPod::node);
        std::erase_if(last_, [&](const auto& known) {
            return std::ranges::find(agents_, known.first, &AgentPod::node) == agents_.end();
        });
        return {};
    }

    [[nodiscard]] TopUpdate nobody(std::string problem) const {
        TopUpdate update;
        update.cluster.now = std::chrono::system_clock::now();
        update.cluster.agents = {
            {.address = connection_.origin, .snapshot = nullptr, .problem = std::move(problem)}};
        update.states = {""};
        return update;
    }

    void take(TopUpdate& update, const AgentPod& pod, kube_client::Outcome<std::string>& answer) {
        top::Agent agent{.address = pod.node};
        std::string state;
        if (!answer) {
            agent.problem = words_of(answer.failure());
        } else if (auto snapshot = telemetry::parse_state(*answer); snapshot) {
            last_[pod.node] = std::make_shared<const telemetry::Snapshot>(*std::move(snapshot));
            state = *std::move(answer);
            update.any = true;
        } else {
            agent.problem = "its state is not of this version: " + snapshot.error().message;
        }
        agent.snapshot = last_[pod.node];
        update.cluster.agents.push_back(std::move(agent));
        update.states.push_back(std::move(state));
    }

    kube_client::Connection connection_;
    milliseconds timeout_;
    std::optional<std::chrono::steady_clock::time_point> listed_;
    std::vector<AgentPod> agents_;
    std::map<std::string, std::shared_ptr<const telemetry::Snapshot>> last_;  // by node
};

}  // namespace

std::unique_ptr<TopSource> make_cluster_source(kube_client::Connection connection,
                                               milliseconds timeout) {
    return std::make_unique<ClusterSource>(std::move(connection), timeout);
}

}  // namespace aliquot::cli
