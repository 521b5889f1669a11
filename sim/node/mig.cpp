// SPDX-License-Identifier: Apache-2.0
#include "sim/node/mig.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>

#include "sim/node/events.h"
#include "sim/node/processes.h"

namespace aliquot::sim {
namespace {

constexpr unsigned kHopper = 9;

const Model& model_of(const State& state, unsigned gpu) {
    return *find_model(state.gpus[gpu].model.view());
}

unsigned bits(unsigned start, unsigned size) { return ((1U << size) - 1) << start; }

/// A number that no instance of the node has had.
std::uint64_t next_incarnation(State& state) { return ++state.next_incarnation; }

std::uint64_t mixed(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

/// The uuid of a MIG device follows from its GPU and its incarnation.
std::string device_uuid(const GpuState& gpu, std::uint64_t incarnation) {
    std::uint64_t seed = 14695981039346656037ULL;
    for (const char c : gpu.uuid.view()) {
        seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    }
    const std::uint64_t high = mixed(seed ^ incarnation);
    const std::uint64_t low = mixed(high + incarnation);
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "MIG-%08x-%04x-5%03x-%04x-%012llx",
                  static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                  static_cast<unsigned>(high & 0xfff),
                  static_cast<unsigned>(0x8000 | (low >> 48 & 0x3fff)),
                  static_cast<unsigned long long>(low & 0xffffffffffff));
    return text.data();
}

/// As the driver numbers: the halves of a GPU follow on the whole, the quarters on the halves.
unsigned instance_id(const Model& model, unsigned start, unsigned size) {
    return memory_slices(model) / size - 1 + start / size;
}

unsigned taken_slices(const State& state, unsigned gpu) {
    unsigned taken = 0;
    for (unsigned id = 0; id < kMaxGpuInstances; ++id) {
        if (const auto found = find_gpu_instance(state, gpu, id)) {
            taken |= bits(found.state->start, found.state->size);
        }
    }
    return taken;
}

/// Places that could still be filled, over all profiles, when `taken` slices are.
unsigned places_left(const Model& model, unsigned taken) {
    unsigned places = 0;
    for (const GpuProfile& profile : gpu_profiles(model)) {
        for (unsigned start = 0; start < memory_slices(model); ++start) {
            if (profile.starts_at(start) && (taken & bits(start, profile.size)) == 0) ++places;
        }
    }
    return places;
}

unsigned best_start(const State& state, unsigned gpu, const GpuProfile& profile, unsigned free) {
    const Model& model = model_of(state, gpu);
    const unsigned taken = taken_slices(state, gpu);
    unsigned best = 0;
    unsigned most_left = 0;
    bool first = true;
    for (unsigned start = 0; start < memory_slices(model); ++start) {
        if ((free >> start & 1) == 0) continue;
        const unsigned left = places_left(model, taken | bits(start, profile.size));
        if (!first && left <= most_left) continue;
        first = false;
        best = start;
        most_left = left;
    }
    return best;
}

bool runs_on(const State& state, unsigned gpu, const Instance& instance) {
    return std::ranges::any_of(state.processes, [&](const ProcessState& process) {
        return process.pid != 0 && process.gpu == gpu &&
               process.gpu_instance == instance.gpu_instance &&
               process.compute_instance == instance.compute_instance;
    });
}

bool has_instances(const State& state, unsigned gpu) {
    for (unsigned id = 0; id < kMaxGpuInstances; ++id) {
        if (find_gpu_instance(state, gpu, id)) return true;
    }
    return false;
}

unsigned lowest_free_device_index(const State& state, unsigned gpu) {
    unsigned used = 0;
    for (const Instance& device : mig_devices(state, gpu)) {
        const auto index = find_compute_instance(state, gpu, device)->device_index;
        if (index < 32) used |= 1U << index;
    }
    return static_cast<unsigned>(std::countr_one(used));
}

}  // namespace

unsigned free_starts(const State& state, unsigned gpu, const GpuProfile& profile) {
    unsigned same = 0;
    bool media_taken = false;
    for (unsigned id = 0; id < kMaxGpuInstances; ++id) {
        const auto found = find_gpu_instance(state, gpu, id);
        if (!found) continue;
        if (found.profile == &profile) ++same;
        media_taken = media_taken || found.profile->media();
    }
    if (same >= profile.most || (profile.media() && media_taken)) return 0;
    const unsigned taken = taken_slices(state, gpu);
    unsigned free = 0;
    for (unsigned start = 0; start < memory_slices(model_of(state, gpu)); ++start) {
        if (profile.starts_at(start) && (taken & bits(start, profile.size)) == 0) {
            free |= 1U << start;
        }
    }
    return free;
}

unsigned free_compute_starts(const State& state, unsigned gpu, unsigned gpu_instance,
                             const ComputeProfile& profile) {
    unsigned taken = 0;
    for (unsigned id = 0; id < kMaxComputeInstances; ++id) {
        const auto* const other = find_compute_instance(
            state, gpu, {.gpu_instance = gpu_instance, .compute_instance = id});
        if (other != nullptr) taken |= bits(other->start, other->slices);
    }
    unsigned free = 0;
    for (unsigned start = 0; start < 8; ++start) {
        if ((profile.starts >> start & 1) != 0 && (taken & bits(start, profile.slices)) == 0) {
            free |= 1U << start;
        }
    }
    return free;
}

Made create_gpu_instance(State& state, unsigned gpu, unsigned profile_id,
                         std::optional<unsigned> start) {
    const Model& model = model_of(state, gpu);
    const GpuProfile* const profile = find_gpu_profile(model, profile_id);
    if (profile == nullptr) return {MigAnswer::kNoProfile};
    if (start && !profile->starts_at(*start)) return {MigAnswer::kBadPlace};
    const unsigned free = free_starts(state, gpu, *profile);
    if (free == 0 || (start && (free >> *start & 1) == 0)) return {MigAnswer::kNoRoom};
    const unsigned place = start ? *start : best_start(state, gpu, *profile, free);
    const unsigned id = instance_id(model, place, profile->size);
    GpuInstanceState& made = state.mig[gpu].instances[id];
    for (ComputeInstanceState& compute : made.compute) compute.incarnation = 0;
    made.profile_id = profile->id;
    made.start = place;
    made.size = profile->size;
    made.busy = made.switching = 0;
    std::atomic_ref(made.incarnation).store(next_incarnation(state), std::memory_order_release);
    push_event(state, gpu, kEventMigChange, 0, {.gpu_instance = id});
    return {MigAnswer::kDone, id};
}

MigAnswer destroy_gpu_instance(State& state, unsigned gpu, unsigned id) {
    if (!find_gpu_instance(state, gpu, id)) return MigAnswer::kNotFound;
    for (unsigned compute = 0; compute < kMaxComputeInstances; ++compute) {
        const Instance inside{.gpu_instance = id, .compute_instance = compute};
        if (find_compute_instance(state, gpu, inside) != nullptr) return MigAnswer::kInUse;
    }
    std::atomic_ref(state.mig[gpu].instances[id].incarnation).store(0, std::memory_order_release);
    push_event(state, gpu, kEventMigChange, 0, {.gpu_instance = id});
    return MigAnswer::kDone;
}

Made create_compute_instance(State& state, unsigned gpu, unsigned gpu_instance, unsigned profile_id,
                             std::optional<unsigned> start) {
    const auto parent = find_gpu_instance(state, gpu, gpu_instance);
    if (!parent) return {MigAnswer::kNotFound};
    const auto profile = compute_profile(model_of(state, gpu), *parent.profile, profile_id);
    if (profile.slices == 0) return {MigAnswer::kNoProfile};
    if (start && (*start >= 8 || (profile.starts >> *start & 1) == 0)) {
        return {MigAnswer::kBadPlace};
    }
    const unsigned free = free_compute_starts(state, gpu, gpu_instance, profile);
    if (free == 0 || (start && (free >> *start & 1) == 0)) return {MigAnswer::kNoRoom};
    unsigned id = 0;
    while (id < kMaxComputeInstances && parent.state->compute[id].incarnation != 0) ++id;
    if (id == kMaxComputeInstances) return {MigAnswer::kNoRoom};  // only in a damaged file
    const std::uint64_t incarnation = next_incarnation(state);
    ComputeInstanceState& made = state.mig[gpu].instances[gpu_instance].compute[id];
    made.profile_id = profile.id;
    made.start = start ? *start : static_cast<unsigned>(std::countr_zero(free));
    made.slices = profile.slices;
    made.device_index = lowest_free_device_index(state, gpu);
    made.uuid.assign(device_uuid(state.gpus[gpu], incarnation));
    std::atomic_ref(made.incarnation).store(incarnation, std::memory_order_release);
    push_event(state, gpu, kEventMigChange, 0,
               {.gpu_instance = gpu_instance, .compute_instance = id});
    return {MigAnswer::kDone, id};
}

MigAnswer destroy_compute_instance(State& state, unsigned gpu, const Instance& instance) {
    if (find_compute_instance(state, gpu, instance) == nullptr) return MigAnswer::kNotFound;
    drop_dead_processes(state);
    if (runs_on(state, gpu, instance)) return MigAnswer::kInUse;
    ComputeInstanceState& gone =
        state.mig[gpu].instances[instance.gpu_instance].compute[instance.compute_instance];
    std::atomic_ref(gone.incarnation).store(0, std::memory_order_release);
    push_event(state, gpu, kEventMigChange, 0, instance);
    return MigAnswer::kDone;
}

MigAnswer set_mig_mode(State& state, unsigned gpu, bool enabled) {
    GpuState& changed = state.gpus[gpu];
    const std::uint32_t wish = enabled ? 1 : 0;
    changed.mig_pending = wish;
    if (changed.mig_current == wish) return MigAnswer::kDone;
    drop_dead_processes(state);
    if (!processes_on(state, gpu).empty()) return MigAnswer::kInUse;
    if (model_of(state, gpu).architecture < kHopper) return MigAnswer::kNeedsReset;
    if (has_instances(state, gpu)) return MigAnswer::kInUse;
    changed.mig_current = wish;
    push_event(state, gpu, kEventMigChange, 0);
    return MigAnswer::kDone;
}

void reset_mig(State& state, unsigned gpu) {
    for (GpuInstanceState& instance : state.mig[gpu].instances) {
        std::atomic_ref(instance.incarnation).store(0, std::memory_order_release);
    }
    GpuState& changed = state.gpus[gpu];
    const bool keeps = model_of(state, gpu).architecture < kHopper;
    if (!keeps) changed.mig_pending = 0;
    if (changed.mig_current == changed.mig_pending) return;
    changed.mig_current = changed.mig_pending;
    push_event(state, gpu, kEventMigChange, 0);
}

}  // namespace aliquot::sim
