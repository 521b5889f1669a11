// SPDX-License-Identifier: Apache-2.0
// Names of resources that pods ask for: POD002. And whether they ask for CPU and memory: POD008.
#include <algorithm>
#include <array>

#include "lint/rules/evidence.h"
#include "lint/rules/pod_rules.h"
#include "lint/rules/whole_shares.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

/// Kinds whose pods are made as they are written; other operators may add requests of their own.
bool keeps_pods(const Object& object) {
    constexpr std::array<std::string_view, 11> kKinds{
        "PyTorchJob", "TFJob",      "MPIJob",     "PaddleJob", "XGBoostJob",     "JAXJob",
        "Rollout",    "RayCluster", "RayService", "RayJob",    "LeaderWorkerSet"};
    return object.is_workload() ||
           std::find(kKinds.begin(), kKinds.end(), object.kind) != kKinds.end();
}

/// "nvidia.com/gpu-memory": what schedulers of others offer, and NVIDIA's plugin does not.
bool is_memory_name(std::string_view name) {
    constexpr std::array<std::string_view, 8> kNames{
        "nvidia.com/gpu-memory", "nvidia.com/gpu_memory", "nvidia.com/gpumemory",
        "nvidia.com/gpu-mem",    "nvidia.com/gpu_mem",    "nvidia.com/vram",
        "nvidia.com/gpu-vram",   "nvidia.com/memory"};
    return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// Whether the pod or its file is about a scheduler that counts memory.
bool counts_memory(const File& file, const PodSpec& pod) {
    if (pod.node != nullptr) {
        const std::string scheduler = text_at(*pod.node, "schedulerName");
        if (!scheduler.empty() && scheduler != "default-scheduler") return true;
    }
    return file.mentions("hami") || file.mentions("gpushare") || file.mentions("vgpu-memory");
}

void check_memory_name(const ResourceValue& value, Report& report) {
    report
        .add("POD002", value.key->mark,
             "no node offers '" + value.name + "': the device plugin counts GPUs, not their memory")
        .expected("nvidia.com/gpu, or a MIG device of the size that is needed");
}

/// The right name for a wrong one; empty: the name may be right.
std::string right_name(const std::string& name) {
    static constexpr std::array<std::string_view, 14> kWrong{
        "gpus",       "GPU",         "Gpu",         "gpu-shared", "gpu_shared",
        "shared-gpu", "gpushared",   "gpu.share",   "gpu-share",  "gpu.count",
        "gpu.memory", "gpu.product", "gpu.present", "GPUs"};
    const auto slash = name.find('/');
    if (slash == std::string::npos) {
        if (name == "gpu" || name == "gpus" || name == "nvidia-gpu" || name == "nvidia.gpu" ||
            name == "nvidia.com.gpu" || name == "nvidia.com" || name == "nvidia") {
            return "nvidia.com/gpu";
        }
        return name.starts_with("mig-") ? "nvidia.com/" + name : std::string();
    }
    if (name == "alpha.kubernetes.io/nvidia-gpu") return "nvidia.com/gpu";
    const std::string domain = name.substr(0, slash);
    const std::string rest = name.substr(slash + 1);
    if (domain == "nvidia.com") {
        if (std::find(kWrong.begin(), kWrong.end(), rest) != kWrong.end()) {
            return rest.find("share") != std::string::npos ? "nvidia.com/gpu.shared"
                                                           : "nvidia.com/gpu";
        }
        if (rest.ends_with(".share")) return name + "d";
        if (rest.starts_with("mig") && !rest.starts_with("mig-")) return "nvidia.com/mig-<profile>";
        return {};
    }
    if (rest != "gpu" && rest != "gpus" && rest != "gpu.shared" && !rest.starts_with("mig-")) {
        return {};
    }
    const bool near = domain == "nvidia" || domain == "nvidia.io" || domain == "nvidia.org" ||
                      domain == "www.nvidia.com" || domain == "kubernetes.io" ||
                      (!contains(domain, "amd") && !contains(domain, "intel") &&
                       nearest(domain, {"nvidia.com"}) == "nvidia.com");
    if (!near) return {};
    return "nvidia.com/" + (rest == "gpus" ? std::string("gpu") : rest);
}

void check_name(const ResourceValue& value, Report& report) {
    if (is_placeholder(value.name)) return;
    const std::string right = right_name(value.name);
    if (right.empty()) return;
    auto entry =
        report.add("POD002", value.key->mark, "no node offers the resource '" + value.name + "'");
    entry.expected(right).fix(right + ": " + value.text);
}

/// Pods under the wrong one of the two names. In a directory the configuration of another file counts
/// where it is the only one; other nodes may share nothing then, so that nvidia.com/gpu is a warning.
void check_shared_names(const File& file, const Set& set, Report& report) {
    if (!file.mentions("nvidia.com/gpu") || file.mentions("rename:")) return;
    const WholeShares shares = whole_shares(file, set);
    if (shares.none() || shares.holder->mentions("rename:")) return;
    if (shares.renamed > 0 && shares.kept + shares.others > 0) return;
    const bool own = shares.holder == &file;
    if (!own && shares.renamed > 1) return;
    const std::string where = own ? "this file" : shares.holder->name;
    for (const PodSpec& pod : file.pods) {
        const GpuNeed need = gpu_need(pod);
        if (need.value == nullptr) continue;
        if (shares.renamed == 0 && need.value->name == "nvidia.com/gpu.shared") {
            report
                .add("POD002", need.value->key->mark,
                     "'nvidia.com/gpu.shared' is offered only with renameByDefault: true, and the "
                     "configuration of " +
                         where + " has it not")
                .expected("nvidia.com/gpu")
                .fix("nvidia.com/gpu: " + need.value->text);
        } else if (shares.renamed > 0 && need.value->name == "nvidia.com/gpu") {
            report
                .add("POD002", need.value->key->mark,
                     "the configuration of " + where +
                         " renames shared GPUs: no node offers 'nvidia.com/gpu'")
                .expected("nvidia.com/gpu.shared")
                .fix("nvidia.com/gpu.shared: " + need.value->text)
                .severity(file.is_prose() || !own ? Severity::kWarning : Severity::kError);
        }
    }
}

/// An image that serves or trains: nobody starts it only to see whether the GPU is there.
bool does_work(std::string_view image) {
    constexpr std::array<std::string_view, 10> kParts{
        "vllm",           "tritonserver",      "sglang",  "text-generation", "ollama",
        "nvidia/pytorch", "nvidia/tensorflow", "jupyter", "nvcr.io/nim/",    "nemo"};
    return std::any_of(kParts.begin(), kParts.end(),
                       [image](std::string_view part) { return contains(image, part); });
}

/// "gpu-test", "cuda-check": what is made to be looked at once.
bool is_named_trial(std::string_view name) {
    constexpr std::array<std::string_view, 9> kWords{"test",   "smoke", "check", "verify", "demo",
                                                     "sample", "burn",  "bench", "hello"};
    return std::any_of(kWords.begin(), kWords.end(),
                       [name](std::string_view word) { return contains(name, word); });
}

/// A container with an image or a command for tries; `once`: of a Pod or a Job.
bool is_try(const Container& one, bool once) {
    for (const std::string_view part : {"cuda-sample", "vectoradd", "vector-add", "busybox",
                                        "dcgmproftester", "gpu-burn", "pause"}) {
        if (contains(one.image, part)) return true;
    }
    for (const std::string_view part : {"burn", "nvtop", "nccl-tests", "samples:"}) {
        if (once && contains(one.image, part)) return true;
    }
    return std::any_of(one.command.begin(), one.command.end(), [](const std::string& word) {
        return contains(word, "nvidia-smi") || contains(word, "cuda.is_available") ||
               contains(word, "vectorAdd") || word == "sleep" || contains(word, "nbody") ||
               contains(word, "sleep ");
    });
}

/// A pod that only tries whether the GPU is there.
bool is_trial(const PodSpec& pod, const Object* object) {
    const bool once = object != nullptr && (object->kind == "Pod" || object->kind.ends_with("Job"));
    if (once && is_named_trial(object->name)) return true;
    if (once && object->kind == "Pod" &&
        std::none_of(pod.containers.begin(), pod.containers.end(),
                     [](const Container& one) { return does_work(one.image); })) {
        return true;
    }
    return std::any_of(pod.containers.begin(), pod.containers.end(),
                       [once](const Container& one) { return is_try(one, once); });
}

/// A resource that stands for GPUs or parts of them, not for their memory.
bool is_counted_gpu(std::string_view name) {
    return name.starts_with("nvidia.com/") || name.starts_with("amd.com/") ||
           name.find("gpu-mem") == std::string_view::npos;
}

void check_requests(const File& file, const PodSpec& pod, Report& report) {
    const Object* object = file.object(pod);
    if (object != nullptr && (object->role == Role::kPatch || object->broken)) return;
    for (const Container& container : pod.containers) {
        const ResourceValue* gpu = container.gpu();
        if (gpu == nullptr || container.init || container.resources == nullptr) continue;
        if (!gpu->amount || *gpu->amount == 0) continue;
        if (container.find("cpu") != nullptr || container.find("memory") != nullptr) continue;
        if (container.resources->find("<<") != nullptr) continue;
        const bool weak =
            !pod.whole || is_trial(pod, object) || (object != nullptr && !keeps_pods(*object));
        auto entry = report.add("POD008", gpu->key->mark,
                                (container.name.empty() ? std::string("the container")
                                                        : "container " + container.name) +
                                    " asks for " + gpu->name + ", but for no cpu and no memory");
        if (weak || !is_counted_gpu(gpu->name)) entry.severity(Severity::kInfo);
    }
}

void check_names(const File& file, const PodSpec& pod, Report& report) {
    const Object* object = file.object(pod);
    // "gpu" alone is a field of Dynamo's and others' own kinds
    const bool own = object != nullptr && object->role == Role::kObject && !keeps_pods(*object);
    for (const Container& container : pod.containers) {
        for (const auto* list : {&container.limits, &container.requests}) {
            for (const ResourceValue& value : *list) {
                if (is_memory_name(value.name)) {
                    if (!counts_memory(file, pod)) check_memory_name(value, report);
                } else if (!own || value.name.find('/') != std::string::npos) {
                    check_name(value, report);
                }
            }
        }
    }
}

}  // namespace

void check_pod_names(const File& file, const Set& set, const Facts* /*facts*/, Report& report) {
    for (const PodSpec& pod : file.pods) {
        check_names(file, pod, report);
        check_requests(file, pod, report);
    }
    check_shared_names(file, set, report);
}

}  // namespace aliquot::lint
