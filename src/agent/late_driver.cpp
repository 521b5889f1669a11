// SPDX-License-Identifier: Apache-2.0
#include "agent/late_driver.h"

#include "base/log.h"

namespace aliquot::agent {

LateDriver::LateDriver(const os::Root& root, nvml::DriverOptions options)
    : root_(root), options_(std::move(options)) {}

Result<std::shared_ptr<nvml::Driver>> LateDriver::opened() {
    const std::scoped_lock lock(mutex_);
    if (driver_) return driver_;
    return Error{ErrorCode::kUnavailable, "the driver library is not open yet"};
}

Result<std::shared_ptr<nvml::Driver>> LateDriver::open() {
    const std::scoped_lock lock(mutex_);
    if (driver_) return driver_;
    auto driver = nvml::Driver::open(root_, options_);
    if (!driver) return std::move(driver).error();
    driver_ = *std::move(driver);
    log::info("driver.opened", {{"library", driver_->library_path()}});
    return driver_;
}

Result<gpu::Inventory> LateDriver::enumerate(gpu::Links links) {
    auto driver = open();
    if (!driver) return std::move(driver).error();
    return (*driver)->enumerate(links);
}

Result<gpu::Sample> LateDriver::sample(const gpu::Uuid& gpu) {
    auto driver = opened();
    if (!driver) return std::move(driver).error();
    return (*driver)->sample(gpu);
}

Result<std::vector<gpu::Process>> LateDriver::processes(const gpu::Uuid& gpu) {
    auto driver = opened();
    if (!driver) return std::move(driver).error();
    return (*driver)->processes(gpu);
}

Result<std::vector<gpu::Probe>> LateDriver::probe(const std::vector<gpu::Uuid>& gpus) {
    auto driver = opened();
    if (!driver) return std::move(driver).error();
    return (*driver)->probe(gpus);
}

Result<gpu::ComputeMode> LateDriver::compute_mode(const gpu::Uuid& gpu) {
    auto driver = opened();
    if (!driver) return std::move(driver).error();
    return (*driver)->compute_mode(gpu);
}

Result<Done> LateDriver::set_compute_mode(const gpu::Uuid& gpu, gpu::ComputeMode mode) {
    auto driver = opened();
    if (!driver) return std::move(driver).error();
    return (*driver)->set_compute_mode(gpu, mode);
}

Result<Done> LateDriver::set_memory_limit(const gpu::Uuid& gpu, const std::string& cgroup_directory,
                                          std::uint64_t bytes) {
    auto driver = opened();
    if (!driver) return std::move(driver).error();
    return (*driver)->set_memory_limit(gpu, cgroup_directory, bytes);
}

Result<std::vector<gpu::FaultEvent>> LateDriver::wait_faults(std::chrono::milliseconds timeout) {
    auto driver = opened();
    if (!driver) return std::move(driver).error();
    return (*driver)->wait_faults(timeout);
}

}  // namespace aliquot::agent
