// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "agent/cluster_options.h"
#include "agent/config_source.h"
#include "kube_client/informer.h"
#include "node/config_choice.h"
#include "node/node_object.h"
#include "os/clock.h"

namespace aliquot::agent {

/// What the Node asks for by nvidia.com/mig.config.
struct MigSpec {
    std::string config;               // empty: nothing
    std::optional<std::string> text;  // of the file of configurations; empty: there is none
    std::uint64_t version = 0;        // another one: what is above may be, too
    friend bool operator==(const MigSpec&, const MigSpec&) = default;
};

/// What the Node of this machine asks for by its labels, read through caches of it and of the two
/// ConfigMaps. While the API server does not answer, what was known stays. Thread-safe; one thread
/// for each cache.
class NodeRequests {
public:
    /// api, clock   must outlive this
    /// node         the name of the Node
    /// changed      called on a cache's thread after anything that was read has changed
    NodeRequests(kube_client::Api& api, os::Clock& clock, std::string node,
                 const ClusterOptions& options, std::function<void()> changed);

    /// Begins, and waits at most so long for the Node and the configurations to be known.
    void start(std::chrono::milliseconds patience, const std::stop_token& stop);
    /// From now on `changed` is not called.
    void stop();

    /// The configuration that the Node asks for; version 0: not known yet (problem says why).
    [[nodiscard]] SuppliedConfig config() const;
    [[nodiscard]] MigSpec mig_spec() const;
    /// The same when it is of another version than `seen`, or at the latest after `limit`.
    [[nodiscard]] MigSpec wait_mig_spec(std::uint64_t seen, std::chrono::milliseconds limit,
                                        const std::stop_token& stop) const;

    /// The Node as it was seen last; empty: not seen, or not to be read.
    [[nodiscard]] std::optional<k8s::Node> node() const;
    /// Whether the API server has said that there is no such Node.
    [[nodiscard]] bool has_no_node() const;
    /// Where the configurations are, for messages.
    [[nodiscard]] const std::string& place() const { return place_; }

    /// Looks at what the caches have. A cache that is filled without an object (there is no
    /// ConfigMap), or whose first list ends after its last object was told of, tells nobody: until
    /// all are known this is to be called now and then.
    void look_again();

private:
    [[nodiscard]] node::ConfigChoices choices() const;
    [[nodiscard]] SuppliedConfig supplied(const std::optional<k8s::Node>& node,
                                          const node::ConfigChoices& choices) const;
    [[nodiscard]] MigSpec asked(const std::optional<k8s::Node>& node) const;

    os::Clock& clock_;
    const std::string node_;
    const ClusterOptions options_;
    const std::string place_;
    const std::function<void()> changed_;

    std::mutex looking_;  // one cache's thread looks at all of them, and none when we end
    bool ended_ = false;

    mutable std::mutex mutex_;  // guards what follows, up to the caches
    mutable std::condition_variable_any news_;
    SuppliedConfig supplied_;
    MigSpec mig_spec_;

    std::unique_ptr<kube_client::Informer> nodes_;
    std::unique_ptr<kube_client::Informer> configs_;
    std::unique_ptr<kube_client::Informer> mig_configs_;
};

}  // namespace aliquot::agent
