// SPDX-License-Identifier: Apache-2.0
#include "mig/plan.h"

#include <algorithm>
#include <map>

#include "base/number.h"
#include "base/sentence.h"
#include "mig/search.h"

namespace aliquot::mig {
namespace {

Error bad_instance(std::string_view item, const std::string& problem) {
    return {ErrorCode::kInvalidInput,
            "instance '" + std::string(item.substr(0, 64)) + "': " + problem};
}

std::string starts_text(const Profile& profile) {
    std::string text =
        listed(profile.starts, [](const unsigned start) { return std::to_string(start); });
    return text;
}

Result<Instance> parse_instance(std::string_view item, const Geometry& geometry) {
    Instance instance;
    std::string_view rest = item;
    if (const auto colon = rest.find(':'); colon != std::string_view::npos) {
        const std::string_view state = rest.substr(colon + 1);
        if (state != "busy" && state != "idle") {
            return bad_instance(item, "expected ':busy' or ':idle' after the start");
        }
        instance.busy = state == "busy";
        rest = rest.substr(0, colon);
    }
    const auto at = rest.find('@');
    if (at == std::string_view::npos) return bad_instance(item, "expected PROFILE@START");
    const auto start = parse_number<unsigned>(rest.substr(at + 1));
    if (!start) return bad_instance(item, "expected a memory slice such as 4 after '@'");
    instance.start = *start;
    auto name = gpu::parse_mig_profile(rest.substr(0, at));
    if (!name) return std::move(name).error();
    const unsigned part = name->compute_slices;
    name->compute_slices = name->gpu_slices;
    const auto found = geometry.find(gpu::to_text(*name));
    if (!found) return bad_instance(item, "this GPU has no such profile");
    const Profile& profile = geometry.profiles[*found];
    if (std::ranges::find(profile.starts, instance.start) == profile.starts.end()) {
        return bad_instance(item, profile.name + " may start at " + starts_text(profile));
    }
    instance.profile = profile.name;
    instance.size = profile.size;
    instance.compute = {part};
    return instance;
}

Instance instance_of(const Geometry& geometry, const Placed& placed) {
    const Profile& profile = geometry.profiles[placed.slot.profile];
    return {.profile = profile.name,
            .start = placed.slot.start,
            .size = profile.size,
            .compute = placed.compute};
}

Plan plan_of(const Task& task, const Solution& solution) {
    Plan plan;
    plan.room = solution.room;
    plan.layout = task.busy;
    std::vector<Step> creates;
    std::vector<Instance> idle = task.idle;
    for (const Placed& placed : solution.placed) {
        Instance wanted = instance_of(*task.geometry, placed);
        const auto same = std::ranges::find(idle, wanted);
        if (same != idle.end()) {
            idle.erase(same);
        } else {
            creates.push_back({Step::Action::kCreate, wanted});
        }
        plan.layout.push_back(std::move(wanted));
    }
    const auto by_start = [](const Instance& a, const Instance& b) { return a.start < b.start; };
    std::ranges::sort(plan.layout, by_start);
    std::ranges::sort(idle, by_start);
    for (Instance& gone : idle) plan.steps.push_back({Step::Action::kDestroy, std::move(gone)});
    std::ranges::sort(creates, [](const Step& a, const Step& b) {
        if (a.instance.size != b.instance.size) return a.instance.size > b.instance.size;
        return a.instance.start < b.instance.start;
    });
    plan.steps.insert(plan.steps.end(), creates.begin(), creates.end());
    return plan;
}

}  // namespace

std::string to_text(const Instance& instance, const Geometry& geometry) {
    std::string text = instance.profile + '@' + std::to_string(instance.start);
    const auto profile = geometry.find(instance.profile);
    const unsigned whole = profile ? geometry.profiles[*profile].slices : 0;
    if (profile && instance.compute != std::vector{whole}) {
        std::map<unsigned, unsigned, std::greater<>> counts;
        for (const unsigned slices : instance.compute) ++counts[slices];
        text += instance.compute.empty() ? " without a compute instance" : " as ";
        for (const auto& [slices, count] : counts) {
            if (text.back() != ' ') text += ',';
            text += compute_name(instance.profile, slices, whole);
            if (count > 1) text += '*' + std::to_string(count);
        }
    }
    return text + (instance.busy ? " (busy)" : "");
}

Result<std::vector<Instance>> parse_instances(std::string_view text, const Geometry& geometry) {
    std::vector<Instance> instances;
    if (text.empty() || text == "none") return instances;
    Occupancy taken(geometry);
    while (true) {
        const std::size_t end = std::min(text.find(','), text.size());
        std::string_view item = text.substr(0, end);
        while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
        while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
        auto instance = parse_instance(item, geometry);
        if (!instance) return std::move(instance).error();
        const Slot slot{*geometry.find(instance->profile), instance->start};
        if (!taken.fits(geometry, slot)) {
            return bad_instance(item, "does not fit beside the instances before it");
        }
        taken.put(geometry, slot);
        instances.push_back(std::move(*instance));
        if (end == text.size()) break;
        text.remove_prefix(end + 1);
    }
    std::ranges::sort(instances, {}, &Instance::start);
    return instances;
}

std::variant<Plan, Refusal> plan(const Geometry& geometry, const std::vector<Instance>& now,
                                 const LayoutSpec& spec, PlanOptions options) {
    Task task{.geometry = &geometry, .leave_busy = options.leave_busy};
    for (const Instance& instance : now) {
        (instance.busy ? task.busy : task.idle).push_back(instance);
    }
    auto needs = needs_of(geometry, spec);
    if (needs) {
        task.needs = std::move(*needs);
        if (const auto solution = search(task)) return plan_of(task, *solution);
    }
    return refuse(task, spec);
}

bool is_reached(const Geometry& geometry, const std::vector<Instance>& now,
                const LayoutSpec& spec) {
    // What is there may not be moved, as if all of it were busy.
    std::vector<Instance> fixed = now;
    for (Instance& instance : fixed) instance.busy = true;
    const auto answer = plan(geometry, fixed, spec);
    const Plan* const reached = std::get_if<Plan>(&answer);
    return reached != nullptr && reached->steps.empty();
}

}  // namespace aliquot::mig
