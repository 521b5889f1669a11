// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sim/apiserver/options.h"

namespace aliquot::sim::apiserver {

/// A watch that is open, as faults reach it.
struct WatchHandle {
    explicit WatchHandle(std::string of) : resource(std::move(of)) {}
    const std::string resource;  // "pods"
    enum class Order : std::uint8_t { kGoOn, kBreak, kExpire };
    std::atomic<Order> order = Order::kGoOn;
};

/// Faults that wait for their request, and the watches that are open. Thread-safe.
class FaultBox {
public:
    void inject(ApiFault fault);
    void clear();
    /// The first fault that fits this request; it is used up.
    std::optional<ApiFault> take(std::string_view method, std::string_view path,
                                 std::string_view resource, std::string_view verb);

    std::shared_ptr<WatchHandle> open_watch(const std::string& resource);
    unsigned order(std::string_view resource, WatchHandle::Order order);
    [[nodiscard]] unsigned watches(std::string_view resource) const;
    void hold(std::string_view resource);
    void release(std::string_view resource);
    [[nodiscard]] bool held(const std::string& resource) const;
    /// Returns when something is released, or after `patience`.
    void wait_for_release(std::chrono::milliseconds patience) const;

private:
    mutable std::mutex guard_;
    mutable std::condition_variable released_;
    std::list<ApiFault> faults_;
    mutable std::list<std::weak_ptr<WatchHandle>> watches_;
    std::set<std::string, std::less<>> held_;
};

}  // namespace aliquot::sim::apiserver
