// SPDX-License-Identifier: Apache-2.0
// aliquot mig list, assert and export: how the GPUs of this node are cut.
#include <algorithm>
#include <ostream>

#include "cli/answer.h"
#include "cli/host/mig_command.h"
#include "document/build.h"
#include "mig/converge.h"

namespace aliquot::cli {
namespace {

using document::make_mapping;
using document::make_sequence;
using document::Value;

/// A GPU and how it is cut.
struct Looked {
    const gpu::Gpu* gpu = nullptr;
    gpu::Partitions partitions;
    std::optional<mig::Geometry> geometry;
    std::vector<mig::Instance> instances;
    std::string problem;  // the driver does not tell
};

std::vector<Looked> look_at(const MigNode& node) {
    std::vector<Looked> all;
    for (const gpu::Gpu& gpu : node.inventory.gpus) {
        Looked looked{.gpu = &gpu};
        if (gpu.mig_capable) {
            auto partitions = node.partitioner->partitions(gpu.uuid);
            if (partitions) {
                looked.partitions = std::move(*partitions);
                if (looked.partitions.enabled) {
                    looked.instances = mig::instances_of(looked.partitions, node.held);
                }
                auto geometry = mig::geometry_of(looked.partitions);
                if (geometry) looked.geometry = std::move(*geometry);
            } else {
                looked.problem = partitions.error().message;
            }
        }
        all.push_back(std::move(looked));
    }
    return all;
}

std::string mode_of(const Looked& looked) {
    if (!looked.gpu->mig_capable) return "none";
    if (!looked.problem.empty()) return "unknown";
    const gpu::Partitions& now = looked.partitions;
    if (now.enabled == now.pending) return now.enabled ? "on" : "off";
    return now.pending ? "on after a reset" : "off after a reset";
}

std::string compute_text(const std::string& profile, const gpu::MigComputeInstance& compute) {
    const auto name = gpu::parse_mig_profile(profile);
    return mig::compute_name(profile, compute.slices, name ? name->gpu_slices : compute.slices);
}

bool is_held(const MigNode& node, const gpu::MigComputeInstance& compute) {
    return node.held.contains(compute.device.text);
}

std::string state_of(const MigNode& node, const gpu::MigComputeInstance& compute) {
    if (is_held(node, compute)) return "held by a pod";
    return compute.busy ? "in use" : "free";
}

const mig::Instance* instance_at(const Looked& looked, gpu::MigPlacement placement) {
    const auto found = std::ranges::find(looked.instances, placement.start, &mig::Instance::start);
    return found == looked.instances.end() ? nullptr : &*found;
}

Value listed_gpu(const MigNode& node, const Looked& looked) {
    Value instances = document::make_sequence();
    for (const gpu::MigInstance& instance : looked.partitions.instances) {
        const mig::Instance* const named = instance_at(looked, instance.placement);
        if (named == nullptr) continue;
        Value one = make_mapping({{"id", instance.id},
                                  {"profile", named->profile},
                                  {"start", named->start},
                                  {"size", named->size},
                                  {"busy", named->busy}});
        append(one, "computeInstances",
               make_sequence(instance.compute, [&](const gpu::MigComputeInstance& compute) {
                   return make_mapping({{"id", compute.id},
                                        {"profile", compute_text(named->profile, compute)},
                                        {"uuid", compute.device.text},
                                        {"busy", compute.busy || is_held(node, compute)}});
               }));
        instances.items.push_back(std::move(one));
    }
    Value gpu = make_mapping({{"index", looked.gpu->index},
                              {"uuid", looked.gpu->uuid.text},
                              {"model", looked.gpu->model},
                              {"mig", mode_of(looked)},
                              {"instances", std::move(instances)}});
    if (looked.geometry && looked.partitions.enabled) {
        const mig::Occupancy taken = [&] {
            mig::Occupancy sum(*looked.geometry);
            for (const mig::Instance& instance : looked.instances) {
                if (const auto p = looked.geometry->find(instance.profile)) {
                    sum.put(*looked.geometry, {*p, instance.start});
                }
            }
            return sum;
        }();
        Value fits = document::make_mapping();
        for (unsigned p = 0; p < looked.geometry->profiles.size(); ++p) {
            append(fits, looked.geometry->profiles[p].name,
                   document::make_integer(mig::further(*looked.geometry, taken, p)));
        }
        append(gpu, "fits", std::move(fits));
    }
    return gpu;
}

void add_rows(std::vector<Row>& rows, const MigNode& node, const Looked& looked) {
    const std::string index = std::to_string(looked.gpu->index);
    if (looked.instances.empty()) {
        rows.push_back(
            {index, looked.gpu->model, mode_of(looked), "-", "-", "-", "-", looked.problem});
        return;
    }
    for (const gpu::MigInstance& instance : looked.partitions.instances) {
        const mig::Instance* const named = instance_at(looked, instance.placement);
        if (named == nullptr) continue;
        const std::string place = std::to_string(named->start) + ":" + std::to_string(named->size);
        for (const gpu::MigComputeInstance& compute : instance.compute) {
            rows.push_back({index, looked.gpu->model, mode_of(looked),
                            std::to_string(instance.id) + "/" + std::to_string(compute.id),
                            compute_text(named->profile, compute), place, state_of(node, compute),
                            compute.device.text});
        }
        if (instance.compute.empty()) {
            rows.push_back({index, looked.gpu->model, mode_of(looked),
                            std::to_string(instance.id) + "/-", named->profile, place,
                            "no compute instance", ""});
        }
    }
}

std::optional<MigNode> opened(Context& context, const MigOptions& words) {
    auto node = open_mig_node(words);
    if (!node) {
        fail(context, kCouldNotRun, node.error().message);
        return std::nullopt;
    }
    if (!node->remark.empty())
        context.err << "aliquot: " << node->remark << "; only running processes count as busy\n";
    return std::move(*node);
}

/// Why a GPU is not as desired; empty: it is.
std::string difference(const MigNode& node, const mig::GpuSpec& spec) {
    const auto now = node.partitioner->partitions(spec.gpu);
    if (!now) return now.error().message;
    if (now->enabled != spec.enabled) {
        return std::string("MIG mode is ") + (now->enabled ? "on" : "off") + ", expected " +
               (spec.enabled ? "on" : "off");
    }
    if (!spec.enabled) return "";
    auto geometry = mig::geometry_of(*now);
    if (!geometry && spec.known_geometry) geometry = *spec.known_geometry;
    if (!geometry) return geometry.error().message;
    const auto instances = mig::instances_of(*now, {});
    if (mig::is_reached(*geometry, instances, spec.spec)) return "";
    return "is cut into " + layout_text(instances) + "; expected " + mig::to_text(spec.spec);
}

}  // namespace

void mig_list(Context& context, const MigOptions& words) {
    const auto node = opened(context, words);
    if (!node) return;
    const std::vector<Looked> all = look_at(*node);
    if (words.format != "table") {
        Value gpus =
            make_sequence(all, [&](const Looked& looked) { return listed_gpu(*node, looked); });
        return print_answer(context.out, "MigList", make_mapping({{"gpus", std::move(gpus)}}),
                            words.format);
    }
    std::vector<Row> rows{{"GPU", "MODEL", "MIG", "GI/CI", "PROFILE", "PLACE", "STATE", "DEVICE"}};
    for (const Looked& looked : all) add_rows(rows, *node, looked);
    context.out << in_columns(rows);
    for (const Looked& looked : all) {
        if (!looked.geometry || !looked.partitions.enabled) continue;
        context.out << "GPU " << looked.gpu->index << ": room for "
                    << what_fits(*looked.geometry, looked.instances) << '\n';
    }
    if (node->root->exists(words.state + "/journal.json")) {
        context.out << "a change is unfinished: aliquot mig apply --restore brings it to its end\n";
    }
}

void mig_assert(Context& context, const MigOptions& words) {
    const auto node = opened(context, words);
    if (!node) return;
    const auto specs = specs_of(context, words, *node);
    if (!specs) return;
    const bool named = !words.gpus.empty() || words.file.empty();
    for (const gpu::Gpu& gpu : node->inventory.gpus) {
        const auto spec = std::ranges::find(*specs, gpu.uuid, &mig::GpuSpec::gpu);
        std::string differs;
        if (spec != specs->end()) {
            differs = difference(*node, *spec);
        } else if (gpu.mig_capable && !named) {
            differs = "no rule of the configuration is for it";
        }
        if (differs.empty()) continue;
        context.exit_code = kFindings;
        context.out << "GPU " << gpu.index << ": " << differs << '\n';
    }
    if (context.exit_code == kOk) context.out << "all GPUs are as requested\n";
}

void mig_export(Context& context, const MigOptions& words) {
    const auto node = opened(context, words);
    if (!node) return;
    std::vector<mig::CurrentCut> cuts;
    for (const Looked& looked : look_at(*node)) {
        if (!looked.problem.empty()) {
            return fail(context, kCouldNotRun,
                        "GPU " + std::to_string(looked.gpu->index) + ": " + looked.problem);
        }
        mig::CurrentCut cut{.index = looked.gpu->index,
                            .pci_device_id = looked.gpu->pci_device_id,
                            .enabled = looked.partitions.enabled};
        for (const gpu::MigInstance& instance : looked.partitions.instances) {
            const mig::Instance* const named = instance_at(looked, instance.placement);
            if (named == nullptr) continue;
            for (const gpu::MigComputeInstance& compute : instance.compute) {
                cut.profiles.push_back(compute_text(named->profile, compute));
            }
        }
        cuts.push_back(std::move(cut));
    }
    const auto format =
        words.format == "json" ? mig::ExportFormat::kJson : mig::ExportFormat::kYaml;
    context.out << mig::export_config(cuts, words.label, format);
}

}  // namespace aliquot::cli
