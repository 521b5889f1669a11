// SPDX-License-Identifier: Apache-2.0
// Tags of the images that pods run: POD014.
#include <algorithm>

#include "lint/rules/evidence.h"
#include "lint/rules/pod_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

/// Whether a container uses GPUs that nobody counts as NVIDIA's: by the variable of the runtime, or
/// as the resource of a plugin of its own ("example.com/gpu-slice").
bool uses_gpu_otherwise(const PodSpec& pod, const Container& container) {
    if (is_management(pod) || is_gpu_free_role(pod)) return false;
    const EnvVar* visible = container.find_env("NVIDIA_VISIBLE_DEVICES");
    if (visible != nullptr && !visible->value.empty() && visible->value != "none" &&
        visible->value != "void" && !is_placeholder(visible->value)) {
        return true;
    }
    for (const auto* list : {&container.limits, &container.requests}) {
        for (const ResourceValue& value : *list) {
            const auto slash = value.name.find('/');
            if (slash == std::string::npos || value.amount.value_or(1) == 0) continue;
            const std::string_view rest = std::string_view(value.name).substr(slash + 1);
            if (rest.starts_with("gpu") || rest.starts_with("vgpu")) return true;
        }
    }
    return false;
}

/// "IMAGE_NAME": to be filled in.
bool is_capitals(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// "mygpucontainer": a name that stands for the reader's own.
bool is_stand_in(const Image& image) {
    if (!image.registry.empty() || !image.tag.empty()) return false;
    for (const std::string_view word : {"replaced-by", "replace-me", "placeholder", "changeme"}) {
        if (image.repository.find(word) != std::string::npos) return true;
    }
    if (image.repository.find('/') != std::string::npos) return false;
    return image.repository.starts_with("my") || image.repository.starts_with("your") ||
           image.repository.starts_with("some");
}

/// A small system without anything of CUDA: which day's it is matters little.
bool is_plain_system(const Image& image) {
    return image.repository == "busybox" || image.repository == "alpine" ||
           image.repository == "ubuntu" || image.repository == "debian";
}

/// "...-inference-cu124.2-3.ubuntu2204": the name itself tells which CUDA is in it.
bool names_cuda(const Image& image) {
    for (std::size_t at = 0; (at = image.repository.find("-cu", at)) != std::string::npos;) {
        at += 3;
        if (at + 1 < image.repository.size() && is_digit(image.repository[at]) &&
            is_digit(image.repository[at + 1])) {
            return true;
        }
    }
    return false;
}

/// Whether the container of a chart's values that the image belongs to asks for a GPU.
bool asks_beside(const File& file, const Image& image) {
    constexpr unsigned kMostLines = 4;  // repository, tag, pullPolicy
    for (const PodSpec& pod : file.pods) {
        for (const Container& one : pod.containers) {
            const ResourceValue* gpu = one.gpu();
            const Value::Entry* own = one.node == nullptr ? nullptr : entry_at(*one.node, "image");
            if (gpu == nullptr || gpu->amount.value_or(1) == 0 || own == nullptr) continue;
            const unsigned line = own->first.mark.line;
            if (line <= image.mark.line && image.mark.line <= line + kMostLines) return true;
        }
    }
    return false;
}

}  // namespace

void check_pod_images(const File& file, const Set& set, const Facts* /*facts*/, Report& report) {
    const bool gpus = about_gpus(file);
    if (!gpus) return;
    for (const Image& image : file.images) {
        if (image.repository.empty() || !image.digest.empty() || is_capitals(image.text)) continue;
        if (image.source == Image::Source::kDockerfile) continue;
        const bool latest = image.tag == "latest";
        const bool moving = !latest && (image.tag.starts_with("latest-") ||
                                        image.tag.ends_with("-latest") || image.tag == "nightly");
        if (!latest && !moving && !image.tag.empty()) continue;
        if ((image.placeholder && !latest) || is_stand_in(image)) continue;
        const std::string untagged =
            image.registry.empty() ? image.repository : image.registry + '/' + image.repository;
        if (set.kustomizations().give_tag(untagged)) continue;
        const PodSpec* pod =
            image.pod >= 0 && static_cast<std::size_t>(image.pod) < file.pods.size()
                ? &file.pods[static_cast<std::size_t>(image.pod)]
                : nullptr;
        bool strong = false;
        if (image.source == Image::Source::kContainer && pod != nullptr) {
            if (image.container < 0 ||
                static_cast<std::size_t>(image.container) >= pod->containers.size()) {
                continue;
            }
            const Object* object = file.object(*pod);
            if (object != nullptr && object->kind == "PodTemplate") continue;  // never started
            const bool runtime = object != nullptr && object->kind.ends_with("Runtime");
            if (runtime && image.tag.empty()) continue;  // kustomize gives it one
            const Container& one = pod->containers[static_cast<std::size_t>(image.container)];
            const ResourceValue* gpu = one.gpu();
            const bool asks = (gpu != nullptr && gpu->amount.value_or(1) > 0) ||
                              !one.claims.empty() || uses_gpu_otherwise(*pod, one);
            const bool scales =
                std::any_of(one.command.begin(), one.command.end(),
                            [](const std::string& word) { return word == "kubectl"; });
            if (!asks && !scales) continue;
            strong = asks && !moving && !is_plain_system(image) && !names_cuda(image);
        } else if (image.source == Image::Source::kValues) {
            if (image.tag.empty()) continue;  // the chart has one
            strong = !moving && file.mentions("nvidia.com/gpu") &&
                     (is_gpu_image(image) || asks_beside(file, image));
        } else if (image.source == Image::Source::kStatement || image.tag.empty()) {
            continue;
        }
        auto entry =
            report.add("POD014", image.mark,
                       image.tag.empty() ? "the image " + image.text + " has no tag"
                                         : "the image " + image.text + " has a tag that moves");
        if (!strong || image.placeholder) entry.severity(Severity::kInfo);
    }
}

}  // namespace aliquot::lint
