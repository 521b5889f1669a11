// SPDX-License-Identifier: Apache-2.0
#include "dra/gpu_config.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/text.h"
#include "dra/names.h"
#include "k8s/quantity.h"

namespace aliquot::dra {
namespace {

using document::Value;
using Words = std::span<const std::string_view>;

constexpr std::uint64_t kLeastMemory = 1ULL << 20U;
constexpr unsigned kMostWeight = 10'000;

Error wrong(std::string_view kind, std::string_view field, const std::string& what,
            ErrorCode code = ErrorCode::kInvalidInput) {
    return {code, concat({kind, ": ", field, ": ", what})};
}

std::string in_quotes(std::string_view text) {
    constexpr std::size_t kShown = 60;
    return "'" + std::string(text.substr(0, kShown)) + "'";
}

/// A mapping with these keys only, each once.
Result<Done> check_keys(std::string_view kind, std::string_view field, const Value& mapping,
                        Words known) {
    const std::string prefix = field.empty() ? "" : std::string(field) + ".";
    if (!mapping.is_mapping()) {
        return wrong(kind, field, document::describe(mapping) + " found, a mapping expected");
    }
    for (std::size_t place = 0; place < mapping.entries.size(); ++place) {
        const std::string& key = mapping.entries[place].first.scalar;
        if (std::ranges::find(known, key) == known.end()) {
            const std::string_view near = nearest_word(key, known);
            return wrong(kind, prefix + key.substr(0, 60),
                         near.empty() ? "no such field; there are " + join(known)
                                      : "no such field; did you mean " + std::string(near) + "?");
        }
        for (std::size_t before = 0; before < place; ++before) {
            if (mapping.entries[before].first.scalar == key)
                return wrong(kind, prefix + key, "given twice");
        }
    }
    return Done{};
}

Result<Done> check_word(std::string_view kind, std::string_view field, const Value& value,
                        Words known) {
    if (std::ranges::find(known, value.scalar) != known.end() && value.is_string()) return Done{};
    return wrong(kind, field,
                 in_quotes(value.scalar) + " found, " + join(known, " or ") + " expected");
}

Result<Done> check_sharing(std::string_view kind, const Value& sharing) {
    static constexpr std::array<std::string_view, 3> kKeys{"strategy", "timeSlicingConfig",
                                                           "mpsConfig"};
    static constexpr std::array<std::string_view, 2> kStrategies{"TimeSlicing", "MPS"};
    static constexpr std::array<std::string_view, 1> kSlicingKeys{"interval"};
    static constexpr std::array<std::string_view, 4> kIntervals{"Default", "Short", "Medium",
                                                                "Long"};
    if (auto keys = check_keys(kind, "sharing", sharing, kKeys); !keys) return keys;
    const Value* strategy = sharing.find("strategy");
    if (strategy == nullptr) return wrong(kind, "sharing.strategy", "is missing");
    if (auto word = check_word(kind, "sharing.strategy", *strategy, kStrategies); !word)
        return word;
    const bool mps = strategy->scalar == "MPS";
    if (mps || sharing.find("mpsConfig") != nullptr) {
        return wrong(kind, mps ? "sharing.strategy" : "sharing.mpsConfig",
                     "MPS is not served for claims; ask for a share by capacity.requests, or limit "
                     "the claim by guard.memory and guard.compute",
                     ErrorCode::kUnsupported);
    }
    const Value* slicing = sharing.find("timeSlicingConfig");
    if (slicing == nullptr) return Done{};
    if (auto keys = check_keys(kind, "sharing.timeSlicingConfig", *slicing, kSlicingKeys); !keys) {
        return keys;
    }
    const Value* interval = slicing->find("interval");
    if (interval == nullptr) return Done{};
    constexpr std::string_view kField = "sharing.timeSlicingConfig.interval";
    // The driver's own time slice stays as it is: turns on a shared GPU are the guard's, by weight.
    return check_word(kind, kField, *interval, kIntervals);
}

Result<unsigned> whole_number(std::string_view kind, std::string_view field, const Value& value,
                              unsigned most) {
    const auto number = parse_number<unsigned>(value.scalar);
    const bool scalar = value.kind == Value::Kind::kInteger || value.is_string();
    if (scalar && number && *number >= 1 && *number <= most) return *number;
    return wrong(kind, field,
                 (scalar ? in_quotes(value.scalar) : document::describe(value)) +
                     " found, a whole number of 1 to " + std::to_string(most) + " expected");
}

Result<Done> read_guard(std::string_view kind, const Value& guard, grant::Limits& limits) {
    static constexpr std::array<std::string_view, 3> kKeys{"memory", "compute", "weight"};
    if (auto keys = check_keys(kind, "guard", guard, kKeys); !keys) return keys;
    if (const Value* memory = guard.find("memory")) {
        const auto quantity = k8s::Quantity::parse(memory->scalar);
        const auto bytes = quantity ? quantity->ones() : std::nullopt;
        const bool scalar = memory->kind == Value::Kind::kInteger || memory->is_string();
        if (!scalar || !bytes || *bytes < static_cast<std::int64_t>(kLeastMemory)) {
            return wrong(kind, "guard.memory",
                         (scalar ? in_quotes(memory->scalar) : document::describe(*memory)) +
                             " found, an amount of 1Mi or more expected, such as 3Gi");
        }
        limits.memory_bytes = static_cast<std::uint64_t>(*bytes);
    }
    if (const Value* compute = guard.find("compute")) {
        const auto percent = whole_number(kind, "guard.compute", *compute, 100);
        if (!percent) return percent.error();
        limits.compute_percent = *percent;
    }
    if (const Value* weight = guard.find("weight")) {
        const auto number = whole_number(kind, "guard.weight", *weight, kMostWeight);
        if (!number) return number.error();
        limits.weight = *number;
    }
    return Done{};
}

}  // namespace

Result<GpuConfig> read_gpu_config(const document::Value& parameters) {
    static constexpr std::array<std::string_view, 4> kKeys{"apiVersion", "kind", "sharing",
                                                           "guard"};
    static constexpr std::array<std::string_view, 2> kKinds{"GpuConfig", "MigDeviceConfig"};
    const Value* kind = parameters.find("kind");
    if (!parameters.is_mapping() || kind == nullptr) {
        return wrong("opaque configuration", "kind", "is missing; GpuConfig or MigDeviceConfig");
    }
    if (auto word = check_word("opaque configuration", "kind", *kind, kKinds); !word)
        return word.error();
    const std::string name = kind->scalar;
    const Value* version = parameters.find("apiVersion");
    if (version == nullptr || version->scalar != kConfigApiVersion) {
        return wrong(name, "apiVersion",
                     (version == nullptr ? "is missing" : in_quotes(version->scalar) + " found") +
                         std::string(", ") + std::string(kConfigApiVersion) + " expected");
    }
    if (auto keys = check_keys(name, "", parameters, kKeys); !keys) return keys.error();
    GpuConfig config{.kind = name == "GpuConfig" ? GpuConfig::Kind::kGpu : GpuConfig::Kind::kMig};
    if (const Value* sharing = parameters.find("sharing")) {
        if (auto checked = check_sharing(name, *sharing); !checked) return checked.error();
    }
    if (const Value* guard = parameters.find("guard")) {
        if (auto read = read_guard(name, *guard, config.limits); !read) return read.error();
    }
    return config;
}

}  // namespace aliquot::dra
