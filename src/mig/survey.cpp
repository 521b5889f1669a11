// SPDX-License-Identifier: Apache-2.0
#include "mig/survey.h"

#include <algorithm>
#include <utility>

#include "mig/converge.h"

namespace aliquot::mig {
namespace {

Refusal refused(std::string reason, std::vector<Instance> blocking = {}) {
    return {.reason = std::move(reason), .blocking = std::move(blocking)};
}

/// Why the mode cannot change now; nothing when it can.
std::optional<Refusal> mode_refusal(const gpu::Partitions& now, const gpu::Uuid& gpu,
                                    const std::vector<Instance>& instances, bool enabled,
                                    const ApplyOptions& options) {
    const std::string what = std::string("MIG mode cannot be turned ") + (enabled ? "on" : "off");
    std::vector<Instance> busy;
    std::ranges::copy_if(instances, std::back_inserter(busy), &Instance::busy);
    if (!busy.empty()) {
        return refused(what + ": " + busy.front().profile + '@' +
                           std::to_string(busy.front().start) + " is busy",
                       busy);
    }
    if (options.held.contains(gpu.text)) return refused(what + ": a pod holds the GPU");
    if (now.in_use) {
        return refused(what +
                       ": a process has the GPU open (nvidia-smi shows which; monitors such as "
                       "DCGM and nvidia-persistenced count too)");
    }
    if (!options.allow_reset && now.resetless != true) {
        return refused(what + " without a reset of the GPU");
    }
    return std::nullopt;
}

/// Instances that stay or come, each at its place; all else goes.
void plan_exact(Survey& survey, const std::vector<Instance>& there,
                const std::vector<Instance>& wanted) {
    const auto same = [](const Instance& a, const Instance& b) {
        return a.profile == b.profile && a.start == b.start && a.size == b.size;
    };
    const auto lacks = [&](const std::vector<Instance>& list, const Instance& one) {
        return std::ranges::none_of(list, [&](const Instance& other) { return same(one, other); });
    };
    for (const Instance& instance : there) {
        if (!lacks(wanted, instance)) continue;
        if (instance.busy) {
            survey.report.refusal =
                refused(instance.profile + '@' + std::to_string(instance.start) +
                            " is busy and would have to go",
                        {instance});
            return;
        }
        survey.report.steps.push_back({Step::Action::kDestroy, instance});
    }
    for (const Instance& instance : wanted) {
        if (lacks(there, instance)) {
            survey.report.steps.push_back({Step::Action::kCreate, instance});
        }
    }
    survey.report.layout = wanted;
    survey.entry.wanted.instances = wanted;
    for (Instance& instance : survey.entry.wanted.instances) instance.busy = false;
}

void plan_instances(Survey& survey, const Geometry& geometry, const std::vector<Instance>& there,
                    const GpuSpec& spec, const ApplyOptions& options) {
    auto answer = plan(geometry, there, spec.spec, {.leave_busy = options.leave_busy});
    if (Refusal* const refusal = std::get_if<Refusal>(&answer)) {
        survey.report.refusal = std::move(*refusal);
        return;
    }
    Plan& found = std::get<Plan>(answer);
    survey.report.steps = std::move(found.steps);
    survey.report.layout = std::move(found.layout);
    survey.entry.wanted.instances = survey.report.layout;
    for (Instance& instance : survey.entry.wanted.instances) instance.busy = false;
}

}  // namespace

Result<Survey> survey(gpu::Partitioner& gpus, const GpuSpec& spec, const ApplyOptions& options) {
    const auto now = gpus.partitions(spec.gpu);
    if (!now) return now.error();
    Survey survey;
    survey.report.gpu = spec.gpu;
    survey.report.index = spec.index;
    survey.report.enabled = spec.enabled;
    survey.report.mode_changes = now->enabled != spec.enabled || now->pending != spec.enabled;
    survey.entry = {.gpu = spec.gpu,
                    .index = spec.index,
                    .before = partitioning_of(*now),
                    .wanted = {.enabled = spec.enabled}};
    std::vector<Instance> there;
    if (now->enabled) there = instances_of(*now, options.held);
    if (survey.report.mode_changes) {
        survey.report.refusal = mode_refusal(*now, spec.gpu, there, spec.enabled, options);
    }
    if (spec.enabled && !survey.report.refusal) {
        auto geometry = geometry_of(*now);
        if (!geometry && spec.known_geometry) geometry = *spec.known_geometry;
        if (!geometry && spec.spec.empty() && !spec.exact) geometry = Geometry{};
        if (!geometry) {
            return Error{ErrorCode::kUnsupported,
                         "the driver lists the profiles of this GPU only while MIG is on, and no "
                         "table knows them: apply the layout 'none' first"};
        }
        if (spec.exact) {
            plan_exact(survey, there, *spec.exact);
        } else {
            plan_instances(survey, *geometry, there, spec, options);
        }
    } else if (!survey.report.refusal) {
        for (const Instance& instance : there) {
            survey.report.steps.push_back({Step::Action::kDestroy, instance});
        }
    }
    if (survey.report.refusal) {
        survey.report.state = GpuReport::State::kRefused;
        survey.report.message = survey.report.refusal->reason;
    } else if (survey.report.steps.empty() && !survey.report.mode_changes) {
        survey.report.state = GpuReport::State::kUnchanged;
    }
    return survey;
}

}  // namespace aliquot::mig
