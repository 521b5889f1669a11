// SPDX-License-Identifier: Apache-2.0
// Kueue and Karpenter: KUE001 to KUE003, KRP001 to KRP003.
#include <algorithm>
#include <array>

#include "catalog/gpu_instances.h"
#include "findings/finding.h"
#include "k8s/taint.h"
#include "lint/families.h"
#include "lint/file.h"
#include "lint/kept.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

constexpr std::string_view kKueue = "kueue.x-k8s.io";

std::string in_quotes(std::string_view text) { return '\'' + std::string(text) + '\''; }

// --- Kueue ---

/// The resources of each flavor are those of the group, in its order.
void check_group(const Value& group, Report& report) {
    const Value* covered = group.find("coveredResources");
    const Value* flavors = group.find("flavors");
    if (covered == nullptr || flavors == nullptr || !covered->is_sequence()) return;
    for (const Value& one : covered->items) {
        const std::string& name = one.scalar;
        if (is_placeholder(name) || name == "nvidia.com/gpu" || contains(name, "gpu-") ||
            contains(name, "gpu.") || nearest(name, {"nvidia.com/gpu"}).empty()) {
            continue;
        }
        report.add("KUE001", one.mark, "no node has the resource " + in_quotes(name))
            .expected("nvidia.com/gpu");
    }
    for (const Value& flavor : flavors->items) {
        const Value* resources = flavor.find("resources");
        if (resources == nullptr || !resources->is_sequence()) continue;
        const std::size_t count = covered->items.size();
        const bool same =
            resources->items.size() == count &&
            std::equal(covered->items.begin(), covered->items.end(), resources->items.begin(),
                       [](const Value& a, const Value& b) {
                           return a.scalar == text_at(b, {"name"}) || is_placeholder(a.scalar);
                       });
        const bool excerpt = report.file().is_prose() && resources->items.size() < count;
        if (same || excerpt) continue;
        std::string wanted;
        for (const Value& one : covered->items) wanted += (wanted.empty() ? "" : ", ") + one.scalar;
        report
            .add("KUE001", resources->mark,
                 "the flavor " + in_quotes(text_at(flavor, {"name"})) +
                     " has other resources than coveredResources, or in another order")
            .expected(wanted);
    }
}

void check_cluster_queue(const Object& object, Report& report) {
    const Value* spec = object.node->find("spec");
    const Value* groups = spec == nullptr ? nullptr : spec->find("resourceGroups");
    if (groups == nullptr) return;
    const bool cohort = spec->find("cohort") != nullptr || spec->find("cohortName") != nullptr;
    std::vector<std::string_view> covered;
    for (const Value& group : groups->items) {
        check_group(group, report);
        if (const Value* list = group.find("coveredResources"); list != nullptr) {
            for (const Value& one : list->items) {
                if (std::find(covered.begin(), covered.end(), one.scalar) != covered.end()) {
                    report
                        .add("KUE001", one.mark,
                             "the resource " + in_quotes(one.scalar) + " is covered twice")
                        .expected("each resource in one group");
                }
                covered.push_back(one.scalar);
            }
        }
        if (cohort) continue;
        for (const Value& flavor : document::items_at(group, {"flavors"})) {
            for (const Value& resource : document::items_at(flavor, {"resources"})) {
                for (const std::string_view key : {"borrowingLimit", "lendingLimit"}) {
                    const Value::Entry* limit = entry_at(resource, key);
                    if (limit == nullptr || limit->second.kind == Value::Kind::kNull) continue;
                    report
                        .add("KUE002", limit->first.mark,
                             std::string(key) + " in a ClusterQueue without a cohort")
                        .expected("spec.cohort, or no " + std::string(key));
                }
            }
        }
    }
}

/// A label of Kueue that is nearly the one of queues.
void check_queue_label(const Object& object, Report& report) {
    const Value* labels = document::at_path(*object.node, {"metadata", "labels"});
    if (labels == nullptr) return;
    for (const Value::Entry& entry : labels->entries) {
        const std::string& key = entry.first.scalar;
        const bool short_name =
            key == "kueue.x-k8s.io/queue" || key == "kueue.x-k8s.io/local-queue";
        const std::string_view meant =
            short_name
                ? "kueue.x-k8s.io/queue-name"
                : nearest(key, {"kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"});
        if (meant.empty() || meant == key) continue;
        report.add("KUE003", entry.first.mark, "Kueue reads no label " + in_quotes(key))
            .expected("the label " + std::string(meant));
    }
}

// --- Karpenter ---

bool is_aws_family_with_gpu(std::string_view family) {
    return std::any_of(catalog::gpu_instances().begin(), catalog::gpu_instances().end(),
                       [family](const catalog::GpuInstance& one) {
                           return one.cloud == "aws" && one.type.size() > family.size() &&
                                  one.type.starts_with(family) && one.type[family.size()] == '.';
                       });
}

/// Families of AWS that surely have no NVIDIA GPU: general, compute, memory, storage.
bool is_plain_family(std::string_view family) {
    if (family.size() < 2 || is_aws_family_with_gpu(family)) return false;
    const char first = family.front();
    const bool plain = first == 'm' || first == 'c' || first == 'r' || first == 't';
    return plain && family[1] >= '1' && family[1] <= '9';
}

/// Whether the pool is meant for GPUs: by its name, its taints or its limits.
bool is_gpu_pool(const Object& object) {
    if (contains(lower(object.name), "gpu")) return true;
    for (const Value& taint :
         document::items_at(*object.node, {"spec", "template", "spec", "taints"})) {
        if (text_at(taint, {"key"}) == "nvidia.com/gpu") return true;
    }
    const Value* limits = document::at_path(*object.node, {"spec", "limits"});
    return limits != nullptr && limits->find("nvidia.com/gpu") != nullptr;
}

/// Keys of v1beta1 that v1 has in another place, or not at all.
void check_moved(const Value& spec, Report& report) {
    struct Moved {
        std::string_view path, instead;
    };
    constexpr std::array<Moved, 2> kMoved{
        {{"disruption.expireAfter", "spec.template.spec.expireAfter"},
         {"template.spec.kubelet", "spec.kubelet of the EC2NodeClass"}}};
    for (const Moved& one : kMoved) {
        const Value::Entry* const found = document::entry_at(spec, one.path);
        if (found == nullptr) continue;
        report
            .add("KRP003", found->first.mark,
                 "karpenter.sh/v1 has no 'spec." + std::string(one.path) + '\'')
            .expected(std::string(one.instead));
    }
}

void check_instances(const Object& object, const Value& requirement, Report& report) {
    const std::string key = text_at(requirement, {"key"});
    if (text_at(requirement, {"operator"}) != "In") return;
    const Value* values = requirement.find("values");
    if (values == nullptr || values->items.empty()) return;
    const bool types = key == "node.kubernetes.io/instance-type";
    const bool families = key == "karpenter.k8s.aws/instance-family";
    const bool categories = key == "karpenter.k8s.aws/instance-category";
    if (!types && !families && !categories) return;
    bool any = false;
    for (const Value& one : values->items) {
        const std::string_view text = one.scalar;
        if (types && text.find('.') == std::string_view::npos) return;  // of another cloud
        const std::string_view family = text.substr(0, text.find('.'));
        const bool plain = categories ? text == "m" || text == "c" || text == "r" || text == "t"
                                      : is_plain_family(family);
        any = any || !plain;
        if (types && !plain && catalog::find_gpu_instance(text) == nullptr &&
            is_aws_family_with_gpu(family)) {
            const std::string_view meant = catalog::nearest_gpu_instance(text);
            report.add("KRP001", one.mark, "there is no instance type " + in_quotes(text))
                .expected(meant.empty() ? "an instance type of AWS" : std::string(meant));
        }
    }
    if (any || !is_gpu_pool(object)) return;
    report
        .add("KRP001", values->mark,
             "the NodePool " + in_quotes(object.name) + " is for GPUs, and none of its " +
                 (types      ? "instance types"
                  : families ? "families"
                             : "categories") +
                 " has one")
        .expected("types with NVIDIA GPUs: g5, g6, p4d, p5");
}

void check_pool(const Object& object, Report& report) {
    const Value* spec = object.node->find("spec");
    if (spec == nullptr) return;
    if (const Value* limits = spec->find("limits"); limits != nullptr) {
        for (const Value::Entry& entry : limits->entries) {
            const std::string_view meant =
                nearest(entry.first.scalar, {"nvidia.com/gpu", "cpu", "memory", "nodes"});
            const bool bare = entry.first.scalar == "gpu";
            const bool mig = contains(entry.first.scalar, "/mig-");
            if (!bare && (mig || meant.empty() || meant == entry.first.scalar)) continue;
            report
                .add("KRP002", entry.first.mark,
                     "no node has the resource " + in_quotes(entry.first.scalar) +
                         ", so the limit never holds")
                .expected(meant.empty() ? "nvidia.com/gpu" : std::string(meant));
        }
    }
    for (const Value& one : document::items_at(*spec, {"template", "spec", "requirements"})) {
        check_instances(object, one, report);
    }
    const Value* policy = document::at_path(*spec, {"disruption", "consolidationPolicy"});
    if (policy != nullptr && object.api_version == "karpenter.sh/v1" &&
        policy->scalar == "WhenUnderutilized") {
        report.add("KRP003", policy->mark, "karpenter.sh/v1 has no policy 'WhenUnderutilized'")
            .expected("WhenEmptyOrUnderutilized");
    }
    if (object.api_version == "karpenter.sh/v1") check_moved(*spec, report);
    for (const Value& budget : document::items_at(*spec, {"disruption", "budgets"})) {
        const bool schedule = budget.find("schedule") != nullptr;
        const bool duration = budget.find("duration") != nullptr;
        if (schedule == duration) continue;
        report
            .add("KRP003", budget.mark,
                 std::string("a budget has a ") + (schedule ? "schedule" : "duration") +
                     " and no " + (schedule ? "duration" : "schedule"))
            .expected("both or none");
    }
}

/// Pods with GPUs beside the one NodePool that they can go to, which they do not tolerate.
void check_tolerations(const File& file, const Object& pool, Report& report) {
    std::vector<k8s::Taint> taints =
        k8s::read_taints(document::at_path(*pool.node, {"spec", "template", "spec", "taints"}));
    const auto gpu = std::find_if(taints.begin(), taints.end(), [](const k8s::Taint& taint) {
        return contains(taint.key, "nvidia.com/gpu") && taint.effect != "PreferNoSchedule";
    });
    if (gpu == taints.end()) return;
    for (const PodSpec& pod : file.pods) {
        if (!pod.whole || !pod.asks_gpu() || pod.node == nullptr) continue;
        if (k8s::tolerates(k8s::read_tolerations(pod.tolerations), *gpu)) continue;
        report
            .add("KRP002",
                 pod.node->entries.empty() ? pod.node->mark : pod.node->entries.front().first.mark,
                 "the pod tolerates no taint " + in_quotes(k8s::to_text(*gpu)) +
                     " of the NodePool " + in_quotes(pool.name))
            .expected("a toleration of " + gpu->key)
            .severity(Severity::kWarning);
    }
}

}  // namespace

void check_queues(const File& file, const Set&, const Facts*, Report& report) {
    if (is_kept(file)) return;
    std::size_t pools = 0;
    const Object* pool = nullptr;
    for (const Object& object : file.objects) {
        if (object.broken || object.role != Role::kObject) continue;
        if (object.group() == kKueue && object.kind == "ClusterQueue") {
            check_cluster_queue(object, report);
        }
        if (object.kind == "NodePool" && object.group() == "karpenter.sh") {
            check_pool(object, report);
            pool = &object;
            ++pools;
        }
        if (file.mentions("kueue.x-k8s.io")) check_queue_label(object, report);
    }
    if (pools == 1 && !file.is_prose()) check_tolerations(file, *pool, report);
}

}  // namespace aliquot::lint
