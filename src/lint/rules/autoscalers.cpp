// SPDX-License-Identifier: Apache-2.0
// Autoscalers: HPA001 to HPA004.
#include <algorithm>
#include <optional>

#include "base/number.h"
#include "k8s/quantity.h"
#include "k8s/resource_name.h"
#include "lint/families.h"
#include "lint/rules/evidence.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

/// A metric of type Resource (or ContainerResource) that compares with the request.
struct ResourceMetric {
    std::string name;
    std::string container;  // of a ContainerResource
    Mark mark;
    bool utilization = false;  // else an average value, which needs no request
};

struct Metrics {
    std::vector<ResourceMetric> resources;
    bool others = false;  // Pods, Object, External
};

Metrics metrics_of(const Object& object) {
    Metrics metrics;
    const Value* spec = object.node->find("spec");
    if (spec == nullptr) return metrics;
    if (const Value::Entry* old = entry_at(*spec, "targetCPUUtilizationPercentage")) {
        metrics.resources.push_back({"cpu", "", old->first.mark, true});
    }
    const Value* list = spec->find("metrics");
    if (list == nullptr) return metrics;
    for (const Value& metric : list->items) {
        const std::string type = text_at(metric, "type");
        if (type != "Resource" && type != "ContainerResource") {
            metrics.others = true;
            continue;
        }
        const Value* body = metric.find(type == "Resource" ? "resource" : "containerResource");
        if (body == nullptr) continue;
        const Value* name = body->find("name");
        if (name == nullptr) continue;
        const bool utilization = text_at(*body, "target.type") == "Utilization" ||
                                 at_path(*body, "target.averageUtilization") != nullptr ||
                                 body->find("targetAverageUtilization") != nullptr;
        metrics.resources.push_back(
            {name->scalar, text_at(*body, "container"), name->mark, utilization});
    }
    return metrics;
}

/// The pod that an autoscaler scales: its own file first.
struct Target {
    const File* file = nullptr;
    const PodSpec* pod = nullptr;
};

Target target_of(const File& file, const Set& set, const std::string& kind,
                 const std::string& name) {
    for (const File* near : set.neighbours(file)) {
        for (const PodSpec& pod : near->pods) {
            const Object* object = near->object(pod);
            if (object == nullptr || object->kind != kind || object->name != name) continue;
            if (pod.path == "spec.template.spec") return {near, &pod};
        }
    }
    return {};
}

bool is_shipped_with_patches(const File& file, const Set& set, const std::string& name) {
    for (const File* near : set.neighbours(file)) {
        for (const Object& object : near->objects) {
            if (object.role == Role::kKustomization || object.kind == "LimitRange") return true;
            if (object.role == Role::kPatch && object.name == name) return true;
        }
    }
    return false;
}

/// In a runbook the target is often shown in pieces: blocks of resources with GPUs. They speak for
/// it when none of them asks for cpu or memory.
const PodSpec* shown_in_pieces(const File& file) {
    if (!file.is_prose()) return nullptr;
    const PodSpec* found = nullptr;
    for (const PodSpec& pod : file.pods) {
        if (pod.containers.size() != 1 || pod.containers[0].resources == nullptr) continue;
        const Container& container = pod.containers[0];
        if (container.gpu() == nullptr) continue;
        const Object* object = file.object(pod);
        if (object != nullptr && object->role == Role::kObject) return nullptr;
        if (container.find("cpu") != nullptr || container.find("memory") != nullptr) return nullptr;
        if (found == nullptr) found = &pod;
    }
    return found;
}

bool asks_for(const PodSpec& pod, const ResourceMetric& metric, std::string& without) {
    for (const Container& container : pod.containers) {
        if (container.init && !container.sidecar) continue;
        if (!metric.container.empty() && container.name != metric.container) continue;
        if (container.find(metric.name) != nullptr) continue;
        if (container.resources != nullptr && container.resources->find("<<") != nullptr) continue;
        without = container.name;
        return false;
    }
    return true;
}

void check_requests(const Object& object, const Metrics& metrics, const PodSpec& pod,
                    Report& report) {
    for (const ResourceMetric& metric : metrics.resources) {
        if (metric.name != "cpu" && metric.name != "memory") continue;
        std::string without;
        if (!metric.utilization || asks_for(pod, metric, without)) continue;
        report.add("HPA001", metric.mark,
                   object.kind + " " + object.name + " compares the use of " + metric.name +
                       " with the request, but " +
                       (without.empty() ? std::string("the pod") : "container " + without) +
                       " requests none");
    }
}

void check_names(const Object& object, const Metrics& metrics, Report& report) {
    for (const ResourceMetric& metric : metrics.resources) {
        if (metric.name == "cpu" || metric.name == "memory" || is_placeholder(metric.name))
            continue;
        report
            .add("HPA001", metric.mark,
                 object.kind + " " + object.name + " scales on the resource metric '" +
                     metric.name + "', which nobody measures")
            .expected("cpu or memory; for GPUs a metric of type Pods, Object or External");
    }
}

/// The same list in Helm values and other kinds' specs: `metrics: [{type: Resource, ...}]`.
void check_lists(const Object& object, Report& report) {
    walk(*object.node, [&report](const Value::Entry& entry) {
        if (entry.first.scalar != "metrics" || !entry.second.is_sequence()) return;
        for (const Value& item : entry.second.items) {
            const Value* name = at_path(item, "resource.name");
            if (name == nullptr || text_at(item, "type") != "Resource") continue;
            if (!k8s::is_gpu_resource(name->scalar)) continue;
            report
                .add("HPA001", name->mark,
                     "the resource metric '" + name->scalar + "' is one that nobody measures")
                .expected("cpu or memory; for GPUs a metric of type Pods, Object or External");
        }
    });
}

void check_counts(const File& file, const Object& object, const PodSpec& pod, const Facts* facts,
                  Report& report) {
    const GpuNeed need = gpu_need(pod);
    if (need.value == nullptr) return;
    const Value* most = at_path(*object.node, "spec.maxReplicas");
    const Value* least = at_path(*object.node, "spec.minReplicas");
    // -1: not there. (g++ 12 takes an optional here for read uninitialised.)
    const double maximum = most == nullptr ? -1 : k8s::quantity_value(most->scalar).value_or(-1);
    const double minimum = least == nullptr ? -1 : k8s::quantity_value(least->scalar).value_or(-1);
    if (facts == nullptr) {
        const bool shared =
            std::any_of(file.objects.begin(), file.objects.end(),
                        [](const Object& one) { return one.role == Role::kDevicePluginConfig; });
        if (maximum < 0 || shared) return;
        report
            .add("HPA003", most->mark,
                 "up to " + number_text(maximum) + " replicas take " +
                     number_text(maximum * need.amount) + " of " + need.value->name)
            .severity(Severity::kInfo);
        return;
    }
    const double offered = facts->total(need.value->name);
    if (facts->autoscaler || facts->nodes.empty()) return;
    if (minimum >= 0 && minimum * need.amount > offered) {
        report.add("HPA004", least->mark,
                   number_text(minimum) + " replicas need " + number_text(minimum * need.amount) +
                       " of " + need.value->name + ", and the cluster offers " +
                       number_text(offered));
    } else if (maximum >= 0 && maximum * need.amount > offered) {
        report.add("HPA003", most->mark,
                   number_text(maximum) + " replicas need " + number_text(maximum * need.amount) +
                       " of " + need.value->name + ", and the cluster offers " +
                       number_text(offered));
    }
}

void check_autoscaler(const File& file, const Set& set, const Object& object, const Facts* facts,
                      Report& report) {
    const Metrics metrics = metrics_of(object);
    check_names(object, metrics, report);
    if (const Value* least = at_path(*object.node, "spec.minReplicas")) {
        if (least->scalar == "0" && !metrics.others) {
            report.add("HPA004", least->mark,
                       "minReplicas is 0, and this autoscaler cannot scale up from nothing");
        }
        const auto from = parse_number<unsigned>(least->scalar);
        const auto to = parse_number<unsigned>(text_at(*object.node, "spec.maxReplicas"));
        if (from && to && *from > *to) {
            report
                .add("FORM003", least->mark,
                     "minReplicas is " + least->scalar + ", and maxReplicas " + std::to_string(*to))
                .expected("at most " + std::to_string(*to));
        }
    }
    const std::string kind = text_at(*object.node, "spec.scaleTargetRef.kind");
    if (!kind.empty() && kind.front() >= 'a' && kind.front() <= 'z' && !is_placeholder(kind)) {
        std::string right = kind;
        right.front() = static_cast<char>(right.front() - 32);
        report
            .add("FORM003", at_path(*object.node, "spec.scaleTargetRef.kind")->mark,
                 "no kind is called '" + kind + "'")
            .expected(right)
            .fix("kind: " + right);
    }
    const std::string name = text_at(*object.node, "spec.scaleTargetRef.name");
    if (name.empty() || is_placeholder(name)) return;
    const Target target = target_of(file, set, kind, name);
    const PodSpec* pod = target.pod;
    bool sure = pod != nullptr && pod->whole && !is_shipped_with_patches(file, set, name);
    if (pod == nullptr) {
        pod = shown_in_pieces(file);
        sure = pod != nullptr;
    }
    if (pod == nullptr) return;
    const Object* owner = target.file == nullptr ? nullptr : target.file->object(*pod);
    if (owner != nullptr && (owner->templated || owner->broken)) sure = false;
    if (sure) check_requests(object, metrics, *pod, report);
    const GpuNeed need = gpu_need(*pod);
    if (need.value != nullptr && !metrics.others && !metrics.resources.empty()) {
        const ResourceMetric& first = metrics.resources.front();
        if (first.name == "cpu" || first.name == "memory") {
            report.add("HPA002", first.mark,
                       object.kind + " " + object.name + " scales a GPU service by " + first.name);
        }
    }
    check_counts(file, object, *pod, facts, report);
}

/// Triggers of KEDA that make a metric of type Resource: cpu and memory.
void check_triggers(const File& file, const Set& set, const Object& object, Report& report) {
    const Value* triggers = at_path(*object.node, "spec.triggers");
    const std::string name = text_at(*object.node, "spec.scaleTargetRef.name");
    std::string kind = text_at(*object.node, "spec.scaleTargetRef.kind");
    if (kind.empty()) kind = "Deployment";
    if (triggers == nullptr || name.empty() || is_placeholder(name)) return;
    Metrics metrics;
    for (const Value& trigger : triggers->items) {
        const Value* type = trigger.find("type");
        if (type == nullptr || (type->scalar != "cpu" && type->scalar != "memory")) continue;
        const bool utilization = text_at(trigger, "metricType") != "AverageValue" &&
                                 text_at(trigger, "metadata.type") != "AverageValue";
        metrics.resources.push_back(
            {type->scalar, text_at(trigger, "metadata.containerName"), type->mark, utilization});
    }
    const Target target = target_of(file, set, kind, name);
    if (target.pod == nullptr || !target.pod->whole || is_shipped_with_patches(file, set, name)) {
        return;
    }
    const Object* owner = target.file->object(*target.pod);
    if (owner != nullptr && (owner->templated || owner->broken)) return;
    check_requests(object, metrics, *target.pod, report);
    const bool alone = metrics.resources.size() == triggers->items.size();
    if (!alone || metrics.resources.empty() || gpu_need(*target.pod).value == nullptr) return;
    report.add("HPA002", metrics.resources.front().mark,
               object.kind + " " + object.name + " scales a GPU service by " +
                   metrics.resources.front().name);
}

/// `kubectl autoscale deployment x --cpu-percent=70`.
void check_autoscale_command(const File& file, const Set& set, const Command& command,
                             Report& report) {
    if (!command.is("kubectl", "autoscale")) return;
    const auto words = command.positionals();
    const Word* percent = command.flag("--cpu-percent");
    if (percent == nullptr || words.size() < 2) return;
    std::string name = words[1]->text;
    if (const auto slash = name.find('/'); slash != std::string::npos) {
        name.erase(0, slash + 1);
    } else if (words.size() > 2) {
        name = words[2]->text;
    }
    const Target target = target_of(file, set, "Deployment", name);
    if (target.pod == nullptr || gpu_need(*target.pod).value == nullptr) return;
    report.add("HPA002", percent->mark, "this scales the GPU service " + name + " by cpu");
}

/// `autoscaling:` beside `resources:` of a chart's values.
void check_values(const Object& object, Report& report) {
    if (text_at(*object.node, "autoscaling.enabled") != "true") return;
    const Value::Entry* percent =
        entry_at(*object.node, "autoscaling.targetCPUUtilizationPercentage");
    const Value* limits = at_path(*object.node, "resources.limits");
    if (percent == nullptr || limits == nullptr || limits->find("nvidia.com/gpu") == nullptr) {
        return;
    }
    if (at_path(*object.node, "autoscaling.metrics") != nullptr) return;
    if (at_path(*object.node, "autoscaling.customMetrics") != nullptr) return;
    report.add("HPA002", percent->first.mark, "these values scale a GPU service by cpu");
}

}  // namespace

void check_autoscalers(const File& file, const Set& set, const Facts* facts, Report& report) {
    if (file.mentions("metrics:") && file.mentions("type: resource")) {
        for (const Object& object : file.objects) {
            if (object.kind != "HorizontalPodAutoscaler") check_lists(object, report);
        }
    }
    if (file.mentions("--cpu-percent")) {
        for (const Command& command : file.commands) {
            check_autoscale_command(file, set, command, report);
        }
    }
    if (file.mentions("targetcpuutilizationpercentage")) {
        for (const Object& object : file.objects) check_values(object, report);
    }
    if (file.mentions("scaledobject")) {
        for (const Object& object : file.objects) {
            if (object.kind == "ScaledObject" && object.role == Role::kObject && !object.broken) {
                check_triggers(file, set, object, report);
            }
        }
    }
    if (!file.mentions("horizontalpodautoscaler")) return;
    for (const Object& object : file.objects) {
        if (object.kind != "HorizontalPodAutoscaler" || object.broken) continue;
        if (object.role == Role::kPatch) check_names(object, metrics_of(object), report);
        if (object.role != Role::kObject) continue;
        check_autoscaler(file, set, object, facts, report);
    }
}

}  // namespace aliquot::lint
