// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/planned_grants.h"
#include "agent/recent_grants.h"
#include "base/latest.h"
#include "kubelet/device_plugin.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// What is decided from, for one resource. Immutable once published.
struct AllocationInput {
    sharing::Resource resource;
    std::vector<std::vector<gpu::LinkScore>> links;  // by position in resource.gpus
    sharing::AllocationPolicy policy = sharing::AllocationPolicy::kDistributed;
    sharing::GrantOptions grant;
};

/// Adds to a grant what cannot be decided from a AllocationInput alone. Called from gRPC threads.
/// errors   the grant is refused
using CompleteGrant = std::function<Result<Done>(
    const std::string& resource, std::span<const std::string> ids, grant::Grant& grant)>;

/// Answers kubelet for one resource from the newest AllocationInput. Speaks to no driver. Thread-safe.
class ResourceDecider final : public kubelet::Decider {
public:
    /// grants     must outlive this
    /// complete   may be empty
    /// plans      null: none are made; outlives this
    ResourceDecider(std::string resource, RecentGrants& grants, CompleteGrant complete = {},
                    PlannedGrants* plans = nullptr)
        : resource_(std::move(resource)),
          grants_(grants),
          complete_(std::move(complete)),
          plans_(plans) {}

    void publish(AllocationInput input) { basis_.publish(std::move(input)); }

    std::vector<std::string> prefer(std::span<const std::string> available,
                                    std::span<const std::string> must_include,
                                    std::size_t size) noexcept override;
    Result<grant::Grant> allocate(std::span<const std::string> ids) override;

private:
    Result<grant::Grant> decide(std::span<const std::string> ids) const;

    const std::string resource_;
    RecentGrants& grants_;
    CompleteGrant complete_;
    PlannedGrants* const plans_;
    Latest<AllocationInput> basis_;
};

}  // namespace aliquot::agent
