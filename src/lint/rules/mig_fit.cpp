// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/mig_fit.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// "1g.5gb+me", "1g.5gb.me" and "mig-1g.5gb" are one.
std::string plain_profile(std::string_view name) {
    if (name.starts_with("mig-")) name.remove_prefix(4);
    std::string text = lower(name);
    const auto gb = text.find("gb");
    if (gb != std::string::npos && gb + 2 < text.size() && text[gb + 2] == '.') text[gb + 2] = '+';
    return text;
}

/// Tries every allowed start for instances[at], with the slots of `taken` gone.
bool place(const Profiles& instances, std::size_t at, unsigned taken, unsigned& steps) {
    constexpr unsigned kMostSteps = 200'000;
    if (at == instances.size()) return true;
    if (++steps > kMostSteps) return true;  // not known: say nothing
    const catalog::MigProfile& profile = *instances[at];
    for (const unsigned start : profile.starts) {
        const unsigned mask = ((1U << profile.memory_slices) - 1U) << start;
        if ((taken & mask) == 0 && place(instances, at + 1, taken | mask, steps)) return true;
    }
    return false;
}

struct Size {
    unsigned slices = 0;
    unsigned gigabytes = 0;
};

std::optional<Size> size_of(std::string_view name) {
    Size size;
    std::size_t i = 0;
    while (i < name.size() && name[i] >= '0' && name[i] <= '9') {
        size.slices = size.slices * 10 + static_cast<unsigned>(name[i++] - '0');
        if (size.slices > 100) return std::nullopt;
    }
    if (i == 0 || name.substr(i, 2) != "g.") return std::nullopt;
    i += 2;
    const std::size_t digits = i;
    while (i < name.size() && name[i] >= '0' && name[i] <= '9') {
        size.gigabytes = size.gigabytes * 10 + static_cast<unsigned>(name[i++] - '0');
        if (size.gigabytes > 10'000) return std::nullopt;
    }
    if (i == digits || name.substr(i, 2) != "gb") return std::nullopt;
    return size;
}

}  // namespace

std::vector<std::string_view> mig_families() {
    std::vector<std::string_view> families;
    for (const catalog::MigProfile& profile : catalog::mig_profiles()) {
        if (families.empty() || families.back() != profile.family)
            families.push_back(profile.family);
    }
    return families;
}

const catalog::MigProfile* find_in_family(std::string_view family, std::string_view word) {
    const std::string name = plain_profile(trim(word));
    for (const catalog::MigProfile& profile : catalog::mig_profiles()) {
        if (profile.family != family) continue;
        std::string_view id = profile.id;
        if (id.starts_with("~")) id.remove_prefix(1);
        if ((!id.empty() && id == name) || profile.name == name) return &profile;
    }
    return nullptr;
}

bool fit_together(const Profiles& instances) {
    constexpr std::size_t kMost = 16;
    if (instances.empty()) return true;
    if (instances.size() > kMost) return false;
    unsigned most_slices = 0;
    for (const catalog::MigProfile& profile : catalog::mig_profiles()) {
        if (profile.family == instances.front()->family) {
            most_slices = std::max(most_slices, profile.slices);
        }
    }
    unsigned slices = 0;
    for (const auto* profile : instances) {
        slices += profile->slices;
        const auto same = std::count(instances.begin(), instances.end(), profile);
        if (profile->most > 0 && same > static_cast<std::ptrdiff_t>(profile->most)) return false;
        if (profile->starts.empty()) return true;  // placements not known
    }
    if (slices > most_slices) return false;
    Profiles sorted = instances;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* left, const auto* right) {
        return left->memory_slices > right->memory_slices;
    });
    unsigned steps = 0;
    return place(sorted, 0, 0, steps);
}

bool is_known_profile(std::string_view name) {
    const std::string text = plain_profile(name);
    const auto wanted = size_of(text);
    if (!wanted) return false;
    constexpr int kReportedDifference = 4;
    for (const catalog::MigProfile& profile : catalog::mig_profiles()) {
        const auto known = size_of(profile.name);
        if (!known || known->slices != wanted->slices) continue;
        const int difference =
            std::abs(static_cast<int>(known->gigabytes) - static_cast<int>(wanted->gigabytes));
        if (difference == 0 || (known->gigabytes > 80 && difference <= kReportedDifference))
            return true;
    }
    return false;
}

}  // namespace aliquot::lint
