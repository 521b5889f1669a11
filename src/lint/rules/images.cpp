// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "catalog/drivers.h"
#include "catalog/gpu_instances.h"
#include "catalog/gpu_models.h"
#include "lint/families.h"
#include "lint/rules/cuda_tag.h"
#include "lint/rules/evidence.h"
#include "lint/rules/statements.h"
#include "lint/words.h"

namespace aliquot::lint {

namespace {

using findings::Severity;

bool is_cuda_image(const Image& image) {
    return image.repository == "nvidia/cuda" &&
           (image.registry.empty() || image.registry == "docker.io" ||
            image.registry == "index.docker.io" || image.registry == "nvcr.io");
}

/// Replaces the tag alone, where the reference stands in the file as it was read.
void fix_tag(Report::Entry entry, const File& file, const Image& image,
             const std::string& new_tag) {
    const std::string wanted = image.text.substr(0, image.text.size() - image.tag.size()) + new_tag;
    entry.fix(wanted);
    const auto begin = file.offset(image.mark);
    const auto at = file.text.find(image.text, begin);
    const auto line_end = file.text.find('\n', begin);
    if (image.digest.empty() && !image.tag.empty() && at != std::string::npos && at < line_end) {
        entry.edit(at + image.text.size() - image.tag.size(), image.tag.size(), new_tag);
    }
}

void check_cuda_tag(const File& file, const Image& image, Report& report) {
    if (!image.digest.empty()) {
        return;
    }
    if (image.tag.empty() || image.tag == "latest") {
        auto entry = report.add("IMG001", image.mark,
                                "'" + image.text + "': the repository has no tag 'latest'");
        entry.expected("a tag of the form X.Y.Z-{base,runtime,devel}-OS")
            .fix(image.text.substr(
                     0, image.text.size() - (image.tag.empty() ? 0 : image.tag.size() + 1)) +
                 ":12.8.1-base-ubuntu22.04");
        const bool shown =
            image.command < 0 ||
            file.commands[static_cast<std::size_t>(image.command)].block < 0;  // inline code
        if (image.tag.empty() && image.source == Image::Source::kCommand && shown) {
            entry.severity(Severity::kInfo);  // in a text it may stand for any of them
        }
        return;
    }
    const auto tag = read_cuda_tag(image.tag);
    if (!tag || contains(image.tag, "rc") || contains(image.tag, "preview")) {
        return;
    }
    if (tag->is_of_old_form()) {
        if (tag->numbers < 3 || tag->parsed.major() < 11) {
            report.add("IMG002", image.mark,
                       "'" + image.text + "': images of CUDA " + tag->version +
                           " were deleted from the registries");
        }
        return;
    }
    const auto mistake = mistake_of(*tag);
    if (mistake.empty()) {
        return;
    }
    fix_tag(report
                .add("IMG001", image.mark,
                     "there is no tag '" + image.tag + "' of nvidia/cuda: " + mistake)
                .expected("X.Y.Z[-cudnn]-{base,runtime,devel}-OS"),
            file, image, nearest_tag(*tag));
}

/// "24.05-py3": the releases of NGC are months. False: the tag does not begin as one.
bool is_impossible_month(std::string_view tag) {
    if (tag.size() < 5 || tag[2] != '.') return false;
    for (const std::size_t at : {0U, 1U, 3U, 4U}) {
        if (!is_digit(tag[at])) return false;
    }
    if (tag.size() > 5 && tag[5] != '-' && tag[5] != '.') return false;
    const int month = (tag[3] - '0') * 10 + (tag[4] - '0');
    return month < 1 || month > 12;
}

void check_ngc_tag(const Image& image, Report& report) {
    constexpr std::array<std::string_view, 8> kMonthly{
        "nvidia/pytorch", "nvidia/tensorflow",         "nvidia/tritonserver",
        "nvidia/nemo",    "nvidia/tensorrt",           "nvidia/mxnet",
        "nvidia/jax",     "nvidia/cuquantum-appliance"};
    if (image.registry != "nvcr.io" || !is_impossible_month(image.tag)) return;
    if (std::find(kMonthly.begin(), kMonthly.end(), image.repository) == kMonthly.end()) return;
    report
        .add("IMG001", image.mark,
             "there is no tag '" + image.tag + "': releases of NGC are YEAR.MONTH")
        .expected("a month from 01 to 12, as 24.05-py3");
}

struct Moved {
    std::string_view registry;  // "" for Docker Hub
    std::string_view repository;
    std::string_view now;
    std::string_view what;
};
constexpr std::array<Moved, 7> kMoved{{
    {"", "fedirz/faster-whisper-server", "ghcr.io/speaches-ai/speaches",
     "the project is called speaches now, and the old images get no fixes"},
    {"", "bitnami/kubectl", "registry.k8s.io/kubectl",
     "the free Bitnami images were withdrawn in 2025"},
    {"ghcr.io", "remsky/kokoro-fastapi", "ghcr.io/remsky/kokoro-fastapi-gpu",
     "the project publishes it with -cpu, -gpu or -rocm at the end of the name only"},
    {"", "remsky/kokoro-fastapi", "ghcr.io/remsky/kokoro-fastapi-gpu",
     "the project publishes it with -cpu, -gpu or -rocm at the end of the name only"},
    {"", "vllm/vllm", "vllm/vllm-openai", "the project publishes vllm/vllm-openai"},
    {"", "huggingface/text-generation-inference", "ghcr.io/huggingface/text-generation-inference",
     "the project publishes on ghcr.io only"},
    {"", "mindprince/nvidia_gpu_prometheus_exporter", "nvcr.io/nvidia/k8s/dcgm-exporter",
     "the exporter has had no release since 2018"},
}};

void check_moved(const Image& image, Report& report) {
    for (const auto& moved : kMoved) {
        const bool same_registry = moved.registry.empty()
                                       ? image.registry.empty() || image.registry == "docker.io"
                                       : image.registry == moved.registry;
        if (same_registry && image.repository == moved.repository) {
            report.add("IMG005", image.mark, "'" + image.text + "': " + std::string(moved.what))
                .fix(std::string(moved.now));
            return;
        }
    }
}

/// "2.1.0-cuda12.1-cudnn8-runtime", "cu118", "12.4.1-base-...": the CUDA version inside.
std::optional<catalog::Version> cuda_of(const Image& image) {
    if (is_cuda_image(image)) {
        return catalog::parse_version(image.tag);
    }
    const auto tag = lower(image.tag);
    if (const auto at = tag.find("cuda"); at != std::string::npos) {
        auto rest = std::string_view(tag).substr(at + 4);
        if (rest.starts_with("-")) {
            rest.remove_prefix(1);
        }
        if (rest.find('.') != std::string_view::npos) {
            return catalog::parse_version(rest);
        }
        return std::nullopt;
    }
    for (std::size_t at = tag.find("cu"); at != std::string::npos; at = tag.find("cu", at + 1)) {
        const auto digits = std::string_view(tag).substr(at + 2, 3);
        const bool starts =
            at == 0 || tag[at - 1] == '-' || tag[at - 1] == '+' || tag[at - 1] == '_';
        if (starts && digits.size() == 3 &&
            digits.find_first_not_of("0123456789") == std::string_view::npos) {
            catalog::Version version;
            version.parts = {static_cast<unsigned>(digits[0] - '0') * 10 +
                                 static_cast<unsigned>(digits[1] - '0'),
                             static_cast<unsigned>(digits[2] - '0'), 0, 0};
            return version;
        }
    }
    return std::nullopt;
}

/// IMG003: the oldest driver of the nodes against the image.
void check_driver(const Image& image, const Facts& facts, Report& report) {
    const auto cuda = cuda_of(image);
    if (!cuda) {
        return;
    }
    const auto floor_text = catalog::driver_floor(cuda->major());
    const auto floor = catalog::parse_version(floor_text);
    for (const auto& node : facts.nodes) {
        const auto driver = catalog::parse_version(node.driver_version);
        if (!driver || !floor) {
            continue;
        }
        const auto name =
            "CUDA " + std::to_string(cuda->major()) + "." + std::to_string(cuda->minor());
        if (*driver < *floor) {
            report
                .add("IMG003", image.mark,
                     "'" + image.text + "' has " + name + ", and node " + node.name +
                         " has driver " + node.driver_version)
                .expected("driver " + std::string(floor_text) + " or newer")
                .severity(Severity::kError);
            return;
        }
        const auto* own = catalog::own_driver(*cuda);
        if (own != nullptr && *driver < own->driver_version) {
            report
                .add("IMG003", image.mark,
                     "'" + image.text + "' has " + name + "; driver " + node.driver_version +
                         " of node " + node.name +
                         " runs it, but not code that is compiled at "
                         "start (PTX)")
                .expected("driver " + std::string(own->driver) + " or newer for all of it")
                .severity(Severity::kInfo);
            return;
        }
    }
}

/// The compute capability of the node that a selector of the pod names; nullptr: it names none.
const catalog::GpuModel* model_of(const PodSpec& pod) {
    if (pod.node_selector == nullptr || !pod.node_selector->is_mapping()) {
        return nullptr;
    }
    for (const auto& entry : pod.node_selector->entries) {
        const auto& key = entry.first.scalar;
        if (key == "nvidia.com/gpu.product" || key == "cloud.google.com/gke-accelerator" ||
            key == "accelerator") {
            return catalog::find_gpu_model(entry.second.scalar);
        }
        if (key == "node.kubernetes.io/instance-type") {
            const auto* instance = catalog::find_gpu_instance(entry.second.scalar);
            return instance != nullptr ? instance->model : nullptr;
        }
    }
    return nullptr;
}

/// IMG004: libraries are built for a range of architectures.
void check_architecture(const Image& image, catalog::Version compute, const std::string& where,
                        Report& report) {
    const auto cuda = cuda_of(image);
    if (!cuda || is_cuda_image(image)) {
        return;
    }
    const unsigned level = compute.major() * 10 + compute.minor();
    const unsigned minor = cuda->major() * 100 + cuda->minor();
    const auto name = "CUDA " + std::to_string(cuda->major()) + "." + std::to_string(cuda->minor());
    if (level >= 100 && minor < 1208) {
        report
            .add("IMG004", image.mark,
                 "'" + image.text + "' is built with " + name + ", which knows no " + where)
            .expected("an image with CUDA 12.8 or newer");
    } else if (level >= 90 && minor < 1108) {
        report
            .add("IMG004", image.mark,
                 "'" + image.text + "' is built with " + name + ", which knows no " + where)
            .expected("an image with CUDA 11.8 or newer");
    } else if (level > 0 && level < 75 && minor >= 1300) {
        report
            .add("IMG004", image.mark,
                 "'" + image.text + "' is built with " + name +
                     ", which no longer makes code for " + where)
            .expected("an image with CUDA 12");
    }
}

void check_pod_image(const File& file, const Image& image, const Facts* facts, Report& report) {
    if (image.pod < 0 || image.container < 0 ||
        static_cast<std::size_t>(image.pod) >= file.pods.size()) {
        return;
    }
    const auto& pod = file.pods[static_cast<std::size_t>(image.pod)];
    if (static_cast<std::size_t>(image.container) >= pod.containers.size()) {
        return;
    }
    const auto& container = pod.containers[static_cast<std::size_t>(image.container)];
    const auto* gpu = container.gpu();
    if (gpu == nullptr || gpu->text == "0") {
        return;
    }
    const auto tag = lower(image.tag);
    if (tag == "cpu" || tag.ends_with("-cpu") || tag.starts_with("cpu-") ||
        tag.find("-cpu-") != std::string::npos || image.base_name().ends_with("-cpu")) {
        report.add(
            "IMG006", image.mark,
            "'" + image.text + "' is the CPU variant, and the container asks for " + gpu->name);
    }
    if (const auto* model = model_of(pod)) {
        check_architecture(image, model->compute, std::string(model->name), report);
    } else if (facts != nullptr) {
        for (const auto& node : facts->nodes) {
            if (!node.compute_capability) {
                continue;
            }
            catalog::Version compute;
            const auto tenths = static_cast<unsigned>(*node.compute_capability * 10 + 0.5);
            compute.parts = {tenths / 10, tenths % 10, 0, 0};
            check_architecture(
                image, compute,
                (node.gpu_product.empty() ? "the GPU" : node.gpu_product) + " of node " + node.name,
                report);
        }
    }
}

/// The GPU that the comments of a Dockerfile say it is for; nullptr: none, or several of different kinds.
const catalog::GpuModel* gpu_of_comments(const File& file) {
    const catalog::GpuModel* named = nullptr;
    for (const Statement& statement : file.statements) {
        if (statement.kind != Statement::Kind::kComment) continue;
        for (const auto* model : gpu_models_in(statement.text)) {
            if (named != nullptr && !(named->compute == model->compute)) return nullptr;
            named = model;
        }
    }
    return named;
}

}  // namespace

void check_images(const File& file, const Set& /*set*/, const Facts* facts, Report& report) {
    const bool has_dockerfile =
        std::any_of(file.images.begin(), file.images.end(),
                    [](const Image& image) { return image.source == Image::Source::kDockerfile; });
    const auto* const named = has_dockerfile ? gpu_of_comments(file) : nullptr;
    for (const auto& image : file.images) {
        const bool in_prose = image.source == Image::Source::kStatement;
        if (image.placeholder || image.repository.empty() ||
            (in_prose && is_negated(file.line(image.mark.line)))) {
            continue;
        }
        if (is_cuda_image(image) && !(in_prose && image.tag.empty())) {
            check_cuda_tag(file, image, report);
        }
        if (in_prose) {
            continue;
        }
        check_moved(image, report);
        check_ngc_tag(image, report);
        if (facts != nullptr && image.source != Image::Source::kDockerfile) {
            check_driver(image, *facts, report);
        }
        check_pod_image(file, image, facts, report);
        if (named != nullptr && image.source == Image::Source::kDockerfile) {
            check_architecture(image, named->compute, std::string(named->name), report);
        }
    }
}

}  // namespace aliquot::lint
