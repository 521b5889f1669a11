// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <system_error>
#include <utility>

#include "base/result.h"

namespace aliquot::page {

/// A question that takes longer than a look may, or is never answered: asked again when some time has passed, by a
/// thread of its own, one at a time. Its end waits for a question that is under way. Not thread-safe.
template <class T>
class Recurring {
public:
    using Ask = std::function<Result<T>()>;
    using Steady = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::milliseconds kPatience{100};

    /// ask   called by another thread; empty: there is nothing to ask
    Recurring(Ask ask, std::chrono::seconds again) : ask_(std::move(ask)), again_(again) {}

    /// What was answered since the last call; waits kPatience for it at most.
    std::optional<Result<T>> hear(Steady now) {
        if (!ask_) return std::nullopt;
        if (!answer_.valid() && (!asked_ || now - *asked_ >= again_)) {
            asked_ = now;
            try {
                answer_ = std::async(std::launch::async, ask_);
            } catch (const std::system_error& why) {  // no room for a thread
                return Result<T>(Error{ErrorCode::kUnavailable, why.what()});
            }
        }
        if (!answer_.valid() || answer_.wait_for(kPatience) != std::future_status::ready) {
            return std::nullopt;
        }
        return answer_.get();
    }

private:
    Ask ask_;
    std::chrono::seconds again_;
    std::optional<Steady> asked_;
    std::future<Result<T>> answer_;  // without state: nothing is asked
};

}  // namespace aliquot::page
