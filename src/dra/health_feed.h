// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "dra/device.h"
#include "rpc/method.h"

namespace aliquot::dra {

/// kubelet takes a device whose last word is older for Unknown; so it is told again by then.
inline constexpr std::chrono::seconds kHealthTimeout{30};
inline constexpr std::chrono::seconds kHealthInterval{10};

/// The streams of DRAResourceHealth/NodeWatchResources: always the complete list. Thread-safe.
class HealthFeed final : public rpc::Feed {
public:
    /// wake   makes the server ask for news; empty: the server is gone
    void attach(std::function<void()> wake);
    /// pool      of all devices
    /// unix_now  seconds
    void set(const std::string& pool, std::span<const Device> devices, std::int64_t unix_now);

    rpc::Status opened(std::uint64_t stream) override;
    Next next(std::uint64_t stream) override;
    void sent(std::uint64_t stream, std::uint64_t version) override;
    void closed(std::uint64_t stream) override;

private:
    std::mutex mutex_;
    std::function<void()> wake_;
    std::shared_ptr<const std::string> frame_;
    std::uint64_t version_ = 0;
    std::map<std::uint64_t, std::uint64_t> streams_;  // version that was given to each
};

}  // namespace aliquot::dra
