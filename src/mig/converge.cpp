// SPDX-License-Identifier: Apache-2.0
#include "mig/converge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "gpu/mig_profile.h"

namespace aliquot::mig {
namespace {

std::string name_of(const gpu::Partitions& partitions, unsigned profile_id) {
    const auto found = std::ranges::find(partitions.profiles, profile_id, &gpu::MigProfile::id);
    if (found == partitions.profiles.end()) return "profile-" + std::to_string(profile_id);
    const auto name = gpu::parse_mig_profile(found->name);
    return name ? gpu::to_text(*name) : found->name;
}

std::vector<unsigned> compute_of(const gpu::MigInstance& instance) {
    std::vector<unsigned> slices;
    for (const auto& compute : instance.compute) slices.push_back(compute.slices);
    std::ranges::sort(slices, std::greater<>());
    return slices;
}

bool is_busy(const gpu::MigInstance& instance, const std::set<std::string>& held) {
    return std::ranges::any_of(instance.compute, [&](const gpu::MigComputeInstance& compute) {
        return compute.busy || held.contains(compute.device.text);
    });
}

/// What of `wanted` is not in `present`, both descending; nothing when `present` has more.
std::optional<std::vector<unsigned>> missing(std::vector<unsigned> wanted,
                                             const std::vector<unsigned>& present) {
    for (const unsigned slices : present) {
        const auto found = std::ranges::find(wanted, slices);
        if (found == wanted.end()) return std::nullopt;
        wanted.erase(found);
    }
    return wanted;
}

/// The driver's profile for an instance: by name, else the only one of so many slices and such a
/// size, as names follow the memory that a driver reports.
const gpu::MigProfile* profile_for(const gpu::Partitions& now, const Instance& instance) {
    const auto wanted = gpu::parse_mig_profile(instance.profile);
    const gpu::MigProfile* similar = nullptr;
    unsigned count = 0;
    for (const gpu::MigProfile& profile : now.profiles) {
        const auto name = gpu::parse_mig_profile(profile.name);
        if (!name || !wanted) continue;
        if (*name == *wanted) return &profile;
        const bool alike = profile.slices == wanted->gpu_slices &&
                           name->attributes == wanted->attributes &&
                           name->without_media == wanted->without_media &&
                           std::ranges::find(profile.placements,
                                             gpu::MigPlacement{instance.start, instance.size}) !=
                               profile.placements.end();
        if (alike) {
            similar = &profile;
            ++count;
        }
    }
    return count == 1 ? similar : nullptr;
}

/// What lies between how a GPU is cut and how it shall be.
struct Difference {
    std::vector<const gpu::MigInstance*> destroy;
    /// Compute instances that a GPU instance lacks, by its id.
    std::vector<std::pair<unsigned, std::vector<unsigned>>> complete;
    std::vector<Instance> create;  // large ones first
    [[nodiscard]] bool empty() const {
        return destroy.empty() && complete.empty() && create.empty();
    }
};

Difference difference_of(const gpu::Partitions& now, const Partitioning& wanted) {
    Difference difference;
    difference.create = wanted.instances;
    for (const gpu::MigInstance& there : now.instances) {
        std::optional<std::vector<unsigned>> lacking;
        const auto same = std::ranges::find_if(difference.create, [&](const Instance& one) {
            const gpu::MigProfile* const profile = profile_for(now, one);
            if (profile == nullptr || profile->id != there.profile_id ||
                there.placement != gpu::MigPlacement{one.start, one.size}) {
                return false;
            }
            lacking = missing(one.compute, compute_of(there));
            return lacking.has_value();
        });
        if (same == difference.create.end()) {
            difference.destroy.push_back(&there);
            continue;
        }
        if (!lacking->empty()) difference.complete.emplace_back(there.id, std::move(*lacking));
        difference.create.erase(same);
    }
    std::ranges::stable_sort(difference.create, std::greater<>(), &Instance::size);
    return difference;
}

}  // namespace

std::vector<Instance> instances_of(const gpu::Partitions& partitions,
                                   const std::set<std::string>& held) {
    std::vector<Instance> instances;
    for (const gpu::MigInstance& instance : partitions.instances) {
        instances.push_back({.profile = name_of(partitions, instance.profile_id),
                             .start = instance.placement.start,
                             .size = instance.placement.size,
                             .compute = compute_of(instance),
                             .busy = is_busy(instance, held)});
    }
    std::ranges::sort(instances, {}, &Instance::start);
    return instances;
}

Partitioning partitioning_of(const gpu::Partitions& partitions) {
    Partitioning cut{.enabled = partitions.enabled};
    if (cut.enabled) cut.instances = instances_of(partitions, {});
    for (Instance& instance : cut.instances) instance.busy = false;
    return cut;
}

Converger::Converger(gpu::Partitioner& gpus, const ApplyOptions& options, os::Clock& clock)
    : gpus_(gpus), options_(options), clock_(clock) {
    restart_limit();
}

void Converger::restart_limit() { end_ = clock_.now() + options_.limit; }

void Converger::tell(std::string_view what) const {
    if (options_.progress) options_.progress(index_, what);
}

Result<Done> Converger::step(std::string_view name, const std::function<Result<Done>()>& action) {
    const std::string text(name);
    if (options_.checkpoint) options_.checkpoint("before " + text);
    auto done = action();
    if (options_.checkpoint) options_.checkpoint("after " + text);
    if (!done) return std::move(done).error().during(text);
    return done;
}

Result<Done> Converger::call(const std::string& name, Tries tries,
                             const std::function<Result<Done>()>& action) {
    // A monitor that looks at an instance holds it for a moment.
    constexpr unsigned kMostTries = 4;
    constexpr std::chrono::milliseconds kFirstWait{50};
    auto wait = kFirstWait;
    tell(name);
    for (unsigned attempt = 1;; ++attempt) {
        if (clock_.now() >= end_) {
            return Error{ErrorCode::kUnavailable, name + ": not begun, the limit of " +
                                                      std::to_string(options_.limit.count()) +
                                                      " ms is over"};
        }
        auto done = step(name, action);
        const bool again = !done && done.error().code == ErrorCode::kConflict &&
                           tries == Tries::kSeveral && attempt < kMostTries;
        if (!again) return done;
        clock_.sleep_for(wait, {});
        wait *= 2;
    }
}

Result<gpu::Partitions> Converger::with_mode(const gpu::Uuid& gpu, const Partitioning& wanted) {
    auto now = gpus_.partitions(gpu);
    if (!now || (now->enabled == wanted.enabled && now->pending == wanted.enabled)) return now;
    if (!wanted.enabled) {
        auto emptied = change_instances(gpu, *now, {.enabled = true});
        if (!emptied) return std::move(emptied).error();
    }
    auto changed = set_mode(gpu, wanted.enabled);
    if (!changed) return std::move(changed).error();
    now = gpus_.partitions(gpu);
    if (!now || now->enabled == wanted.enabled) return now;
    return Error{ErrorCode::kConflict, std::string("MIG mode is still ") +
                                           (wanted.enabled ? "off" : "on") +
                                           " after the change; the machine must be rebooted"};
}

Result<Done> Converger::request_mode(const gpu::Uuid& gpu, unsigned index,
                                     const Partitioning& wanted) {
    index_ = index;
    const auto now = gpus_.partitions(gpu);
    if (!now) return now.error();
    if (now->enabled == wanted.enabled) return Done{};
    if (!wanted.enabled) {
        auto emptied = change_instances(gpu, *now, {.enabled = true});
        if (!emptied) return emptied;
    }
    return call(wanted.enabled ? "ask for MIG mode" : "ask for no MIG mode", Tries::kSeveral,
                [&]() -> Result<Done> {
                    auto answer = gpus_.set_mode(gpu, wanted.enabled);
                    return answer ? Result<Done>(Done{}) : std::move(answer).error();
                });
}

Result<Done> Converger::converge_mode(const gpu::Uuid& gpu, unsigned index,
                                      const Partitioning& wanted) {
    index_ = index;
    auto now = with_mode(gpu, wanted);
    if (!now) return std::move(now).error();
    return Done{};
}

Result<Done> Converger::converge(const gpu::Uuid& gpu, unsigned index, const Partitioning& wanted) {
    index_ = index;
    auto now = with_mode(gpu, wanted);
    if (!now) return std::move(now).error();
    if (!wanted.enabled || difference_of(*now, wanted).empty()) return Done{};
    auto changed = change_instances(gpu, *now, wanted);
    if (!changed) return changed;
    now = gpus_.partitions(gpu);
    if (!now) return std::move(now).error();
    if (difference_of(*now, wanted).empty()) return Done{};
    return Error{ErrorCode::kConflict,
                 "is not cut as it was just cut: somebody else changes MIG too"};
}

Result<Done> Converger::set_mode(const gpu::Uuid& gpu, bool enabled) {
    bool needs_reset = false;
    const std::string name = enabled ? "turn MIG mode on" : "turn MIG mode off";
    auto changed = call(name, Tries::kSeveral, [&]() -> Result<Done> {
        auto answer = gpus_.set_mode(gpu, enabled);
        if (!answer) return std::move(answer).error();
        needs_reset = *answer == gpu::ModeChange::kNeedsReset;
        return Done{};
    });
    if (!changed || !needs_reset) return changed;
    if (!options_.allow_reset) {
        return Error{ErrorCode::kConflict, name + ": the GPU must be reset for it"};
    }
    return call("reset the GPU", Tries::kSeveral, [&] { return gpus_.reset(gpu, together_); });
}

Result<Done> Converger::destroy(const gpu::Uuid& gpu, const gpu::MigInstance& instance) {
    const std::string name = " of instance " + std::to_string(instance.id) + " at " +
                             std::to_string(instance.placement.start);
    for (const gpu::MigComputeInstance& compute : instance.compute) {
        auto gone =
            call("destroy compute instance " + std::to_string(compute.id) + name, Tries::kSeveral,
                 [&] { return gpus_.destroy_compute(gpu, instance.id, compute.id); });
        if (!gone) return gone;
    }
    return call("destroy instance " + std::to_string(instance.id) + " at " +
                    std::to_string(instance.placement.start),
                Tries::kSeveral, [&] { return gpus_.destroy(gpu, instance.id); });
}

Result<Done> Converger::add_compute(const gpu::Uuid& gpu, unsigned instance,
                                    const std::vector<unsigned>& slices) {
    for (const unsigned size : slices) {
        auto made = call("create compute instance of " + std::to_string(size) + " slices",
                         Tries::kOne, [&]() -> Result<Done> {
                             auto id = gpus_.create_compute(gpu, instance, size);
                             if (!id) return std::move(id).error();
                             return Done{};
                         });
        if (!made) return made;
    }
    return Done{};
}

Result<Done> Converger::create(const gpu::Uuid& gpu, const gpu::Partitions& now,
                               const Instance& instance) {
    const std::string name = "create " + instance.profile + '@' + std::to_string(instance.start);
    const gpu::MigProfile* const profile = profile_for(now, instance);
    if (profile == nullptr) {
        return Error{ErrorCode::kNotFound, name + ": the driver has no such profile"};
    }
    unsigned id = 0;
    auto made = call(name, Tries::kOne, [&]() -> Result<Done> {
        auto answer = gpus_.create(gpu, profile->id, {instance.start, instance.size});
        if (!answer) return std::move(answer).error();
        id = *answer;
        return Done{};
    });
    if (!made) return made;
    return add_compute(gpu, id, instance.compute);
}

Result<Done> Converger::change_instances(const gpu::Uuid& gpu, const gpu::Partitions& now,
                                         const Partitioning& wanted) {
    const Difference difference = difference_of(now, wanted);
    for (const gpu::MigInstance* const gone : difference.destroy) {
        if (!is_busy(*gone, options_.held)) continue;
        return Error{ErrorCode::kConflict, name_of(now, gone->profile_id) + '@' +
                                               std::to_string(gone->placement.start) +
                                               " is busy and cannot go"};
    }
    for (const gpu::MigInstance* const gone : difference.destroy) {
        auto destroyed = destroy(gpu, *gone);
        if (!destroyed) return destroyed;
    }
    for (const auto& [id, slices] : difference.complete) {
        auto added = add_compute(gpu, id, slices);
        if (!added) return added;
    }
    for (const Instance& instance : difference.create) {
        auto created = create(gpu, now, instance);
        if (!created) return created;
    }
    return Done{};
}

}  // namespace aliquot::mig
