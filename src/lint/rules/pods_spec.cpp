// SPDX-License-Identifier: Apache-2.0
// The rest of a pod's spec: POD004, POD009, POD013, POD020, POD021.
#include <algorithm>
#include <array>
#include <optional>

#include "k8s/quantity.h"
#include "lint/rules/evidence.h"
#include "lint/rules/pod_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

bool is_ordinary(const File& file, const PodSpec& pod) {
    const Object* object = file.object(pod);
    return pod.whole && object != nullptr && object->role == Role::kObject && !object->broken &&
           !object->templated;
}

/// A fragment that says nothing of containers.
bool is_bare(const PodSpec& pod) {
    return !pod.whole &&
           std::all_of(pod.containers.begin(), pod.containers.end(), [](const Container& one) {
               return one.image.empty() && one.resources == nullptr;
           });
}

void check_toleration(const File& file, const PodSpec& pod, bool taints, Report& report) {
    if (pod.tolerations == nullptr || pod.asks_gpu() || is_management(pod)) return;
    const Object* object = file.object(pod);
    // It is to stand beside a pod that has a GPU: a client that measures it.
    if (pod.affinity != nullptr && pod.affinity->find("podAffinity") != nullptr) return;
    // It is to look at one node, whatever that has.
    if (pod.node != nullptr && pod.node->find("nodeName") != nullptr) return;
    const bool fragment = is_bare(pod) && file.is_prose();
    if (!fragment && !is_ordinary(file, pod)) return;
    if (object != nullptr && (object->kind == "DaemonSet" || is_gpu_chart(object->chart))) return;
    if (!fragment && (is_gpu_free_role(pod) || pod.containers.empty())) return;
    for (const Container& container : pod.containers) {
        if (container.gpu() != nullptr) return;  // a GPU count of 0
        if (container.find_env("NVIDIA_VISIBLE_DEVICES") != nullptr) return;
        if (contains(container.name, "validat")) return;      // looks at the node, not at a GPU
        if (container.privileged && !container.init) return;  // it sets the node up
    }
    for (const Value& toleration : pod.tolerations->items) {
        const Value* key = toleration.find("key");
        if (key == nullptr) continue;
        const bool of_aks = key->scalar == "sku" && text_at(toleration, "value") == "gpu";
        if (key->scalar != "nvidia.com/gpu" && key->scalar != "amd.com/gpu" && !of_aks) continue;
        if (fragment) {
            if (taints || file.mentions("taint") || file.mentions("karpenter")) return;
            report
                .add("POD004", key->mark,
                     "'" + key->scalar + "' is tolerated, but nothing here taints a node with it")
                .severity(Severity::kInfo);
            return;
        }
        report.add("POD004", key->mark,
                   "the pod tolerates '" + key->scalar +
                       "' and asks for no GPU: it may take the "
                       "place of one that does");
        return;
    }
}

/// A framework whose processes hand tensors over in /dev/shm.
bool shares_memory(const Container& container) {
    for (const std::string_view part :
         {"pytorch", "vllm", "sglang", "text-generation-inference", "nemo", "deepspeed", "torch",
          "horovod", "megatron", "tensorrt-llm", "trtllm", "lmdeploy", "tensorflow/tensorflow",
          "nvidia/tensorflow"}) {
        if (contains(container.image, part)) return true;
    }
    return std::any_of(
        container.command.begin(), container.command.end(), [](const std::string& word) {
            return contains(word, "torchrun") || contains(word, "vllm") ||
                   contains(word, "sglang") || contains(word, "deepspeed") ||
                   contains(word, "torch.distributed") || contains(word, "accelerate launch");
        });
}

unsigned tensor_parallel(const Container& container) {
    for (std::size_t i = 0; i < container.command.size(); ++i) {
        const std::string& word = container.command[i];
        for (const std::string_view flag : {"--tensor-parallel-size", "--tp-size", "--num-shard"}) {
            const auto at = word.find(flag);
            if (at == std::string::npos) continue;
            std::string value = word.substr(at + flag.size());
            if (value.empty() && i + 1 < container.command.size()) value = container.command[i + 1];
            const auto digit = value.find_first_of("0123456789");
            if (digit == std::string::npos || digit > 2) continue;
            return static_cast<unsigned>(value[digit] - '0');
        }
    }
    return 0;
}

const Value* volume_named(const PodSpec& pod, std::string_view name) {
    if (pod.volumes == nullptr) return nullptr;
    for (const Value& volume : pod.volumes->items) {
        if (text_at(volume, "name") == name) return &volume;
    }
    return nullptr;
}

const Mount* shm_mount(const Container& container) {
    const auto at = std::find_if(container.mounts.begin(), container.mounts.end(),
                                 [](const Mount& mount) { return mount.path == "/dev/shm"; });
    return at == container.mounts.end() ? nullptr : &*at;
}

void check_shm_size(const PodSpec& pod, const Container& container, const Mount& mount,
                    Report& report) {
    const Value* volume = volume_named(pod, mount.volume);
    if (volume == nullptr) return;
    const Value* size = at_path(*volume, "emptyDir.sizeLimit");
    const ResourceValue* limit = container.find_limit("memory");
    if (size == nullptr || limit == nullptr || !limit->amount) return;
    const auto bytes = k8s::quantity_value(size->scalar);
    if (!bytes || *bytes <= *limit->amount || text_at(*volume, "emptyDir.medium") != "Memory")
        return;
    report.add("POD009", size->mark,
               "/dev/shm may grow to " + size->scalar + ", and the container's memory limit is " +
                   limit->text + ", to which it counts");
}

void check_shm(const File& file, const PodSpec& pod, Report& report) {
    const Object* object = file.object(pod);
    const bool ray = object != nullptr && object->kind.starts_with("Ray");
    const bool ipc = pod.node != nullptr && text_at(*pod.node, "hostIPC") == "true";
    for (const Container& container : pod.containers) {
        if (const Mount* mount = shm_mount(container)) {
            check_shm_size(pod, container, *mount, report);
            continue;
        }
        const ResourceValue* gpu = container.gpu();
        if (gpu == nullptr || !gpu->amount || ray || !is_ordinary(file, pod)) continue;
        if (contains(gpu->name, "mem") || contains(gpu->name, "core")) continue;  // parts of one
        constexpr double kMostGpus = 64;  // above it the number is one of something else
        if (*gpu->amount > kMostGpus) continue;
        const bool several = *gpu->amount > 1 || tensor_parallel(container) > 1;
        if (!several || container.init) continue;
        if (container.image.find("rayproject/") != std::string::npos) continue;
        const bool known = object->is_workload() || object->kind == "LeaderWorkerSet" ||
                           object->kind == "PyTorchJob" || object->kind == "MPIJob" ||
                           object->kind == "TFJob" || object->kind == "Rollout" ||
                           object->kind == "JobSet";
        // Many workers of one training job on one machine talk through it.
        constexpr double kMany = 4;
        const bool trains =
            *gpu->amount >= kMany && (object->kind == "PyTorchJob" || object->kind == "MPIJob");
        if (!known || (!trains && !shares_memory(container))) continue;
        if (ipc) {
            report
                .add("POD009", gpu->key->mark,
                     "hostIPC gives the container the shared memory of the whole node")
                .severity(Severity::kInfo);
            continue;
        }
        report.add("POD009", gpu->key->mark,
                   "container " + container.name + " has " + gpu->text +
                       (gpu->text == "1" || gpu->text == "\"1\"" ? " GPU" : " GPUs") +
                       " and the 64 MiB of /dev/shm that every container gets");
    }
}

/// A lone `volumes:` with a memory-backed emptyDir in a runbook.
void check_shm_fragment(const File& file, const PodSpec& pod, Report& report) {
    if (!is_bare(pod) || pod.volumes == nullptr || !file.is_prose()) return;
    for (const Value& volume : pod.volumes->items) {
        const Value* medium = at_path(volume, "emptyDir.medium");
        if (medium == nullptr || medium->scalar != "Memory") continue;
        report
            .add("POD009", medium->mark,
                 "what is written to this volume counts to the container's memory limit")
            .severity(Severity::kInfo);
    }
}

/// Whether the pod gets the node's InfiniBand devices: RDMA is why it is privileged.
bool has_infiniband(const PodSpec& pod) {
    if (pod.volumes == nullptr) return false;
    return std::any_of(pod.volumes->items.begin(), pod.volumes->items.end(), [](const Value& one) {
        return text_at(one, "hostPath.path") == "/dev/infiniband";
    });
}

void check_privileged(const File& file, const PodSpec& pod, Report& report) {
    if (is_management(pod) || is_gpu_free_role(pod) || has_infiniband(pod)) return;
    const Object* object = file.object(pod);
    if (object != nullptr && is_gpu_chart(object->chart)) return;
    for (const Container& container : pod.containers) {
        const ResourceValue* gpu = container.gpu();
        if (!container.privileged || gpu == nullptr || container.node == nullptr) continue;
        constexpr double kWholeNode = 8;  // it has them all anyway
        if (!gpu->amount || *gpu->amount == 0 || *gpu->amount >= kWholeNode) continue;
        if (gpu->name.starts_with("gpu.intel.com/")) continue;  // /dev/dri, which its users share
        const Value::Entry* entry = entry_at(*container.node, "securityContext.privileged");
        report.add("POD013", entry != nullptr ? entry->first.mark : container.node->mark,
                   "container " + container.name +
                       " is privileged: it sees every GPU of the node, not the " + gpu->text +
                       " it asks for");
    }
}

void check_grace(const File& file, const PodSpec& pod, Report& report) {
    if (!is_ordinary(file, pod) || !pod.asks_gpu() || pod.node == nullptr) return;
    if (pod.node->find("terminationGracePeriodSeconds") != nullptr) return;
    for (const Container& container : pod.containers) {
        const ResourceValue* gpu = container.gpu();
        if (gpu == nullptr) continue;
        for (const std::string& word : container.command) {
            if (!contains(word, "checkpoint") && !contains(word, "ckpt")) continue;
            if (!contains(word, "train") && !contains(word, "save") && !contains(word, "resume")) {
                continue;
            }
            report.add("POD020", gpu->key->mark,
                       "the pod writes checkpoints and has 30 seconds to write the last one");
            return;
        }
    }
}

bool is_product_label(std::string_view key) {
    return key == "nvidia.com/gpu.product" || key == "cloud.google.com/gke-accelerator" ||
           key == "k8s.amazonaws.com/accelerator" || key == "karpenter.k8s.aws/instance-gpu-name" ||
           key == "node.kubernetes.io/instance-type" || key == "kubernetes.azure.com/accelerator";
}

/// The engine file of TensorRT that a text loads; its offset, npos for none.
std::size_t engine_file(std::string_view text) {
    std::size_t at = 0;
    while ((at = text.find(".engine", at)) != std::string_view::npos) {
        const std::size_t behind = at + std::string_view(".engine").size();
        const char next = behind < text.size() ? text[behind] : '\n';
        const char before = at > 0 ? text[at - 1] : ' ';
        if (next != '(' && next != '.' && next != '_' && before != ' ' && before != 'f' &&
            (next == '\'' || next == '"' || next == ' ' || next == '\n')) {
            return at;
        }
        at = behind;
    }
    return std::string_view::npos;
}

void check_engines(const File& file, Report& report) {
    for (const PodSpec& pod : file.pods) {
        if (pod.affinity == nullptr) continue;
        bool several = false;
        walk(*pod.affinity, [&](const Value::Entry& entry) {
            if (entry.first.scalar != "matchExpressions") return;
            for (const Value& term : entry.second.items) {
                const Value* values = term.find("values");
                several = several || (is_product_label(text_at(term, "key")) && values != nullptr &&
                                      values->items.size() > 1);
            }
        });
        if (!several) continue;
        for (const Container& container : pod.containers) {
            for (const std::string& word : container.command) {
                if (!word.ends_with(".engine") && engine_file(word) == std::string::npos) continue;
                report.add("POD021", container.node->mark,
                           "a TensorRT engine is loaded, and the pod may land on several GPU "
                           "models");
            }
        }
    }
    if (!file.is_prose()) return;
    std::vector<const catalog::GpuModel*> models;
    for (const Statement& statement : file.statements) {
        for (const auto* model : gpu_models_in(statement.text)) {
            if (std::none_of(models.begin(), models.end(), [model](const catalog::GpuModel* one) {
                    return one->compute == model->compute;
                })) {
                models.push_back(model);
            }
        }
    }
    const bool pinned = file.mentions("nvidia.com/gpu.product") || file.mentions("gke-accelerator");
    if (models.size() < 2 || pinned || !file.mentions("nodeselector")) return;
    for (const Block& block : file.blocks) {
        if (block.language != Language::kPython && block.language != Language::kShell) continue;
        const std::size_t at = engine_file(block.text);
        if (at == std::string::npos) continue;
        report.add("POD021", block.place(at),
                   "a TensorRT engine is loaded, and the text runs it on " +
                       std::string(models[0]->name) + " and " + std::string(models[1]->name));
    }
}

}  // namespace

void check_pod_spec(const File& file, const Set& /*set*/, const Facts* /*facts*/, Report& report) {
    const bool taints =
        std::any_of(file.commands.begin(), file.commands.end(),
                    [](const Command& command) { return command.is("kubectl", "taint"); });
    for (const PodSpec& pod : file.pods) {
        check_toleration(file, pod, taints, report);
        check_shm(file, pod, report);
        check_shm_fragment(file, pod, report);
        check_privileged(file, pod, report);
        check_grace(file, pod, report);
    }
    if (file.mentions(".engine")) check_engines(file, report);
}

}  // namespace aliquot::lint
