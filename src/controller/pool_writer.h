// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <string>

#include "controller/pool_options.h"
#include "kube_client/event_recorder.h"
#include "pools/reconcile.h"

namespace aliquot::controller {

/// Pools of GPU nodes as the API server has them.
kube_client::Resource pool_objects();

/// Carries out what a look at a pool came to. As the leader only; used by one thread.
class PoolWriter {
public:
    PoolWriter(PoolWorld world, PoolOptions options);

    /// Writes what has changed, or was written five minutes ago, and the status.
    void write(const pools::Round& round, const document::Value& object,
               const std::stop_token& stop);
    void write_marks(const std::vector<pools::NodeMarks>& marks, const std::stop_token& stop);
    /// Takes the startup taint from nodes that have passed their gates.
    void end_startup(const std::vector<pools::StartedNode>& started, const std::stop_token& stop);
    /// Of a pool that is no more.
    void forget(const std::string& pool);

    [[nodiscard]] std::uint64_t failures() const { return failures_; }
    [[nodiscard]] std::uint64_t evictions() const { return evictions_; }

private:
    using Steady = std::chrono::steady_clock;
    struct Written {
        std::string json;
        Steady::time_point at;
    };

    void apply(const pools::Round& round, const document::Value& object,
               const document::Value& output, pools::Carried& carried, const std::stop_token& stop);
    /// Why it may not be written; empty: it may.
    std::string whose(const kube_client::Resource& resource, const kube_client::ObjectKey& key,
                      const document::Value& object, const std::stop_token& stop);
    void remove(const pools::OutputName& name, const document::Value& object,
                pools::Carried& carried, const std::stop_token& stop);
    void write_status(const pools::Round& round, const pools::Carried& carried,
                      const document::Value& object, const std::stop_token& stop);
    void evict_from(const pools::Round& round, const std::stop_token& stop);
    void tell(const pools::Round& round, const pools::Carried& carried,
              const document::Value& object);
    void tell_of_notices(const pools::Round& round);
    void note(const document::Value& object, bool warning, const char* reason,
              const std::string& words);
    void fail(const std::string& what, const std::string& why);

    const PoolWorld world_;
    const PoolOptions options_;
    kube_client::EventRecorder events_;
    std::map<std::pair<std::string, pools::OutputName>, Written> written_;  // by pool
    std::map<std::string, unsigned> desired_;                               // as last told
    std::map<std::string, std::string> problem_;                            // the same
    std::set<std::string> noticed_;  // uids of nodes whose notice was told
    std::atomic<std::uint64_t> failures_{0};
    std::atomic<std::uint64_t> evictions_{0};
};

}  // namespace aliquot::controller
