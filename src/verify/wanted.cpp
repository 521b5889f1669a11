// SPDX-License-Identifier: Apache-2.0
#include "verify/wanted.h"

#include <algorithm>
#include <map>
#include <set>

namespace aliquot::verify {
namespace {

using grant::Mechanism;

// A part of a GPU that is small and still surely more than a CUDA context takes.
constexpr std::uint64_t kPartMib = 1024;
constexpr const char* kPart = "1Gi";
constexpr const char* kPartCompute = "10";

Wanted of_resource(const node::GpuNode& node, const std::string& resource) {
    Wanted wanted{.text = "one " + resource, .resource = resource};
    for (const node::ShareStatus& share : node.shares) {
        if (share.resource != resource) continue;
        wanted.told = true;
        ++wanted.kinds;
        wanted.mechanism = share.mechanism;
        wanted.memory_mib = share.memory_mib;
        wanted.several = share.per_gpu > 1;
    }
    return wanted;
}

/// "gpu.example.com" has its MIG devices in the class "mig.example.com".
std::string class_of(const node::ClaimDevice& device) {
    const std::string_view driver = device.driver;
    if (device.kind != "mig" || !driver.starts_with("gpu.")) return device.driver;
    return "mig." + std::string(driver.substr(driver.find('.') + 1));
}

/// The devices of one class that are alike in what counts here.
Wanted of_class(const std::string& device_class,
                const std::vector<const node::ClaimDevice*>& devices) {
    const node::ClaimDevice& first = *devices.front();
    if (first.shared) {
        return {.text = std::string(kPart) + " of " + device_class + " by claim",
                .claim = {.device_class = device_class, .memory = kPart, .compute = kPartCompute},
                .told = true,
                .mechanism = Mechanism::kGuarded,
                .kinds = 1,
                .memory_mib = kPartMib,
                .several = true};
    }
    Wanted wanted{.text = "one " + device_class + " by claim",
                  .claim = {.device_class = device_class},
                  .told = true};
    std::set<std::uint64_t> sizes;
    for (const node::ClaimDevice* const one : devices) sizes.insert(one->memory_mib);
    wanted.kinds = static_cast<unsigned>(sizes.size());
    wanted.memory_mib = first.memory_mib;
    if (first.kind == "mig") wanted.mechanism = Mechanism::kMig;
    if (first.kind == "share") {
        const bool limited = first.memory_mib < first.gpu_memory_mib;
        wanted.mechanism = limited ? Mechanism::kGuarded : Mechanism::kTimeSlicing;
        const auto of_its_gpu = std::ranges::count_if(
            devices, [&](const auto* one) { return one->uuid == first.uuid; });
        wanted.several = of_its_gpu > 1;
    }
    return wanted;
}

}  // namespace

std::vector<Wanted> wanted_of(const node::GpuNode& node) {
    std::vector<Wanted> all;
    for (const auto& [resource, count] : node.allocatable) {
        if (count > 0) all.push_back(of_resource(node, resource));
    }
    std::map<std::string, std::vector<const node::ClaimDevice*>> by_class;
    for (const node::ClaimDevice& device : node.claim_devices) {
        if (device.usable() && device.fits) by_class[class_of(device)].push_back(&device);
    }
    for (const auto& [name, devices] : by_class) all.push_back(of_class(name, devices));
    return all;
}

}  // namespace aliquot::verify
