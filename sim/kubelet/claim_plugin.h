// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/local_channel.h"
#include "sim/kubelet/pod_claims.h"

namespace aliquot::sim {

/// kubelet's client of one DRA driver. Thread-safe. Errors are kUnavailable, in gRPC's words.
class ClaimPlugin {
public:
    enum class Version : std::uint8_t { kV1, kV1Beta1 };

    ClaimPlugin(std::string driver, std::string socket, Version version);
    ~ClaimPlugin();

    Result<Done> dial(std::chrono::milliseconds timeout, const Stopped& stopped);

    struct Prepared {
        std::string error;  // empty: prepared
        std::vector<PreparedDevice> devices;
    };
    /// By uid, as the driver answered.
    Result<std::map<std::string, Prepared>> prepare(const std::vector<ClaimReference>& claims,
                                                    std::chrono::milliseconds timeout);
    /// What went wrong, by uid; empty: nothing.
    Result<std::map<std::string, std::string>> unprepare(const std::vector<ClaimReference>& claims,
                                                         std::chrono::milliseconds timeout);

    [[nodiscard]] const std::string& socket() const { return socket_; }

private:
    std::string driver_;
    std::string socket_;
    Version version_;
    std::shared_ptr<LocalChannel> channel_;
};

}  // namespace aliquot::sim
