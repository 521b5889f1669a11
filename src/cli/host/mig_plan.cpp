// SPDX-License-Identifier: Apache-2.0
// aliquot mig profiles and plan: what can be had; nothing is touched.
#include <ostream>

#include "base/sentence.h"
#include "catalog/gpu_models.h"
#include "cli/answer.h"
#include "cli/host/mig_command.h"
#include "cli/svg_file.h"
#include "document/build.h"
#include "k8s/memory_amount.h"
#include "mig/drawing.h"
#include "mig/survey.h"

namespace aliquot::cli {
namespace {

using document::make_mapping;
using document::make_sequence;
using document::only_if;
using document::Value;

/// The model that --gpu names; complaints go to err.
const catalog::GpuModel* chosen_model(Context& context, const std::string& name) {
    const catalog::GpuModel* const model = catalog::find_gpu_model(name);
    if (model != nullptr) return model;
    const auto near = catalog::nearest_gpu_model(name);
    fail(context, kUsage, "unknown GPU '" + name + "'" + did_you_mean(near));
    return nullptr;
}

std::string starts_of(const mig::Profile& profile) {
    std::string text = listed(
        profile.starts, [](const unsigned start) { return std::to_string(start); }, ",");
    return text;
}

/// One GPU or model whose profiles are listed.
struct Listed {
    std::string name;
    mig::Geometry geometry;
};

Value profiles_node(const Listed& listed) {
    Value profiles = document::make_sequence();
    for (const mig::Profile& profile : listed.geometry.profiles) {
        Value one = make_mapping({{"profile", profile.name},
                                  {"id", only_if(profile.id.has_value(), profile.id.value_or(0))},
                                  {"slices", profile.slices}});
        append(one, "memoryMiB",
               document::make_integer(static_cast<long long>(profile.memory_mib)));
        append(one, "multiprocessors",
               only_if(profile.multiprocessors != 0, profile.multiprocessors));
        append(one, "most", profile.most);
        append(one, "size", profile.size);
        append(one, "starts", profile.starts);
        append(one, "resource", gpu::mig_resource(profile.name));
        profiles.items.push_back(std::move(one));
    }
    return make_mapping({{"gpu", listed.name},
                         {"slices", listed.geometry.slices},
                         {"memorySlices", listed.geometry.memory_slices},
                         {"profiles", std::move(profiles)}});
}

void print_profiles(std::ostream& out, const Listed& listed) {
    out << listed.name << ": " << listed.geometry.slices << " compute slices, "
        << listed.geometry.memory_slices << " memory slices\n";
    std::vector<Row> rows{
        {"PROFILE", "ID", "SLICES", "MEMORY", "SMS", "MOST", "SIZE", "STARTS", "RESOURCE"}};
    for (const mig::Profile& profile : listed.geometry.profiles) {
        rows.push_back(
            {profile.name, profile.id ? std::to_string(*profile.id) : "-",
             std::to_string(profile.slices), k8s::bytes_text(profile.memory_mib << 20U),
             profile.multiprocessors == 0 ? "-" : std::to_string(profile.multiprocessors),
             std::to_string(profile.most), std::to_string(profile.size), starts_of(profile),
             gpu::mig_resource(profile.name)});
    }
    out << in_columns(rows);
}

std::optional<std::vector<Listed>> listed_gpus(Context& context, const MigOptions& words) {
    std::vector<Listed> all;
    if (!words.model.empty()) {
        const catalog::GpuModel* const model = chosen_model(context, words.model);
        if (model == nullptr) return std::nullopt;
        auto geometry = mig::geometry_of(*model);
        if (!geometry) {
            fail(context, kFindings, geometry.error().message);
            return std::nullopt;
        }
        all.push_back({std::string(model->name), std::move(*geometry)});
        return all;
    }
    auto node = open_mig_node(words);
    if (!node) {
        fail(context, kCouldNotRun, node.error().message + "; --gpu MODEL needs no driver");
        return std::nullopt;
    }
    for (const gpu::Gpu& gpu : node->inventory.gpus) {
        if (!gpu.mig_capable) continue;
        const std::string name = "GPU " + std::to_string(gpu.index) + "  " + gpu.model;
        const auto now = node->partitioner->partitions(gpu.uuid);
        auto geometry = now ? mig::geometry_of(*now) : Result<mig::Geometry>(now.error());
        const auto* const model = catalog::find_gpu_model(gpu.model);
        if (!geometry && model != nullptr) geometry = mig::geometry_of(*model);
        if (geometry) {
            all.push_back({name, std::move(*geometry)});
        } else {
            context.err << "aliquot: " << name << ": " << geometry.error().message << '\n';
        }
    }
    return all;
}

void print_plan(std::ostream& out, const mig::Geometry& geometry, const mig::Plan& plan) {
    print_steps(out, plan.steps);
    if (plan.steps.empty()) out << "nothing to do\n";
    out << "layout: " << layout_text(plan.layout) << "; room for "
        << what_fits(geometry, plan.layout) << '\n';
}

using Answer = std::variant<mig::Plan, mig::Refusal>;
void draw_offline(Context& context, const MigOptions& words, const catalog::GpuModel& model,
                  const mig::Geometry& geometry, const std::vector<mig::Instance>& now,
                  const Answer& answer) {
    if (words.svg.empty()) return;
    mig::DrawnChange drawn{
        .name = std::string(model.name), .slices = geometry.memory_slices, .now = now};
    if (const auto* const refusal = std::get_if<mig::Refusal>(&answer)) {
        drawn.refusal = refusal->reason;
        drawn.after = refusal->nearest_layout;
    } else {
        const mig::Plan& plan = std::get<mig::Plan>(answer);
        drawn.steps = plan.steps;
        drawn.after = plan.layout;
        drawn.remark = "room for " + what_fits(geometry, plan.layout);
    }
    write_svg(context, words.svg, mig::drawing({drawn}));
}

void plan_offline(Context& context, const MigOptions& words) {
    const catalog::GpuModel* const model = chosen_model(context, words.model);
    if (model == nullptr) return;
    const auto geometry = mig::geometry_of(*model);
    if (!geometry) return fail(context, kFindings, geometry.error().message);
    const auto now = mig::parse_instances(words.now, *geometry);
    if (!now) return fail(context, kUsage, "--now: " + now.error().message);
    const auto spec = offline_spec(context, words, *model);
    if (!spec) return;
    const auto answer = mig::plan(*geometry, *now, *spec, {.leave_busy = words.leave_busy});
    draw_offline(context, words, *model, *geometry, *now, answer);
    if (const auto* const refusal = std::get_if<mig::Refusal>(&answer)) {
        context.exit_code = kFindings;
        if (!prints_beside(words.svg)) return;
        if (words.format == "table") return print_refusal(context.out, *refusal);
        return print_answer(context.out, "MigPlan", to_node(*refusal), words.format);
    }
    if (!prints_beside(words.svg)) return;
    const mig::Plan& plan = std::get<mig::Plan>(answer);
    if (words.format == "table") return print_plan(context.out, *geometry, plan);
    print_answer(context.out, "MigPlan",
                 make_mapping({{"steps", to_node(plan.steps)}, {"layout", to_node(plan.layout)}}),
                 words.format);
}

Value planned_node(const mig::GpuReport& report) {
    Value node = make_mapping({{"index", report.index},
                               {"uuid", report.gpu.text},
                               {"migEnabled", report.enabled},
                               {"modeChanges", report.mode_changes}});
    if (report.refusal) {
        append(node, "refused", to_node(*report.refusal));
    } else {
        append(node, "steps", to_node(report.steps));
        append(node, "layout", to_node(report.layout));
    }
    return node;
}

void print_gpu_plan(std::ostream& out, const mig::GpuReport& report) {
    out << "GPU " << report.index << '\n';
    if (report.refusal) return print_refusal(out, *report.refusal);
    if (report.mode_changes) {
        out << "turn MIG mode " << (report.enabled ? "on" : "off")
            << " (with a reset of this GPU where the driver needs one)\n";
    }
    print_steps(out, report.steps);
    if (report.steps.empty() && !report.mode_changes) out << "nothing to do\n";
    out << "layout: " << layout_text(report.layout) << '\n';
}

mig::DrawnChange drawn_change(const MigNode& node, const mig::Survey& survey) {
    const mig::GpuReport& report = survey.report;
    mig::DrawnChange drawn{.name = "GPU " + std::to_string(report.index),
                           .now = survey.entry.before.instances,
                           .steps = report.steps,
                           .after = report.layout};
    for (const gpu::Gpu& gpu : node.inventory.gpus) {
        if (gpu.uuid != report.gpu) continue;
        drawn.name += "  " + gpu.model;
        const auto* const model = catalog::find_gpu_model(gpu.model);
        const auto geometry =
            model == nullptr ? Result<mig::Geometry>(Error{}) : mig::geometry_of(*model);
        if (geometry) drawn.slices = geometry->memory_slices;
    }
    if (report.refusal) {
        drawn.refusal = report.refusal->reason;
        drawn.after = report.refusal->nearest_layout;
    } else if (report.mode_changes) {
        drawn.remark = std::string("MIG mode is turned ") + (report.enabled ? "on" : "off");
    }
    return drawn;
}

void plan_node(Context& context, const MigOptions& words) {
    if (!words.now.empty()) return fail(context, kUsage, "--now goes with --gpu MODEL only");
    auto node = open_mig_node(words);
    if (!node) {
        return fail(context, kCouldNotRun,
                    node.error().message + "; with --gpu MODEL no driver is needed");
    }
    if (!node->remark.empty())
        context.err << "aliquot: " << node->remark << "; only running processes count as busy\n";
    const auto specs = specs_of(context, words, *node);
    if (!specs) return;
    const mig::ApplyOptions options{
        .leave_busy = words.leave_busy, .allow_reset = !words.no_reset, .held = node->held};
    Value gpus = document::make_sequence();
    std::vector<mig::DrawnChange> drawn;
    const bool prints = prints_beside(words.svg);
    for (const mig::GpuSpec& spec : *specs) {
        const auto survey = mig::survey(*node->partitioner, spec, options);
        if (!survey) {
            return fail(context, kCouldNotRun,
                        "GPU " + std::to_string(spec.index) + ": " + survey.error().message);
        }
        if (survey->report.refusal) context.exit_code = kFindings;
        gpus.items.push_back(planned_node(survey->report));
        drawn.push_back(drawn_change(*node, *survey));
        if (prints && words.format == "table") print_gpu_plan(context.out, survey->report);
    }
    if (!words.svg.empty()) write_svg(context, words.svg, mig::drawing(drawn));
    if (!prints || words.format == "table") return;
    print_answer(context.out, "MigPlan", make_mapping({{"gpus", std::move(gpus)}}), words.format);
}

}  // namespace

void mig_profiles(Context& context, const MigOptions& words) {
    const auto all = listed_gpus(context, words);
    if (!all) return;
    if (all->empty()) {
        return fail(context, kFindings, "no GPU of this node has MIG profiles");
    }
    if (words.format == "table") {
        for (const Listed& listed : *all) print_profiles(context.out, listed);
        return;
    }
    Value list = make_sequence(*all, profiles_node);
    print_answer(context.out, "MigProfileList", make_mapping({{"gpus", std::move(list)}}),
                 words.format);
}

void mig_plan(Context& context, const MigOptions& words) {
    if (words.model.empty()) {
        plan_node(context, words);
    } else {
        plan_offline(context, words);
    }
}

}  // namespace aliquot::cli
