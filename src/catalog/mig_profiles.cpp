// SPDX-License-Identifier: Apache-2.0
#include "catalog/mig_profiles.h"

#include <algorithm>

#include "base/nearest_word.h"
#include "base/text.h"
#include "catalog/embedded.h"
#include "catalog/table.h"

namespace aliquot::catalog {
namespace {

MigProfile profile_of(const std::vector<std::string_view>& row) {
    MigProfile profile;
    profile.family = row[0];
    profile.name = row[1];
    profile.id = row[2];
    profile.slices = count_of(row[3]);
    profile.memory_slices = count_of(row[4]);
    profile.most = count_of(row[5]);
    profile.memory_gib = number_of(row[6]);
    profile.memory_inferred = row[6].starts_with('~');
    profile.multiprocessors = count_of(row[7]);
    for (const auto start : list_of(row[8])) profile.starts.push_back(count_of(start));
    if (row[9].empty()) return profile;
    profile.index = count_of(row[9]);
    profile.memory_mib = count_of(row[10]);
    profile.copy_engines = count_of(row[11]);
    profile.decoders = count_of(row[12]);
    profile.jpegs = count_of(row[13]);
    profile.flows = count_of(row[14]);
    return profile;
}

const std::vector<MigProfile>& all_profiles() {
    static const std::vector<MigProfile> kProfiles = [] {
        std::vector<MigProfile> made;
        const auto table = read_table(kMigProfileTable);
        if (!table) return made;
        for (const auto& row : table->rows) made.push_back(profile_of(row));
        return made;
    }();
    return kProfiles;
}

std::string with_points(std::string_view name) {
    std::string result(name);
    std::ranges::replace(result, '+', '.');
    return result;
}

}  // namespace

std::span<const MigProfile> mig_profiles() { return all_profiles(); }

std::span<const MigProfile> mig_profiles(const GpuModel& model) {
    const auto& profiles = all_profiles();
    const auto is_of = [&model](const MigProfile& p) { return p.family == model.mig_family; };
    const auto first = std::ranges::find_if(profiles, is_of);
    if (model.mig_family.empty() || first == profiles.end()) return {};
    const auto last = std::find_if_not(first, profiles.end(), is_of);
    return {first, last};
}

unsigned mig_slices(const GpuModel& model) {
    const auto profiles = mig_profiles(model);
    const auto most = std::ranges::max_element(profiles, {}, &MigProfile::slices);
    return most == profiles.end() ? 0 : most->slices;
}

const MigProfile* find_mig_profile(const GpuModel& model, std::string_view name) {
    constexpr std::string_view kDomain = "nvidia.com/";
    constexpr std::string_view kPrefix = "mig-";
    if (name.starts_with(kDomain)) name.remove_prefix(kDomain.size());
    if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
    const std::string wanted = with_points(name);
    for (const MigProfile& profile : mig_profiles(model)) {
        if (same_letters(with_points(profile.name), wanted)) return &profile;
    }
    return nullptr;
}

MigSlice find_mig_slice(std::string_view text) {
    constexpr std::size_t kLongest = 128;
    const std::string words = lower(text.substr(0, kLongest));
    // "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", and "mig 1g.10gb" in words.
    std::size_t at = std::min(words.find_last_of(" -") + 1, words.size());
    const std::string named = words.substr(at);
    MigSlice slice;
    const auto names = [&named](const MigProfile& one) {
        return with_points(one.name) == with_points(named);
    };
    for (const MigProfile& one : all_profiles()) {
        const bool less = slice.profile == nullptr || one.memory_gib < slice.profile->memory_gib;
        if (names(one) && less) slice.profile = &one;
    }
    if (slice.profile == nullptr) return slice;
    while (at > 0 && (words[at - 1] == ' ' || words[at - 1] == '-')) --at;
    if (words.substr(0, at).ends_with("mig")) at -= std::string_view("mig").size();
    while (at > 0 && (words[at - 1] == ' ' || words[at - 1] == '-')) --at;
    const GpuModel* const card = find_gpu_model(words.substr(0, at));
    if (at > 0 && card == nullptr) return slice;
    // "a100" is the one with 40 GB, and 1g.10gb of the one with 80 GB may be meant.
    const std::string_view stem =
        at == 0 ? std::string_view() : card->key.substr(0, card->key.find('-'));
    const MigProfile* const least = slice.profile;
    const auto takes = [&](const GpuModel& model) {
        const auto profiles = mig_profiles(model);
        const auto found = std::ranges::find_if(profiles, names);
        if (found == profiles.end()) return false;
        if (at == 0 && found->memory_gib > least->memory_gib) return false;
        slice = {&*found, &model};
        return true;
    };
    if (at > 0 && takes(*card)) return slice;
    for (const GpuModel& model : gpu_models()) {
        if (model.key.starts_with(stem) && takes(model)) break;
    }
    return slice;
}

std::string mig_resource(const MigProfile& profile) {
    return "nvidia.com/mig-" + with_points(profile.name);
}

}  // namespace aliquot::catalog
