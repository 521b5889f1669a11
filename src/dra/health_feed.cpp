// SPDX-License-Identifier: Apache-2.0
#include "dra/health_feed.h"

#include "api/kubelet/dra_health.pb.h"
#include "rpc/body.h"

namespace aliquot::dra {
namespace {

constexpr std::size_t kLongestMessage = 1024;

}  // namespace

void HealthFeed::attach(std::function<void()> wake) {
    const std::scoped_lock lock(mutex_);
    wake_ = std::move(wake);
}

void HealthFeed::set(const std::string& pool, std::span<const Device> devices,
                     std::int64_t unix_now) {
    v1alpha1::NodeWatchResourcesResponse response;
    for (const Device& device : devices) {
        auto& told = *response.add_devices();
        told.mutable_device()->set_pool_name(pool);
        told.mutable_device()->set_device_name(device.name);
        told.set_health(device.health.ok() ? v1alpha1::HEALTHY : v1alpha1::UNHEALTHY);
        told.set_last_updated_time(unix_now);
        told.set_health_check_timeout_seconds(kHealthTimeout.count());
        told.set_message(device.health.reason.substr(0, kLongestMessage));
    }
    const std::scoped_lock lock(mutex_);
    frame_ = std::make_shared<const std::string>(rpc::framed(response.SerializeAsString()));
    ++version_;
    if (wake_) wake_();
}

rpc::Status HealthFeed::opened(std::uint64_t stream) {
    const std::scoped_lock lock(mutex_);
    streams_[stream] = 0;
    return {};
}

rpc::Feed::Next HealthFeed::next(std::uint64_t stream) {
    const std::scoped_lock lock(mutex_);
    std::uint64_t& given = streams_[stream];
    if (given == version_) return {};
    given = version_;
    return {.step = Next::Step::kMessage, .frame = frame_, .version = version_};
}

void HealthFeed::sent(std::uint64_t /*stream*/, std::uint64_t /*version*/) {}

void HealthFeed::closed(std::uint64_t stream) {
    const std::scoped_lock lock(mutex_);
    streams_.erase(stream);
}

}  // namespace aliquot::dra
