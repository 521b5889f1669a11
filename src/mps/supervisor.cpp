// SPDX-License-Identifier: Apache-2.0
#include "mps/supervisor.h"

#include <algorithm>

#include "base/log.h"

namespace aliquot::mps {

Supervisor::Supervisor(const os::Root& root, gpu::Sensors& sensors, gpu::ComputeModes& modes,
                       std::string journal, DaemonOptions options)
    : journal_(root, std::move(journal)),
      around_{.root = root,
              .sensors = sensors,
              .modes = modes,
              .journal = journal_,
              .options = std::move(options),
              .changed = [this] { ++version_; }} {}

Supervisor::~Supervisor() {
    for (auto& [gpu, daemon] : daemons_) daemon->ask_to_leave();
}

Result<Done> Supervisor::recover() {
    auto loaded = journal_.load();
    const std::scoped_lock lock(mutex_);
    for (const JournalEntry& entry : journal_.entries()) left_over_.push_back(entry.gpu);
    if (!left_over_.empty()) log::info("mps.recovering", {{"gpus", left_over_.size()}});
    return loaded;
}

void Supervisor::apply(const std::vector<DaemonSpec>& wanted) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(daemons_, [](const auto& entry) { return entry.second->finished(); });
    const auto spec_for = [&](const gpu::Uuid& gpu) {
        const auto found = std::ranges::find(wanted, gpu, &DaemonSpec::gpu);
        return found == wanted.end() ? nullptr : &*found;
    };
    for (const DaemonSpec& spec : wanted) {
        const auto known = daemons_.find(spec.gpu);
        if (known != daemons_.end()) {
            known->second->serve(spec.limits);
        } else {
            daemons_[spec.gpu] = std::make_unique<ControlDaemon>(around_, spec.gpu, spec.limits);
        }
    }
    for (const gpu::Uuid& gpu : left_over_) {
        if (daemons_.contains(gpu)) continue;
        daemons_[gpu] = std::make_unique<ControlDaemon>(around_, gpu, std::nullopt);
    }
    left_over_.clear();
    for (auto& [gpu, daemon] : daemons_) {
        if (spec_for(gpu) == nullptr) daemon->end();
    }
}

std::vector<Status> Supervisor::statuses() const {
    const std::scoped_lock lock(mutex_);
    std::vector<Status> result;
    for (const auto& [gpu, daemon] : daemons_) {
        if (!daemon->finished()) result.push_back(daemon->status());
    }
    return result;
}

bool Supervisor::idle() const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::all_of(daemons_,
                               [](const auto& entry) { return entry.second->finished(); });
}

Result<Done> Supervisor::terminate_client(const gpu::Uuid& gpu, std::uint32_t client) {
    const std::scoped_lock lock(mutex_);
    const auto found = daemons_.find(gpu);
    if (found == daemons_.end()) {
        return Error{ErrorCode::kNotFound, gpu.text + " is not shared by MPS"};
    }
    const auto clients = found->second->status().clients;
    if (std::ranges::find(clients, client, &Client::pid) == clients.end()) {
        return Error{ErrorCode::kNotFound,
                     gpu.text + " has no MPS client with process id " + std::to_string(client)};
    }
    found->second->terminate(client);
    return Done{};
}

}  // namespace aliquot::mps
