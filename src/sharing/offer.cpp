// SPDX-License-Identifier: Apache-2.0
#include "sharing/offer.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/text.h"
#include "gpu/replica_id.h"
#include "k8s/memory_amount.h"
#include "sharing/offer_mig.h"
#include "sharing/offer_mps.h"

namespace aliquot::sharing {
namespace {

/// Glob with * and ?, letter case ignored. Linear: the last star is the only place to go back to.
bool matches_glob(std::string_view pattern, std::string_view text) {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos;
    std::size_t resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() && (pattern[p] == '?' || lower(pattern[p]) == lower(text[t]))) {
            ++p;
            ++t;
        } else if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

/// A MIG device is meant by its own names and by those of its GPU.
bool selects(const DeviceSelector& selector, const OfferedGpu& device, std::size_t position) {
    if (selector.all) return true;
    if (device.mig && selects_mig(selector, device, position)) return true;
    const gpu::Gpu& gpu = device.gpu;
    if (!device.mig && selector.first && gpu.index < *selector.first) return true;
    if (std::ranges::find(selector.indices, gpu.index) != selector.indices.end()) return true;
    if (std::ranges::find(selector.uuids, gpu.uuid.text) != selector.uuids.end()) return true;
    return std::ranges::any_of(selector.models, [&](const std::string& pattern) {
        return matches_glob(pattern, gpu.model);
    });
}

std::string place_of(const Config& config, std::size_t entry) {
    return std::string("sharing.") + std::string(config_key(config.sharing.mechanism)) +
           ".resources[" + std::to_string(entry) + "]";
}

std::optional<Error> beyond_memory(const Config& config, std::size_t entry,
                                   const OfferedGpu& device) {
    const SharedResource& shared = config.sharing.resources[entry];
    const std::uint64_t memory = device.device_memory_bytes();
    if (!shared.limits.memory_bytes || memory == 0) return {};
    const std::uint64_t most = memory / shared.replicas;
    if (*shared.limits.memory_bytes <= most) return {};
    const std::string what = device.mig
                                 ? "MIG device " + device.index_text() + " (" + device.mig->profile
                                 : "GPU " + device.index_text() + " (" + device.gpu.model;
    return Error{ErrorCode::kInvalidInput,
                 place_of(config, entry) + ": " + std::to_string(shared.replicas) +
                     " replicas with memory " + k8s::bytes_text(*shared.limits.memory_bytes) +
                     " do not fit " + what + ", " + k8s::bytes_text(memory) + "); at most " +
                     k8s::bytes_text(most) + " each"};
}

Resource& resource_named(std::vector<Resource>& resources, const std::string& name) {
    const auto found = std::ranges::find(resources, name, &Resource::name);
    if (found != resources.end()) return *found;
    resources.push_back({.name = name});
    return resources.back();
}

void add_shared(const Sharing& sharing, const SharedResource& entry, OfferedGpu device,
                std::vector<Resource>& resources) {
    const std::string name =
        entry.rename.value_or(entry.name + (sharing.rename_by_default ? ".shared" : ""));
    Resource& resource = resource_named(resources, name);
    resource.shared = true;
    resource.fail_requests_greater_than_one = sharing.fail_requests_greater_than_one;
    resource.gpus.push_back(std::move(device));
}

void add_remarks(const Config& config, const std::vector<bool>& used, Offer& offer) {
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (!used[i]) offer.remarks.push_back(place_of(config, i) + " matches no GPU of this node");
    }
    for (const Resource& resource : offer.resources) {
        const auto whole = std::ranges::count(resource.gpus, 1U, &OfferedGpu::replicas);
        if (whole == 0 || whole == static_cast<std::ptrdiff_t>(resource.gpus.size())) continue;
        offer.remarks.push_back(
            resource.name +
            " has whole devices and shares of devices under one name, so a pod cannot "
            "choose; give the shared entry a `rename`");
    }
}

}  // namespace

std::string OfferedGpu::index_text() const {
    const std::string index = std::to_string(gpu.index);
    return mig ? index + ":" + std::to_string(mig->index) : index;
}

grant::Mechanism OfferedGpu::mechanism() const {
    if (replicas <= 1) return mig ? grant::Mechanism::kMig : grant::Mechanism::kNone;
    const bool turns = shared_by == grant::Mechanism::kTimeSlicing;
    return turns && limits.are_firm() ? grant::Mechanism::kGuarded : shared_by;
}

grant::Grant::Share share_of(const OfferedGpu& offered, unsigned replicas) {
    return {.gpu_uuid = offered.uuid().text,
            .replicas = replicas,
            .limits = grant::times(offered.limits, replicas),
            .guarded = !offered.by_mps() && offered.limits.any()};
}

std::optional<unsigned> replica_of(const OfferedGpu& device, std::string_view id) {
    const gpu::DeviceIdView view = gpu::split_device_id(id);
    const bool whole = view.device.size() == id.size();
    if (!view.valid || view.device != device.uuid().text || whole != (device.replicas == 1) ||
        view.replica >= device.replicas) {
        return std::nullopt;
    }
    return view.replica;
}

std::vector<grant::Device> Resource::devices() const {
    std::vector<grant::Device> result;
    for (const OfferedGpu& offered : gpus) {
        for (unsigned i = 0; i < offered.replicas; ++i) {
            if (offered.only && !offered.only->contains(i)) continue;
            std::string id = offered.replicas == 1 ? offered.uuid().text
                                                   : to_text(gpu::ReplicaId{offered.uuid(), i});
            result.push_back({.id = std::move(id),
                              .healthy = offered.healthy(),
                              .numa_node = offered.gpu.numa_node});
        }
    }
    return result;
}

Result<Offer> make_offer(const Config& config, const gpu::Inventory& inventory) {
    Offer offer;
    const auto& entries = config.sharing.resources;
    std::vector<bool> used(entries.size(), false);
    Candidates candidates =
        find_candidates(config.flags.mig_strategy.value_or(MigStrategy::kNone), inventory);
    offer.remarks = std::move(candidates.remarks);
    std::map<std::string, std::size_t> position;  // in each resource, before it is shared
    std::set<std::size_t> not_by_mps;             // entries that ask MPS to share a MIG device
    for (Candidate& candidate : candidates.list) {
        const std::size_t place = position[candidate.resource]++;
        const auto entry = std::ranges::find_if(entries, [&](const SharedResource& shared) {
            return shared.name == candidate.resource &&
                   selects(shared.devices, candidate.device, place);
        });
        if (entry == entries.end()) {
            resource_named(offer.resources, candidate.resource)
                .gpus.push_back(std::move(candidate.device));
            continue;
        }
        const auto index = static_cast<std::size_t>(entry - entries.begin());
        used[index] = true;
        const bool mps = config.sharing.mechanism == grant::Mechanism::kMps;
        if (candidate.device.mig && mps) {
            not_by_mps.insert(index);
            resource_named(offer.resources, candidate.resource)
                .gpus.push_back(std::move(candidate.device));
            continue;
        }
        candidate.device.replicas = entry->replicas;
        candidate.device.shared_by = config.sharing.mechanism;
        candidate.device.limits = entry->limits;
        auto problem = mps ? limit_by_mps(place_of(config, index), *entry, candidate.device)
                           : beyond_memory(config, index, candidate.device);
        if (problem) {
            if (!candidate.device.mig) return *std::move(problem);
            // Instances come and go while we run: one that does not fit must not end it all.
            offer.remarks.push_back(problem->message + "; it is not offered");
            continue;
        }
        add_shared(config.sharing, *entry, std::move(candidate.device), offer.resources);
    }
    for (const std::size_t index : not_by_mps) {
        offer.remarks.push_back(place_of(config, index) +
                                ": MPS does not share MIG devices, so they are offered whole; use "
                                "sharing.timeSlicing, or end MIG mode");
    }
    std::ranges::sort(offer.resources, {}, &Resource::name);
    add_remarks(config, used, offer);
    return offer;
}

std::string socket_name(std::string_view resource) {
    const std::size_t slash = resource.find('/');
    return "nvidia-" + std::string(resource.substr(slash + 1)) + ".sock";
}

}  // namespace aliquot::sharing
