// SPDX-License-Identifier: Apache-2.0
#include "telemetry/sampler.h"

#include <algorithm>

namespace aliquot::telemetry {
namespace {

/// Whether an id of kubelet's is of this GPU or of a MIG device of it.
bool is_of(const gpu::Gpu& gpu, std::string_view id) {
    const std::string_view uuid = read_device_name(id).uuid;
    return uuid == gpu.uuid.text ||
           std::ranges::any_of(gpu.mig_devices, [&](const gpu::MigDevice& device) {
               return device.uuid.text == uuid;
           });
}

}  // namespace

Sampler::Sampler(os::Clock& clock, Sources sources, SamplerOptions options)
    : clock_(clock), sources_(std::move(sources)), options_(std::move(options)) {}

Sampler::~Sampler() {
    pods_thread_.request_stop();
    thread_.request_stop();
}

void Sampler::start() {
    pods_thread_ = std::jthread([this](const std::stop_token& stop) { follow_pods(stop); });
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Sampler::run(const std::stop_token& stop) {
    auto next = clock_.now();
    while (!stop.stop_requested()) {
        look();
        const auto interval = reset_awaited_
                                  ? std::max(options_.interval, options_.interval_before_reset)
                                  : options_.interval;
        // At its own pace: a look that took long does not make the next ones hurry.
        next = std::max(next + interval, clock_.now());
        if (!clock_.sleep_until(next, stop)) return;
    }
}

void Sampler::follow_pods(const std::stop_token& stop) {
    do {
        sources_.census.refresh();
    } while (clock_.sleep_for(options_.interval, stop));
}

std::vector<Result<gpu::Reading>> Sampler::read(const gpu::Inventory& inventory) {
    std::vector<gpu::MeterQuestion> questions;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        const auto account = accounts_.find(gpu.uuid);
        gpu::MeterQuestion question{.gpu = gpu.uuid};
        if (account != accounts_.end()) question.since = account->second.since();
        if (!gpu.uuid.text.empty()) questions.push_back(std::move(question));
    }
    auto answers = sources_.meters.read(questions, options_.deadline);
    // In the order of the inventory, also for GPUs that cannot even be named.
    std::vector<Result<gpu::Reading>> readings;
    auto answer = answers.begin();
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (gpu.uuid.text.empty() || answer == answers.end()) {
            readings.emplace_back(Error{ErrorCode::kUnavailable, gpu.health.reason});
        } else {
            readings.push_back(std::move(*answer++));
        }
    }
    return readings;
}

void Sampler::note_failures(const std::vector<Result<gpu::Reading>>& readings, Moment now) {
    ++sight_.looks;
    bool good = false;
    for (const auto& reading : readings) {
        if (!reading) {
            ++sight_.failed_looks;
            continue;
        }
        good = true;
        for (const gpu::FailedCall& failed : reading->failures) {
            ++sight_.failed_calls[{failed.call, failed.code}];
        }
    }
    if (good || readings.empty()) sight_.last_good = now;
}

Layout Sampler::layout_of(const gpu::Gpu& gpu, const Observed& observed,
                          const pods::Holders* holders) const {
    Layout layout{.mechanism = gpu.mig_enabled ? grant::Mechanism::kMig : grant::Mechanism::kNone};
    const auto add = [&](const gpu::Uuid& uuid) {
        const auto device = observed.offered->find(uuid.text);
        if (device == observed.offered->end()) return;
        layout.slots[device->second.resource] += device->second.replicas;
        layout.replicas = std::max(layout.replicas, device->second.replicas);
        if (!gpu.mig_enabled) layout.mechanism = device->second.mechanism;
    };
    if (observed.offered) {
        add(gpu.uuid);
        for (const gpu::MigDevice& device : gpu.mig_devices) add(device.uuid);
    }
    if (holders == nullptr) return layout;
    for (const auto& [resource, slots] : layout.slots) layout.allocated[resource] = 0;
    for (const pods::Holder& holder : holders->list) {
        for (const std::string& id : holder.ids) {
            if (is_of(gpu, id)) ++layout.allocated[holder.resource];
        }
    }
    return layout;
}

DeviceAccount& Sampler::account_of(const gpu::Uuid& gpu) {
    const auto [account, is_new] = accounts_.try_emplace(gpu, options_.accounts);
    const auto kept = std::ranges::find_if(
        kept_.devices, [&](const Device& device) { return device.gpu.uuid == gpu; });
    if (is_new && kept != kept_.devices.end()) {
        account->second.resume(*kept, clock_.now());
        kept_.devices.erase(kept);
    }
    return account->second;
}

void Sampler::keep(const Snapshot& snapshot) const {
    if (!sources_.keep) return;
    if (kept_.devices.empty()) return sources_.keep(snapshot);
    Snapshot all = snapshot;  // a GPU that is not listed yet keeps its counters
    all.devices.insert(all.devices.end(), kept_.devices.begin(), kept_.devices.end());
    sources_.keep(all);
}

void Sampler::look() {
    const Observed observed = sources_.observed();
    const auto begin = clock_.now();
    const auto readings = read(observed.inventory);
    const auto now = clock_.now();
    const Moment wall = std::chrono::system_clock::now();
    note_failures(readings, wall);

    sources_.census.look();  // who has just come is known with what it holds
    const auto holders = sources_.census.holders();
    const Scene scene{
        .now = now,
        .holders = holders.get(),
        .offered = observed.offered.get(),
        .regions = observed.regions.get(),
        .belonging = [this](std::uint32_t pid) { return sources_.census.belonging_of(pid); }};
    Snapshot snapshot{.at = wall,
                      .sequence = ++sequence_,
                      .node = options_.node,
                      .driver_version = observed.inventory.driver_version,
                      .cuda_version = observed.inventory.cuda_version,
                      .driver_problem = observed.driver_problem,
                      .price_per_gpu_hour = options_.price_per_gpu_hour,
                      .regions = observed.regions};
    sight_.mps_server_only = sight_.mig_use_unknown = false;
    reset_awaited_ = false;
    std::erase_if(accounts_, [&](const auto& entry) {
        return observed.inventory.find(entry.first) == nullptr;
    });
    for (std::size_t i = 0; i < readings.size(); ++i) {
        const gpu::Gpu& gpu = observed.inventory.gpus[i];
        reset_awaited_ = reset_awaited_ || gpu.mig_pending;
        Device device{.gpu = gpu};
        if (gpu.uuid.text.empty()) {
            device.problem = gpu.health.reason;
        } else {
            DeviceAccount& account = account_of(gpu.uuid);
            device = account.note(gpu, readings[i], scene, wall);
            sight_.mps_server_only = sight_.mps_server_only || account.mps_server_only();
            sight_.mig_use_unknown = sight_.mig_use_unknown || account.mig_use_unknown();
        }
        device.layout = layout_of(gpu, observed, holders.get());
        const auto counts = observed.xids.find(gpu.uuid);
        if (counts != observed.xids.end()) device.xids = counts->second;
        const auto last = observed.last_xids.find(gpu.uuid);
        if (last != observed.last_xids.end()) device.last_xids = last->second;
        snapshot.devices.push_back(std::move(device));
    }
    if (reset_awaited_) sources_.meters.release();
    sight_.degraded = holders ? holders->degraded : std::vector<pods::Degraded>();
    sight_.look_ns = static_cast<std::uint64_t>((clock_.now() - begin).count());
    snapshot.sampling = sight_;
    keep(snapshot);
    latest_.publish(std::move(snapshot));
}

}  // namespace aliquot::telemetry
