// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "agent/cluster_options.h"
#include "agent/guard_snapshot.h"
#include "agent/node_requests.h"
#include "agent/node_writer.h"
#include "kube_client/event_recorder.h"
#include "node/health.h"
#include "os/clock.h"

namespace aliquot::agent {

/// Between this agent and the Node object of its machine: what the Node asks for by label comes in,
/// what the agent knows goes out as labels, annotations, taints, conditions and Events. An API
/// server that does not answer changes nothing on this machine: what was known stays, what is to be
/// written waits. Thread-safe; nothing waits for the API server but start() and the destructor (for
/// Events, two seconds).
class NodeSync {
public:
    /// api, clock   must outlive this
    /// node         the name of the Node
    NodeSync(kube_client::Api& api, os::Clock& clock, std::string node,
             const ClusterOptions& options);
    ~NodeSync();
    NodeSync(const NodeSync&) = delete;
    NodeSync& operator=(const NodeSync&) = delete;

    /// Begins, and waits at most so long for the Node and the configurations to be known.
    void start(std::chrono::milliseconds patience, const std::stop_token& stop);

    [[nodiscard]] const NodeRequests& requests() const { return requests_; }

    void tell(NodeFacts facts);
    void tell_config(const node::ConfigStatus& status);
    void tell_mig(const node::MigStatus& status);
    void tell_guard(const GuardSnapshot& snapshot);
    /// As NodeWriter::set_granted().
    void tell_granted(std::string granted) { writer_.set_granted(std::move(granted)); }

    /// As NodeWriter::flush(). For tests and the end.
    bool flush(std::chrono::milliseconds limit) { return writer_.flush(limit); }

private:
    void note(const node::Note& note);

    const std::string node_;
    std::mutex mutex_;  // guards what follows
    std::chrono::system_clock::time_point guard_told_{};
    kube_client::EventRecorder events_;
    NodeRequests requests_;
    NodeWriter writer_;
};

/// The reason of its Event: "GuardOverLimit".
std::string guard_reason(GuardEvent::Kind kind);

}  // namespace aliquot::agent
