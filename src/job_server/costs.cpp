// SPDX-License-Identifier: Apache-2.0
#include "job_server/costs.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/text.h"
#include "catalog/gpu_instances.h"
#include "k8s/memory_amount.h"
#include "k8s/quantity.h"
#include "os/process_stat.h"

namespace aliquot::job_server {
namespace {

constexpr unsigned kCostMibShift = 20;

std::uint32_t mib_of(const std::string& amount) {
    const auto bytes = amount.empty() ? Result<std::uint64_t>(0) : k8s::parse_bytes(amount);
    return bytes ? static_cast<std::uint32_t>(*bytes >> kCostMibShift) : 0;
}

std::uint32_t cpu_of(const std::string& amount) {
    const auto cpu = k8s::Quantity::parse(amount);
    if (amount.empty() || !cpu) return 0;
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(cpu->thousandths().value_or(0), 0, UINT32_MAX));
}

std::string job_name(const jobs::Request& request) {
    return request.name.empty() ? request.task_id : request.name;
}

std::string key_of(const Record& record, const std::string& uuid) {
    return concat({std::to_string(record.id), ".", std::to_string(record.attempt), "/", uuid});
}

bool is_share(const jobs::Request& request) {
    return !request.gpu_memory.empty() || request.gpu_compute != 0;
}

/// Of the device, in billionths.
std::uint32_t share_of(const jobs::Request& request, std::uint64_t device_mib) {
    if (!is_share(request)) return cost::kWholeGpu;
    return cost::share_of({.memory_mib = mib_of(request.gpu_memory),
                           .gpu_memory_mib = device_mib,
                           .compute_percent = request.gpu_compute});
}

std::uint32_t part_of(std::uint32_t share, std::uint32_t of) {
    return static_cast<std::uint32_t>(std::uint64_t{share} * of / cost::kWholeGpu);
}

}  // namespace

Result<std::unique_ptr<Costs>> Costs::open(CostsOptions options) {
    std::unique_ptr<Costs> made(new Costs(std::move(options)));
    cost_store::AccountsOptions accounts{.where = made->options_.where,
                                         .prices = made->options_.prices,
                                         .keep = made->options_.keep,
                                         .put_every = made->options_.look_every,
                                         .now = {}};
    accounts.look = [costs = made.get()](cost_store::Accounts& of) { costs->look(of); };
    auto opened = cost_store::Accounts::open(std::move(accounts));
    if (!opened) return std::move(opened).error();
    made->accounts_ = *std::move(opened);
    return made;
}

Costs::~Costs() = default;

const Device* Costs::find(const std::string& uuid) const {
    const auto found = std::ranges::find(options_.devices, uuid, &Device::uuid);
    return found == options_.devices.end() ? nullptr : &*found;
}

cost::NodeSight Costs::sight(cost::TimeMs now) const {
    cost::NodeSight node{.name = options_.machine.name,
                         .model = {},
                         .devices = {},
                         .cpu_milli = options_.cpu_milli,
                         .memory_mib = options_.memory_mib,
                         .price = {}};
    cost::Machine machine = options_.machine;
    for (const Device& device : options_.devices) {
        const std::string& gpu = device.gpu.empty() ? device.uuid : device.gpu;
        if (std::ranges::find(node.devices, gpu) == node.devices.end()) node.devices.push_back(gpu);
        if (node.model.empty())
            node.model = device.gpu_model.empty() ? device.model : device.gpu_model;
    }
    machine.gpu = node.model;
    machine.gpus = static_cast<std::uint32_t>(node.devices.size());
    node.price = cost::price_of(machine, now, options_.prices);
    return node;
}

/// Neither lock is held while the other is taken: the accounts look at us while they record.
void Costs::told(const Record& record) {
    const bool active = jobs::is_active(record.state) && !record.devices.empty();
    Holdings holdings;
    if (active) holdings = holdings_of(record);
    const std::vector<std::string> gone = keep(record, holdings);
    if (holdings.empty() && gone.empty()) return;
    const bool out_of_memory = record.cause == jobs::Cause::kOutOfMemory;
    accounts_->record([&](cost::Recorder& recorder, cost::TimeMs now) {
        recorder.watch(sight(now), now);
        for (const std::string& key : gone) {
            recorder.release(options_.machine.name, key, now, out_of_memory);
        }
        for (const auto& [key, holding] : holdings) {
            recorder.hold(options_.machine.name, key, holding, now);
        }
    });
}

Costs::Holdings Costs::holdings_of(const Record& record) const {
    Holdings holdings;
    for (const std::string& uuid : record.devices) {
        const Device* const device = find(uuid);
        if (device == nullptr) continue;
        const jobs::Request& request = record.request;
        const std::uint64_t mib = device->memory_bytes >> kCostMibShift;
        const bool first = holdings.empty();
        holdings.emplace_back(
            key_of(record, uuid),
            cost::Holding{.queue = request.queue,
                          .user = record.user.name,
                          .job = job_name(request),
                          .attempt = record.attempt,
                          .device = device->gpu.empty() ? uuid : device->gpu,
                          .part = device->gpu.empty() ? "" : uuid,
                          .share = part_of(share_of(request, mib), device->share),
                          .cpu_milli = first ? cpu_of(request.cpu) : 0,
                          .memory_mib = first ? mib_of(request.memory) : 0,
                          .gpu_memory_mib = static_cast<std::uint32_t>(
                              request.gpu_memory.empty()
                                  ? mib
                                  : std::min<std::uint64_t>(mib, mib_of(request.gpu_memory)))});
    }
    return holdings;
}

std::vector<std::string> Costs::keep(const Record& record, const Holdings& holdings) {
    const std::scoped_lock lock(mutex_);
    for (const std::string& uuid : record.devices) {
        const std::string key = key_of(record, uuid);
        const bool holds =
            std::ranges::any_of(holdings, [&](const auto& one) { return one.first == key; });
        if (!holds) continue;
        const std::uint64_t mib = find(uuid)->memory_bytes >> kCostMibShift;
        held_[key] = {.device = uuid,
                      .share = share_of(record.request, mib),
                      .alone = !is_share(record.request),
                      .runner = record.runner};
    }
    const std::string prefix =
        concat({std::to_string(record.id), ".", std::to_string(record.attempt), "/"});
    std::vector<std::string> gone;
    for (auto at = held_.lower_bound(prefix); at != held_.end() && at->first.starts_with(prefix);) {
        const bool stays =
            std::ranges::any_of(holdings, [&](const auto& one) { return one.first == at->first; });
        if (stays) {
            ++at;
            continue;
        }
        gone.push_back(at->first);
        at = held_.erase(at);
    }
    return gone;
}

cost::Use Costs::use_of(const Held& held, const cost::Use& all, const UseLook& look) {
    if (held.alone) return all;
    // Of a shared one what its own processes did; energy as they kept it busy.
    cost::Use use{.busy_us = 0, .measured_us = all.measured_us};
    std::uint64_t busy_us = 0;
    for (const UseLook::Process& process : look.processes) {
        if (process.device != held.device) continue;
        if (!is_below(process.pid, static_cast<std::uint32_t>(held.runner))) continue;
        busy_us += process.use.busy_us;
        use.gpu_memory_mib += process.use.gpu_memory_mib;
    }
    // Of its share's time.
    use.busy_us =
        held.share == 0 ? 0 : std::min(all.measured_us, busy_us * cost::kWholeGpu / held.share);
    if (all.busy_us != 0) {
        use.energy_millijoules =
            all.energy_millijoules * std::min(busy_us, all.busy_us) / all.busy_us;
    } else if (part_of(held.share, cost::kWholeGpu) != 0) {
        use.energy_millijoules = all.energy_millijoules * held.share / cost::kWholeGpu;
    }
    return use;
}

/// Reads /proc, so what is held is copied first: a job that begins does not wait for that.
void Costs::look(cost_store::Accounts& accounts) {
    const UseLook look = options_.look ? options_.look() : UseLook{};
    std::map<std::string, Held> held;
    {
        const std::scoped_lock lock(mutex_);
        held = held_;
    }
    std::vector<std::pair<std::string, cost::Use>> uses;
    for (const auto& [key, one] : held) {
        const auto whole = look.devices.find(one.device);
        if (whole != look.devices.end()) uses.emplace_back(key, use_of(one, whole->second, look));
    }
    accounts.record([&](cost::Recorder& recorder, cost::TimeMs now) {
        for (const auto& [key, use] : uses) recorder.use(options_.machine.name, key, use, now);
        recorder.watch(sight(now), now);
    });
}

std::string Costs::held(const Record& record) const {
    return accounts_->hold_reason(record.request.queue, record.user.name, "");
}

cost::Forecast Costs::forecast(const jobs::Request& request,
                               std::vector<std::int64_t> earlier) const {
    const cost::NodeSight node = sight(accounts_->now());
    cost::Span span{.rate = node.price.rate,
                    .cpu_milli = node.cpu_milli,
                    .memory_mib = node.memory_mib,
                    .devices = std::vector<cost::NameId>(node.devices.size(), 1)};
    std::uint64_t mib = 0;
    for (const Device& device : options_.devices) {
        mib = std::max<std::uint64_t>(mib, device.memory_bytes >> kCostMibShift);
    }
    return cost::forecast({.gpus = request.gpu_count,
                           .share = share_of(request, mib),
                           .cpu_milli = cpu_of(request.cpu),
                           .memory_mib = mib_of(request.memory),
                           .limit_seconds = request.deadline_seconds,
                           .earlier = std::move(earlier)},
                          span);
}

std::uint32_t machine_cpu_milli() {
    constexpr std::uint32_t kMilli = 1'000;
    return static_cast<std::uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L)) * kMilli;
}

std::uint32_t machine_memory_mib() {
    const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 1L));
    const auto bytes = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
    return static_cast<std::uint32_t>(pages * bytes >> kCostMibShift);
}

std::string machine_type() {
    std::string vendor;
    std::string product;
    std::getline(std::ifstream("/sys/class/dmi/id/sys_vendor"), vendor);
    std::getline(std::ifstream("/sys/class/dmi/id/product_name"), product);
    const bool known =
        trim(vendor) == "Amazon EC2" && catalog::find_gpu_instance(trim(product)) != nullptr;
    return known ? std::string(trim(product)) : "";
}

bool is_below(std::uint32_t pid, std::uint32_t ancestor, unsigned most) {
    for (unsigned i = 0; i < most && pid > 1; ++i) {
        if (pid == ancestor) return true;
        std::string line;
        std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), line);
        const auto stat = os::parse_stat(line);
        if (!stat) return false;
        pid = stat->parent;
    }
    return false;
}

}  // namespace aliquot::job_server
