// SPDX-License-Identifier: Apache-2.0
#include "sharing/offer_mig.h"

#include <algorithm>
#include <map>
#include <set>

#include "gpu/mig_profile.h"

namespace aliquot::sharing {
namespace {

/// "GPU 0", "GPUs 0 and 2", "GPUs 0, 1 and 2".
std::string gpus_text(const std::vector<unsigned>& indices) {
    std::string text = indices.size() == 1 ? "GPU " : "GPUs ";
    for (std::size_t i = 0; i < indices.size(); ++i) {
        if (i > 0) text += i + 1 == indices.size() ? " and " : ", ";
        text += std::to_string(indices[i]);
    }
    return text;
}

/// The vGPU host driver gives it to virtual machines: a container of this machine cannot use it.
bool is_lent(const gpu::Gpu& gpu) {
    return gpu.virtualization == gpu::Virtualization::kVgpuHost ||
           gpu.virtualization == gpu::Virtualization::kVsgaHost;
}

bool is_offerable(const gpu::Gpu& gpu) {
    return !gpu.uuid.text.empty() && !gpu.model.contains("DGX Display") && !is_lent(gpu);
}

Candidate whole(const gpu::Gpu& gpu) {
    Candidate candidate{.device = {.gpu = gpu}, .resource = std::string(kWholeGpu)};
    candidate.device.gpu.mig_devices.clear();
    return candidate;
}

Candidate part(const gpu::Gpu& gpu, const gpu::MigDevice& device) {
    Candidate candidate{.device = {.gpu = gpu, .mig = device},
                        .resource = gpu::mig_resource(device.profile)};
    candidate.device.gpu.mig_devices.clear();
    return candidate;
}

/// The GPUs of a node by what MIG makes of them.
struct Kinds {
    std::vector<unsigned> whole;  // without MIG mode
    std::vector<unsigned> cut;    // with MIG devices
    std::vector<unsigned> empty;  // in MIG mode without any
};

Kinds kinds_of(const gpu::Inventory& inventory) {
    Kinds kinds;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (!is_offerable(gpu)) continue;
        if (!gpu.mig_enabled) {
            kinds.whole.push_back(gpu.index);
        } else {
            (gpu.mig_devices.empty() ? kinds.empty : kinds.cut).push_back(gpu.index);
        }
    }
    return kinds;
}

void remark_empty(const Kinds& kinds, std::vector<std::string>& remarks) {
    if (kinds.empty.empty()) return;
    remarks.push_back(gpus_text(kinds.empty) +
                      " in MIG mode without instances: nothing of it is offered; create some "
                      "(aliquot mig apply) or end the mode");
}

/// The profile that most MIG devices have; of two with equally many the bigger one, which
/// disappoints nobody. Empty: there is no MIG device.
std::string commonest_profile(const gpu::Inventory& inventory) {
    struct Count {
        unsigned devices = 0;
        std::uint64_t memory_bytes = 0;
    };
    std::map<std::string, Count> counts;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (!is_offerable(gpu)) continue;
        for (const gpu::MigDevice& device : gpu.mig_devices) {
            Count& count = counts[device.profile];
            ++count.devices;
            count.memory_bytes = std::max(count.memory_bytes, device.memory_bytes);
        }
    }
    const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) {
        return std::pair(entry.second.devices, entry.second.memory_bytes);
    });
    return most == counts.end() ? std::string{} : most->first;
}

/// Gives the one kind of device that the node offers as nvidia.com/gpu this name, and says what
/// else there is.
void unify(const gpu::Inventory& inventory, const Kinds& kinds, Candidates& candidates) {
    if (kinds.cut.empty()) return;  // whole GPUs only
    if (kinds.whole.size() > kinds.cut.size()) {
        candidates.remarks.push_back(
            "flags.migStrategy single wants one kind of device on the node: nvidia.com/gpu is a "
            "whole GPU here, as most are; the MIG devices of " +
            gpus_text(kinds.cut) + " are offered by the names of their profiles");
        return;
    }
    if (!kinds.whole.empty()) {
        std::erase_if(candidates.list, [](const Candidate& one) { return !one.device.mig; });
        candidates.remarks.push_back(
            "flags.migStrategy single wants one kind of device on the node: nvidia.com/gpu is a "
            "MIG device here, so " +
            gpus_text(kinds.whole) +
            " without MIG mode is not offered; put it in MIG mode, or use migStrategy mixed");
    }
    const std::string profile = commonest_profile(inventory);
    std::set<std::string> others;
    for (Candidate& one : candidates.list) {
        if (one.device.mig->profile == profile) {
            one.resource = kWholeGpu;
        } else {
            others.insert(one.resource);
        }
    }
    for (const std::string& name : others) {
        candidates.remarks.push_back(
            "flags.migStrategy single wants one profile on the node: nvidia.com/gpu is a " +
            profile + " here, as most are; others are offered as " + name);
    }
}

}  // namespace

Candidates find_candidates(MigStrategy strategy, const gpu::Inventory& inventory) {
    Candidates candidates;
    const Kinds kinds = kinds_of(inventory);
    std::vector<unsigned> lent;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (is_lent(gpu)) lent.push_back(gpu.index);
        if (!is_offerable(gpu)) continue;
        if (!gpu.mig_enabled || strategy == MigStrategy::kNone) {
            candidates.list.push_back(whole(gpu));
            continue;
        }
        for (const gpu::MigDevice& device : gpu.mig_devices) {
            if (!device.uuid.text.empty()) candidates.list.push_back(part(gpu, device));
        }
    }
    if (!lent.empty()) {
        candidates.remarks.push_back(
            gpus_text(lent) +
            " lent to virtual machines by the vGPU host driver: not offered; containers need the "
            "data centre driver, or run them in those virtual machines");
    }
    if (strategy == MigStrategy::kNone) {
        std::vector<unsigned> in_mode = kinds.cut;
        in_mode.insert(in_mode.end(), kinds.empty.begin(), kinds.empty.end());
        std::ranges::sort(in_mode);
        if (!in_mode.empty()) {
            candidates.remarks.push_back(
                gpus_text(in_mode) +
                " in MIG mode, but flags.migStrategy is none: offered whole, and a program sees "
                "one "
                "MIG device of it or nothing; set migStrategy mixed or single");
        }
        return candidates;
    }
    remark_empty(kinds, candidates.remarks);
    if (strategy == MigStrategy::kSingle) unify(inventory, kinds, candidates);
    return candidates;
}

bool selects_mig(const DeviceSelector& selector, const OfferedGpu& device, std::size_t position) {
    if (selector.first && position < *selector.first) return true;
    return std::ranges::any_of(selector.mig, [&](const std::string& wanted) {
        return wanted == device.mig->uuid.text || wanted == device.index_text();
    });
}

}  // namespace aliquot::sharing
