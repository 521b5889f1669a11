// SPDX-License-Identifier: Apache-2.0
#include "jobs/preset.h"

#include <algorithm>
#include <array>

#include "catalog/gpu_models.h"
#include "k8s/memory_amount.h"
#include "k8s/quantity.h"

namespace aliquot::jobs {
namespace {

constexpr unsigned kLeastGib = 8;
constexpr unsigned kMostGib = 128;
constexpr unsigned kMostMilli = 16'000;
constexpr unsigned kMilliPerGib = 500;

const catalog::GpuModel& model_of(std::string_view gpu_type) {
    const catalog::GpuModel* model =
        gpu_type == "any" ? nullptr : catalog::find_gpu_model(gpu_type);
    return model == nullptr ? *catalog::find_gpu_model(kDefaultGpuType) : *model;
}

std::string milli_text(std::int64_t milli) { return std::to_string(milli) + "m"; }

}  // namespace

Amounts preset_of(std::string_view gpu_type) {
    const double sold = model_of(gpu_type).memory_gib;
    unsigned gib = kLeastGib;
    while (gib < kMostGib && gib * 2 <= sold) gib *= 2;
    return {.memory = std::to_string(gib) + "Gi",
            .cpu = milli_text(std::min(gib * kMilliPerGib, kMostMilli))};
}

Amounts limits_of(const Request& request) {
    Amounts limits =
        preset_of(request.gpu_prefer.empty() ? request.gpu_type : request.gpu_prefer.front());
    if (!request.memory.empty()) limits.memory = request.memory;
    if (!request.cpu.empty()) limits.cpu = request.cpu;
    return limits;
}

Amounts requests_of(const Amounts& limits) {
    Amounts half = limits;
    if (const auto bytes = k8s::parse_bytes(limits.memory)) {
        const std::uint64_t halved = *bytes - *bytes / 2;
        half.memory = k8s::bytes_text(halved);
        // bytes_text() rounds what has no short form.
        if (k8s::parse_bytes(half.memory).ok() && *k8s::parse_bytes(half.memory) != halved) {
            half.memory = std::to_string(halved);
        }
    }
    if (const auto cpu = k8s::Quantity::parse(limits.cpu)) {
        if (const auto milli = cpu->thousandths()) half.cpu = milli_text(*milli - *milli / 2);
    }
    return half;
}

std::string accelerator_of(std::string_view gpu_type) {
    if (gpu_type == "any") return "";
    const std::string_view key = model_of(gpu_type).key;
    if (key == "a100-40") return "nvidia-tesla-a100";
    constexpr std::array<std::string_view, 6> kTesla{"k80", "p100", "p4", "p40", "v100", "t4"};
    const bool tesla = std::find(kTesla.begin(), kTesla.end(), key) != kTesla.end();
    return (tesla ? "nvidia-tesla-" : "nvidia-") + std::string(key);
}

}  // namespace aliquot::jobs
