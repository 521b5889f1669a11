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
    const auto input = basis_.get().value;
    if (!input) return {};
    try {
        if (plans_ != nullptr) {
            auto planned = plans_->prefer(input->resource, available, must_include, size);
            if (!planned.empty()) return planned;
        }
        return sharing::prefer(input->resource, input->links, input->policy, available,
                               must_include, size);
    } catch (const std::exception& problem) {  // no memory: kubelet then chooses by itself
        log::error("prefer.failed", {{"why", problem.what()}});
        return {};
    }
}

Result<grant::Grant> ResourceDecider::decide(std::span<const std::string> ids) const {
    const auto input = basis_.get().value;
    if (!input) return Error{ErrorCode::kUnavailable, "the node's GPUs are not known yet"};
    auto grant = sharing::make_grant(input->resource, input->grant, ids, make_nonce());
    if (!grant || !complete_) return grant;
    const auto completed = complete_(resource_, ids, *grant);
    if (!completed) return completed.error();
    return grant;
}

Result<grant::Grant> ResourceDecider::allocate(std::span<const std::string> ids) {
    const auto begun = grants_.begin(resource_, ids);
    auto grant = begun ? decide(ids) : Result<grant::Grant>(begun.error());
    if (!grant) {
        if (begun) grants_.undo(resource_, ids);
        log::warning("allocate.refused", {{"resource", resource_}, {"why", grant.error().message}});
        return grant;
    }
    if (plans_ != nullptr) {
        if (const auto input = basis_.get().value) plans_->note_granted(input->resource, ids);
    }
    std::string gpus;
    for (const auto& share : grant->shares) gpus += (gpus.empty() ? "" : ",") + share.gpu_uuid;
    log::info("allocate", {{"resource", resource_}, {"devices", ids.size()}, {"gpus", gpus}});
    return grant;
}

}  // namespace aliquot::agent
