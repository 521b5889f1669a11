// SPDX-License-Identifier: Apache-2.0
// From where the cluster stands to the plan: one service at a time, each step with a check and a way
// back.
#include <algorithm>

#include "base/number.h"
#include "plan/steps.h"

namespace aliquot::plan {
namespace {

/// A strategic merge patch of the GPU limits of a workload's container; null takes one away. Doing it
/// twice changes nothing.
std::string patch(const Workload& workload, const std::string& limits) {
    const std::string name = object_name(workload.name);
    const std::string space =
        workload.namespace_name.empty() ? "" : " -n " + object_name(workload.namespace_name);
    return "kubectl patch deployment " + name + space +
           " --type strategic -p "
           "'{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"" +
           name + "\",\"resources\":{\"limits\":{" + limits + "}}}]}}}}'";
}

std::string limit(const std::string& resource, const std::string& value) {
    return "\"" + resource + "\":" + value;
}

/// Gives it the GPU of the plan, in place of what its manifest asks for.
std::string give(const Workload& workload, const std::string& resource) {
    const bool other = !workload.asked_resource.empty() && workload.asked_resource != resource;
    return patch(workload, limit(resource, std::to_string(workload.gpus)) +
                               (other ? "," + limit(workload.asked_resource, "null") : ""));
}

/// Back to the CPU, or to the other GPU resource that its manifest asks for.
std::string take_back(const Workload& workload, const std::string& resource) {
    const bool other = !workload.asked_resource.empty() && workload.asked_resource != resource;
    return patch(workload, limit(resource, "null") +
                               (other ? "," + limit(workload.asked_resource,
                                                    std::to_string(workload.asked_count))
                                      : ""));
}

/// Waits for a GPU; when there is none in time, the service goes back to the CPU.
std::string wait_or(const Workload& workload, const std::string& back) {
    const std::string space =
        workload.namespace_name.empty() ? "" : " -n " + object_name(workload.namespace_name);
    return "kubectl rollout status deployment/" + object_name(workload.name) + space +
           " --timeout=5m || " + back;
}

Step baseline() {
    return {"Everything on the CPU: the state to come back to",
            {"kubectl get deployments,pods -o wide"},
            "every service answers; note how long a request takes",
            {"nothing was changed"}};
}

Step validate(const Plan& plan) {
    const std::string count = std::to_string(plan.numbers.gpus);
    return {"The node: driver, runtime, plugin",
            {"aliquot doctor host",
             "kubectl get nodes -o "
             "custom-columns=NAME:.metadata.name,GPU:.status.allocatable.nvidia\\\\.com/gpu"},
            "doctor finds nothing, and the node offers " + count + " x nvidia.com/gpu",
            {"leave the node as it is; nothing uses the GPU yet"}};
}

Step sharing_step(const Plan& plan) {
    Step step;
    if (plan.mode == Mode::kMig) {
        step.title = "Cut the GPU: MIG";
        const std::string upgrade(
            "helm upgrade gpu-operator nvidia/gpu-operator -n gpu-operator --reuse-values -f "
            "nvidia-values.yaml");
        step.commands = {"kubectl drain NODE --ignore-daemonsets --delete-emptydir-data",
                         "kubectl apply -f mig-configmap.yaml", upgrade,
                         "kubectl label node NODE nvidia.com/mig.config=aliquot --overwrite",
                         "kubectl uncordon NODE"};
        step.check = "nvidia-smi -L lists the instances; label nvidia.com/mig.config.state=success";
        step.rollback = {"kubectl label node NODE nvidia.com/mig.config=all-disabled --overwrite"};
        return step;
    }
    step.title = "Share the GPU: " + std::string(to_text(plan.mode)) + ", " +
                 std::to_string(plan.replicas) + " shares";
    step.commands = {"aliquot config check sharing.yaml",
                     "cp /etc/aliquot/sharing.yaml sharing.yaml.before  # on the node",
                     "install -m 0644 sharing.yaml /etc/aliquot/sharing.yaml  # the agent "
                     "takes it while it runs"};
    step.check = "the node offers " + std::to_string(plan.replicas) +
                 " shares of each shared GPU; running pods are not touched";
    step.rollback = {"install -m 0644 sharing.yaml.before /etc/aliquot/sharing.yaml"};
    return step;
}

bool is_job(const Workload& workload) {
    return workload.kind == Kind::kTraining || workload.kind == Kind::kBatch ||
           workload.kind == Kind::kCi;
}

/// A Job's template cannot be changed: it is made again.
Step job_step(const Share& share, const Workload& workload) {
    const std::string count = std::to_string(workload.gpus);
    return {"Submit with a GPU: " + share.workload,
            {"# in the pod template: resources.limits." + share.resource + ": " + count,
             "kubectl replace --force -f " + object_name(share.workload) + ".yaml"},
            "the pod starts, or waits in the queue for its turn; nvidia-smi shows its process",
            {"kubectl replace --force -f " + object_name(share.workload) + ".before.yaml"}};
}

Step service_step(const Share& share, const Workload& workload, bool first, const Plan& plan) {
    if (is_job(workload)) return job_step(share, workload);
    Step step;
    step.title = std::string(first ? "The first service: " : "Then: ") + share.workload;
    step.commands = {give(workload, share.resource),
                     wait_or(workload, take_back(workload, share.resource))};
    for (const std::string& line : plan.environment) {
        if (line.find("(" + share.workload + ")") != std::string::npos) {
            step.commands.push_back("# set in its container: " + line);
        }
    }
    const auto speed = std::ranges::find(plan.speed, share.workload, &Speed::workload);
    step.check = "the pod runs, nvidia-smi shows its process, and a request is faster than before";
    if (speed != plan.speed.end() && speed->alone > 0) {
        step.check = "a request takes " + (speed->gpu.empty() ? "less" : speed->gpu) + " (" +
                     (speed->cpu.empty() ? "more" : speed->cpu) +
                     " on the CPU); memory stays below " + decimal_text(share.memory_mib, 0) +
                     " MiB";
    }
    step.rollback = {take_back(workload, share.resource),
                     "# and its CPU image and variables: a service that is told to use CUDA does "
                     "not fall back by itself"};
    return step;
}

Step tune() {
    return {"Tune",
            {"nvidia-smi --query-gpu=utilization.gpu,memory.used --format=csv -l 5"},
            "a week without out-of-memory; below 100 % use most of the time",
            {"fewer shares: the sharing.yaml of the step before"}};
}

Step cpu_only(const Plan& plan) {
    std::string names;
    for (const Share& share : plan.shares) {
        if (share.mode != Mode::kCpu) continue;
        names += (names.empty() ? "" : ", ") + share.workload;
    }
    return {"Keep on the CPU: " + names,
            {},
            "a request still takes no longer than it may",
            {"nothing was changed"}};
}

}  // namespace

void add_migration(Plan& plan, const Request& request) {
    const bool any_cpu = std::ranges::any_of(
        plan.shares, [](const Share& share) { return share.mode == Mode::kCpu; });
    const bool any_gpu = !plan.gpus.empty();
    plan.migration.push_back(baseline());
    if (any_cpu) plan.migration.push_back(cpu_only(plan));
    if (!any_gpu) return;
    plan.migration.push_back(validate(plan));
    const bool shares = std::ranges::any_of(plan.gpus, [](const GpuUse& use) {
        return use.mode != Mode::kExclusive && use.mode != Mode::kSerial;
    });
    // MIG must stand before the first pod; shares come with the second.
    bool shared = !shares;
    bool first = true;
    if (!request.workloads.empty()) {
        for (const Workload& workload : request.workloads) {
            const auto share = std::ranges::find(plan.shares, workload.name, &Share::workload);
            if (share == plan.shares.end() || share->mode == Mode::kCpu) continue;
            const bool now =
                plan.mode == Mode::kMig || !first || share->resource != "nvidia.com/gpu";
            if (!shared && now) {
                plan.migration.push_back(sharing_step(plan));
                shared = true;
            }
            plan.migration.push_back(service_step(*share, workload, first, plan));
            first = false;
        }
    }
    if (!shared) plan.migration.push_back(sharing_step(plan));
    plan.migration.push_back(tune());
}

}  // namespace aliquot::plan
