// SPDX-License-Identifier: Apache-2.0
#include "dra/counters.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"
#include "document/build.h"

namespace aliquot::dra {
namespace {

using document::make_mapping;
using document::Value;

/// Whether so many would fit that their number has to be counted, too.
bool is_limited(const mig::Geometry& geometry, unsigned profile) {
    mig::Geometry unlimited = geometry;
    unlimited.profiles[profile].most = std::numeric_limits<unsigned>::max();
    return mig::further(unlimited, mig::Occupancy(unlimited), profile) >
           geometry.profiles[profile].most;
}

std::string limit_name(const mig::Profile& profile) {
    return "most-" + profile_label(profile.name);
}

void count(Value& counters, std::string name, unsigned amount) {
    document::append(counters, std::move(name), make_mapping({{"value", std::to_string(amount)}}));
}

void count_memory(Value& counters, unsigned begin, unsigned end) {
    for (unsigned slice = begin; slice < end; ++slice) {
        count(counters, "memory-slice-" + std::to_string(slice), 1);
    }
}

Value all_counters(const mig::Geometry& geometry) {
    Value counters = document::make_mapping();
    count_memory(counters, 0, geometry.memory_slices);
    count(counters, "compute-slices", geometry.slices);
    for (unsigned p = 0; p < geometry.profiles.size(); ++p) {
        const mig::Profile& profile = geometry.profiles[p];
        if (is_limited(geometry, p)) count(counters, limit_name(profile), profile.most);
    }
    return counters;
}

Value counters_of(const mig::Geometry& geometry, mig::Slot slot) {
    const mig::Profile& profile = geometry.profiles[slot.profile];
    Value counters = document::make_mapping();
    count_memory(counters, slot.start, slot.start + profile.size);
    count(counters, "compute-slices", profile.slices);
    if (is_limited(geometry, slot.profile)) count(counters, limit_name(profile), 1);
    return counters;
}

}  // namespace

std::string profile_label(const std::string& profile) {
    constexpr std::string_view kWithoutMedia = "-me";
    std::string label = lower(profile);
    if (label.ends_with(kWithoutMedia)) {
        label.replace(label.size() - kWithoutMedia.size(), kWithoutMedia.size(), "-no-me");
    }
    std::ranges::replace_if(
        label, [](char c) { return !is_digit(c) && !is_letter(c); }, '-');
    return label;
}

std::optional<Value> counter_set(const std::string& name, const mig::Geometry& geometry) {
    Value counters = all_counters(geometry);
    if (counters.entries.size() > kMostCounters) return std::nullopt;
    return make_mapping({{"name", name}, {"counters", std::move(counters)}});
}

Value consumed_counters(const std::string& name, const mig::Geometry& geometry,
                        std::optional<mig::Slot> slot) {
    return document::make_sequence(std::array{0}, [&](int) {
        return make_mapping(
            {{"counterSet", name},
             {"counters", slot ? counters_of(geometry, *slot) : all_counters(geometry)}});
    });
}

}  // namespace aliquot::dra
