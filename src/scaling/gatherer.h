// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "scaling/recent_metrics.h"
#include "telemetry/snapshot.h"

namespace aliquot::scaling {

struct GatherOptions {
    /// "HOST:PORT", "http://HOST:PORT" or "https://HOST:PORT".
    std::vector<std::string> agents;
    /// The same with a name that has many addresses (a headless service): each is an agent.
    std::string service;
    std::string ca_file;  // of https; empty: those that the system trusts
    std::string certificate_file;
    std::string key_file;
    bool any_certificate = false;  // https without looking who it is
    std::string user;              // basic authentication; empty: none
    std::string password;
    std::chrono::milliseconds every{10'000};
    std::chrono::milliseconds timeout{5'000};  // for one agent
    unsigned at_once = 32;
    std::size_t most_agents = 5'000;
    std::size_t most_bytes = 16UL << 20U;  // of one answer
};

/// Asks the agents of all nodes for their state, again and again, several at once. A slow or absent
/// one keeps nobody waiting longer than the timeout.
class Gatherer {
public:
    using Sink = std::function<void(const telemetry::Snapshot& snapshot, Instant received)>;

    /// errors   kInvalidInput: no agents are named, or not as such; kInternal
    static Result<std::unique_ptr<Gatherer>> make(GatherOptions options, Sink sink);
    ~Gatherer();

    /// Begins to ask, on a thread of its own.
    void start();
    /// Asks all once and returns when all have answered or been given up.
    void round();

    struct State {
        std::size_t rounds = 0;
        std::size_t agents = 0;    // asked in the last round
        std::size_t answered = 0;  // of those
        std::string problem;       // of one that did not answer
    };
    [[nodiscard]] State state() const;

private:
    class Transfers;
    struct Target {
        std::string url;         // "https://name:9400/api/v1/state"
        std::string connect_to;  // "name:9400:10.0.0.7:9400"; empty: where the name leads
        std::string name;        // for messages
    };
    Gatherer(GatherOptions options, Sink sink);
    void round(const std::stop_token& stop);
    void look_up_service(std::vector<Target>& targets);
    void take(const Target& target, const Result<std::string>& body);

    const GatherOptions options_;
    const Sink sink_;
    std::vector<Target> named_;
    std::vector<std::string> addresses_;  // of the service, at the last look-up that went well
    std::unique_ptr<Transfers> transfers_;
    std::map<std::string, bool> well_;  // agent -> whether it answered last time
    mutable std::mutex mutex_;
    State state_;
    State next_;  // of the round that runs
    std::jthread thread_;
};

}  // namespace aliquot::scaling
