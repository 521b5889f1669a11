// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include "node/gpu_node.h"
#include "verify/verify.h"

namespace aliquot::verify {

/// What the steps share. Thread-safe.
class Session {
public:
    Session(kube_client::Api& api, const Options& options, std::stop_token stop,
            const std::function<void(const Step&)>& on_step);

    kube_client::Api& api;
    const Options& options;
    const std::stop_token stop;

    [[nodiscard]] kube_client::Call call() const {
        return {.deadline = options.request_deadline, .stop = stop};
    }
    /// Of what must be done though we are being stopped: taking away what we made.
    [[nodiscard]] kube_client::Call last_call() const {
        return {.deadline = options.request_deadline};
    }

    void ok(std::string id, std::string node, std::string message, std::string evidence = {});
    void failed(std::string id, std::string node, std::string message, std::string evidence,
                std::string fix);
    void skipped(std::string id, std::string node, std::string message);
    /// A request that failed: what we may not do is skipped, anything else has failed.
    void refused(std::string id, std::string node, const kube_client::Failure& failure);
    /// A request that failed without which nothing is proven: it has failed also when we may not.
    void not_proven(std::string id, std::string node, const kube_client::Failure& failure);

    /// Waits until it is time to look again. False: somebody wants us to stop.
    bool pause();

    [[nodiscard]] std::vector<Step> take_steps();
    /// Whether one of the steps so far has this id, node and verdict.
    [[nodiscard]] bool has(std::string_view id, std::string_view node, Verdict verdict);

    /// Found by the cluster's steps: what test pods run, and the agent's pod of each node.
    std::string image;
    std::map<std::string, std::string> agent_pods;

private:
    void record(Step step);

    const std::function<void(const Step&)>& on_step_;
    std::mutex mutex_;
    std::condition_variable_any stopped_;
    std::vector<Step> steps_;
};

/// Finds the nodes with GPUs, and judges what the cluster says of them and of the agent.
std::vector<node::GpuNode> look_at_cluster(Session& session);

/// The labels and the test pods of one node.
void look_at_node(Session& session, const node::GpuNode& node);

/// Why a pod has not come to life: the scheduler's filters worked out again, its events.
struct Diagnosis {
    std::string message;
    std::string evidence;
    std::string fix;
};
Diagnosis diagnose(Session& session, const std::string& pod);

}  // namespace aliquot::verify
