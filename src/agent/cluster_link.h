// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "agent/cluster_options.h"
#include "agent/config_source.h"
#include "agent/guard_snapshot.h"
#include "gpu/inventory.h"
#include "kube_client/event_recorder.h"
#include "kube_client/informer.h"
#include "labels/labels.h"
#include "node/change.h"
#include "node/config_choice.h"
#include "node/health.h"
#include "node/offer_text.h"
#include "os/clock.h"

namespace aliquot::agent {

/// Between this agent and the Node object of its machine: what the Node asks for by label comes in,
/// what the agent knows goes out as labels, annotations, taints, conditions and Events. An API
/// server that does not answer changes nothing on this machine: what was known stays, what is to be
/// written waits. Thread-safe; nothing waits for the API server but start() and the destructor (for
/// Events, two seconds). Threads: one writes, one each for the caches, one for Events.
class ClusterLink {
public:
    /// What the agent knows of its machine.
    struct Told {
        labels::Labels labels;
        gpu::Inventory inventory;
        std::string driver_problem;
        bool has_board = false;  // a GPU of NVIDIA's is on the bus, whatever the driver says
        std::vector<node::ShareStatus> shares;
    };

    /// What the Node asks for by nvidia.com/mig.config.
    struct MigSpec {
        std::string config;               // empty: nothing
        std::optional<std::string> text;  // of the file of configurations; empty: there is none
        std::uint64_t version = 0;        // another one: what is above may be, too
        friend bool operator==(const MigSpec&, const MigSpec&) = default;
    };

    /// api, clock   must outlive this
    /// node         the name of the Node
    ClusterLink(kube_client::Api& api, os::Clock& clock, std::string node, ClusterOptions options);
    ~ClusterLink();
    ClusterLink(const ClusterLink&) = delete;
    ClusterLink& operator=(const ClusterLink&) = delete;

    /// Begins, and waits at most so long for the Node and the configurations to be known.
    void start(std::chrono::milliseconds patience, const std::stop_token& stop);

    /// The configuration that the Node asks for; version 0: not known yet (problem says why).
    [[nodiscard]] SuppliedConfig config() const;
    [[nodiscard]] MigSpec mig_spec() const;
    /// The same when it is of another version than `seen`, or at the latest after `limit`.
    [[nodiscard]] MigSpec wait_mig_spec(std::uint64_t seen, std::chrono::milliseconds limit,
                                        const std::stop_token& stop) const;

    void tell(Told told);
    void tell_config(const node::ConfigStatus& told);
    void tell_mig(const node::MigStatus& told);
    void tell_guard(const GuardSnapshot& snapshot);
    void note(const node::Note& note);

    /// Waits until everything told so far is written (or refused by the server). False: not within
    /// `limit`. For tests and the end.
    bool flush(std::chrono::milliseconds limit);

private:
    void look_again();
    node::ConfigChoices choices() const;
    void wait_for_work(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit,
                       const std::stop_token& stop, const std::function<bool()>& so);
    void run(const std::stop_token& stop);
    bool write(const std::stop_token& stop);
    bool write_feature(const std::stop_token& stop);
    [[nodiscard]] std::optional<node::Change> change(const node::NodeObject& node) const;
    bool patch(const std::string& body, bool status, const std::stop_token& stop);
    void complain(const std::string& problem);

    kube_client::Api& api_;
    os::Clock& clock_;
    const std::string node_;
    const ClusterOptions options_;
    const std::string place_;  // of the configurations, for messages

    std::mutex looking_;  // one cache's thread looks at all of them, and none when we end
    bool ended_ = false;

    mutable std::mutex mutex_;  // guards what follows, up to the thread's own
    mutable std::condition_variable_any changed_;
    SuppliedConfig supplied_;
    MigSpec mig_spec_;
    std::optional<Told> told_;
    node::ConfigStatus config_status_;
    bool config_known_ = false;
    node::MigStatus mig_status_;
    std::chrono::system_clock::time_point guard_told_{};
    std::uint64_t wanted_ = 0;   // grows with everything that may have to be written
    std::uint64_t written_ = 0;  // what of it has been looked at

    std::string complained_of_;  // of the thread, as what follows
    std::string feature_;        // the NodeFeature as it was written last
    std::vector<std::string> foreign_;

    std::unique_ptr<kube_client::EventRecorder> events_;
    std::unique_ptr<kube_client::Informer> nodes_;
    std::unique_ptr<kube_client::Informer> configs_;
    std::unique_ptr<kube_client::Informer> mig_configs_;
    std::jthread thread_;  // last: it uses all the others
};

/// The NodeFeature object by which node-feature-discovery is told labels. Pure.
/// source   NFD, nfd.k8s-sigs.io/v1alpha1; the name is NVIDIA's form with our own prefix
std::string node_feature(const std::string& node, const std::string& namespace_name,
                         const labels::Labels& labels);

/// "GuardOverLimit" of "over_limit".
std::string guard_reason(std::string_view kind);

}  // namespace aliquot::agent
