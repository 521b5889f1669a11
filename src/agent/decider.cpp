// SPDX-License-Identifier: Apache-2.0
#include "agent/decider.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <random>

#include "base/log.h"

namespace aliquot::agent {
namespace {

/// Differs for every call of every agent: two containers of a pod must not share an annotation
/// name.
std::string make_nonce() {
    static const unsigned start = std::random_device{}();
    static std::atomic<unsigned> count{0};
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "%08x-%08x", start, count.fetch_add(1));
    return text.data();
}

}  // namespace

std::vector<std::string> ResourceDecider::prefer(std::span<const std::string> available,
                                                 std::span<const std::string> must_include,
                                                 std::size_t size) noexcept {
    const auto basis = basis_.get().value;
    if (!basis) return {};
    try {
        return sharing::prefer(basis->resource, basis->links, basis->policy, available,
                               must_include, size);
    } catch (const std::exception& problem) {  // no memory: kubelet then chooses by itself
        log::error("prefer.failed", {{"why", problem.what()}});
        return {};
    }
}

Result<grant::Grant> ResourceDecider::allocate(std::span<const std::string> ids) {
    const auto basis = basis_.get().value;
    if (!basis) return Error{ErrorCode::kUnavailable, "the node's GPUs are not known yet"};
    auto grant = sharing::make_grant(basis->resource, basis->grant, ids, make_nonce());
    if (!grant) {
        log::warning("allocate.refused",
                     {{"resource", basis->resource.name}, {"why", grant.error().message}});
        return grant;
    }
    if (complete_) {
        const auto completed = complete_(basis->resource.name, ids, *grant);
        if (!completed) return completed.error();
    }
    note_grant(*grant);
    std::string gpus;
    for (const auto& share : grant->shares) gpus += (gpus.empty() ? "" : ",") + share.gpu_uuid;
    log::info("allocate",
              {{"resource", basis->resource.name}, {"devices", ids.size()}, {"gpus", gpus}});
    return grant;
}

void ResourceDecider::note_grant(const grant::Grant& grant) {
    constexpr std::size_t kMostRemembered = 1024;
    const auto now = std::chrono::steady_clock::now();
    const std::scoped_lock lock(mutex_);
    if (granted_.size() >= kMostRemembered) granted_.clear();
    for (const auto& share : grant.shares) granted_[share.gpu_uuid] = now;
}

bool ResourceDecider::granted_within(const gpu::Uuid& device, std::chrono::milliseconds age) const {
    const std::scoped_lock lock(mutex_);
    const auto found = granted_.find(device.text);
    return found != granted_.end() && std::chrono::steady_clock::now() - found->second <= age;
}

}  // namespace aliquot::agent
