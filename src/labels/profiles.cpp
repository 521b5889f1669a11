// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "catalog/gpu_models.h"
#include "labels/features.h"

namespace aliquot::labels {
namespace {

constexpr std::array<std::pair<std::string_view, Profile>, 6> kWords{{
    {"present", Profile::kPresent},
    {"accelerator", Profile::kAccelerator},
    {"model", Profile::kModel},
    {"resource", Profile::kResource},
    {"role", Profile::kRole},
    {"type", Profile::kType},
}};

const catalog::GpuModel* model_of(const gpu::Gpu& gpu) {
    return catalog::find_gpu_model(gpu.model, static_cast<unsigned>(gpu.memory_bytes >> 20U));
}

/// "a100" of "a100-40": without the size of its memory.
std::string base_name(const gpu::Gpu& gpu) {
    const catalog::GpuModel* const model = model_of(gpu);
    if (model == nullptr) {
        std::string name = label_value(gpu.model);
        std::ranges::transform(name, name.begin(), [](unsigned char c) {
            return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        });
        return name.starts_with("nvidia-") ? name.substr(7) : name;
    }
    std::string key(model->key);
    const std::size_t dash = key.rfind('-');
    const std::string size = dash == std::string::npos ? "" : key.substr(dash + 1);
    const bool is_size = !size.empty() && size == std::to_string(std::lround(model->memory_gib));
    return is_size ? key.substr(0, dash) : key;
}

/// As clouds and people name them: those that were sold as Tesla keep that word.
std::string accelerator_name(const gpu::Gpu& gpu) {
    constexpr std::array<std::string_view, 8> kTesla{"k80",  "m60",  "p4", "p40",
                                                     "p100", "v100", "t4", "a100"};
    const std::string name = base_name(gpu);
    const bool tesla = std::ranges::find(kTesla, name) != kTesla.end();
    return (tesla ? "nvidia-tesla-" : "nvidia-") + name;
}

std::string memory_as_sold(const gpu::Gpu& gpu) {
    const catalog::GpuModel* const model = model_of(gpu);
    const double gib = model != nullptr && model->memory_gib > 0
                           ? model->memory_gib
                           : static_cast<double>(gpu.memory_bytes) / (1ULL << 30U);
    return std::to_string(std::lround(gib)) + "gb";
}

}  // namespace

std::optional<Profile> profile_of(std::string_view word) {
    for (const auto& [name, profile] : kWords) {
        if (name == word) return profile;
    }
    return std::nullopt;
}

Labels profile_labels(Profile profile, const NodeFacts& facts) {
    const gpu::Gpu* const gpu = representative(facts.inventory);
    if (gpu == nullptr) return {};
    switch (profile) {
        case Profile::kPresent:
            return {{"nvidia.com/gpu.present", "true"}};
        case Profile::kAccelerator:
            return {{"accelerator", "nvidia-gpu"}};
        case Profile::kModel:
            return {{"accelerator", label_value(accelerator_name(*gpu))}};
        case Profile::kResource:
            return {{"nvidia.com/gpu", "true"}};
        case Profile::kRole:
            return {{"role", "gpu"}};
        case Profile::kType:
            return {{"gpu-type", label_value(base_name(*gpu))},
                    {"gpu-memory", memory_as_sold(*gpu)}};
    }
    return {};
}

}  // namespace aliquot::labels
