// SPDX-License-Identifier: Apache-2.0
#include "mig/stub_partitioner.h"

#include <algorithm>

#include "base/sentence.h"
#include "mig/plan.h"

namespace aliquot::mig {
namespace {

Error conflict(const std::string& what) { return {ErrorCode::kConflict, what}; }
Error not_found(const std::string& what) { return {ErrorCode::kNotFound, what}; }

bool has_instances(const StubNode::Gpu& gpu) {
    return std::ranges::any_of(gpu.instances, &StubNode::Instance::used);
}

bool is_busy(const StubNode::Instance& instance) {
    return std::ranges::any_of(instance.compute, [](const auto& c) { return c.used && c.busy; });
}

}  // namespace

StubPartitioner::StubPartitioner(StubNode& node)
    : node_(node), geometry_(*geometry_of(*catalog::find_gpu_model("a100-40"))) {}

void StubPartitioner::cut(unsigned gpu, std::string_view instances) {
    StubNode::Gpu& one = node_.gpus.at(gpu);
    one.enabled = one.pending = instances != "off";
    one.instances = {};
    if (!one.enabled) return;
    std::size_t at = 0;
    for (const Instance& instance : *parse_instances(instances, geometry_)) {
        StubNode::Instance& made = one.instances.at(at++);
        made.used = true;
        made.profile = *geometry_.find(instance.profile);
        made.start = instance.start;
        made.compute[0] = {true, instance.compute.front(), instance.busy};
    }
}

std::string StubPartitioner::text(unsigned gpu) const {
    const StubNode::Gpu& one = node_.gpus.at(gpu);
    if (!one.enabled) return "off";
    std::vector<std::pair<unsigned, std::string>> parts;
    for (const auto& instance : one.instances) {
        if (!instance.used) continue;
        const Profile& profile = geometry_.profiles[instance.profile];
        std::string name = profile.name + '@' + std::to_string(instance.start);
        unsigned slices = 0;
        for (const auto& compute : instance.compute) slices += compute.used ? compute.slices : 0;
        if (slices != profile.slices) name += '!';
        if (is_busy(instance)) name += ":busy";
        parts.emplace_back(instance.start, std::move(name));
    }
    std::ranges::sort(parts);
    std::string text = listed(
        parts, [](const auto& entry) { return entry.second; }, ",");
    return text.empty() ? "none" : text;
}

Result<StubNode::Gpu*> StubPartitioner::open(const gpu::Uuid& gpu, std::string_view call) {
    for (unsigned i = 0; i < node_.gpus.size(); ++i) {
        if (gpu.text != "GPU-" + std::to_string(i) || node_.gpus[i].gone) continue;
        if (node_.gpus[i].lost) return Error{ErrorCode::kUnavailable, gpu.text + ": GPU is lost"};
        if (call != "look") {
            ++node_.calls;
            if (fault) {
                auto allowed = fault(i, call);
                if (!allowed) return std::move(allowed).error();
            }
        }
        return &node_.gpus[i];
    }
    return not_found(gpu.text + ": no such GPU");
}

Result<StubNode::Instance*> StubPartitioner::find(StubNode::Gpu& gpu, unsigned instance) {
    if (instance < gpu.instances.size() && gpu.instances[instance].used) {
        return &gpu.instances[instance];
    }
    return not_found("no such instance");
}

Result<gpu::Partitions> StubPartitioner::partitions(const gpu::Uuid& gpu) {
    auto found = open(gpu, "look");
    if (!found) return std::move(found).error();
    const StubNode::Gpu& one = **found;
    gpu::Partitions partitions{.enabled = one.enabled,
                               .pending = one.pending,
                               .resetless = one.resetless,
                               .in_use = one.in_use};
    if (!one.enabled) return partitions;
    for (const Profile& profile : geometry_.profiles) {
        gpu::MigProfile told{.id = *profile.id,
                             .name = profile.name,
                             .slices = profile.slices,
                             .most = profile.most,
                             .memory_mib = profile.memory_mib};
        for (const unsigned start : profile.starts) {
            told.placements.push_back({start, profile.size});
        }
        partitions.profiles.push_back(std::move(told));
    }
    for (unsigned i = 0; i < one.instances.size(); ++i) {
        const StubNode::Instance& instance = one.instances[i];
        if (!instance.used) continue;
        const Profile& profile = geometry_.profiles[instance.profile];
        gpu::MigInstance told{
            .id = i, .profile_id = *profile.id, .placement = {instance.start, profile.size}};
        for (unsigned c = 0; c < instance.compute.size(); ++c) {
            const auto& compute = instance.compute[c];
            if (!compute.used) continue;
            told.compute.push_back(
                {.id = c,
                 .slices = compute.slices,
                 .device = {"MIG-" + gpu.text + '-' + std::to_string(i) + '-' + std::to_string(c)},
                 .busy = compute.busy});
        }
        partitions.instances.push_back(std::move(told));
    }
    std::ranges::sort(partitions.instances, {}, &gpu::MigInstance::placement);
    return partitions;
}

Result<gpu::ModeChange> StubPartitioner::set_mode(const gpu::Uuid& gpu, bool enabled) {
    auto found = open(gpu, "set_mode");
    if (!found) return std::move(found).error();
    StubNode::Gpu& one = **found;
    if (one.in_use || has_instances(one)) return conflict("In use by another client");
    one.pending = enabled;
    if (one.enabled == enabled) return gpu::ModeChange::kDone;
    if (!one.resetless) return gpu::ModeChange::kNeedsReset;
    one.enabled = enabled;
    return gpu::ModeChange::kDone;
}

Result<Done> StubPartitioner::reset(const gpu::Uuid& gpu,
                                    const std::set<gpu::Uuid>& may_lose_instances) {
    auto found = open(gpu, "reset");
    if (!found) return std::move(found).error();
    std::vector<StubNode::Gpu*> along{*found};
    for (unsigned i = 0; node_.joined && i < node_.gpus.size(); ++i) {
        StubNode::Gpu& other = node_.gpus[i];
        if (&other == *found || other.gone) continue;
        if (has_instances(other) && !may_lose_instances.contains({"GPU-" + std::to_string(i)})) {
            return conflict("another one would lose its instances");
        }
        along.push_back(&other);
    }
    for (const StubNode::Gpu* const one : along) {
        if (one->in_use) return conflict("In use by another client");
        if (std::ranges::any_of(one->instances, is_busy)) return conflict("In use by a process");
    }
    ++(*found)->resets;
    for (StubNode::Gpu* const one : along) {
        one->enabled = one->pending;
        one->instances = {};
    }
    return Done{};
}

Result<unsigned> StubPartitioner::create(const gpu::Uuid& gpu, unsigned profile_id,
                                         gpu::MigPlacement placement) {
    auto found = open(gpu, "create");
    if (!found) return std::move(found).error();
    StubNode::Gpu& one = **found;
    Occupancy taken(geometry_);
    for (const auto& instance : one.instances) {
        if (instance.used) taken.put(geometry_, {instance.profile, instance.start});
    }
    for (unsigned p = 0; p < geometry_.profiles.size(); ++p) {
        const Profile& profile = geometry_.profiles[p];
        if (profile.id != profile_id || profile.size != placement.size) continue;
        const bool known =
            std::ranges::find(profile.starts, placement.start) != profile.starts.end();
        if (!one.enabled || !known || !taken.fits(geometry_, {p, placement.start})) {
            return conflict("Insufficient Resources");
        }
        const auto place = std::ranges::find(one.instances, false, &StubNode::Instance::used);
        *place = {.used = true, .profile = p, .start = placement.start, .compute = {}};
        return static_cast<unsigned>(place - one.instances.begin());
    }
    return not_found("no such profile");
}

Result<unsigned> StubPartitioner::create_compute(const gpu::Uuid& gpu, unsigned instance,
                                                 unsigned slices) {
    auto found = open(gpu, "create_compute");
    if (!found) return std::move(found).error();
    auto in = find(**found, instance);
    if (!in) return std::move(in).error();
    unsigned used = 0;
    for (const auto& compute : (*in)->compute) used += compute.used ? compute.slices : 0;
    if (used + slices > geometry_.profiles[(*in)->profile].slices) {
        return conflict("Insufficient Resources");
    }
    const auto place = std::ranges::find((*in)->compute, false, &StubNode::Compute::used);
    *place = {true, slices, false};
    return static_cast<unsigned>(place - (*in)->compute.begin());
}

Result<Done> StubPartitioner::destroy_compute(const gpu::Uuid& gpu, unsigned instance,
                                              unsigned compute) {
    auto found = open(gpu, "destroy_compute");
    if (!found) return std::move(found).error();
    auto in = find(**found, instance);
    if (!in) return std::move(in).error();
    StubNode::Compute& one = (*in)->compute.at(compute);
    if (!one.used) return not_found("no such compute instance");
    if (one.busy) return conflict("In use by another client");
    one = {};
    return Done{};
}

Result<Done> StubPartitioner::destroy(const gpu::Uuid& gpu, unsigned instance) {
    auto found = open(gpu, "destroy");
    if (!found) return std::move(found).error();
    auto in = find(**found, instance);
    if (!in) return std::move(in).error();
    const bool empty = std::ranges::none_of((*in)->compute, &StubNode::Compute::used);
    if (!empty) return conflict("In use by another client");
    **in = {};
    return Done{};
}

}  // namespace aliquot::mig
