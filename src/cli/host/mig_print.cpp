// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <ostream>

#include "base/sentence.h"
#include "base/text.h"
#include "cli/host/mig_command.h"
#include "document/build.h"
#include "mig/search.h"

namespace aliquot::cli {
namespace {

using document::make_mapping;
using document::make_sequence;
using document::only_if;
using document::Value;

/// Its compute instances by name; empty: one that fills it, as usual.
std::vector<std::string> parts_of(const mig::Instance& instance) {
    std::vector<std::string> parts;
    const auto name = gpu::parse_mig_profile(instance.profile);
    if (!name || instance.compute == std::vector{name->gpu_slices}) return parts;
    for (const unsigned slices : instance.compute) {
        parts.push_back(mig::compute_name(instance.profile, slices, name->gpu_slices));
    }
    return parts;
}

bool is_whole(const mig::Instance& instance) {
    const auto name = gpu::parse_mig_profile(instance.profile);
    return !name || instance.compute == std::vector{name->gpu_slices};
}

void add_place(Value& node, const mig::Instance& instance) {
    append(node, "profile", instance.profile);
    append(node, "start", instance.start);
    append(node, "size", instance.size);
    append(node, "compute", only_if(!is_whole(instance), parts_of(instance)));
    append(node, "busy", only_if(instance.busy, true));
}

std::string short_text(const mig::Instance& instance) {
    std::string text = instance.profile + '@' + std::to_string(instance.start);
    if (!is_whole(instance)) {
        text += " as";
        for (const std::string& part : parts_of(instance)) text += ' ' + part;
        if (instance.compute.empty()) text += " nothing";
    }
    return text + (instance.busy ? " (busy)" : "");
}

}  // namespace

Value to_node(const mig::Instance& instance) {
    Value node = document::make_mapping();
    add_place(node, instance);
    return node;
}

Value to_node(const std::vector<mig::Instance>& instances) {
    return make_sequence(instances,
                         [&](const mig::Instance& instance) { return to_node(instance); });
}

Value to_node(const std::vector<mig::Step>& steps) {
    Value list = document::make_sequence();
    for (const mig::Step& step : steps) {
        const bool destroy = step.action == mig::Step::Action::kDestroy;
        Value node = make_mapping({{"action", destroy ? "destroy" : "create"}});
        add_place(node, step.instance);
        list.items.push_back(std::move(node));
    }
    return list;
}

Value to_node(const mig::Refusal& refusal) {
    Value nearest = make_mapping(
        {{"want", mig::to_text(refusal.nearest)}, {"layout", to_node(refusal.nearest_layout)}});
    return make_mapping(
        {{"reason", refusal.reason},
         {"blocking", only_if(!refusal.blocking.empty(), to_node(refusal.blocking))},
         {"nearest", std::move(nearest)}});
}

std::string what_fits(const mig::Geometry& geometry, const std::vector<mig::Instance>& layout) {
    const mig::Occupancy taken = mig::occupied(geometry, layout);
    std::string text;
    for (unsigned p = 0; p < geometry.profiles.size(); ++p) {
        const unsigned more = mig::further(geometry, taken, p);
        if (more == 0 || !geometry.profiles[p].plain) continue;
        text += (text.empty() ? "" : " or ") + geometry.profiles[p].name;
        if (more > 1) text += '*' + std::to_string(more);
    }
    return text.empty() ? "nothing" : text;
}

void print_steps(std::ostream& out, const std::vector<mig::Step>& steps) {
    if (steps.empty()) return;
    std::vector<Row> rows{{"STEP", "ACTION", "PROFILE", "START", "SIZE", "COMPUTE INSTANCES"}};
    const bool split =
        std::ranges::any_of(steps, [](const mig::Step& step) { return !is_whole(step.instance); });
    if (!split) rows.front().pop_back();
    for (const mig::Step& step : steps) {
        const bool destroy = step.action == mig::Step::Action::kDestroy;
        rows.push_back({std::to_string(rows.size()), destroy ? "destroy" : "create",
                        step.instance.profile, std::to_string(step.instance.start),
                        std::to_string(step.instance.size)});
        if (!split) continue;
        std::string parts = join(parts_of(step.instance), " ");
        rows.back().push_back(parts);
    }
    out << in_columns(rows);
}

void print_refusal(std::ostream& out, const mig::Refusal& refusal) {
    out << "cannot: " << refusal.reason << '\n';
    if (refusal.nearest_layout.empty()) return;
    out << "nearest that can be had: " << mig::to_text(refusal.nearest) << " ("
        << layout_text(refusal.nearest_layout) << ")\n";
}

std::string layout_text(const std::vector<mig::Instance>& layout) {
    std::string text =
        listed(layout, [](const mig::Instance& instance) { return short_text(instance); });
    return text.empty() ? "no instance" : text;
}

}  // namespace aliquot::cli
