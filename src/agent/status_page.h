// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guard_snapshot.h"
#include "agent/http_endpoint.h"
#include "agent/observer.h"
#include "agent/serving.h"
#include "findings/finding.h"
#include "mps/status.h"
#include "os/clock.h"

namespace aliquot::agent {

/// Where the configuration that is served came from.
enum class ConfigState : std::uint8_t {
    kServed,   // the file as it is
    kDefault,  // there is no file
    kRefused,  // the file is bad: an earlier one is served
};

/// What the status page tells: written by the reconcile loop, read by the HTTP thread. Thread-safe.
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

    /// GET /healthz, /readyz, /status; everything else is 404.
    [[nodiscard]] HttpAnswer answer(std::string_view path, const Latest<Observation>& observations,
                                    const Serving& serving) const;

private:
    [[nodiscard]] HttpAnswer health() const;
    [[nodiscard]] static HttpAnswer readiness(const Observation* seen, const Serving& serving);
    [[nodiscard]] HttpAnswer status(const Observation* seen, const Serving& serving) const;

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
