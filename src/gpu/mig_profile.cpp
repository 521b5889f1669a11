// SPDX-License-Identifier: Apache-2.0
#include "gpu/mig_profile.h"

#include <algorithm>
#include <utility>

#include "base/number.h"

namespace aliquot::gpu {
namespace {

constexpr std::string_view kResourcePrefix = "nvidia.com/mig-";
constexpr unsigned kMostSlices = 64;
constexpr unsigned kMostMemoryGb = 100'000;

/// Takes "<number><unit>" off the front of `text`.
std::optional<unsigned> take(std::string_view& text, std::string_view unit, unsigned most) {
    std::string_view rest = text;
    const auto value = take_number<unsigned>(rest);
    if (!value || *value == 0 || *value > most || !rest.starts_with(unit)) return std::nullopt;
    text = rest.substr(unit.size());
    return value;
}

bool is_attribute(std::string_view word) {
    return !word.empty() && std::ranges::all_of(word, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    });
}

/// What stands behind "gb": "+me", ".me", "+me.all", "-me". False: not that.
bool read_attributes(std::string_view text, MigProfileName& name) {
    if (text.empty()) return true;
    if (text == "-me") {
        name.without_media = true;
        return true;
    }
    if (text.front() != '+' && text.front() != '.') return false;
    text.remove_prefix(1);
    if (text == "me.all") {
        name.attributes = {"me.all"};
        return true;
    }
    while (true) {
        const std::size_t end = std::min(text.find_first_of("+."), text.size());
        if (!is_attribute(text.substr(0, end)) || name.attributes.size() == 8) return false;
        name.attributes.emplace_back(text.substr(0, end));
        if (end == text.size()) break;
        text.remove_prefix(end + 1);
    }
    std::ranges::sort(name.attributes);
    return true;
}

}  // namespace

Result<MigProfileName> parse_mig_profile(std::string_view text) {
    std::string_view rest = text;
    if (rest.starts_with(kResourcePrefix)) rest.remove_prefix(kResourcePrefix.size());
    if (rest.starts_with("mig-")) rest.remove_prefix(4);
    MigProfileName name;
    const auto compute = take(rest, "c.", kMostSlices);
    const auto slices = take(rest, "g.", kMostSlices);
    const auto memory = slices ? take(rest, "gb", kMostMemoryGb) : std::nullopt;
    if (memory) {
        name.gpu_slices = *slices;
        name.compute_slices = compute.value_or(*slices);
        name.memory_gb = *memory;
        if (name.compute_slices <= name.gpu_slices && read_attributes(rest, name)) return name;
    }
    return Error{ErrorCode::kInvalidInput,
                 "'" + std::string(text.substr(0, 64)) +
                     "' is not a MIG profile; expected <slices>g.<memory>gb such as 3g.20gb"};
}

std::string to_text(const MigProfileName& name) {
    std::string text;
    if (name.compute_slices < name.gpu_slices) text = std::to_string(name.compute_slices) + "c.";
    text += std::to_string(name.gpu_slices) + "g." + std::to_string(name.memory_gb) + "gb";
    if (name.without_media) text += "-me";
    for (std::size_t i = 0; i < name.attributes.size(); ++i) {
        text += (i == 0 ? "+" : ".") + name.attributes[i];
    }
    return text;
}

unsigned mig_memory_gb(std::uint64_t instance_mib, std::uint64_t gpu_bytes) {
    constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
    const std::uint64_t gpu_gib = (gpu_bytes + kGib - 1) / kGib;
    const std::uint64_t gpu_mib = gpu_bytes >> 20;
    if (gpu_mib == 0) return 0;
    const std::uint64_t eighths = (instance_mib * 8 + gpu_mib - 1) / gpu_mib;
    return static_cast<unsigned>((eighths * gpu_gib + 4) / 8);  // to the nearest, halves up
}

std::string mig_resource(std::string_view profile) {
    std::string text(kResourcePrefix);
    for (const char c : profile) text += c == '+' ? '.' : c;
    return text;
}

}  // namespace aliquot::gpu
