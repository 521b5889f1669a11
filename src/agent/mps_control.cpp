// SPDX-License-Identifier: Apache-2.0
#include "agent/mps_control.h"

#include <algorithm>

#include "base/log.h"

namespace aliquot::agent {
namespace {

constexpr std::string_view kNotYet = "MPS control daemon is starting";
constexpr std::string_view kAdvice =
    "see the MPS part of the agent's status page and the log of the daemon under flags.mpsRoot";
constexpr std::uint64_t kGeneration = 1ULL << 32U;  // more changes than one supervisor ever sees

void make_unhealthy(gpu::Gpu& gpu, std::string reason) {
    gpu.health.state = gpu::Health::State::kUnhealthy;
    gpu.health.reason = std::move(reason);
    gpu.health.advice = kAdvice;
}

}  // namespace

std::string mps_root_of(const Settings& settings) {
    const std::string& root = settings.config.flags.mps_root.value_or("");
    return root.empty() ? std::string(mps::kDefaultRoot) : root;
}

std::string mps_journal_path(const std::string& state_directory) {
    return state_directory + "/mps.journal";
}

std::vector<mps::DaemonSpec> mps_daemons(const sharing::Offer& offer) {
    std::vector<mps::DaemonSpec> wishes;
    for (const sharing::Resource& resource : offer.resources) {
        for (const sharing::OfferedGpu& offered : resource.gpus) {
            if (!offered.by_mps()) continue;
            wishes.push_back(
                {.gpu = offered.gpu.uuid,
                 .limits = {.memory_bytes = offered.limits.memory_bytes,
                            .thread_percent = offered.limits.compute_percent.value_or(100)}});
        }
    }
    return wishes;
}

void note_mps(gpu::Gpu& gpu, std::span<const mps::Status> statuses) {
    const auto status = std::ranges::find(statuses, gpu.uuid, &mps::Status::gpu);
    if (status == statuses.end() || status->serves()) return;
    if (!gpu.health.ok()) return;  // what is wrong with the GPU itself weighs more
    make_unhealthy(gpu, status->reason);
    gpu.health.since = std::chrono::time_point_cast<gpu::Moment::duration>(status->since);
}

MpsControl::MpsControl(const os::Root& root, gpu::Sensors& sensors, gpu::ComputeModes& modes,
                       const Settings& settings, Options options)
    : root_(root),
      sensors_(sensors),
      modes_(modes),
      options_(std::move(options)),
      supervisor_(make_supervisor(settings)) {
    const auto recovered = supervisor_->recover();
    if (!recovered) log::error("mps.not_recovered", {{"why", recovered.error().message}});
}

std::unique_ptr<mps::Supervisor> MpsControl::make_supervisor(const Settings& settings) const {
    mps::DaemonOptions daemon{.mps_root = mps_root_of(settings),
                              .driver_roots = {settings.driver_root},
                              .probe_interval = options_.probe_interval};
    if (root_.exists(settings.container_driver_root)) {
        daemon.driver_roots.insert(daemon.driver_roots.begin(), settings.container_driver_root);
    }
    if (settings.driver_root != "/") daemon.driver_roots.emplace_back("/");
    return std::make_unique<mps::Supervisor>(root_, sensors_, modes_, options_.journal,
                                             std::move(daemon));
}

std::optional<Error> MpsControl::objection(const Settings& settings) {
    if (settings.config.sharing.mechanism != grant::Mechanism::kMps) return std::nullopt;
    if (!options_.allowed) {
        return Error{
            ErrorCode::kPermission,
            "sharing.mps needs the capabilities SYS_ADMIN, SETUID, SETGID and KILL, which "
            "this agent gave up when it started without MPS (restart it), or was never given "
            "(aliquot install --mps)"};
    }
    if (mps_root_of(settings) == supervisor_->mps_root()) return std::nullopt;
    if (!supervisor_->idle()) {
        return Error{ErrorCode::kConflict, "flags.mpsRoot cannot become " + mps_root_of(settings) +
                                               " while MPS serves from " + supervisor_->mps_root() +
                                               "; take sharing.mps out first, or restart"};
    }
    generation_ += kGeneration;
    supervisor_ = make_supervisor(settings);
    return std::nullopt;
}

void MpsControl::apply(sharing::Offer& offer) {
    supervisor_->apply(mps_daemons(offer));
    const auto statuses = supervisor_->statuses();
    for (sharing::Resource& resource : offer.resources) {
        for (sharing::OfferedGpu& offered : resource.gpus) {
            note_mps(offered.gpu, statuses);
            const bool known =
                std::ranges::find(statuses, offered.gpu.uuid, &mps::Status::gpu) != statuses.end();
            if (offered.by_mps() && !known && offered.gpu.health.ok())
                make_unhealthy(offered.gpu, std::string(kNotYet));
        }
    }
}

void MpsControl::complete(sharing::GrantOptions& grant) const {
    grant.mps_root = supervisor_->mps_root();
    const auto statuses = supervisor_->statuses();
    grant.mps_private_shm = std::ranges::all_of(statuses, &mps::Status::private_shm);
}

}  // namespace aliquot::agent
