// SPDX-License-Identifier: Apache-2.0
#include "mig/layout_spec.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "k8s/memory_amount.h"

namespace aliquot::mig {
namespace {

constexpr unsigned kMostInstances = 64;

Error malformed(std::string_view item, const std::string& expected) {
    return {ErrorCode::kInvalidInput,
            "layout '" + std::string(item.substr(0, 64)) + "': expected " + expected};
}

/// "slices=2", "memory=10Gi" or both with a blank between.
Result<InstanceSpec> with_amounts(std::string_view item, std::string_view words, unsigned count) {
    InstanceSpec want;
    want.count = count;
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        const std::string_view word = words.substr(0, end);
        words = trim(words.substr(end));
        const std::string_view value = word.substr(std::min(word.find('='), word.size() - 1) + 1);
        if (word.starts_with("slices=") && want.slices == 0) {
            want.slices = parse_number<unsigned>(value).value_or(0);
            if (want.slices == 0 || want.slices > kMostInstances) {
                return malformed(item, "a number of compute slices such as slices=2");
            }
            continue;
        }
        const bool memory = word.starts_with("memory=") || word.starts_with("memory>=");
        const auto bytes = memory ? k8s::parse_bytes(value) : Result<std::uint64_t>(0);
        if (!bytes || *bytes == 0 || want.memory_bytes != 0) {
            return malformed(item, "an amount of memory such as memory=10Gi");
        }
        want.memory_bytes = *bytes;
    }
    return want;
}

Result<InstanceSpec> parse_want(std::string_view item) {
    InstanceSpec want;
    std::string_view kind = item;
    if (const auto star = item.rfind('*'); star != std::string_view::npos) {
        const auto count = parse_number<unsigned>(trim(item.substr(star + 1)));
        if (!count || *count == 0 || *count > kMostInstances) {
            return malformed(item, "a number from 1 to 64 after '*'");
        }
        want.count = *count;
        kind = trim(item.substr(0, star));
    }
    if (kind.starts_with("slices=") || kind.starts_with("memory")) {
        return with_amounts(item, kind, want.count);
    }
    auto name = gpu::parse_mig_profile(kind);
    if (!name) {
        return malformed(item,
                         "a profile such as 3g.20gb, slices=2 or memory=10Gi, each with *COUNT");
    }
    want.profile = std::move(*name);
    return want;
}

bool same_family(const Profile& profile, const gpu::MigProfileName& wanted) {
    const auto name = gpu::parse_mig_profile(profile.name);
    return name && name->attributes == wanted.attributes &&
           name->without_media == wanted.without_media;
}

/// The profile's own name without the compute part.
std::string whole_name(gpu::MigProfileName name) {
    name.compute_slices = name.gpu_slices;
    return gpu::to_text(name);
}

std::string known_names(const Geometry& geometry) {
    std::string names =
        listed(geometry.profiles, [](const Profile& profile) { return profile.name; });
    return names;
}

void add(std::vector<Need>& needs, Need need) {
    for (Need& known : needs) {
        if (known.choices == need.choices && known.compute == need.compute) {
            known.count += need.count;
            return;
        }
    }
    needs.push_back(std::move(need));
}

/// Part-size compute instances of one profile, into as few GPU instances as possible.
void pack(std::vector<Need>& needs, unsigned profile, unsigned capacity,
          std::vector<unsigned> parts) {
    std::ranges::sort(parts, std::greater<>());
    std::vector<std::vector<unsigned>> instances;
    std::vector<unsigned> free;
    for (const unsigned part : parts) {
        const auto at = std::ranges::find_if(free, [part](unsigned left) { return left >= part; });
        if (at == free.end()) {
            instances.push_back({part});
            free.push_back(capacity - part);
            continue;
        }
        instances[static_cast<std::size_t>(at - free.begin())].push_back(part);
        *at -= part;
    }
    for (auto& compute : instances) add(needs, {{profile}, std::move(compute), 1});
}

std::string describe(const InstanceSpec& want) {
    InstanceSpec one = want;
    one.count = 1;
    return to_text({one});
}

Result<std::vector<unsigned>> choices_of(const Geometry& geometry, const InstanceSpec& want) {
    if (want.profile) {
        const auto found = geometry.find(whole_name(*want.profile));
        if (found) return std::vector{*found};
    }
    std::vector<unsigned> choices;
    for (unsigned p = 0; !want.profile && p < geometry.profiles.size(); ++p) {
        const Profile& profile = geometry.profiles[p];
        const bool fits = (want.slices == 0 || profile.slices == want.slices) &&
                          (profile.memory_mib << 20U) >= want.memory_bytes;
        if (profile.plain && fits) choices.push_back(p);
    }
    if (choices.empty()) {
        return Error{ErrorCode::kNotFound, "this GPU has no MIG profile " + describe(want) +
                                               "; it has " + known_names(geometry)};
    }
    return choices;
}

}  // namespace

Result<LayoutSpec> parse_layout_spec(std::string_view text) {
    LayoutSpec spec;
    if (trim(text) == "none") return spec;
    unsigned total = 0;
    while (true) {
        const std::size_t end = std::min(text.find(','), text.size());
        auto want = parse_want(trim(text.substr(0, end)));
        if (!want) return std::move(want).error();
        total += want->count;
        if (total > kMostInstances) {
            return Error{ErrorCode::kInvalidInput, "layout: more than 64 instances"};
        }
        spec.push_back(std::move(*want));
        if (end == text.size()) return spec;
        text.remove_prefix(end + 1);
    }
}

std::string to_text(const LayoutSpec& spec) {
    std::string text;
    for (const InstanceSpec& want : spec) {
        if (want.count == 0) continue;
        if (!text.empty()) text += ',';
        if (want.profile) {
            text += gpu::to_text(*want.profile);
        } else {
            if (want.slices != 0) text += "slices=" + std::to_string(want.slices);
            if (want.slices != 0 && want.memory_bytes != 0) text += ' ';
            if (want.memory_bytes != 0) {
                // A rounded amount would be another spec.
                const std::string amount = k8s::bytes_text(want.memory_bytes);
                const auto read = k8s::parse_bytes(amount);
                text += "memory=" + (read && *read == want.memory_bytes
                                         ? amount
                                         : std::to_string(want.memory_bytes));
            }
        }
        if (want.count > 1) text += '*' + std::to_string(want.count);
    }
    return text.empty() ? "none" : text;
}

Result<std::vector<Need>> needs_of(const Geometry& geometry, const LayoutSpec& spec) {
    std::vector<Need> needs;
    std::map<unsigned, std::vector<unsigned>> parts;
    for (const InstanceSpec& want : spec) {
        if (want.count == 0) continue;
        auto choices = choices_of(geometry, want);
        if (!choices) return std::move(choices).error();
        const unsigned whole = geometry.profiles[choices->front()].slices;
        if (!want.profile || want.profile->compute_slices == want.profile->gpu_slices) {
            add(needs, {std::move(*choices), {}, want.count});
            continue;
        }
        const unsigned part = want.profile->compute_slices;
        if (part * 2 > whole + 1) {
            return Error{ErrorCode::kNotFound,
                         "there is no compute instance " + gpu::to_text(*want.profile) +
                             ": a part has at most half of the slices, rounded up"};
        }
        for (unsigned i = 0; i < want.count; ++i) parts[choices->front()].push_back(part);
    }
    for (auto& [profile, sizes] : parts) {
        pack(needs, profile, geometry.profiles[profile].slices, std::move(sizes));
    }
    return needs;
}

LayoutSpec with_known_profiles(const Geometry& geometry, LayoutSpec spec) {
    for (InstanceSpec& want : spec) {
        if (needs_of(geometry, {want})) continue;
        const Profile* best = nullptr;
        std::tuple<bool, unsigned, std::uint64_t> least;
        const unsigned slices = want.profile ? want.profile->gpu_slices : want.slices;
        const std::uint64_t memory =
            want.profile ? std::uint64_t{want.profile->memory_gb} << 10U : want.memory_bytes >> 20U;
        for (const Profile& profile : geometry.profiles) {
            const bool other = want.profile ? !same_family(profile, *want.profile) : !profile.plain;
            const auto gap = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; };
            const std::tuple distance{
                other, slices == 0 ? 0U : static_cast<unsigned>(gap(slices, profile.slices)),
                gap(memory, profile.memory_mib)};
            if (best != nullptr && distance >= least) continue;
            best = &profile;
            least = distance;
        }
        if (best == nullptr) continue;
        auto name = gpu::parse_mig_profile(best->name);
        if (name) want = {.profile = std::move(*name), .count = want.count};
    }
    return spec;
}

std::string compute_name(std::string_view profile, unsigned slices, unsigned of) {
    if (slices == of) return std::string(profile);
    return std::to_string(slices) + "c." + std::string(profile);
}

}  // namespace aliquot::mig
