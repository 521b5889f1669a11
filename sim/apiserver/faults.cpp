// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/faults.h"

namespace aliquot::sim::apiserver {

void FaultBox::inject(ApiFault fault) {
    const std::lock_guard lock(guard_);
    if (fault.times > 0) faults_.push_back(std::move(fault));
}

void FaultBox::clear() {
    const std::lock_guard lock(guard_);
    faults_.clear();
}

std::optional<ApiFault> FaultBox::take(std::string_view method, std::string_view path,
                                       std::string_view resource, std::string_view verb) {
    const std::lock_guard lock(guard_);
    for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
        if (!fault->method.empty() && fault->method != method) continue;
        if (!fault->resource.empty() && fault->resource != resource) continue;
        if (!fault->verb.empty() && fault->verb != verb) continue;
        if (!path.starts_with(fault->path)) continue;
        ApiFault taken = *fault;
        if (--fault->times == 0) faults_.erase(fault);
        return taken;
    }
    return std::nullopt;
}

std::shared_ptr<WatchHandle> FaultBox::open_watch(const std::string& resource) {
    const std::lock_guard lock(guard_);
    auto handle = std::make_shared<WatchHandle>(resource);
    std::erase_if(watches_, [](const auto& one) { return one.expired(); });
    watches_.push_back(handle);
    return handle;
}

unsigned FaultBox::order(std::string_view resource, WatchHandle::Order order) {
    const std::lock_guard lock(guard_);
    unsigned reached = 0;
    for (const auto& one : watches_) {
        const auto handle = one.lock();
        if (handle == nullptr || (!resource.empty() && handle->resource != resource)) continue;
        handle->order = order;
        ++reached;
    }
    return reached;
}

unsigned FaultBox::watches(std::string_view resource) const {
    const std::lock_guard lock(guard_);
    unsigned open = 0;
    for (const auto& one : watches_) {
        const auto handle = one.lock();
        if (handle != nullptr && (resource.empty() || handle->resource == resource)) ++open;
    }
    return open;
}

void FaultBox::hold(std::string_view resource) {
    const std::lock_guard lock(guard_);
    held_.emplace(resource);
}

void FaultBox::release(std::string_view resource) {
    const std::lock_guard lock(guard_);
    if (resource.empty()) {
        held_.clear();
    } else {
        held_.erase(std::string(resource));
    }
    released_.notify_all();
}

void FaultBox::wait_for_release(std::chrono::milliseconds patience) const {
    std::unique_lock lock(guard_);
    released_.wait_for(lock, patience);
}

bool FaultBox::held(const std::string& resource) const {
    const std::lock_guard lock(guard_);
    return held_.contains(resource);
}

}  // namespace aliquot::sim::apiserver
