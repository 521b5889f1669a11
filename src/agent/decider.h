// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/grant_book.h"
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
    /// grants     must outlive this
    /// complete   may be empty
    ResourceDecider(std::string resource, GrantBook& grants, CompleteGrant complete = {})
        : resource_(std::move(resource)), grants_(grants), complete_(std::move(complete)) {}

    void publish(Basis basis) { basis_.publish(std::move(basis)); }

    std::vector<std::string> prefer(std::span<const std::string> available,
                                    std::span<const std::string> must_include,
                                    std::size_t size) noexcept override;
    Result<grant::Grant> allocate(std::span<const std::string> ids) override;

private:
    Result<grant::Grant> decide(std::span<const std::string> ids) const;

    const std::string resource_;
    GrantBook& grants_;
    CompleteGrant complete_;
    Latest<Basis> basis_;
};

}  // namespace aliquot::agent
