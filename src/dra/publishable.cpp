// SPDX-License-Identifier: Apache-2.0
#include "dra/publishable.h"

#include <algorithm>
#include <set>

namespace aliquot::dra {
namespace {

constexpr unsigned kMebibyteShift = 20;

struct Hold {
    const PreparedDevice* device = nullptr;
    std::string claim;
};

/// What is promised of one GPU.
struct Promised {
    std::uint64_t memory = 0;
    std::uint64_t compute = 0;
    void add(std::uint64_t bytes, std::uint64_t percent) {
        memory += bytes;
        compute += percent;
    }
};

/// All of a device, as one claim may have it.
PreparedDevice all_of(const Device& device) {
    return {.device = device.name,
            .uuid = device.uuid.text,
            .gpu = device.gpu.text,
            .kind = device.kind,
            .whole = device.kind != Device::Kind::kShare,
            .memory_bytes = device.limits.memory_bytes.value_or(0),
            .compute_percent = device.limits.compute_percent.value_or(0),
            .cut = device.cut};
}

class Choice {
public:
    Choice(const std::vector<Device>& devices, const PreparedClaims& prepared) : devices_(devices) {
        for (const Device& device : devices) names_.insert(device.name);
        for (const auto& [uid, claim] : prepared) {
            if (claim.holds_unknown() && unknown_.empty()) unknown_ = holds_unknown_text(claim);
            for (const PreparedDevice& device : claim.devices) {
                if (!device.admin) holds_.push_back({&device, to_text(claim.claim)});
            }
        }
    }

    Publishable make() {
        for (const Hold& hold : holds_) {
            const PreparedDevice& held = *hold.device;
            const bool by_name = names_.contains(held.device);
            if (!by_name) promised_[held.gpu].add(held.memory_bytes, held.compute_percent);
        }
        // What claims have goes before what they may have.
        for (const Device& device : devices_) {
            if (is_known(device)) take(device);
        }
        for (const Device& device : devices_) {
            if (device.cut && is_known(device) && why_not(device).empty()) {
                counted_.insert(device.name);
            }
        }
        Publishable made;
        for (const Device& device : devices_) {
            const std::string why = why_not(device);
            if (why.empty()) {
                made.devices.push_back(device);
            } else {
                made.held_back.emplace(device.name, why);
            }
        }
        return made;
    }

private:
    /// kube-scheduler sees that a claim has it, and how much of it where claims share it.
    [[nodiscard]] bool is_known(const Device& device) const {
        return std::ranges::any_of(holds_, [&](const Hold& hold) {
            return hold.device->device == device.name &&
                   (device.consumable || hold.device->share.empty());
        });
    }

    /// A claim of an earlier configuration may have less of a share than its next one will, or more.
    void take(const Device& device) {
        PreparedDevice most = all_of(device);
        for (const Hold& hold : holds_) {
            if (hold.device->device != device.name) continue;
            most.memory_bytes = std::max(most.memory_bytes, hold.device->memory_bytes);
            most.compute_percent = std::max(most.compute_percent, hold.device->compute_percent);
        }
        promised_[device.gpu.text].add(most.memory_bytes, most.compute_percent);
    }

    std::string why_not(const Device& device) {
        const PreparedDevice wanted = all_of(device);
        const bool known = is_known(device);
        if (!known && !unknown_.empty()) return unknown_;
        for (const Hold& hold : holds_) {
            if (known && hold.device->device == device.name) continue;
            const bool counted = device.cut && counted_.contains(hold.device->device);
            const std::string why = counted ? "" : in_the_way(wanted, *hold.device);
            if (!why.empty()) return why + " by claim " + hold.claim;
            if (counted && device.along_counted) continue;
            if (!known && device.reset_along && device.reset_along->contains(hold.device->gpu)) {
                return "another MIG mode needs a reset, which NVLink makes one with that of " +
                       hold.device->gpu + ", held by claim " + hold.claim;
            }
        }
        if (known || device.kind != Device::Kind::kShare) return {};
        const Promised& beside = promised_[device.gpu.text];
        if (wanted.memory_bytes > 0 &&
            beside.memory + wanted.memory_bytes > device.gpu_memory_bytes) {
            return "with it " + mebibytes(beside.memory + wanted.memory_bytes) + " of " +
                   mebibytes(device.gpu_memory_bytes) + " would be given away";
        }
        if (wanted.compute_percent > 0 &&
            beside.compute + wanted.compute_percent > device.gpu_compute_percent) {
            return "with it " + std::to_string(beside.compute + wanted.compute_percent) + " of " +
                   std::to_string(device.gpu_compute_percent) +
                   " percent of its time would be given away";
        }
        take(device);
        return {};
    }

    static std::string mebibytes(std::uint64_t bytes) {
        return std::to_string(bytes >> kMebibyteShift) + "Mi";
    }

    const std::vector<Device>& devices_;
    std::set<std::string> names_;
    std::vector<Hold> holds_;
    std::set<std::string> counted_;             // held, and counters tell what of their GPU
    std::string unknown_;                       // why nothing more can be given away
    std::map<std::string, Promised> promised_;  // by uuid of the GPU
};

}  // namespace

Publishable publishable(const std::vector<Device>& devices, const PreparedClaims& prepared) {
    return Choice(devices, prepared).make();
}

}  // namespace aliquot::dra
