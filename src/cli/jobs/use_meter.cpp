// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/use_meter.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "nvml/meters.h"
#include "os/root.h"
#include "telemetry/busy.h"

namespace aliquot::cli {
namespace {

using std::chrono::nanoseconds;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatience{2'000};
constexpr unsigned kMibShift = 20;
constexpr std::uint64_t kNsPerMicro = 1'000;

/// Asks the driver what its GPUs did since it was asked last. For one thread.
class UseMeter {
public:
    UseMeter(std::unique_ptr<os::Root> root, std::unique_ptr<nvml::Meters> meters,
             const gpu::Inventory& inventory)
        : root_(std::move(root)), meters_(std::move(meters)) {
        for (const gpu::Gpu& gpu : inventory.gpus) {
            if (gpu.uuid.text.empty()) continue;
            Watched one{.uuid = gpu.uuid};
            for (const gpu::MigDevice& mig : gpu.mig_devices) {
                one.instances.emplace_back(mig.gpu_instance, mig.uuid.text);
            }
            gpus_.push_back(std::move(one));
        }
        at_ = Steady::now();
    }

    job_server::UseLook look() {
        std::vector<gpu::MeterQuestion> questions;
        for (const Watched& one : gpus_) {
            questions.push_back({.gpu = one.uuid,
                                 .since = {.gpu_busy_us = one.busy.newest_us(),
                                           .memory_busy_us = 0,
                                           .uses_us = one.uses.newest_us()}});
        }
        const auto readings = meters_->read(questions, kPatience);
        const auto now = Steady::now();
        const nanoseconds elapsed = now - at_;
        at_ = now;
        job_server::UseLook look;
        for (std::size_t i = 0; i < gpus_.size(); ++i) {
            if (readings[i]) take(gpus_[i], *readings[i], elapsed, look);
        }
        return look;
    }

private:
    struct Watched {
        gpu::Uuid uuid;
        std::vector<std::pair<unsigned, std::string>> instances{};  // of MIG, with its UUID
        telemetry::BusySamples busy{};
        telemetry::ProcessUses uses{};
        std::optional<std::uint64_t> energy{};  // the counter, when it was read last
    };

    static std::uint32_t mib(const gpu::MetricValues& metrics) {
        const auto bytes = metrics.whole(gpu::Metric::kMemoryUsedBytes);
        return bytes ? static_cast<std::uint32_t>(*bytes >> kMibShift) : 0;
    }

    static std::uint64_t energy_since(Watched& gpu, const gpu::Reading& reading) {
        const auto counter = reading.metrics.whole(gpu::Metric::kEnergyMillijoules);
        const auto before = std::exchange(gpu.energy, counter);
        return counter && before && *counter >= *before ? *counter - *before : 0;
    }

    static void take(Watched& gpu, const gpu::Reading& reading, nanoseconds elapsed,
                     job_server::UseLook& look) {
        const auto elapsed_us = static_cast<std::uint64_t>(elapsed.count()) / kNsPerMicro;
        const std::uint64_t energy = energy_since(gpu, reading);
        if (!gpu.instances.empty()) return take_instances(gpu, reading, elapsed_us, energy, look);
        cost::Use use{.energy_millijoules = energy, .gpu_memory_mib = mib(reading.metrics)};
        if (reading.gpu_busy) {
            const auto stretch = gpu.busy.take(*reading.gpu_busy, elapsed, elapsed);
            use.busy_us = stretch.busy_ns / kNsPerMicro;
            use.measured_us = stretch.span_ns / kNsPerMicro;
        } else if (const auto percent = reading.metrics.whole(gpu::Metric::kGpuBusyPercent)) {
            constexpr std::uint64_t kHundred = 100;
            use.measured_us = elapsed_us;
            use.busy_us = elapsed_us * std::min(*percent, kHundred) / kHundred;
        }
        look.devices[gpu.uuid.text] = use;
        const auto engine = [&](gpu::Metric metric) {
            return static_cast<unsigned>(reading.metrics.whole(metric).value_or(0));
        };
        look.media_percent[gpu.uuid.text] =
            std::max(engine(gpu::Metric::kEncoderPercent), engine(gpu::Metric::kDecoderPercent));
        take_processes(gpu, reading, elapsed, look);
    }

    static void take_processes(Watched& gpu, const gpu::Reading& reading, nanoseconds elapsed,
                               job_server::UseLook& look) {
        std::map<std::uint32_t, cost::Use> processes;
        std::map<std::uint32_t, unsigned> media;
        for (const auto& one : reading.processes.value_or(std::vector<gpu::MeteredProcess>{})) {
            processes[one.pid].gpu_memory_mib +=
                static_cast<std::uint32_t>(one.memory_bytes.value_or(0) >> kMibShift);
        }
        if (reading.uses && reading.gpu_busy && reading.processes) {
            look.told_apart.insert(gpu.uuid.text);
        }
        if (reading.uses) {
            for (const gpu::ProcessUse& one : *reading.uses) {
                unsigned& most = media[one.pid];
                most = std::max({most, one.encoder_percent, one.decoder_percent});
            }
            for (const auto& [pid, busy_ns] : gpu.uses.take(*reading.uses, elapsed)) {
                processes[pid].busy_us += busy_ns / kNsPerMicro;
            }
            gpu.uses.seen_until(gpu.busy.newest_us());
        }
        for (const auto& [pid, of] : processes) {
            look.processes.push_back(
                {.pid = pid, .device = gpu.uuid.text, .use = of, .media_percent = media[pid]});
        }
    }

    /// The GPU's energy goes to its instances as they were busy, evenly when nobody was.
    static void take_instances(const Watched& gpu, const gpu::Reading& reading,
                               std::uint64_t elapsed_us, std::uint64_t energy,
                               job_server::UseLook& look) {
        std::uint64_t busy_us = 0;
        std::vector<std::pair<std::string, cost::Use>> uses;
        for (const auto& [id, uuid] : gpu.instances) {
            const auto found =
                std::ranges::find(reading.instances, id, &gpu::InstanceReading::gpu_instance);
            if (found == reading.instances.end()) continue;
            cost::Use use{.gpu_memory_mib = mib(found->metrics)};
            if (const auto active = found->metrics.amount(gpu::Metric::kGraphicsActive)) {
                use.measured_us = elapsed_us;
                use.busy_us = static_cast<std::uint64_t>(static_cast<double>(elapsed_us) *
                                                         std::min(*active, 1.0));
            }
            busy_us += use.busy_us;
            uses.emplace_back(uuid, use);
        }
        for (auto& [uuid, use] : uses) {
            use.energy_millijoules =
                busy_us == 0 ? energy / uses.size() : energy * use.busy_us / busy_us;
            look.devices[uuid] = use;
        }
    }

    std::unique_ptr<os::Root> root_;
    std::unique_ptr<nvml::Meters> meters_;
    std::vector<Watched> gpus_;
    Steady::time_point at_;
};

}  // namespace

Result<std::function<job_server::UseLook()>> use_meter(const DriverChoice& driver,
                                                       const gpu::Inventory& inventory) {
    auto root = std::make_unique<os::Root>("/");
    nvml::DriverOptions wish = driver_options_below_root(driver);
    wish.deadline = kPatience;
    auto meters = nvml::Meters::open(*root, wish);
    if (!meters) return std::move(meters).error();
    const auto meter = std::make_shared<UseMeter>(std::move(root), *std::move(meters), inventory);
    return std::function<job_server::UseLook()>([meter] { return meter->look(); });
}

}  // namespace aliquot::cli
