// SPDX-License-Identifier: Apache-2.0
#include "dra/cutter.h"

#include <algorithm>
#include <map>

#include "gpu/mig_profile.h"
#include "mig/board.h"
#include "mig/converge.h"
#include "mig/places.h"

namespace aliquot::dra {
namespace {

/// One profile however its name is spelt.
bool same_profile(const std::string& a, const std::string& b) {
    if (a == b) return true;
    const auto left = gpu::parse_mig_profile(a);
    const auto right = gpu::parse_mig_profile(b);
    return left && right && *left == *right;
}

bool lies_at(const mig::Instance& instance, const Cut& cut) {
    return instance.start == cut.start && instance.size == cut.size &&
           same_profile(instance.profile, cut.profile);
}

/// The GPUs that a claim needs cut, each with what is needed of it.
std::map<std::string, std::vector<const PreparedDevice*>> by_gpu(const PreparedClaim& claim) {
    std::map<std::string, std::vector<const PreparedDevice*>> gpus;
    for (const PreparedDevice& device : claim.devices) {
        if (device.cut && !device.admin) gpus[device.gpu].push_back(&device);
    }
    return gpus;
}

/// By the tables that ship with the product where the driver tells only while MIG is on.
Result<mig::Geometry> geometry_of(const gpu::Partitions& now,
                                  const std::optional<mig::Geometry>& known) {
    auto told = mig::geometry_of(now);
    if (!told && known) return *known;
    return told;
}

/// The GPU is not there, or lost until a reset that takes its instances away: what was made is gone with it.
bool is_gone(const Error& error, const Result<gpu::Inventory>& inventory, const std::string& uuid) {
    if (error.code == ErrorCode::kNotFound) return true;
    if (error.code != ErrorCode::kUnavailable || !inventory) return false;
    const gpu::Gpu* const gpu = inventory->find({uuid});
    return gpu == nullptr || !gpu->health.ok();
}

std::vector<mig::Instance> wanted_of(const std::vector<const PreparedDevice*>& devices) {
    std::vector<mig::Instance> wanted;
    for (const PreparedDevice* const device : devices) {
        wanted.push_back({.profile = device->cut->profile,
                          .start = device->cut->start,
                          .size = device->cut->size});
    }
    return wanted;
}

const gpu::MigDevice* find_device(const gpu::Inventory& inventory, const PreparedDevice& device) {
    const gpu::Gpu* const gpu = inventory.find({device.gpu});
    if (gpu == nullptr) return nullptr;
    const auto found = std::ranges::find_if(gpu->mig_devices, [&](const gpu::MigDevice& one) {
        return one.placement == gpu::MigPlacement{device.cut->start, device.cut->size} &&
               same_profile(one.profile, device.cut->profile);
    });
    return found == gpu->mig_devices.end() ? nullptr : &*found;
}

/// Fills in what is known once they are made.
Result<Done> name_devices(PreparedClaim& claim, const gpu::Inventory& inventory) {
    std::size_t number = 0;
    for (PreparedDevice& device : claim.devices) {
        const std::size_t own = number++;
        if (device.admin || !device.cut || device.cut->is_off()) continue;
        const gpu::MigDevice* const made = find_device(inventory, device);
        if (made == nullptr || made->uuid.text.empty()) {
            return Error{ErrorCode::kUnavailable,
                         device.device + " was cut, but the driver does not list it"};
        }
        device.uuid = made->uuid.text;
        device.cdi_name = device_name(claim.claim.uid, own, device.whole, device.uuid);
    }
    return Done{};
}

}  // namespace

/// What other claims have.
class Cutter::Others {
public:
    Others(const PreparedClaim& claim, const PreparedClaims& prepared) {
        for (const auto& [uid, other] : prepared) {
            if (uid == claim.claim.uid) continue;
            for (const PreparedDevice& device : other.devices) {
                if (device.admin) continue;
                devices_.push_back(&device);
                claims_.push_back(&other);
            }
        }
    }

    [[nodiscard]] std::set<std::string> uuids() const {
        std::set<std::string> uuids;
        for (const PreparedDevice* const device : devices_) {
            if (!device->uuid.empty()) uuids.insert(device->uuid);
        }
        return uuids;
    }
    /// The first claim that has any of a GPU; null: none.
    [[nodiscard]] const PreparedClaim* holder(const std::string& gpu) const {
        const auto found = std::ranges::find(devices_, gpu, &PreparedDevice::gpu);
        if (found == devices_.end()) return nullptr;
        return claims_[static_cast<std::size_t>(found - devices_.begin())];
    }
    /// A process may have ended between making an instance and noting its uuid: its place tells whose it is.
    [[nodiscard]] std::set<std::string> held(const std::string& gpu,
                                             const gpu::Partitions& now) const {
        std::set<std::string> held = uuids();
        for (const gpu::MigInstance& instance : now.instances) {
            const bool other = std::ranges::any_of(devices_, [&](const PreparedDevice* device) {
                return device->gpu == gpu && device->cut && !device->cut->is_off() &&
                       instance.placement ==
                           gpu::MigPlacement{device->cut->start, device->cut->size};
            });
            if (!other) continue;
            for (const auto& compute : instance.compute) held.insert(compute.device.text);
        }
        return held;
    }

private:
    std::vector<const PreparedDevice*> devices_;
    std::vector<const PreparedClaim*> claims_;  // of which each of these is
};

/// The other GPUs that must or may get the MIG mode of those of `specs`, since they are reset with them.
class Cutter::Joined {
public:
    Joined(gpu::Partitioner& gpus, const Sources& sources, const Others& others)
        : gpus_(gpus), sources_(sources), others_(others) {}

    /// errors   kConflict: the mode must change, and another claim has one of the others
    Result<Done> add(const mig::GpuSpec& spec, const std::vector<mig::GpuSpec>& specs) {
        const std::set<std::string> along = sources_.reset_along(spec.gpu.text);
        if (along.empty()) return Done{};
        const auto now = gpus_.partitions(spec.gpu);
        if (!now) return now.error();
        const bool must = now->enabled != spec.enabled;
        if (!must && others_.holder(spec.gpu.text) != nullptr) is_free_ = false;
        for (const std::string& other : along) {
            if (const PreparedClaim* const holder = others_.holder(other)) {
                if (!must) is_free_ = false;
                if (!must) continue;
                return Error{ErrorCode::kConflict,
                             spec.gpu.text + " needs the other MIG mode and so a reset, which " +
                                 "NVLink makes one with that of " + other + ", held by claim " +
                                 to_text(holder->claim)};
            }
            const bool named =
                std::ranges::find(specs, gpu::Uuid{other}, &mig::GpuSpec::gpu) != specs.end();
            if (!named && seen_.insert(other).second) look_at(other, spec.enabled);
        }
        must_ = must_ || must;
        return Done{};
    }

    /// Whether the change cannot be made without them.
    [[nodiscard]] bool must() const { return must_; }
    /// Empty: all have the mode, or they may not be touched.
    [[nodiscard]] std::vector<mig::GpuSpec> specs() const {
        return must_ || is_free_ ? specs_ : std::vector<mig::GpuSpec>();
    }

private:
    void look_at(const std::string& gpu, bool enabled) {
        const auto now = gpus_.partitions({gpu});
        if (!now || now->enabled == enabled) return;  // gone, or nothing to do
        const auto there = mig::instances_of(*now, {});
        if (now->in_use || std::ranges::any_of(there, &mig::Instance::busy)) is_free_ = false;
        specs_.push_back({.gpu = {gpu}, .enabled = enabled});
    }

    gpu::Partitioner& gpus_;
    const Sources& sources_;
    const Others& others_;
    std::set<std::string> seen_;
    std::vector<mig::GpuSpec> specs_;
    bool must_ = false;
    bool is_free_ = true;
};

Cutter::Cutter(const os::Root& root, os::Clock& clock, Sources sources, Options options)
    : root_(root), clock_(clock), sources_(std::move(sources)), options_(std::move(options)) {}

Result<bool> Cutter::apply(gpu::Partitioner& gpus, const mig::StateDirectory& state,
                           const std::vector<mig::GpuSpec>& specs, std::set<std::string> held) {
    const mig::ApplyOptions options{.limit = options_.limit,
                                    .held = std::move(held),
                                    .remember = false,
                                    .checkpoint = options_.checkpoint};
    const auto report = mig::apply(gpus, state, specs, options, clock_);
    if (!report) return report.error();
    if (!report->reached) return Error{ErrorCode::kConflict, report->problem};
    return std::ranges::any_of(report->gpus, [](const mig::GpuReport& gpu) {
        return gpu.state != mig::GpuReport::State::kUnchanged;
    });
}

Result<bool> Cutter::apply_with_joined(gpu::Partitioner& gpus, const mig::StateDirectory& state,
                                       const std::vector<mig::GpuSpec>& specs, const Others& others,
                                       const std::set<std::string>& held) {
    if (!sources_.reset_along) return apply(gpus, state, specs, held);
    Joined joined(gpus, sources_, others);
    for (const mig::GpuSpec& spec : specs) {
        if (auto added = joined.add(spec, specs); !added) return added.error();
    }
    std::vector<mig::GpuSpec> all = joined.specs();
    if (all.empty()) return apply(gpus, state, specs, held);
    const auto inventory = sources_.inventory();
    for (mig::GpuSpec& spec : all) {
        const gpu::Gpu* const gpu = inventory ? inventory->find(spec.gpu) : nullptr;
        if (gpu != nullptr) spec.index = gpu->index;
    }
    all.insert(all.begin(), specs.begin(), specs.end());
    auto changed = apply(gpus, state, all, held);
    if (changed || joined.must()) return changed;
    return apply(gpus, state, specs, held);  // it is as it must be without them
}

Result<mig::GpuSpec> Cutter::spec_for(gpu::Partitioner& gpus, const std::string& uuid,
                                      const std::vector<const PreparedDevice*>& devices,
                                      const Others& others, std::set<std::string>& held) const {
    const auto now = gpus.partitions({uuid});
    if (!now) return now.error();
    held.merge(others.held(uuid, *now));
    mig::GpuSpec spec{.gpu = {uuid}, .enabled = !devices.front()->cut->is_off()};
    if (now->enabled == spec.enabled && !spec.enabled) return spec;
    const auto inventory = sources_.inventory();
    const gpu::Gpu* const gpu = inventory ? inventory->find({uuid}) : nullptr;
    if (gpu != nullptr) {
        spec.index = gpu->index;
        spec.known_geometry = mig::known_geometry(*gpu);
    }
    if (!spec.enabled) return spec;
    const auto geometry = geometry_of(*now, spec.known_geometry);
    if (!geometry) return geometry.error();
    std::vector<mig::Instance> there;
    if (now->enabled) there = mig::instances_of(*now, held);
    auto exact = mig::cut_with(*geometry, there, wanted_of(devices));
    if (!exact) return std::move(exact).error().during("GPU " + std::to_string(spec.index));
    spec.exact = *std::move(exact);
    return spec;
}

Result<std::optional<Cutter::Seen>> Cutter::cut(PreparedClaim& claim,
                                                const PreparedClaims& prepared, const Note& note) {
    const auto gpus = sources_.gpus();
    if (!gpus) return gpus.error();
    const auto state =
        mig::StateDirectory::open(root_, options_.state_directory, options_.lock_wait, clock_);
    if (!state) return state.error();
    const Others others(claim, prepared);
    std::set<std::string> held;
    std::vector<mig::GpuSpec> specs;
    for (const auto& [uuid, devices] : by_gpu(claim)) {
        auto spec = spec_for(**gpus, uuid, devices, others, held);
        if (!spec) return spec.error();
        specs.push_back(*std::move(spec));
    }
    const auto changed = apply_with_joined(**gpus, *state, specs, others, held);
    if (!changed) return changed.error();
    const bool makes = std::ranges::any_of(specs, &mig::GpuSpec::enabled);
    if (!*changed && !makes) return std::optional<Seen>();
    auto seen = sources_.look();
    if (!seen) return seen.error();
    if (auto named = name_devices(claim, seen->inventory); !named) return named.error();
    if (auto noted = note(); !noted) return noted.error();
    return std::optional(*std::move(seen));
}

Result<Done> Cutter::undo(const PreparedClaim& claim, const PreparedClaims& prepared) {
    auto needed = by_gpu(claim);
    std::erase_if(needed, [](const auto& one) { return one.second.front()->cut->is_off(); });
    if (needed.empty()) return Done{};
    const auto gpus = sources_.gpus();
    if (!gpus) return gpus.error();
    const auto state =
        mig::StateDirectory::open(root_, options_.state_directory, options_.lock_wait, clock_);
    if (!state) return state.error();
    // A change that was cut off may be what makes or takes them.
    const auto recovered = mig::recover(
        **gpus, *state, {.limit = options_.limit, .checkpoint = options_.checkpoint}, clock_);
    if (!recovered) return recovered.error();
    const Others others(claim, prepared);
    const auto inventory = sources_.inventory();
    std::set<std::string> held;
    std::vector<mig::GpuSpec> specs;
    for (const auto& [uuid, devices] : needed) {
        const auto now = (*gpus)->partitions({uuid});
        if (!now && is_gone(now.error(), inventory, uuid)) continue;
        if (!now) return now.error();
        if (!now->enabled) continue;
        held.merge(others.held(uuid, *now));
        std::vector<mig::Instance> stay = mig::instances_of(*now, held);
        const auto gone = std::erase_if(stay, [&](const mig::Instance& instance) {
            return std::ranges::any_of(devices, [&](const PreparedDevice* device) {
                return lies_at(instance, *device->cut) && !held.contains(device->uuid);
            });
        });
        if (gone == 0) continue;
        const gpu::Gpu* const gpu = inventory ? inventory->find({uuid}) : nullptr;
        specs.push_back(
            {.gpu = {uuid}, .index = gpu == nullptr ? 0 : gpu->index, .exact = std::move(stay)});
    }
    if (specs.empty()) return Done{};
    const auto changed = apply(**gpus, *state, specs, std::move(held));
    return changed ? Result<Done>(Done{}) : changed.error();
}

}  // namespace aliquot::dra
