// SPDX-License-Identifier: Apache-2.0
#include "sharing/offer.h"

#include <algorithm>
#include <cctype>

#include "base/quantity.h"
#include "sharing/offer_mps.h"
#include "sharing/replica_id.h"

namespace aliquot::sharing {
namespace {

constexpr std::string_view kWholeGpu = "nvidia.com/gpu";

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

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

bool selects(const DeviceSelector& selector, const gpu::Gpu& gpu) {
    if (selector.all) return true;
    if (selector.first && gpu.index < *selector.first) return true;
    if (std::ranges::find(selector.indices, gpu.index) != selector.indices.end()) return true;
    if (std::ranges::find(selector.uuids, gpu.uuid.text) != selector.uuids.end()) return true;
    return std::ranges::any_of(selector.models, [&](const std::string& pattern) {
        return matches_glob(pattern, gpu.model);
    });
}

bool is_display_board(const gpu::Gpu& gpu) { return gpu.model.contains("DGX Display"); }

std::string place_of(const Config& config, std::size_t entry) {
    return std::string("sharing.") +
           (config.sharing.mechanism == Mechanism::kMps ? "mps" : "timeSlicing") + ".resources[" +
           std::to_string(entry) + "]";
}

std::optional<Error> unsupported(const Config& config, const gpu::Inventory& inventory) {
    if (config.flags.mig_strategy.value_or(MigStrategy::kNone) == MigStrategy::kNone) return {};
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (!gpu.mig_enabled) continue;
        return Error{ErrorCode::kUnsupported,
                     gpu.uuid.text +
                         " is in MIG mode, and flags.migStrategy single or "
                         "mixed is not served by this version"};
    }
    return {};
}

std::optional<Error> beyond_memory(const Config& config, std::size_t entry, const gpu::Gpu& gpu) {
    const SharedResource& shared = config.sharing.resources[entry];
    if (!shared.memory_bytes || gpu.memory_bytes == 0) return {};
    const std::uint64_t most = gpu.memory_bytes / shared.replicas;
    if (*shared.memory_bytes <= most) return {};
    return Error{ErrorCode::kInvalidInput,
                 place_of(config, entry) + ": " + std::to_string(shared.replicas) +
                     " replicas with memory " + bytes_text(*shared.memory_bytes) +
                     " do not fit GPU " + std::to_string(gpu.index) + " (" + gpu.model + ", " +
                     bytes_text(gpu.memory_bytes) + "); at most " + bytes_text(most) + " each"};
}

Resource& resource_named(std::vector<Resource>& resources, const std::string& name) {
    const auto found = std::ranges::find(resources, name, &Resource::name);
    if (found != resources.end()) return *found;
    resources.push_back({.name = name});
    return resources.back();
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
            " has whole GPUs and shares of GPUs under one name, so a pod cannot "
            "choose; give the shared entry a `rename`");
    }
}

}  // namespace

std::vector<kubelet::Device> Resource::devices() const {
    std::vector<kubelet::Device> result;
    for (const OfferedGpu& offered : gpus) {
        for (unsigned i = 0; i < offered.replicas; ++i) {
            std::string id = offered.replicas == 1 ? offered.gpu.uuid.text
                                                   : to_text(ReplicaId{offered.gpu.uuid, i});
            result.push_back({.id = std::move(id),
                              .healthy = offered.gpu.health.ok(),
                              .numa_node = offered.gpu.numa_node});
        }
    }
    return result;
}

Result<Offer> make_offer(const Config& config, const gpu::Inventory& inventory) {
    if (auto problem = unsupported(config, inventory)) return *std::move(problem);
    Offer offer;
    const auto& entries = config.sharing.resources;
    std::vector<bool> used(entries.size(), false);
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (gpu.uuid.text.empty() || is_display_board(gpu)) continue;
        const auto entry = std::ranges::find_if(entries, [&](const SharedResource& shared) {
            return shared.name == kWholeGpu && selects(shared.devices, gpu);
        });
        if (entry == entries.end()) {
            resource_named(offer.resources, std::string(kWholeGpu)).gpus.push_back({.gpu = gpu});
            continue;
        }
        const auto index = static_cast<std::size_t>(entry - entries.begin());
        OfferedGpu offered{.gpu = gpu,
                           .replicas = entry->replicas,
                           .memory_bytes = entry->memory_bytes,
                           .compute_percent = entry->compute_percent};
        auto problem = config.sharing.mechanism == Mechanism::kMps
                           ? limit_by_mps(place_of(config, index), *entry, offered)
                           : beyond_memory(config, index, gpu);
        if (problem) return *std::move(problem);
        used[index] = true;
        const std::string name = entry->rename.value_or(
            entry->name + (config.sharing.rename_by_default ? ".shared" : ""));
        Resource& resource = resource_named(offer.resources, name);
        resource.shared = true;
        resource.fail_requests_greater_than_one = config.sharing.fail_requests_greater_than_one;
        resource.gpus.push_back(std::move(offered));
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
