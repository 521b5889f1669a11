// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/meters.h"
#include "telemetry/device_account.h"
#include "telemetry/scene.h"

namespace aliquot::telemetry {

/// A GPU with processes of pods, for tests: says what it does, makes the readings that a driver
/// would give, one for each second, on a clock of its own. Values only: nothing here is a driver.
class TestWorld {
public:
    static constexpr std::uint64_t kMiB = 1ULL << 20U;

    TestWorld() {
        gpu_.uuid = {"GPU-0"};
        gpu_.memory_bytes = 16'384 * kMiB;
    }

    /// A pod that holds ids.
    void hold(const std::string& pod, std::vector<std::string> ids,
              const std::string& resource = "nvidia.com/gpu") {
        holders_.list.push_back({.owner = owner(pod), .resource = resource, .ids = std::move(ids)});
    }
    void let_go(const std::string& pod) {
        std::erase_if(holders_.list, [&](const auto& one) { return one.owner.pod == pod; });
    }
    static pods::Owner owner(const std::string& pod) {
        return {.pod_uid = "uid-" + pod, .pod_namespace = "team", .pod = pod, .container = "main"};
    }

    struct Runs {
        std::string pod;  // empty: a process of the host
        std::uint64_t memory_mib = 0;
        unsigned percent = 0;
        std::optional<unsigned> gpu_instance;
    };
    std::map<std::uint32_t, Runs> processes;
    std::map<std::uint32_t, unsigned> told_of_ended;  // percent by pid, once
    std::optional<unsigned> gpu_percent;         // empty: the sum of the processes', 100 at most
    std::map<unsigned, double> instance_active;  // MIG: by GPU instance; none: not told
    std::uint64_t power_milliwatts = 20'000;
    bool answers = true;
    bool lists_uses = true;
    Offered offered;
    std::vector<guard_region::RegionStatus> regions;
    gpu::Gpu gpu_;
    pods::Holders holders_;

    /// One second later.
    Device second() {
        now_ += std::chrono::seconds(1);
        clock_us_ += 1'000'000;
        return account_.note(gpu_, reading(), scene(), Moment(std::chrono::seconds(++wall_)));
    }
    Device seconds(unsigned count) {
        Device device;
        for (unsigned i = 0; i < count; ++i) device = second();
        return device;
    }

    [[nodiscard]] Result<gpu::Reading> reading() {
        if (!answers) {
            ++unanswered_;
            return Error{ErrorCode::kUnavailable, "GPU-0: GPU is lost"};
        }
        gpu::Reading reading;
        unsigned sum = 0;
        std::uint64_t memory = 0;
        reading.processes.emplace();
        if (lists_uses && !gpu_.mig_enabled) reading.uses.emplace();
        for (const auto& [pid, runs] : processes) {
            sum += runs.percent;
            memory += runs.memory_mib * kMiB;
            reading.processes->push_back({.pid = pid,
                                          .memory_bytes = runs.memory_mib * kMiB,
                                          .compute = true,
                                          .gpu_instance = runs.gpu_instance});
            if (reading.uses && runs.percent > 0) {
                for (const std::uint64_t at_us : sampled()) {
                    reading.uses->push_back(
                        {.pid = pid, .at_us = at_us, .sm_percent = runs.percent});
                }
            }
        }
        for (const auto& [pid, percent] : told_of_ended) {
            if (reading.uses) reading.uses->push_back({pid, clock_us_, percent});
        }
        told_of_ended.clear();
        energy_ += power_milliwatts;
        using gpu::Metric;
        reading.metrics.set(Metric::kMemoryTotalBytes, static_cast<double>(gpu_.memory_bytes));
        reading.metrics.set(Metric::kMemoryReservedBytes, static_cast<double>(256 * kMiB));
        reading.metrics.set(Metric::kMemoryUsedBytes, static_cast<double>(memory + 100 * kMiB));
        reading.metrics.set(Metric::kPowerMilliwatts, static_cast<double>(power_milliwatts));
        reading.metrics.set(Metric::kEnergyMillijoules, static_cast<double>(energy_));
        if (!gpu_.mig_enabled) {
            const unsigned percent = gpu_percent.value_or(std::min(sum, 100U));
            reading.gpu_busy.emplace();
            for (const std::uint64_t at_us : sampled()) {
                reading.gpu_busy->push_back({.at_us = at_us, .percent = percent});
            }
            unanswered_ = 0;
            return reading;
        }
        for (const PartIdentity& part : parts_of(gpu_)) {
            gpu::InstanceReading instance{.gpu_instance = *part.gpu_instance};
            std::uint64_t used = 10 * kMiB;
            for (const auto& [pid, runs] : processes) {
                if (runs.gpu_instance == part.gpu_instance) used += runs.memory_mib * kMiB;
            }
            instance.metrics.set(Metric::kMemoryUsedBytes, static_cast<double>(used));
            const auto active = instance_active.find(*part.gpu_instance);
            if (active != instance_active.end()) {
                instance.metrics.set(Metric::kGraphicsActive, active->second);
            }
            reading.instances.push_back(instance);
        }
        return reading;
    }

    /// The seconds since the last answer.
    [[nodiscard]] std::vector<std::uint64_t> sampled() const {
        std::vector<std::uint64_t> all;
        for (std::uint64_t ago = unanswered_ + 1; ago-- > 0;) {
            all.push_back(clock_us_ - ago * 1'000'000);
        }
        return all;
    }

    [[nodiscard]] Scene scene() const {
        return {.now = now_,
                .holders = &holders_,
                .offered = &offered,
                .regions = &regions,
                .belonging = [this](std::uint32_t pid) {
                    const auto found = processes.find(pid);
                    pods::Belonging belonging{.kind = pods::Belonging::Kind::kHost,
                                              .command = "python"};
                    if (found == processes.end() || found->second.pod.empty()) return belonging;
                    belonging.kind = pods::Belonging::Kind::kPod;
                    belonging.owner = owner(found->second.pod);
                    return belonging;
                }};
    }

    static const Tenant* find(const Device& device, const std::string& pod) {
        for (const Part& part : device.parts) {
            for (const Tenant& tenant : part.tenants) {
                if (tenant.owner.pod == pod) return &tenant;
            }
        }
        return nullptr;
    }

    /// The agent is killed and another one comes after some seconds, with what was kept last.
    void restart(const Device& kept, unsigned away_seconds) {
        now_ += std::chrono::seconds(away_seconds);
        clock_us_ += away_seconds * 1'000'000ULL;
        energy_ += away_seconds * power_milliwatts;
        account_ = DeviceAccount{AccountOptions{}};
        account_.resume(kept, now_);
    }
    /// The driver is loaded anew: it counts from 0.
    void reload_driver() { energy_ = 0; }
    [[nodiscard]] std::uint64_t driver_energy() const { return energy_; }

    DeviceAccount account_{AccountOptions{}};

private:
    os::TimePoint now_{std::chrono::hours(1)};
    std::uint64_t clock_us_ = 1'700'000'000'000'000;
    std::int64_t wall_ = 1'700'000'000;
    std::uint64_t energy_ = 5'000'000;
    std::uint64_t unanswered_ = 0;  // seconds since the last answer
};

}  // namespace aliquot::telemetry
