// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guard_snapshot.h"
#include "agent/observer.h"
#include "agent/serving.h"
#include "findings/finding.h"
#include "http/message.h"
#include "mps/status.h"
#include "os/clock.h"

namespace aliquot::agent {

/// Where the configuration that is served came from.
enum class ConfigState : std::uint8_t {
    kServed,   // the file as it is
    kDefault,  // there is no file
    kRefused,  // the file is bad: an earlier one is served
};

/// What the status page tells: written by the reconcile loop, read by the threads of the pages (agent/pages.h). Thread-safe.
class StatusBoard {
public:
    struct Config {
        std::string file;
        ConfigState state = ConfigState::kDefault;
        std::string problem;  // why it was refused
        std::vector<findings::Finding> findings;
    };

    explicit StatusBoard(const os::Clock& clock) : clock_(clock), beat_(clock.now()) {}

    void beat();  // the reconcile loop is alive
    void set_config(Config config);
    void set_remarks(std::vector<std::string> remarks);
    void set_mps(std::vector<mps::Status> statuses);
    void set_guard(std::shared_ptr<const GuardSnapshot> snapshot);
    void set_metrics_port(unsigned port);  // 0: not served

    [[nodiscard]] Config config() const;
    [[nodiscard]] std::vector<std::string> remarks() const;

    /// Whether the reconcile loop runs; 503 when it does not.
    [[nodiscard]] http::Response health() const;
    /// Whether kubelet knows all that is offered; 503 with what is missing.
    /// seen   null: nobody has looked yet
    [[nodiscard]] static http::Response readiness(const Observation* seen, const Serving& serving);
    /// All of it, as JSON.
    [[nodiscard]] http::Response status(const Observation* seen, const Serving& serving) const;

private:
    const os::Clock& clock_;
    mutable std::mutex mutex_;
    os::TimePoint beat_;
    Config config_;
    std::vector<std::string> remarks_;
    std::vector<mps::Status> mps_;
    std::shared_ptr<const GuardSnapshot> guard_;  // null: not looked yet
    unsigned metrics_port_ = 0;
};

}  // namespace aliquot::agent
