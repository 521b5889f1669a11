// SPDX-License-Identifier: Apache-2.0
#include "nvml/mig_profiles.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "gpu/mig_profile.h"

namespace aliquot::nvml {
namespace {

/// Kinds that are newer than our header are asked for as well, up to this one.
constexpr unsigned kKindLimit = 64;

/// What a kind of profile adds to its name.
/// source   NVML, nvmlGpuInstanceProfile; the attributes as NVIDIA's go-nvlib writes them
std::optional<std::string_view> suffix_of_kind(unsigned kind) {
    switch (kind) {
        case NVML_GPU_INSTANCE_PROFILE_1_SLICE:
        case NVML_GPU_INSTANCE_PROFILE_2_SLICE:
        case NVML_GPU_INSTANCE_PROFILE_3_SLICE:
        case NVML_GPU_INSTANCE_PROFILE_4_SLICE:
        case NVML_GPU_INSTANCE_PROFILE_6_SLICE:
        case NVML_GPU_INSTANCE_PROFILE_7_SLICE:
        case NVML_GPU_INSTANCE_PROFILE_8_SLICE:
        case NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2:
            return "";
        case NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1:
        case NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1:
            return "+me";
        case NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX:
        case NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX:
        case NVML_GPU_INSTANCE_PROFILE_3_SLICE_GFX:
        case NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX:
            return "+gfx";
        case NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME:
        case NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME:
            return "-me";
        case NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME:
        case NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME:
            return "+me.all";
        default:
            return std::nullopt;
    }
}

/// A profile of a board whose driver answers wrongly.
struct KnownProfile {
    unsigned id;
    unsigned slices;
    unsigned most;
    unsigned size;  // memory slices
    std::string_view suffix;
    std::array<int, 4> starts;  // -1: no more
};

constexpr std::uint32_t kA30 = 0x20B710DE;
/// source   NVIDIA, MIG user guide, supported profiles of the A30; its mig-parted corrects the same
constexpr std::array<KnownProfile, 5> kA30Profiles{{{0, 4, 1, 4, "", {0, -1, -1, -1}},
                                                    {5, 2, 2, 2, "", {0, 2, -1, -1}},
                                                    {6, 2, 1, 2, "+me", {0, 2, -1, -1}},
                                                    {14, 1, 4, 1, "", {0, 1, 2, 3}},
                                                    {21, 1, 1, 1, "+me", {0, 1, 2, 3}}}};

const KnownProfile* known_better(const ProfileGround& ground, unsigned id) {
    if (ground.pci_device_id != kA30) return nullptr;
    const auto* const found = std::ranges::find(kA30Profiles, id, &KnownProfile::id);
    return found == kA30Profiles.end() ? nullptr : found;
}

/// The parts of both record layouts that are read here.
struct ProfileInfo {
    unsigned id = 0;
    unsigned slices = 0;
    unsigned most = 0;
    unsigned multiprocessors = 0;
    std::uint64_t memory_mib = 0;
    std::string name;  // "1g.10gb+me"; empty: the driver has no names
    gpu::MigEngines engines{};
};

template <class Told>
gpu::MigEngines engines_of(const Told& info) {
    return {.copy = info.copyEngineCount,
            .decoders = info.decoderCount,
            .encoders = info.encoderCount,
            .jpeg = info.jpegCount,
            .optical_flow = info.ofaCount};
}

std::string profile_of(std::string_view text) {
    const auto word = text.rfind(' ');  // "MIG 1g.10gb"
    const auto name =
        gpu::parse_mig_profile(word == std::string_view::npos ? text : text.substr(word + 1));
    return name ? gpu::to_text(*name) : std::string{};
}

Answer<ProfileInfo> ask(const Library& library, nvmlDevice_t device, unsigned kind) {
    const Functions& nvml = library.nvml();
    Answer<ProfileInfo> answer;
    if (nvml.nvmlDeviceGetGpuInstanceProfileInfoV) {
        nvmlGpuInstanceProfileInfo_v2_t info{};
        info.version = nvmlGpuInstanceProfileInfo_v2;
        answer.code = nvml.nvmlDeviceGetGpuInstanceProfileInfoV(device, kind, &info);
        if (answer.code != NVML_ERROR_ARGUMENT_VERSION_MISMATCH) {
            info.name[sizeof info.name - 1] = '\0';
            answer.value = {info.id,
                            info.sliceCount,
                            info.instanceCount,
                            info.multiprocessorCount,
                            info.memorySizeMB,
                            profile_of(info.name),
                            engines_of(info)};
            return answer;
        }
    }
    nvmlGpuInstanceProfileInfo_t info{};
    answer.code = nvml.nvmlDeviceGetGpuInstanceProfileInfo(device, kind, &info);
    answer.value = {
        info.id, info.sliceCount, info.instanceCount, info.multiprocessorCount, info.memorySizeMB,
        {},      engines_of(info)};
    return answer;
}

gpu::MigProfile make(const ProfileGround& ground, unsigned kind, const ProfileInfo& info) {
    gpu::MigProfile profile{.id = info.id,
                            .name = {},
                            .slices = info.slices,
                            .most = info.most,
                            .memory_mib = info.memory_mib,
                            .multiprocessors = info.multiprocessors,
                            .placements = {},
                            .engines = info.engines};
    auto suffix = suffix_of_kind(kind);
    if (const KnownProfile* const known = known_better(ground, info.id)) {
        profile.slices = known->slices;
        profile.most = known->most;
        suffix = known->suffix;
    }
    const unsigned memory_gb = gpu::mig_memory_gb(info.memory_mib, ground.memory_bytes);
    if ((!suffix || memory_gb == 0) && !info.name.empty()) {
        profile.name = info.name;
        return profile;
    }
    profile.name = std::to_string(profile.slices) + "g." + std::to_string(memory_gb) + "gb" +
                   std::string(suffix.value_or(""));
    return profile;
}

/// Without placements.
Answer<std::vector<gpu::MigProfile>> read_profiles(const Library& library,
                                                   const ProfileGround& ground) {
    Answer<std::vector<gpu::MigProfile>> answer;
    answer.code = NVML_SUCCESS;
    for (unsigned kind = 0; kind < kKindLimit; ++kind) {
        const auto info = ask(library, ground.device, kind);
        const bool beyond = kind >= NVML_GPU_INSTANCE_PROFILE_COUNT;
        if (info.code == NVML_ERROR_INVALID_ARGUMENT && beyond) break;  // the driver knows no more
        if (info.code == NVML_ERROR_INVALID_ARGUMENT || info.code == NVML_ERROR_NOT_SUPPORTED ||
            info.code == NVML_ERROR_NOT_FOUND) {
            continue;
        }
        if (!info.ok()) {
            answer.code = info.code;
            return answer;
        }
        const bool twice = std::ranges::find(answer.value, info.value.id, &gpu::MigProfile::id) !=
                           answer.value.end();
        if (!twice) answer.value.push_back(make(ground, kind, info.value));
    }
    std::ranges::sort(answer.value, {}, &gpu::MigProfile::id);
    return answer;
}

/// Fills in where each profile may lie.
nvmlReturn_t read_placements(const Library& library, const ProfileGround& ground,
                             std::vector<gpu::MigProfile>& profiles) {
    for (gpu::MigProfile& profile : profiles) {
        if (const KnownProfile* const known = known_better(ground, profile.id)) {
            for (const int start : known->starts) {
                if (start < 0) break;
                profile.placements.push_back({static_cast<unsigned>(start), known->size});
            }
            continue;
        }
        const auto info = library.placements(ground.device, profile.id);
        if (!info.ok() && !is_not_reported(info.code)) return info.code;
        for (const auto& place : info.value)
            profile.placements.push_back({place.start, place.size});
        std::ranges::sort(profile.placements);
    }
    return NVML_SUCCESS;
}

}  // namespace

Answer<std::vector<gpu::MigProfile>> gpu_profiles(const Library& library,
                                                  const ProfileGround& ground,
                                                  KnownProfiles& known) {
    if (!known.gpu.empty()) return {NVML_SUCCESS, known.gpu};
    auto answer = read_profiles(library, ground);
    if (answer.ok()) answer.code = read_placements(library, ground, answer.value);
    if (answer.ok()) known.gpu = answer.value;
    return answer;
}

const std::vector<nvmlComputeInstanceProfileInfo_t>& compute_profiles(const Library& library,
                                                                      nvmlGpuInstance_t instance,
                                                                      unsigned profile_id,
                                                                      KnownProfiles& known) {
    auto& profiles = known.compute[profile_id];
    if (!profiles.empty()) return profiles;
    for (unsigned kind = 0; kind < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; ++kind) {
        nvmlComputeInstanceProfileInfo_t info{};
        const auto code = library.nvml().nvmlGpuInstanceGetComputeInstanceProfileInfo(
            instance, kind, NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED, &info);
        if (code != NVML_SUCCESS) continue;
        const bool twice = std::ranges::any_of(
            profiles,
            [&](const nvmlComputeInstanceProfileInfo_t& one) { return one.id == info.id; });
        if (!twice) profiles.push_back(info);
    }
    return profiles;
}

}  // namespace aliquot::nvml
