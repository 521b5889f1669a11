// SPDX-License-Identifier: Apache-2.0
// Variables of pods: POD005, POD006, POD007, POD010, POD024.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "lint/rules/evidence.h"
#include "lint/rules/pod_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

bool is_operator_object(const File& file, const PodSpec& pod) {
    if (is_management(pod)) return true;
    const Object* object = file.object(pod);
    if (object == nullptr) return false;
    if (object->kind == "ClusterPolicy" || object->kind == "NVIDIADriver") return true;
    if (is_gpu_chart(object->chart)) return true;
    const std::string name = lower(object->name);
    for (const std::string_view part :
         {"device-plugin", "dcgm", "gpu-operator", "nvidia-driver", "exporter", "mps-control",
          "mps-daemon", "gpu-feature", "kubelet-plugin", "dra-driver", "validat"}) {
        if (name.find(part) != std::string::npos) return true;
    }
    return false;
}

/// "all", "0", "0,1", "GPU-...": devices by name; not "none", "void" or nothing.
bool names_devices(std::string_view value) {
    if (value.empty() || is_placeholder(value)) return false;
    const std::string folded = lower(value);
    return folded != "none" && folded != "void" && folded != "-1" && folded != "nodevfiles";
}

Mark value_mark(const EnvVar& variable) {
    if (variable.value_node != nullptr) return variable.value_node->mark;
    return variable.node != nullptr ? variable.node->mark : Mark{};
}

/// An agent of the nodes: one on each, and it looks at all their processes or only at the driver.
bool is_node_agent(const File& file, const PodSpec& pod, const Container& container) {
    const Object* object = file.object(pod);
    if (object == nullptr || object->kind != "DaemonSet" || container.gpu() != nullptr)
        return false;
    const EnvVar* capabilities = container.find_env("NVIDIA_DRIVER_CAPABILITIES");
    return text_at(*pod.node, "hostPID") == "true" ||
           (capabilities != nullptr && capabilities->value == "utility");
}

void check_visible_devices(const File& file, const PodSpec& pod, const Container& container,
                           Report& report) {
    const EnvVar* variable = container.find_env("NVIDIA_VISIBLE_DEVICES");
    if (variable == nullptr || !names_devices(variable->value)) return;
    if (is_operator_object(file, pod) || is_gpu_free_role(pod)) return;
    if (is_node_agent(file, pod, container)) return;
    // An asset of the operator.
    if (contains(container.image, "filled by") || contains(container.image, "filled_by")) return;
    const bool listed = variable->node != nullptr && variable->node->is_mapping();
    if (!listed && !pod.whole && file.is_prose()) return;  // told: what the kubelet hands over
    auto entry = report.add("POD006", value_mark(*variable),
                            "NVIDIA_VISIBLE_DEVICES is '" + variable->value +
                                "': the container sees GPUs that were not given to it");
    entry.expected("no such variable; the device plugin sets it");
}

void check_cuda_devices(const File& file, const PodSpec& pod, const Container& container,
                        Report& report) {
    const EnvVar* variable = container.find_env("CUDA_VISIBLE_DEVICES");
    if (variable == nullptr) return;
    if (variable->value_node != nullptr && container.gpu() != nullptr &&
        (variable->value.empty() || variable->value == "-1") && variable->value_node->quoted) {
        report
            .add("POD007", value_mark(*variable),
                 "CUDA_VISIBLE_DEVICES hides the GPU that the container asks for")
            .expected("no such variable, or no GPU in the limits");
        return;
    }
    if (!names_devices(variable->value) || is_operator_object(file, pod)) return;
    const std::string& value = variable->value;
    const auto first_mig = value.find("MIG-");
    if (first_mig != std::string::npos && value.find("MIG-", first_mig + 1) != std::string::npos) {
        report.add("MIG010", value_mark(*variable),
                   "CUDA_VISIBLE_DEVICES names several MIG devices; CUDA uses only the first");
        return;
    }
    const bool list = !value.empty() && std::isdigit(static_cast<unsigned char>(value[0])) != 0;
    const ResourceValue* gpu = container.gpu();
    const auto count = static_cast<double>(std::count(value.begin(), value.end(), ',') + 1);
    std::string message = "CUDA_VISIBLE_DEVICES is fixed to '" + value + "'";
    if (list && gpu != nullptr && gpu->amount && *gpu->amount > 0 && *gpu->amount != count) {
        message += ", but the container gets " + number_text(*gpu->amount) + " of " + gpu->name;
    }
    report.add("POD007", value_mark(*variable), std::move(message))
        .expected("no such variable: the container sees its own devices, numbered from 0");
}

bool asks_for_cuda(const EnvVar& variable) {
    if (variable.name == "CUDA_VISIBLE_DEVICES") {
        return !variable.value.empty() &&
               variable.value.find_first_not_of("0123456789,") == std::string::npos;
    }
    const std::string value = lower(variable.value);
    if (variable.name == "NVIDIA_DRIVER_CAPABILITIES") {
        return value == "all" || value.find("compute") != std::string::npos ||
               value.find("video") != std::string::npos;
    }
    if (value != "cuda" && value != "cuda:0" && value != "gpu") return false;
    return variable.name.ends_with("DEVICE") || variable.name.ends_with("_device");
}

/// An image that is often run without a GPU because there is no other of its kind.
bool serves_cpu_too(std::string_view image) {
    return image.ends_with("-sdk") || contains(image, "pytorch/pytorch") ||
           (contains(image, "tensorflow/tensorflow") && !contains(image, "gpu")) ||
           contains(image, "jupyter") || contains(image, "kubeflow");
}

/// Kinds whose pods get their GPUs from another object: the service or job that uses them.
bool is_template(const Object& object) {
    return object.kind == "PodTemplate" || object.kind == "JobFlow" ||
           object.kind.ends_with("Runtime") || object.kind.ends_with("ServiceConfig") ||
           object.api_version.starts_with("mlops.seldon.io/");
}

/// Whether the object claims devices elsewhere than in the pod: `resourceSharing:` of Grove.
bool claims_elsewhere(const Object& object) {
    bool claims = false;
    walk(*object.node, [&claims](const Value::Entry& entry) {
        claims = claims || entry.first.scalar == "resourceSharing" ||
                 entry.first.scalar.starts_with("resourceClaim");
    });
    return claims;
}

/// Whether the pod is given a part of a GPU in a way of its scheduler: annotations of KAI and Run:ai.
bool asks_in_annotations(const PodSpec& pod) {
    const Value* annotations =
        pod.metadata == nullptr ? nullptr : pod.metadata->find("annotations");
    if (annotations == nullptr) return false;
    return std::any_of(annotations->entries.begin(), annotations->entries.end(),
                       [](const Value::Entry& one) {
                           return one.first.scalar.starts_with("gpu-fraction") ||
                                  one.first.scalar.starts_with("gpu-memory") ||
                                  contains(one.first.scalar, "/gpu-");
                       });
}

/// A Job or Pod that fetches or prepares what others will use, measures them from outside, or only
/// asks the image.
bool fetches(const Object& object, const PodSpec& pod) {
    if (object.kind != "Pod" && !object.kind.ends_with("Job")) return false;
    for (const std::string_view part : {"download", "preprocess", "prepare", "data-prep"}) {
        if (contains(object.name, part)) return true;
    }
    return std::any_of(pod.containers.begin(), pod.containers.end(), [](const Container& one) {
        return std::any_of(one.command.begin(), one.command.end(), [](const std::string& word) {
            return word.starts_with("download") || word == "list-model-profiles" ||
                   contains(word, "huggingface-cli download") || contains(word, "hf download") ||
                   contains(word, "snapshot_download") || contains(word, "bench serve") ||
                   contains(word, "benchmark_serving") || contains(word, "genai-perf");
        });
    });
}

/// A client in the image of a server.
bool only_measures(const Container& one) {
    return std::any_of(one.command.begin(), one.command.end(), [](const std::string& word) {
        return word == "bench" || contains(word, "vllm bench") || contains(word, "perf_analyzer") ||
               contains(word, "genai-perf") || contains(word, "benchmark_serving");
    });
}

/// "--device=cuda", or "cuda" behind "--device": the argument; nullptr: none.
const Value* cuda_argument(const Container& container) {
    if (container.node == nullptr) return nullptr;
    for (const std::string_view key : {"command", "args"}) {
        const Value* list = container.node->find(key);
        if (list == nullptr) continue;
        for (std::size_t i = 0; i < list->items.size(); ++i) {
            const std::string& word = list->items[i].scalar;
            if (word == "--device=cuda" || word == "--device=cuda:0") return &list->items[i];
            if (word != "--device" || i + 1 == list->items.size()) continue;
            if (list->items[i + 1].scalar.starts_with("cuda")) return &list->items[i + 1];
        }
    }
    return nullptr;
}

void check_without_request(const File& file, const PodSpec& pod, Report& report) {
    if (!pod.whole || pod.asks_gpu() || pod.containers.empty()) return;
    const Object* object = file.object(pod);
    if (object == nullptr || object->role != Role::kObject || object->broken || object->templated) {
        return;
    }
    if (object->kind == "DaemonSet" || is_operator_object(file, pod) || is_gpu_free_role(pod))
        return;
    if (object->kind.starts_with("Ray") || object->kind == "Node" || is_template(*object)) return;
    if (asks_in_annotations(pod) || fetches(*object, pod)) return;
    for (const PodSpec& other : file.pods) {  // the launcher of workers that have the GPUs
        if (other.object == pod.object && other.asks_gpu()) return;
    }
    for (const Container& container : pod.containers) {
        if (container.init) continue;
        const bool zero = container.gpu() != nullptr;
        if (zero || container.image.find("rayproject/") != std::string::npos) return;
    }
    for (const Container& container : pod.containers) {
        if (container.init) continue;
        const bool visible = container.find_env("NVIDIA_VISIBLE_DEVICES") != nullptr;  // POD006
        for (const EnvVar& variable : container.env) {
            if (!asks_for_cuda(variable)) continue;
            if (visible && variable.name.starts_with("NVIDIA_")) continue;
            report.add("POD005", value_mark(variable),
                       variable.name + " is '" + variable.value + "', but the pod asks for no GPU");
            return;
        }
        if (const Value* word = cuda_argument(container)) {
            report.add("POD005", word->mark,
                       "the program is told to use CUDA, but the pod asks for no GPU");
            return;
        }
        if (container.image_node == nullptr || is_placeholder(container.image) ||
            !is_gpu_image(container.image) || serves_cpu_too(container.image) ||
            only_measures(container)) {
            continue;
        }
        if (!object->is_workload() && claims_elsewhere(*object)) return;
        report.add("POD005", container.image_node->mark,
                   "the image " + container.image + " is made for GPUs, but the pod asks for none");
        return;
    }
}

bool serves_mps(const File& file) {
    return std::any_of(file.objects.begin(), file.objects.end(), [](const Object& object) {
        return object.role == Role::kDevicePluginConfig &&
               at_path(*object.node, "sharing.mps") != nullptr;
    });
}

bool runs_own_daemon(const File& file) {
    for (const PodSpec& pod : file.pods) {
        for (const Container& container : pod.containers) {
            for (const std::string& word : container.command) {
                if (word.find("nvidia-cuda-mps-control") != std::string::npos) return true;
            }
        }
    }
    return false;
}

void check_mps(const File& file, const PodSpec& pod, Report& report) {
    if (is_operator_object(file, pod)) return;
    for (const Container& container : pod.containers) {
        for (const std::string_view name : {"CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"}) {
            const EnvVar* variable = container.find_env(name);
            if (variable == nullptr || variable->value.starts_with("/mps/")) continue;
            report.add("POD010", value_mark(*variable),
                       variable->name + " is '" + variable->value +
                           "', where no daemon of the device plugin listens");
            break;
        }
    }
    if (pod.volumes == nullptr) return;
    for (const Value& volume : pod.volumes->items) {
        const Value* path = at_path(volume, "hostPath.path");
        if (path == nullptr) continue;
        if (path->scalar.find("nvidia-mps") == std::string::npos &&
            path->scalar.find("nvidia/mps") == std::string::npos) {
            continue;
        }
        report.add("POD010", path->mark,
                   "the pod mounts '" + path->scalar +
                       "' of the host; the device plugin mounts the pipe of MPS itself");
    }
}

/// Variables that bound what one allocator of the program takes, not what the process takes.
bool bounds_allocator(std::string_view name) {
    const std::string folded = lower(name);
    return folded == "tf_force_gpu_allow_growth" ||
           folded.find("gpu_memory_limit") != std::string::npos ||
           folded.find("gpu_mem_limit") != std::string::npos;
}

void check_allocators(const File& file, Report& report) {
    for (const PodSpec& pod : file.pods) {
        for (const Container& container : pod.containers) {
            for (const EnvVar& variable : container.env) {
                if (!bounds_allocator(variable.name)) continue;
                report.add("POD024", variable.node != nullptr ? variable.node->mark : Mark{},
                           variable.name +
                               " bounds one allocator of the program, not the GPU "
                               "memory of the process");
            }
        }
    }
    if (!file.mentions("gpu_mem_limit")) return;
    for (const Block& block : file.blocks) {
        if (block.language != Language::kPython) continue;
        const auto at = block.text.find("gpu_mem_limit");
        if (at == std::string::npos) continue;
        report.add("POD024", block.place(at),
                   "gpu_mem_limit bounds the arena of ONNX Runtime, not CUDA's context nor the "
                   "workspace of cuDNN");
    }
}

/// Calls `use` with each value of the variable `name` in values of charts of applications.
template <typename Use>
void each_value(const File& file, std::string_view name, const Use& use) {
    std::set<const Value*> of_operators;  // values of a GPU chart inside of another one's
    for (const Object& object : file.objects) {
        // manifests inside of something are read as such
        if (!is_gpu_chart(object.chart) && object.role != Role::kObject) continue;
        walk(*object.node, [&](const Value::Entry& entry) { of_operators.insert(&entry.second); });
    }
    for (const Object& object : file.objects) {
        const bool piece = object.role == Role::kFragment && !file.is_prose();
        if (object.role != Role::kHelmValues && object.role != Role::kNothing && !piece) continue;
        if (is_gpu_chart(object.chart) || object.node->is_sequence()) continue;  // plays of Ansible
        std::set<const Value*>
            of_docker;  // `environment:` is how Docker, Prefect and others call it
        walk(*object.node, [&](const Value::Entry& entry) {
            if (entry.first.scalar == "environment" && object.role == Role::kNothing) {
                for (const Value::Entry& one : entry.second.entries) of_docker.insert(&one.second);
            }
            if (of_docker.count(&entry.second) != 0) return;
            if (of_operators.count(&entry.second) != 0) return;
            const Value* value = nullptr;
            for (const Value& item : entry.second.items) {
                if (text_at(item, "name") == name) value = item.find("value");
            }
            if (entry.first.scalar == name) {
                value = &entry.second;
                if (value->is_mapping()) value = value->find("value");
            }
            if (value != nullptr) use(*value);
        });
    }
}

/// NVIDIA_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES in the values of an application's chart.
void check_values(const File& file, Report& report) {
    if (file.mentions("docker_container")) return;  // of Ansible: Docker hands GPUs out so
    std::set<const Value*> told;                    // of containers
    for (const PodSpec& pod : file.pods) {
        for (const Container& container : pod.containers) {
            for (const EnvVar& variable : container.env) told.insert(variable.value_node);
        }
    }
    if (file.mentions("nvidia_visible_devices")) {
        each_value(file, "NVIDIA_VISIBLE_DEVICES", [&](const Value& value) {
            if (told.count(&value) != 0 || lower(value.scalar) != "all") return;
            report.add("POD006", value.mark,
                       "NVIDIA_VISIBLE_DEVICES is 'all': the container sees GPUs that were not "
                       "given to it");
        });
    }
    if (!file.mentions("cuda_visible_devices")) return;
    each_value(file, "CUDA_VISIBLE_DEVICES", [&](const Value& value) {
        const std::string& text = value.scalar;
        if (told.count(&value) != 0 || !names_devices(text)) return;
        if (std::isdigit(static_cast<unsigned char>(text[0])) == 0 && !text.starts_with("GPU-")) {
            return;
        }
        report.add("POD007", value.mark, "CUDA_VISIBLE_DEVICES is fixed to '" + text + "'")
            .expected("no such variable: the container sees its own devices, numbered from 0");
    });
}

}  // namespace

void check_pod_env(const File& file, const Set& set, const Facts* /*facts*/, Report& report) {
    if (!about_gpus(file)) return;
    bool mps = false;
    if (file.mentions("mps")) {
        for (const File* near : set.neighbours(file)) {
            if (runs_own_daemon(*near)) {
                mps = false;
                break;
            }
            mps = mps || serves_mps(*near);
        }
    }
    for (const PodSpec& pod : file.pods) {
        for (const Container& container : pod.containers) {
            check_visible_devices(file, pod, container, report);
            check_cuda_devices(file, pod, container, report);
        }
        check_without_request(file, pod, report);
        if (mps) check_mps(file, pod, report);
    }
    check_values(file, report);
    check_allocators(file, report);
}

}  // namespace aliquot::lint
