// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "lint/image.h"
#include "lint/object.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// Parts of image names that say "GPU". Looked for in the lower-case reference.
constexpr std::array<std::string_view, 25> kGpuImages{"nvidia/cuda",
                                                      "nvidia/tritonserver",
                                                      "nvidia/pytorch",
                                                      "nvidia/tensorflow",
                                                      "nvidia/tensorrt",
                                                      "nvidia/jax",
                                                      "nvidia/nemo",
                                                      "nvidia/k8s/cuda-sample",
                                                      "nvidia/cuda-sample",
                                                      "cuda-vectoradd",
                                                      "cuda-vector-add",
                                                      "vllm/vllm-openai",
                                                      "text-generation-inference",
                                                      "cudnn",
                                                      "-cuda",
                                                      "cuda-",
                                                      "cuda1",
                                                      "tensorrt",
                                                      "nvcr.io/nim/",
                                                      "nvidia/rapidsai",
                                                      "rapidsai/",
                                                      "lmsysorg/sglang",
                                                      "gpu-burn",
                                                      "nvidia/clara",
                                                      "nvidia/deepstream"};

constexpr std::array<std::string_view, 33> kManagementImages{"k8s-device-plugin",
                                                             "gpu-operator",
                                                             "gpu-operator-validator",
                                                             "dcgm-exporter",
                                                             "nvidia/cloud-native/dcgm",
                                                             "nvidia/driver",
                                                             "container-toolkit",
                                                             "gpu-feature-discovery",
                                                             "mig-manager",
                                                             "k8s-mig-manager",
                                                             "k8s-driver-manager",
                                                             "k8s-dra-driver",
                                                             "node-feature-discovery",
                                                             "vgpu-device-manager",
                                                             "vgpu-manager",
                                                             "cc-manager",
                                                             "kubevirt-gpu-device-plugin",
                                                             "sandbox-device-plugin",
                                                             "nvidia-gpu-device-plugin",
                                                             "device-plugin",
                                                             "gpu_exporter",
                                                             "gpu-exporter",
                                                             "dcgm",
                                                             "mps-control",
                                                             "k8s-cc-manager",
                                                             "k8s-kata-manager",
                                                             "nvidia-fs",
                                                             "gdrdrv",
                                                             "gpu-admission",
                                                             "hami",
                                                             "gpushare-",
                                                             "nvidia-driver-installer",
                                                             "aliquot"};

bool any_part(std::string_view text, const auto& parts) {
    return std::any_of(parts.begin(), parts.end(), [text](std::string_view part) {
        return text.find(part) != std::string_view::npos;
    });
}

}  // namespace

bool is_gpu_image(std::string_view reference) {
    const std::string folded = lower(reference);
    if (folded.find("-cpu") != std::string::npos) return false;
    if (any_part(folded, kGpuImages)) return true;
    // "gpu" in the tag or as the last word of the name; "gpu-operator" and "gpu-portal" are none.
    const Image image = read_image(folded);
    constexpr std::array<std::string_view, 6> kAboutGpus{"console", "plugin",    "dashboard",
                                                         "webhook", "scheduler", "exporter"};
    if (any_part(image.repository, kAboutGpus)) return false;  // it speaks of them
    return image.tag.find("gpu") != std::string::npos || image.repository.ends_with("-gpu");
}

bool is_gpu_image(const Image& image) { return is_gpu_image(image.text); }

bool is_management_image(std::string_view reference) {
    return any_part(lower(reference), kManagementImages);
}

namespace {

/// A command that changes the GPUs of the node: it needs them all.
bool sets_up_gpus(std::string_view command) {
    constexpr std::array<std::string_view, 6> kCommands{
        "nvidia-smi -pl",  "nvidia-smi -pm",      "nvidia-smi --power-limit",
        "nvidia-smi -lgc", "nvidia-persistenced", "nvidia-smi -mig"};
    return std::any_of(kCommands.begin(), kCommands.end(), [command](std::string_view one) {
        return command.find(one) != std::string_view::npos;
    });
}

/// Whether the pod mounts the kubelet's directories for plugins: it hands devices out itself.
bool serves_kubelet(const PodSpec& pod) {
    if (pod.volumes == nullptr) return false;
    return std::any_of(pod.volumes->items.begin(), pod.volumes->items.end(), [](const Value& one) {
        const std::string path = text_at(one, "hostPath.path");
        return path.find("/kubelet/device-plugins") != std::string::npos ||
               path.find("/kubelet/plugins") != std::string::npos || path.ends_with("/run/cdi") ||
               path.ends_with("/etc/cdi");
    });
}

}  // namespace

bool is_management(const PodSpec& pod) {
    if (serves_kubelet(pod)) return true;
    return std::any_of(pod.containers.begin(), pod.containers.end(), [](const Container& one) {
        const std::string of_values =  // of charts that write an image in parts
            one.node == nullptr ? std::string() : text_at(*one.node, "image.repository");
        return is_management_image(one.image) || is_management_image(one.name) ||
               is_management_image(of_values) ||
               std::any_of(one.command.begin(), one.command.end(), sets_up_gpus);
    });
}

}  // namespace aliquot::lint
