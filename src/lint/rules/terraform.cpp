// SPDX-License-Identifier: Apache-2.0
// Node groups with GPUs in Terraform and eksctl: TF001 to TF005; values of charts in helm_release.
#include <algorithm>
#include <array>
#include <cctype>

#include "base/number.h"
#include "base/text.h"
#include "catalog/gpu_instances.h"
#include "findings/finding.h"
#include "lint/families.h"
#include "lint/forms.h"
#include "lint/kept.h"
#include "lint/rules/evidence.h"
#include "lint/words.h"
#include "syntax/written_objects.h"

namespace aliquot::lint {
namespace {

using findings::Severity;
using syntax::HclBlock;

bool is_computed_text(std::string_view text) {
    return text.empty() || is_placeholder(text) || contains(text, "${") || contains(text, "var.");
}

/// Families of AWS with GPUs of NVIDIA: "g5", "p4d"; g4ad has AMD's.
bool has_nvidia_gpu(std::string_view type) {
    const auto dot = type.find('.');
    if (dot == std::string_view::npos) return false;
    const std::string_view family = type.substr(0, dot);
    if (family == "g4ad") return false;
    constexpr std::array<std::string_view, 10> kBegin{"p2", "p3", "p4", "p5", "p6",
                                                      "g3", "g4", "g5", "g6", "gr6"};
    return std::any_of(kBegin.begin(), kBegin.end(),
                       [family](std::string_view begin) { return family.starts_with(begin); });
}

bool is_arm(std::string_view type) { return type.starts_with("g5g.") || type.starts_with("p6e-"); }

std::vector<const Value*> scalars_of(const Value* node) {
    std::vector<const Value*> all;
    if (node == nullptr) return all;
    if (!node->scalar.empty()) all.push_back(node);
    for (const Value& item : node->items) all.push_back(&item);
    return all;
}

/// An image type that has no driver, with machines that have GPUs, and the other way round: TF001.
void check_image_type(const Value& group, bool own_driver, Report& report) {
    static const std::vector<std::string_view> kTypes = words_of_form("eks image types");
    const Value* type = group.find("ami_type");
    if (type == nullptr) return;
    const std::string& image = type->scalar;
    if (is_computed_text(image)) return;
    if (std::find(kTypes.begin(), kTypes.end(), image) == kTypes.end()) {
        const std::string_view meant = nearest(image, kTypes);
        report.add("TF001", type->mark, "EKS has no image type '" + image + '\'')
            .expected(meant.empty() ? "AL2023_x86_64_NVIDIA, BOTTLEROCKET_x86_64_NVIDIA, ..."
                                    : std::string(meant));
        return;
    }
    bool gpu = false;
    bool plain = false;
    bool arm = false;
    for (const Value* one : scalars_of(group.find("instance_types"))) {
        if (is_computed_text(one->scalar)) return;
        gpu = gpu || has_nvidia_gpu(one->scalar);
        arm = arm || is_arm(one->scalar);
        plain = plain || !has_nvidia_gpu(one->scalar);
    }
    const bool drives = contains(image, "NVIDIA") || contains(image, "GPU");
    if (image == "CUSTOM") return;
    const std::string right = contains(image, "BOTTLEROCKET") ? arm ? "BOTTLEROCKET_ARM_64_NVIDIA"
                                                                    : "BOTTLEROCKET_x86_64_NVIDIA"
                              : arm                           ? "AL2023_ARM_64_NVIDIA"
                                                              : "AL2023_x86_64_NVIDIA";
    if (gpu && !drives) {
        report
            .add("TF001", type->mark,
                 "the machines have GPUs, and the image type " + image + " has no driver")
            .expected(right)
            .severity(own_driver ? Severity::kWarning : Severity::kError);
    } else if (drives && plain && !gpu) {
        report
            .add("TF001", type->mark,
                 "the image type " + image + " has a driver for GPUs, and the machines have none")
            .expected("an image type without NVIDIA, or machines with GPUs")
            .severity(Severity::kWarning);
    } else if (drives && gpu && arm != contains(image, "ARM")) {
        report
            .add("TF001", type->mark,
                 "the image type " + image + " is for another architecture than the machines")
            .expected(right);
    }
}

/// "NO_SCHEDULE" of the clouds' APIs, where Kubernetes says "NoSchedule": TF002.
void check_effects(const Value& node, Report& report, int depth) {
    static const std::vector<std::string_view> kEffects{"NO_SCHEDULE", "NO_EXECUTE",
                                                        "PREFER_NO_SCHEDULE"};
    constexpr int kDeepest = 20;
    if (depth > kDeepest) return;
    for (const Value& item : node.items) check_effects(item, report, depth + 1);
    const Value* effect = node.find("effect");
    if (effect != nullptr && node.find("key") != nullptr && !is_computed_text(effect->scalar) &&
        std::find(kEffects.begin(), kEffects.end(), effect->scalar) == kEffects.end()) {
        std::string word;
        for (const char c : effect->scalar) {
            if (std::isupper(static_cast<unsigned char>(c)) != 0 && !word.empty() &&
                word.back() != '_') {
                word += '_';
            }
            word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        }
        const std::string_view meant = nearest(word, kEffects);
        report.add("TF002", effect->mark, "the effect of the taint is '" + effect->scalar + '\'')
            .expected(meant.empty() ? "NO_SCHEDULE, NO_EXECUTE or PREFER_NO_SCHEDULE"
                                    : std::string(meant));
    }
    for (const Value::Entry& entry : node.entries) {
        if (entry.second.is_mapping() || entry.second.is_sequence())
            check_effects(entry.second, report, depth + 1);
    }
}

struct Accelerator {
    std::string_view name;
    std::string_view machines;  // what the machine type begins with
};
constexpr std::array<Accelerator, 14> kAccelerators{{{"nvidia-l4", "g2-"},
                                                     {"nvidia-l4-vws", "g2-"},
                                                     {"nvidia-tesla-a100", "a2-highgpu"},
                                                     {"nvidia-a100-80gb", "a2-ultragpu"},
                                                     {"nvidia-h100-80gb", "a3-"},
                                                     {"nvidia-h100-mega-80gb", "a3-mega"},
                                                     {"nvidia-h200-141gb", "a3-ultra"},
                                                     {"nvidia-b200", "a4-"},
                                                     {"nvidia-gb200", "a4x-"},
                                                     {"nvidia-rtx-pro-6000", "g4-"},
                                                     {"nvidia-tesla-t4", "n1-"},
                                                     {"nvidia-tesla-v100", "n1-"},
                                                     {"nvidia-tesla-p100", "n1-"},
                                                     {"nvidia-tesla-p4", "n1-"}}};

/// guard: `guest_accelerator { type count }` beside `machine_type`: TF003.
void check_accelerator(const Value& node, Report& report) {
    const Value* list = node.find("guest_accelerator");
    if (list == nullptr) return;
    std::vector<const Value*> all;
    if (list->is_mapping()) all.push_back(list);
    for (const Value& item : list->items) all.push_back(&item);
    const std::string machine = text_at(node, {"machine_type"});
    for (const Value* one : all) {
        const Value* type = one->find("type");
        if (type == nullptr || is_computed_text(type->scalar)) continue;
        const auto* const known =
            std::find_if(kAccelerators.begin(), kAccelerators.end(),
                         [type](const Accelerator& a) { return a.name == type->scalar; });
        if (known == kAccelerators.end()) {
            std::vector<std::string_view> names;
            for (const Accelerator& a : kAccelerators) names.push_back(a.name);
            std::string_view meant = nearest(type->scalar, names);
            // "nvidia-tesla-l4": the word that only older models have
            std::string plain = type->scalar;
            if (const auto at = plain.find("tesla-"); at != std::string::npos) plain.erase(at, 6);
            for (const std::string_view name : names) {
                if (name == plain ||
                    name == "nvidia-tesla-" + type->scalar.substr(type->scalar.rfind('-') + 1))
                    meant = name;
            }
            if (meant.empty()) continue;
            report
                .add("TF003", type->mark, "Google Cloud has no accelerator '" + type->scalar + '\'')
                .expected(std::string(meant));
            continue;
        }
        if (is_computed_text(machine) || machine.starts_with(known->machines)) continue;
        report
            .add("TF003", type->mark,
                 "machines of the type " + machine + " have no " + type->scalar)
            .expected("a machine type that begins with " + std::string(known->machines));
    }
}

/// min <= desired <= max: TF004.
void check_sizes(const Value& node, Report& report) {
    struct Names {
        const char* low;
        const char* wanted;
        const char* high;
    };
    constexpr std::array<Names, 4> kNames{
        {{"min_size", "desired_size", "max_size"},
         {"min_node_count", "initial_node_count", "max_node_count"},
         {"min_count", "node_count", "max_count"},
         {"minSize", "desiredCapacity", "maxSize"}}};
    for (const Names& names : kNames) {
        const Value* low = node.find(names.low);
        const Value* high = node.find(names.high);
        const Value* wanted = node.find(names.wanted);
        const auto number = [](const Value* value) {
            return value == nullptr ? std::optional<double>() : parse_number<double>(value->scalar);
        };
        const auto least = number(low);
        const auto most = number(high);
        const auto size = number(wanted);
        const Value* wrong = least && most && *least > *most   ? high
                             : size && most && *size > *most   ? wanted
                             : size && least && *size < *least ? wanted
                                                               : nullptr;
        if (wrong == nullptr) continue;
        const std::string low_text = least ? low->scalar : "0";
        report
            .add("TF004", wrong->mark,
                 std::string(wrong == high ? names.high : names.wanted) + " is " + wrong->scalar +
                     ", outside of " + low_text + " to " + (most ? high->scalar : "any"))
            .expected(std::string(names.low) + " <= " + names.wanted + " <= " + names.high);
    }
}

/// A machine type that is nearly one with GPUs: TF005.
void check_machine(const Value& type, Report& report) {
    const std::string& text = type.scalar;
    if (is_computed_text(text) || catalog::find_gpu_instance(text) != nullptr) return;
    const auto dot = text.find('.');
    if (dot == std::string::npos) return;
    const std::string family = text.substr(0, dot + 1);
    bool known = false;
    std::vector<std::string_view> sizes;
    for (const catalog::GpuInstance& one : catalog::gpu_instances()) {
        if (!one.type.starts_with(family)) continue;
        known = true;
        sizes.push_back(one.type);
    }
    if (!known || text.ends_with("metal")) return;
    const std::string_view meant = nearest(text, sizes);
    report.add("TF005", type.mark, "there is no machine type '" + text + '\'')
        .expected(meant.empty() ? std::string(sizes.front()) : std::string(meant));
}

/// `node_taints = ["key=value:Effect"]` of Azure, and words of one attribute.
void check_attributes(const Value& node, Report& report) {
    static const std::vector<std::string_view> kEffects{"NoSchedule", "NoExecute",
                                                        "PreferNoSchedule"};
    if (const Value* taints = node.find("node_taints"); taints != nullptr) {
        for (const Value& taint : taints->items) {
            if (is_computed_text(taint.scalar)) continue;
            const auto colon = taint.scalar.rfind(':');
            const std::string effect =
                colon == std::string::npos ? std::string() : taint.scalar.substr(colon + 1);
            if (std::find(kEffects.begin(), kEffects.end(), effect) != kEffects.end()) continue;
            std::string bare = effect;
            bare.erase(std::remove(bare.begin(), bare.end(), '_'), bare.end());
            const std::string_view meant = nearest(bare, kEffects);
            report.add("TF002", taint.mark, "the taint is '" + taint.scalar + '\'')
                .expected(meant.empty() ? "KEY=VALUE:NoSchedule" : std::string(meant));
        }
    }
    struct Attribute {
        const char* name;
        const char* form;
    };
    constexpr std::array<Attribute, 3> kAttributes{{{"capacity_type", "eks capacity types"},
                                                    {"gpu_driver_version", "gke driver versions"},
                                                    {"gpu_sharing_strategy", "gke sharing"}}};
    for (const Attribute& one : kAttributes) {
        const Value* value = node.find(one.name);
        if (value == nullptr || is_computed_text(value->scalar)) continue;
        const auto words = words_of_form(one.form);
        if (std::find(words.begin(), words.end(), value->scalar) != words.end()) continue;
        const std::string_view meant = nearest(value->scalar, words);
        report.add("FORM003", value->mark, std::string(one.name) + " is '" + value->scalar + '\'')
            .expected(std::string(meant.empty() ? words.front() : meant));
    }
    const Value* size = node.find("vm_size");
    if (size == nullptr || is_computed_text(size->scalar) ||
        !size->scalar.starts_with("Standard_N") ||
        catalog::find_gpu_instance(size->scalar) != nullptr) {
        return;
    }
    const std::string_view meant = catalog::nearest_gpu_instance(size->scalar);
    if (meant.empty()) return;
    report.add("TF005", size->mark, "there is no machine type '" + size->scalar + '\'')
        .expected(std::string(meant));
}

void walk_groups(const Value& node, bool own_driver, Report& report, int depth) {
    constexpr int kDeepest = 20;
    if (depth > kDeepest) return;
    for (const Value& item : node.items) walk_groups(item, own_driver, report, depth + 1);
    if (!node.is_mapping()) return;
    check_image_type(node, own_driver, report);
    check_accelerator(node, report);
    check_sizes(node, report);
    check_attributes(node, report);
    for (const Value::Entry& entry : node.entries) {
        const std::string& key = entry.first.scalar;
        if (key == "instance_types" || key == "instance_type" || key == "instanceTypes" ||
            key == "instanceType") {
            for (const Value* one : scalars_of(&entry.second)) check_machine(*one, report);
        }
        walk_groups(entry.second, own_driver, report, depth + 1);
    }
}

bool is_node_group(const HclBlock& block) {
    const std::string& label = block.labels.empty() ? std::string() : block.labels.front();
    return block.type == "module" || label.starts_with("aws_") || label.starts_with("google_") ||
           label.starts_with("azurerm_") || block.type == "locals" || block.type == "variable";
}

}  // namespace

void check_terraform(const File& file, const Set& set, const Facts*, Report& report) {
    if (is_kept(file)) return;
    const bool own_driver = [&] {
        const auto near = set.neighbours(file);
        return std::any_of(near.begin(), near.end(), [](const File* one) {
            return one->kind == FileKind::kHcl && one->mentions("gpu-operator");
        });
    }();
    for (const Object& object : file.objects) {
        if (object.kind == "ClusterConfig" && !object.broken && !object.templated)
            walk_groups(*object.node, true, report, 0);
    }
    for (const Block& block : file.blocks) {
        if (block.language != Language::kHcl) continue;
        for (const HclBlock& one : syntax::read_hcl_blocks(block)) {
            if (!is_node_group(one)) continue;
            walk_groups(one.body, own_driver, report, 0);
            const std::string& label = one.labels.empty() ? std::string() : one.labels.front();
            if (one.type == "module" || label.starts_with("aws_eks") ||
                label.starts_with("google_container")) {
                check_effects(one.body, report, 0);
            }
        }
    }
}

}  // namespace aliquot::lint
