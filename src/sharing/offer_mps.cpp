// SPDX-License-Identifier: Apache-2.0
#include "sharing/offer_mps.h"

#include <algorithm>

#include "gpu/replica_id.h"
#include "k8s/memory_amount.h"
#include "mps/directories.h"
#include "mps/reply.h"

namespace aliquot::sharing {
namespace {

constexpr unsigned kVolta = 7;
constexpr unsigned kMostClients = 48;
constexpr unsigned kMostClientsBefore = 16;
constexpr std::uint64_t kMiB = 1ULL << 20U;

bool is_before_volta(const gpu::Gpu& gpu) {
    return gpu.compute_major != 0 && gpu.compute_major < kVolta;
}

std::string name_of(const gpu::Gpu& gpu) {
    std::string text = "GPU " + std::to_string(gpu.index) + " (" + gpu.model;
    if (gpu.compute_major != 0) {
        text += ", compute capability " + std::to_string(gpu.compute_major) + "." +
                std::to_string(gpu.compute_minor);
    }
    return text + ")";
}

std::optional<Error> unsuitable(const std::string& place, const SharedResource& entry,
                                const gpu::Gpu& gpu) {
    if (gpu.mig_enabled) {
        return Error{ErrorCode::kUnsupported,
                     place + ": " + name_of(gpu) +
                         " is in MIG mode, and MPS is not served there; share its MIG devices by "
                         "sharing.timeSlicing, or leave the GPU out with `devices`"};
    }
    if (entry.replicas > most_mps_clients(gpu)) {
        return Error{ErrorCode::kInvalidInput,
                     place + ": " + std::to_string(entry.replicas) + " replicas, but " +
                         name_of(gpu) + " serves at most " + std::to_string(most_mps_clients(gpu)) +
                         " MPS clients"};
    }
    if (!is_before_volta(gpu)) return std::nullopt;
    return Error{ErrorCode::kUnsupported,
                 place + ": " + name_of(gpu) +
                     " is older than Volta (7.0): its MPS limits neither memory nor threads, and "
                     "its clients can read each other's memory; use sharing.timeSlicing for this "
                     "GPU, or leave it out with `devices`"};
}

Error beyond(const std::string& place, const gpu::Gpu& gpu, std::uint64_t wanted) {
    return {ErrorCode::kInvalidInput, place + ": the shares together want " +
                                          k8s::bytes_text(wanted) + ", more than " + name_of(gpu) +
                                          " has (" + k8s::bytes_text(gpu.memory_bytes) + ")"};
}

/// What those shares get that name no amount: equal parts of what the others leave.
struct Rest {
    std::uint64_t given_bytes = 0;
    unsigned given_percent = 0;
    unsigned without_bytes = 0;
    unsigned without_percent = 0;
};

Rest rest_of(const std::vector<grant::Limits>& shares) {
    Rest rest;
    for (const grant::Limits& share : shares) {
        rest.given_bytes += share.memory_bytes.value_or(0);
        rest.given_percent += share.compute_percent.value_or(0);
        rest.without_bytes += share.memory_bytes ? 0 : 1;
        rest.without_percent += share.compute_percent ? 0 : 1;
    }
    return rest;
}

std::optional<Error> limit_each(const std::string& place, const SharedResource& entry,
                                OfferedGpu& offered) {
    const std::uint64_t total = offered.gpu.memory_bytes;
    const Rest rest = rest_of(entry.shares);
    const std::uint64_t needed = rest.given_bytes + rest.without_bytes * kMiB;
    if (total != 0 && needed > total) return beyond(place, offered.gpu, needed);
    for (const grant::Limits& share : entry.shares) {
        grant::Limits limits{.memory_bytes = share.memory_bytes,
                             .compute_percent = share.compute_percent};
        if (!limits.memory_bytes && total != 0) {
            limits.memory_bytes = (total - rest.given_bytes) / rest.without_bytes;
        }
        if (limits.memory_bytes) *limits.memory_bytes -= *limits.memory_bytes % kMiB;
        if (!limits.compute_percent) {
            const unsigned left = rest.given_percent < 100 ? 100 - rest.given_percent : 0;
            limits.compute_percent = std::max(1U, left / rest.without_percent);
        }
        offered.shares.push_back(limits);
        offered.limits.memory_bytes = std::max(offered.limits.memory_bytes, limits.memory_bytes);
        offered.limits.compute_percent =
            std::max(offered.limits.compute_percent, limits.compute_percent);
    }
    const auto same = [&](const grant::Limits& one) { return one == offered.shares.front(); };
    if (std::ranges::all_of(offered.shares, same)) offered.shares.clear();
    return std::nullopt;
}

/// The share of an id; empty: it is not of this GPU.
std::optional<unsigned> share_of(const OfferedGpu& offered, const std::string& id) {
    return offered.by_mps() ? replica_of(offered, id) : std::nullopt;
}

/// The daemon's limits are those of the largest share; a smaller one is told to the process itself.
void lower_limits(const OfferedGpu& offered, const grant::Limits& limits, grant::Grant& grant) {
    if (limits.memory_bytes && limits.memory_bytes < offered.limits.memory_bytes) {
        grant.environment["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] =
            "0=" + mps::memory_limit_text(*limits.memory_bytes);
    }
    if (limits.compute_percent && limits.compute_percent < offered.limits.compute_percent) {
        grant.environment["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] =
            std::to_string(*limits.compute_percent);
    }
}

}  // namespace

unsigned most_mps_clients(const gpu::Gpu& gpu) {
    return is_before_volta(gpu) ? kMostClientsBefore : kMostClients;
}

std::optional<Error> limit_by_mps(const std::string& place, const SharedResource& entry,
                                  OfferedGpu& offered) {
    if (auto problem = unsuitable(place, entry, offered.gpu)) return problem;
    offered.limits = {.weight = entry.limits.weight};
    if (!entry.shares.empty()) return limit_each(place, entry, offered);
    const std::uint64_t total = offered.gpu.memory_bytes;
    if (entry.limits.memory_bytes && total != 0 &&
        *entry.limits.memory_bytes > total / entry.replicas) {
        return beyond(place, offered.gpu, *entry.limits.memory_bytes * entry.replicas);
    }
    if (entry.limits.memory_bytes || total != 0) {
        const std::uint64_t bytes = entry.limits.memory_bytes.value_or(total / entry.replicas);
        offered.limits.memory_bytes = bytes - bytes % kMiB;
    }
    offered.limits.compute_percent = entry.limits.compute_percent.value_or(100 / entry.replicas);
    return std::nullopt;
}

std::optional<Error> connect_to_mps(const Resource& resource, const GrantOptions& options,
                                    std::span<const std::string> ids, grant::Grant& grant) {
    const OfferedGpu* gpu = nullptr;
    grant::Limits most;
    std::vector<grant::Limits> held;
    for (const OfferedGpu& offered : resource.gpus) {
        for (const std::string& id : ids) {
            const auto share = share_of(offered, id);
            if (!share) continue;
            if (gpu != nullptr && gpu != &offered) {
                return Error{ErrorCode::kInvalidInput,
                             "request for " + resource.name + ": shares of GPU " +
                                 std::to_string(gpu->gpu.index) + " and of " +
                                 std::to_string(offered.gpu.index) +
                                 "; MPS connects a container to one GPU, ask for no more shares "
                                 "than one GPU has free"};
            }
            gpu = &offered;
            if (offered.shares.empty()) continue;
            const grant::Limits& limits = offered.shares[*share];
            most.memory_bytes = std::max(most.memory_bytes, limits.memory_bytes);
            most.compute_percent = std::max(most.compute_percent, limits.compute_percent);
            held.push_back(limits);
        }
    }
    if (gpu == nullptr) return std::nullopt;
    const mps::Directories host = mps::directories_of(options.mps_root, gpu->gpu.uuid);
    const std::string pipe = mps::container_pipe_directory(resource.name);
    grant.environment["CUDA_MPS_PIPE_DIRECTORY"] = pipe;
    grant.mounts.push_back({.container_path = pipe, .host_path = host.pipe, .read_only = false});
    grant.mounts.push_back({.container_path = "/dev/shm",
                            .host_path = options.mps_private_shm ? host.shm : "/dev/shm",
                            .read_only = false});
    lower_limits(*gpu, most, grant);
    const auto granted =
        std::ranges::find(grant.shares, gpu->gpu.uuid.text, &grant::Grant::Share::gpu_uuid);
    if (!held.empty() && granted != grant.shares.end()) granted->limits = grant::sum(held);
    return std::nullopt;
}

}  // namespace aliquot::sharing
