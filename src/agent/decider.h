// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/latest.h"
#include "kubelet/device_plugin.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// What is decided from, for one resource. Immutable once published.
struct Basis {
    sharing::Resource resource;
    std::vector<std::vector<gpu::LinkScore>> links;  // by position in resource.gpus
    sharing::AllocationPolicy policy = sharing::AllocationPolicy::kDistributed;
    sharing::GrantOptions grant;
};

/// Adds to a grant what cannot be decided from a Basis alone. Called from gRPC threads.
/// errors   the grant is refused
using CompleteGrant = std::function<Result<Done>(
    const std::string& resource, std::span<const std::string> ids, grant::Grant& grant)>;

/// Answers kubelet for one resource from the newest Basis. Speaks to no driver. Thread-safe.
class ResourceDecider final : public kubelet::Decider {
public:
    /// complete   may be empty
    explicit ResourceDecider(CompleteGrant complete = {}) : complete_(std::move(complete)) {}

    void publish(Basis basis) { basis_.publish(std::move(basis)); }

    std::vector<std::string> prefer(std::span<const std::string> available,
                                    std::span<const std::string> must_include,
                                    std::size_t size) noexcept override;
    Result<grant::Grant> allocate(std::span<const std::string> ids) override;

    /// Whether a part of this GPU or MIG device was granted at most `age` ago.
    [[nodiscard]] bool granted_within(const gpu::Uuid& device, std::chrono::milliseconds age) const;

private:
    void note_grant(const grant::Grant& grant);

    CompleteGrant complete_;
    Latest<Basis> basis_;
    mutable std::mutex mutex_;
    std::map<std::string, std::chrono::steady_clock::time_point> granted_;  // the newest of each
};

}  // namespace aliquot::agent
