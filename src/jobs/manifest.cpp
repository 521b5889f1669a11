// SPDX-License-Identifier: Apache-2.0
#include "jobs/manifest.h"

#include <algorithm>

#include "base/text.h"
#include "document/build.h"
#include "document/json.h"
#include "jobs/check.h"
#include "jobs/name.h"
#include "jobs/preset.h"
#include "jobs/read.h"

namespace aliquot::jobs {
namespace {

using document::append;
using document::make_mapping;
using document::make_sequence;
using document::make_string;
using document::only_if;
using document::Value;

constexpr unsigned kFirstWeight = 100;
constexpr const char* kQueueLabel = "kueue.x-k8s.io/queue-name";
constexpr const char* kClassLabel = "kueue.x-k8s.io/priority-class";
constexpr const char* kMinParallelism = "kueue.x-k8s.io/job-min-parallelism";
constexpr const char* kGated = "kueue.x-k8s.io/admission-gated-by";
constexpr const char* kIndexAnnotation = "batch.kubernetes.io/job-completion-index";

bool is_share(const Request& request) {
    return !request.gpu_memory.empty() || request.gpu_compute != 0;
}

bool is_queued(const Request& request) { return !request.queue.empty() && !request.no_queue; }

std::uint32_t pods_of(const Request& request) { return std::max(request.array, request.gang); }

std::string visible_devices(const Request& request) {
    std::string list = "0";
    if (request.gpu_resource.contains("/mig-")) return list;
    for (std::uint32_t i = 1; i < request.gpu_count; ++i) list += "," + std::to_string(i);
    return list;
}

Value variables(const Request& request) {
    std::vector<std::pair<std::string, std::string>> merged{{"WORKER_TYPE", "gpu"}};
    if (!request.task_id.empty()) merged.emplace_back("TASK_ID", request.task_id);
    merged.emplace_back("CUDA_VISIBLE_DEVICES", visible_devices(request));
    for (const auto& [name, value] : request.env) {
        const auto same = std::find_if(merged.begin(), merged.end(),
                                       [&](const auto& one) { return one.first == name; });
        if (same == merged.end()) {
            merged.emplace_back(name, value);
        } else {
            same->second = value;
        }
    }
    Value list = make_sequence(merged, [](const auto& one) {
        return make_mapping({{"name", one.first}, {"value", one.second}});
    });
    if (request.gang > 1) {
        const auto add = [&](const char* name, document::Built value) {
            list.items.push_back(make_mapping({{"name", name}, {"value", std::move(value)}}));
        };
        add("WORLD_SIZE", std::to_string(request.gang));
        add("MASTER_ADDR", job_name(request) + "-0." + job_name(request));
        add("MASTER_PORT", "29500");
        const Value field = make_mapping(
            {{"fieldPath", std::string("metadata.annotations['") + kIndexAnnotation + "']"}});
        list.items.push_back(
            make_mapping({{"name", "RANK"}, {"valueFrom", make_mapping({{"fieldRef", field}})}}));
    }
    return list;
}

Value resources(const Request& request) {
    const Amounts limits = limits_of(request);
    const Amounts half = requests_of(limits);
    const std::string gpus = std::to_string(request.gpu_count);
    const auto amounts = [&](const Amounts& of) {
        Value made = make_mapping({{"memory", of.memory}, {"cpu", of.cpu}});
        if (!is_share(request)) append(made, request.gpu_resource, gpus);
        return made;
    };
    return make_mapping({{"requests", amounts(half)}, {"limits", amounts(limits)}});
}

struct Mount {
    std::string name;
    std::string path;
    Value volume;
};

std::vector<Mount> mounts_of(const Request& request) {
    const auto claim = [](const char* name, const std::string& of) {
        return make_mapping(
            {{"name", name}, {"persistentVolumeClaim", make_mapping({{"claimName", of}})}});
    };
    std::vector<Mount> mounts;
    if (!request.workspace.empty()) {
        mounts.push_back({"workspace", "/workspace", claim("workspace", request.workspace)});
    }
    if (!request.model_cache.empty()) {
        mounts.push_back(
            {"model-cache", request.model_cache_path, claim("model-cache", request.model_cache)});
    }
    mounts.push_back({"shm", "/dev/shm",
                      make_mapping({{"name", "shm"},
                                    {"emptyDir", make_mapping({{"medium", "Memory"},
                                                               {"sizeLimit", request.shm}})}})});
    return mounts;
}

std::pair<std::string, std::string> spot_label(const std::string& profile) {
    if (profile == "lifecycle") return {"node.kubernetes.io/lifecycle", "spot"};
    if (profile == "node-type") return {"node-type", "spot"};
    const auto equals = profile.find('=');
    return {profile.substr(0, equals), profile.substr(equals + 1)};
}

Value selector_of(const Request& request) {
    Value selector = make_mapping();
    const std::string& type = request.gpu_type;
    const std::string accelerator = request.gpu_prefer.empty() && !is_share(request)
                                        ? accelerator_of(type.empty() ? kDefaultGpuType : type)
                                        : "";
    if (!accelerator.empty()) append(selector, "accelerator", accelerator);
    if (!request.instance_type.empty()) {
        append(selector, "node.kubernetes.io/instance-type", request.instance_type);
    }
    if (!request.spot.empty()) {
        const auto [key, value] = spot_label(request.spot);
        append(selector, key, value);
    }
    return selector;
}

Value tolerations_of(const Request& request) {
    Value list = make_sequence();
    const auto tolerate = [&](const char* key, bool equal) {
        list.items.push_back(make_mapping({{"key", key},
                                           {"operator", equal ? "Equal" : "Exists"},
                                           {"value", only_if(equal, "true")},
                                           {"effect", "NoSchedule"}}));
    };
    tolerate("nvidia.com/gpu", request.toleration == "Equal");
    if (request.spot == "lifecycle") tolerate("spot", true);
    return list;
}

Value affinity_of(const std::vector<std::string>& types) {
    Value terms = make_sequence();
    unsigned weight = kFirstWeight;
    for (const std::string& type : types) {
        const std::string accelerator = accelerator_of(type);
        if (accelerator.empty()) continue;
        const Value expression = make_mapping({{"key", "accelerator"},
                                               {"operator", "In"},
                                               {"values", std::vector<std::string>{accelerator}}});
        terms.items.push_back(
            make_mapping({{"weight", weight},
                          {"preference",
                           make_mapping({{"matchExpressions", std::vector<Value>{expression}}})}}));
        weight = std::max(weight / 2, 1U);
    }
    return make_mapping(
        {{"nodeAffinity",
          make_mapping({{"preferredDuringSchedulingIgnoredDuringExecution", std::move(terms)}})}});
}

Value container_of(const Request& request, const std::vector<Mount>& mounts) {
    return make_mapping({{"name", request.container},
                         {"image", request.image},
                         {"command", only_if(!request.command.empty(), request.command)},
                         {"workingDir", only_if(!request.workdir.empty(), request.workdir)},
                         {"resources", resources(request)},
                         {"env", variables(request)},
                         {"volumeMounts", make_sequence(mounts, [](const Mount& one) {
                              return make_mapping({{"name", one.name}, {"mountPath", one.path}});
                          })}});
}

Value labels_of(const Request& request) {
    Value labels = make_mapping({{"app", "aliquot"}, {"component", "gpu-worker"}});
    const auto add = [&](const char* key, const std::string& value) {
        if (const std::string label = label_value(value); !label.empty()) {
            append(labels, key, label);
        }
    };
    add("aliquot.dev/task-id", request.task_id);
    add("aliquot.dev/user", request.user);
    add("aliquot.dev/gpu-type",
        request.gpu_type.empty() ? std::string(kDefaultGpuType) : request.gpu_type);
    return labels;
}

Value annotations_of(const Request& request) {
    Value annotations = make_mapping();
    if (!request.task_id.empty()) append(annotations, "aliquot.dev/task-id", request.task_id);
    if (!request.after.empty()) append(annotations, "aliquot.dev/after", join(request.after, ","));
    if (is_queued(request) && !request.after.empty())
        append(annotations, kGated, "aliquot.dev/jobs");
    if (is_queued(request) && request.array > 1) append(annotations, kMinParallelism, "1");
    append(annotations, "aliquot.dev/request",
           document::to_json_line(to_document(request, Secrets::kHide)));
    return annotations;
}

/// Losing a node that is taken away (spot, drain) is nobody's failure and uses up no try.
Value failure_policy() {
    const Value lost = make_mapping({{"type", "DisruptionTarget"}, {"status", "True"}});
    const Value rule =
        make_mapping({{"action", "Ignore"}, {"onPodConditions", std::vector<Value>{lost}}});
    return make_mapping({{"rules", std::vector<Value>{rule}}});
}

/// What the pods themselves say: a share by its size, and that those of an array are no gang.
Value pod_metadata(const Request& request, Value labels) {
    Value annotations = make_mapping();
    if (!request.gpu_memory.empty())
        append(annotations, "aliquot.dev/gpu-memory", request.gpu_memory);
    if (request.gpu_compute != 0)
        append(annotations, "aliquot.dev/gpu-compute", std::to_string(request.gpu_compute));
    const bool typed = !request.gpu_type.empty() && request.gpu_type != "any";
    if (is_share(request) && typed) append(annotations, "aliquot.dev/gpu-type", request.gpu_type);
    if (request.array > 1) append(labels, "aliquot.dev/gang", "none");
    const bool says = !annotations.entries.empty();
    return make_mapping(
        {{"labels", std::move(labels)}, {"annotations", only_if(says, std::move(annotations))}});
}

Value pod_of(const Request& request) {
    const auto mounts = mounts_of(request);
    Value selector = selector_of(request);
    const bool selects = !selector.entries.empty();
    return make_mapping(
        {{"restartPolicy", request.restart_policy},
         {"priorityClassName",
          only_if(!request.priority_class.empty() && !is_queued(request), request.priority_class)},
         {"subdomain", only_if(request.gang > 1, job_name(request))},
         {"containers", std::vector<Value>{container_of(request, mounts)}},
         {"volumes", make_sequence(mounts, [](const Mount& one) { return one.volume; })},
         {"nodeSelector", only_if(selects, std::move(selector))},
         {"affinity", only_if(!request.gpu_prefer.empty(), affinity_of(request.gpu_prefer))},
         {"tolerations", tolerations_of(request)}});
}

}  // namespace

Result<Value> job_manifest(const Request& request) {
    if (auto valid = require_valid(request, Place::kCluster); !valid) {
        return std::move(valid).error();
    }
    Value labels = labels_of(request);
    Value template_labels = labels;
    if (!request.queue.empty()) append(labels, kQueueLabel, request.queue);
    if (is_queued(request) && !request.priority_class.empty())
        append(labels, kClassLabel, request.priority_class);
    const bool starts_suspended = is_queued(request) || !request.after.empty();
    const std::uint32_t pods = pods_of(request);
    return make_mapping(
        {{"apiVersion", "batch/v1"},
         {"kind", "Job"},
         {"metadata",
          make_mapping({{"name", job_name(request)},
                        {"namespace", only_if(!request.in_namespace.empty(), request.in_namespace)},
                        {"labels", std::move(labels)},
                        {"annotations", annotations_of(request)}})},
         {"spec",
          make_mapping(
              {{"suspend", only_if(starts_suspended, true)},
               {"completionMode", only_if(pods > 1, "Indexed")},
               {"completions", only_if(pods > 1, pods)},
               {"parallelism", only_if(pods > 1, pods)},
               {"backoffLimit", request.retries},
               {"activeDeadlineSeconds", request.deadline_seconds},
               {"ttlSecondsAfterFinished", request.ttl_seconds},
               {"podFailurePolicy", only_if(request.restart_policy == "Never", failure_policy())},
               {"template",
                make_mapping({{"metadata", pod_metadata(request, std::move(template_labels))},
                              {"spec", pod_of(request)}})}})}});
}

}  // namespace aliquot::jobs
