// SPDX-License-Identifier: Apache-2.0
#include "sim/node/usage.h"

#include <algorithm>
#include <array>

#include "sim/node/instances.h"
#include "sim/node/model.h"
#include "sim/node/script.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;  // a sum of them cannot overflow
constexpr std::uint64_t kNsPerUs = 1000;
/// Of its time, when contexts of several processes take turns on a GPU.
constexpr std::uint32_t kSwitchingMilli = 1500;

/// The processes on a GPU by their place in the table.
struct Members {
    std::array<std::uint16_t, kMaxProcesses> entries;
    unsigned count = 0;
};

Members members_of(const State& state, unsigned gpu) {
    Members members;
    unsigned left = state.memory[gpu].processes;
    for (unsigned entry = 0; entry < kMaxProcesses && left > 0; ++entry) {
        const ProcessState& process = state.processes[entry];
        if (process.pid == 0 || process.gpu != gpu) continue;
        members.entries[members.count++] = static_cast<std::uint16_t>(entry);
        --left;
    }
    return members;
}

/// One place where processes run: the whole GPU, or a compute instance.
struct Room {
    std::uint32_t wanted = 0;    // thousandths of a percent
    std::uint32_t contexts = 0;  // that have something to run
    bool mps = false;            // clients of MPS are in one context together
};

std::uint32_t wanted_by(const ProcessState& process) {
    return std::min(process.sm_percent, 100U) * 1000;
}

void enter(Room& room, const ProcessState& process) {
    const std::uint32_t wanted = wanted_by(process);
    if (wanted == 0) return;
    room.wanted += wanted;
    const bool client = process.kind == static_cast<std::uint32_t>(ProcessKind::kMpsClient);
    if (!client || !room.mps) ++room.contexts;
    room.mps = room.mps || client;
}

std::uint32_t got_of(const Room& room, std::uint32_t wanted) {
    if (room.wanted <= kWholeMilli) return wanted;
    return static_cast<std::uint32_t>(std::uint64_t{wanted} * kWholeMilli / room.wanted);
}

/// Who gets how much, at one moment.
struct Shares {
    Room whole;
    std::array<std::array<Room, kMaxComputeInstances>, kMaxGpuInstances> parts;
    std::array<std::uint32_t, kMaxGpuInstances> instance_milli{};
    std::array<std::uint32_t, kMaxGpuInstances> instance_switching{};
    std::uint32_t milli = 0;  // of the GPU
    std::uint32_t switching = 0;
    Load load;

    [[nodiscard]] Room* room_of(const ProcessState& process) {
        if (process.where().whole_gpu()) return &whole;
        if (process.gpu_instance >= kMaxGpuInstances ||
            process.compute_instance >= kMaxComputeInstances) {
            return nullptr;
        }
        return &parts[process.gpu_instance][process.compute_instance];
    }
    [[nodiscard]] std::uint32_t of(const ProcessState& process) {
        const Room* const room = room_of(process);
        return room == nullptr ? 0 : got_of(*room, wanted_by(process));
    }
};

/// Adds up what runs on the compute instances of a GPU in MIG mode.
void add_instances(const State& state, unsigned gpu, const Model& model, Shares& shares) {
    for (unsigned id = 0; id < kMaxGpuInstances; ++id) {
        const auto found = find_gpu_instance(state, gpu, id);
        if (!found) continue;
        for (unsigned compute = 0; compute < kMaxComputeInstances; ++compute) {
            const ComputeInstanceState& place = found.state->compute[compute];
            const Room& room = shares.parts[id][compute];
            if (place.incarnation == 0 || room.wanted == 0) continue;
            const std::uint32_t busy = std::min(room.wanted, kWholeMilli);
            shares.instance_milli[id] += static_cast<std::uint32_t>(
                std::uint64_t{busy} * place.slices / std::max(found.profile->slices, 1U));
            if (room.contexts > 1) shares.instance_switching[id] = kSwitchingMilli;
        }
        shares.instance_milli[id] = std::min(shares.instance_milli[id], kWholeMilli);
        shares.milli +=
            static_cast<std::uint32_t>(std::uint64_t{shares.instance_milli[id]} *
                                       found.profile->multiprocessors / model.multiprocessors);
        shares.switching = std::max(shares.switching, shares.instance_switching[id]);
    }
}

Shares shares_on(const State& state, unsigned gpu, const Members& members) {
    Shares shares;
    shares.load.processes = members.count;
    for (unsigned i = 0; i < members.count; ++i) {
        const ProcessState& process = state.processes[members.entries[i]];
        shares.load.memory_bytes += std::min(process.memory_bytes, kMostBytes);
        if (Room* const room = shares.room_of(process); room != nullptr) enter(*room, process);
    }
    for (unsigned i = 0; i < members.count; ++i) {
        const ProcessState& process = state.processes[members.entries[i]];
        if (process.where().whole_gpu()) shares.milli += shares.of(process);
    }
    if (shares.whole.contexts > 1) shares.switching = kSwitchingMilli;
    // Each question to the driver passes here, also while nothing runs.
    if (state.gpus[gpu].mig_current != 0 && members.count > 0) {
        const Model* const model = find_model(state.gpus[gpu].model.view());
        if (model != nullptr) add_instances(state, gpu, *model, shares);
    }
    shares.milli = std::min(shares.milli, kWholeMilli);
    shares.load.sm_percent = (shares.milli + 500) / 1000;
    shares.load.memory_percent = memory_share(shares.load.sm_percent);
    return shares;
}

/// Thousandths of a percent times microseconds, as the whole percent of one sampling period. What is
/// rounded off is left for the next one, so that samples add up to what they sample.
std::uint8_t take_sample(std::uint64_t sum, std::uint64_t& told) {
    constexpr auto kPercent = static_cast<std::int64_t>(kSamplingPeriodUs) * 1000;
    const auto left = static_cast<std::int64_t>(sum - told);
    const std::int64_t percent = std::clamp<std::int64_t>((left + kPercent / 2) / kPercent, 0, 100);
    told += static_cast<std::uint64_t>(percent * kPercent);
    return static_cast<std::uint8_t>(percent);
}

void end_period(State& state, unsigned gpu, const Members& members, std::uint64_t period) {
    SampleState& samples = state.samples[gpu];
    const LoadSums& sums = state.gpus[gpu].sums;
    const std::size_t place = period % kMaxSamples;
    samples.gpu[place] = take_sample(sums.busy, samples.told_busy);
    samples.memory[place] = take_sample(sums.memory_busy, samples.told_memory_busy);
    for (unsigned i = 0; i < members.count; ++i) {
        UseState& use = state.uses[members.entries[i]];
        use.samples[place] = take_sample(use.busy, use.told_busy);
    }
    samples.newest = period;
}

void add_throttling(LoadSums& sums, std::uint64_t reasons, std::uint64_t us) {
    constexpr std::array kReasons = {kReasonPowerCap, kReasonThermal, kReasonHardwareThermal,
                                     kReasonPowerBrake, kReasonSyncBoost};
    static_assert(kReasons.size() == kThrottles);
    for (std::size_t i = 0; i < kReasons.size(); ++i) {
        if ((reasons & kReasons[i]) != 0) sums.throttled_us[i] += us;
    }
}

/// A stretch of time in which nothing changes.
class Stretch {
public:
    Stretch(State& state, unsigned gpu, const Model& model, const Members& members)
        : state_(state),
          gpu_(gpu),
          members_(members),
          shares_(shares_on(state, gpu, members)),
          figures_(figures_of(model, state.gpus[gpu], shares_.load)) {}

    /// Goes on to `to_ns`, through the ends of sampling periods.
    void go_on(std::uint64_t to_ns) {
        LoadSums& sums = state_.gpus[gpu_].sums;
        const std::uint64_t last = driver_us(state_, to_ns) / kSamplingPeriodUs;
        SampleState& samples = state_.samples[gpu_];
        if (last > samples.newest + kMaxSamples) {
            // Older samples are forgotten anyway.
            add_until(end_of(last - kMaxSamples));
            samples.newest = last - kMaxSamples;
            samples.told_busy = sums.busy;
            samples.told_memory_busy = sums.memory_busy;
            for (unsigned i = 0; i < members_.count; ++i) {
                UseState& use = state_.uses[members_.entries[i]];
                use.told_busy = use.busy;
            }
        }
        while (samples.newest < last) {
            add_until(end_of(samples.newest + 1));
            end_period(state_, gpu_, members_, samples.newest + 1);
        }
        add_until(to_ns);
    }

private:
    [[nodiscard]] std::uint64_t end_of(std::uint64_t period) const {
        return (period * kSamplingPeriodUs - state_.clock_offset_us) * kNsPerUs;
    }

    void add_until(std::uint64_t to_ns) {
        LoadSums& sums = state_.gpus[gpu_].sums;
        if (to_ns <= sums.since_ns) return;
        const std::uint64_t us = (to_ns - sums.since_ns) / kNsPerUs;
        // First the time, then the sums: a writer killed in between loses a stretch, and none
        // counts twice.
        sums.since_ns += us * kNsPerUs;
        sums.energy_nanojoules += figures_.power_milliwatts * us;
        sums.busy += std::uint64_t{shares_.milli} * us;
        sums.memory_busy += std::uint64_t{memory_share(shares_.milli)} * us;
        sums.switching += std::uint64_t{shares_.switching} * us;
        add_throttling(sums, figures_.clock_reasons, us);
        for (unsigned id = 0; id < kMaxGpuInstances; ++id) {
            GpuInstanceState& instance = state_.mig[gpu_].instances[id];
            instance.busy += std::uint64_t{shares_.instance_milli[id]} * us;
            instance.switching += std::uint64_t{shares_.instance_switching[id]} * us;
        }
        for (unsigned i = 0; i < members_.count; ++i) {
            const unsigned entry = members_.entries[i];
            state_.uses[entry].busy += std::uint64_t{shares_.of(state_.processes[entry])} * us;
        }
    }

    State& state_;
    unsigned gpu_;
    const Members& members_;
    Shares shares_;
    Figures figures_;
};

}  // namespace

std::uint64_t driver_us(const State& state, std::uint64_t monotonic_ns) {
    return monotonic_ns / kNsPerUs + state.clock_offset_us;
}

Load load_on(const State& state, unsigned gpu) {
    return shares_on(state, gpu, members_of(state, gpu)).load;
}

std::uint32_t share_of(const State& state, unsigned entry) {
    const ProcessState& process = state.processes[entry];
    return shares_on(state, process.gpu, members_of(state, process.gpu)).of(process);
}

void settle_gpu(State& state, unsigned gpu, std::uint64_t now_ns) {
    LoadSums& sums = state.gpus[gpu].sums;
    const Model* const model = find_model(state.gpus[gpu].model.view());
    if (model == nullptr || now_ns < sums.since_ns + kNsPerUs) return;
    const Members members = members_of(state, gpu);
    bool scripted = false;
    for (unsigned i = 0; i < members.count; ++i) {
        scripted = scripted || state.scripts[members.entries[i]].phases > 0;
    }
    while (scripted) {
        std::uint64_t next = now_ns;
        for (unsigned i = 0; i < members.count; ++i) {
            follow_script(state, members.entries[i], sums.since_ns);
            next = std::min(next, next_change(state, members.entries[i], sums.since_ns));
        }
        if (next >= now_ns) break;
        // Up to the first whole microsecond that is not before the change.
        Stretch(state, gpu, *model, members).go_on(next + kNsPerUs - 1);
    }
    Stretch(state, gpu, *model, members).go_on(now_ns);
    for (unsigned i = 0; scripted && i < members.count; ++i) {
        follow_script(state, members.entries[i], now_ns);
    }
}

std::uint64_t newest_period(const State& state, unsigned gpu) { return state.samples[gpu].newest; }

std::optional<unsigned> gpu_sample(const State& state, unsigned gpu, std::uint64_t period) {
    const SampleState& samples = state.samples[gpu];
    if (period > samples.newest || period + kMaxSamples <= samples.newest) return std::nullopt;
    return samples.gpu[period % kMaxSamples];
}

std::optional<unsigned> memory_sample(const State& state, unsigned gpu, std::uint64_t period) {
    const SampleState& samples = state.samples[gpu];
    if (period > samples.newest || period + kMaxSamples <= samples.newest) return std::nullopt;
    return samples.memory[period % kMaxSamples];
}

unsigned use_after(const State& state, unsigned entry, std::uint64_t after) {
    const SampleState& samples = state.samples[state.processes[entry].gpu];
    if (after >= samples.newest) return 0;
    const std::uint64_t periods = std::min<std::uint64_t>(samples.newest - after, kMaxSamples);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < periods; ++i) {
        sum += state.uses[entry].samples[(samples.newest - i) % kMaxSamples];
    }
    return static_cast<unsigned>((sum + periods / 2) / periods);
}

void forget_use(State& state, unsigned entry) {
    state.uses[entry] = {};
    state.scripts[entry] = {};
}

}  // namespace aliquot::sim
