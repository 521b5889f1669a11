// SPDX-License-Identifier: Apache-2.0
#include "agent/deferred_driver.h"

#include "base/log.h"

namespace aliquot::agent {

DeferredDriver::DeferredDriver(const os::Root& root, nvml::DriverOptions options)
    : root_(root), options_(std::move(options)) {}

Result<std::shared_ptr<nvml::Driver>> DeferredDriver::opened() {
    const std::scoped_lock lock(mutex_);
    if (driver_) return driver_;
    return Error{ErrorCode::kUnavailable, "the driver library is not open yet"};
}

Result<std::shared_ptr<nvml::Driver>> DeferredDriver::open() {
    const std::scoped_lock lock(mutex_);
    if (driver_) return driver_;
    auto driver = nvml::Driver::open(root_, options_);
    if (!driver) return std::move(driver).error();
    driver_ = *std::move(driver);
    log::info("driver.opened", {{"library", driver_->library_path()}});
    return driver_;
}

Result<gpu::Inventory> DeferredDriver::enumerate(gpu::Links links) {
    auto driver = open();
    if (!driver) return std::move(driver).error();
    return (*driver)->enumerate(links);
}

template <class Call>
std::invoke_result_t<Call, nvml::Driver&> DeferredDriver::with_driver(Call call) {
    auto driver = opened();
    if (!driver) return std::move(driver).error();
    return call(**driver);
}

Result<gpu::Sample> DeferredDriver::sample(const gpu::Uuid& gpu) {
    return with_driver([&](nvml::Driver& driver) { return driver.sample(gpu); });
}

Result<std::vector<gpu::Process>> DeferredDriver::processes(const gpu::Uuid& gpu) {
    return with_driver([&](nvml::Driver& driver) { return driver.processes(gpu); });
}

Result<std::vector<gpu::Probe>> DeferredDriver::probe(const std::vector<gpu::Uuid>& gpus) {
    return with_driver([&](nvml::Driver& driver) { return driver.probe(gpus); });
}

Result<gpu::ComputeMode> DeferredDriver::compute_mode(const gpu::Uuid& gpu) {
    return with_driver([&](nvml::Driver& driver) { return driver.compute_mode(gpu); });
}

Result<Done> DeferredDriver::set_compute_mode(const gpu::Uuid& gpu, gpu::ComputeMode mode) {
    return with_driver([&](nvml::Driver& driver) { return driver.set_compute_mode(gpu, mode); });
}

Result<Done> DeferredDriver::set_memory_limit(const gpu::Uuid& gpu,
                                              const std::string& cgroup_directory,
                                              std::uint64_t bytes) {
    return with_driver([&](nvml::Driver& driver) {
        return driver.set_memory_limit(gpu, cgroup_directory, bytes);
    });
}

Result<std::vector<gpu::FaultEvent>> DeferredDriver::wait_faults(
    std::chrono::milliseconds timeout) {
    return with_driver([&](nvml::Driver& driver) { return driver.wait_faults(timeout); });
}

}  // namespace aliquot::agent
