// SPDX-License-Identifier: Apache-2.0
#include "sharing/served_devices.h"

#include <algorithm>

#include "base/text.h"
#include "k8s/memory_amount.h"

namespace aliquot::sharing {
namespace {

Resource without_devices(const Resource& resource) {
    Resource copy = resource;
    copy.gpus.clear();
    return copy;
}

/// "4 shares of 16Gi", "1 whole GPU".
std::string service_text(const OfferedGpu& device) {
    if (device.replicas == 1) return device.mig ? "1 MIG device" : "1 whole GPU";
    std::string text = std::to_string(device.replicas) + " shares";
    if (device.by_mps()) text += " by MPS";
    if (!device.shares.empty()) return text;
    if (device.limits.memory_bytes) text += " of " + k8s::bytes_text(*device.limits.memory_bytes);
    return text;
}

bool same_presence(const grant::Limits& a, const grant::Limits& b) {
    return a.memory_bytes.has_value() == b.memory_bytes.has_value() &&
           a.compute_percent.has_value() == b.compute_percent.has_value() && a.any() == b.any();
}

}  // namespace

ServedDevices served_by(const Offer& offer) {
    ServedDevices served;
    for (const Resource& resource : offer.resources) {
        for (const OfferedGpu& device : resource.gpus) {
            if (device.frozen) continue;
            served.insert_or_assign(
                device.uuid(),
                ServedDevice{.resource = without_devices(resource), .device = device});
        }
    }
    return served;
}

Offer as_served(const ServedDevices& served, const gpu::Inventory& inventory) {
    std::map<std::string, Resource> resources;
    for (const auto& entry : served) {
        ServedDevice one = entry.second;
        const gpu::Gpu* const gpu = inventory.find(one.device.gpu.uuid);
        if (gpu == nullptr) continue;
        one.device.gpu = *gpu;
        one.device.gpu.mig_devices.clear();
        one.device.only.reset();
        if (one.device.mig) {
            const auto mig =
                std::ranges::find(gpu->mig_devices, entry.first, &gpu::MigDevice::uuid);
            if (mig == gpu->mig_devices.end()) continue;
            one.device.mig = *mig;
        }
        resources.try_emplace(one.resource.name, one.resource)
            .first->second.gpus.push_back(std::move(one.device));
    }
    Offer offer;
    for (auto& entry : resources) {
        std::ranges::sort(entry.second.gpus, {}, [](const OfferedGpu& one) {
            return std::pair(one.gpu.index, one.mig ? one.mig->index : 0);
        });
        offer.resources.push_back(std::move(entry.second));
    }
    return offer;
}

bool keeps_promises(const ServedDevice& served, const std::string& resource,
                    const OfferedGpu& offered) {
    const OfferedGpu& before = served.device;
    if (served.resource.name != resource || before.replicas != offered.replicas ||
        before.mechanism() != offered.mechanism()) {
        return false;
    }
    if (before.limits == offered.limits && before.shares == offered.shares) return true;
    return !before.by_mps() && before.shares.empty() && offered.shares.empty() &&
           same_presence(before.limits, offered.limits);
}

bool is_same_service(const ServedDevices& before, const ServedDevices& now) {
    return std::ranges::equal(before, now, [](const auto& a, const auto& b) {
        const ServedDevice& one = a.second;
        const ServedDevice& other = b.second;
        return a.first == b.first && one.resource.name == other.resource.name &&
               one.resource.shared == other.resource.shared &&
               one.resource.fail_requests_greater_than_one ==
                   other.resource.fail_requests_greater_than_one &&
               one.device.gpu.uuid == other.device.gpu.uuid &&
               one.device.index_text() == other.device.index_text() &&
               one.device.replicas == other.device.replicas &&
               one.device.shared_by == other.device.shared_by &&
               one.device.limits == other.device.limits && one.device.shares == other.device.shares;
    });
}

std::string to_text(const ServedDevice& served) {
    return served.resource.name + ", " + service_text(served.device);
}

std::string to_text(const WaitingDevice& waiting) {
    constexpr std::size_t kMostNamed = 5;
    const bool mig = waiting.index.contains(':');
    std::string text = (mig ? "MIG device " : "GPU ") + waiting.index;
    text += waiting.served.empty() ? " is not offered" : " stays " + waiting.served + ",";
    std::vector<std::string> named(waiting.pods.begin(),
                                   waiting.pods.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                              waiting.pods.size(), kMostNamed)));
    if (waiting.pods.size() > kMostNamed) {
        named.push_back(std::to_string(waiting.pods.size() - kMostNamed) + " more");
    }
    if (!named.empty()) {
        text += " until " + join(named) + (waiting.pods.size() == 1 ? " ends" : " end");
    } else if (waiting.why.empty()) {
        text += " until a pod that is only starting ends";
    }
    if (!waiting.why.empty()) text += (named.empty() ? " since " : "; ") + waiting.why;
    return text;
}

}  // namespace aliquot::sharing
