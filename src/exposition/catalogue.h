// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// What the agent tells Prometheus: families, names and formats. Pure; api/metrics.yaml is the
/// catalogue.
namespace aliquot::exposition {

enum class Type : std::uint8_t { kGauge, kCounter, kInfo };

enum class Group : std::uint8_t {
    kNative,     // ours
    kSelf,       // the agent itself
    kGuard,      // for each guarded container
    kClassic,    // NVIDIA's DCGM exporter up to 4.8
    kRenamed,    // the same in 4.9
    kOlder,      // older exporters' names
    kOpenshift,  // names that OpenShift's console reads
};

/// A metric family, as api/metrics.yaml has it.
struct Family {
    std::string_view name;    // as in the text format: counters of ours with _total
    std::string_view help;    // one line
    std::string_view unit;    // "seconds", "bytes", ...; "none"
    std::string_view labels;  // in order, with a blank between; "gi?": some rows do not have it
    Group group = Group::kNative;
    Type type = Type::kGauge;
    bool split = false;      // on a shared GPU its rows add up to the GPU's value
    bool listed = false;     // only when a counter list names it
    unsigned field = 0;      // DCGM's number; 0: none
    std::string_view old{};  // its name in NVIDIA's 1.x list; empty: none
    std::string_view now{};  // its name in exporter 4.9; empty: the same
};

/// All of them, by name.
std::span<const Family> families();

/// nullptr: no such family.
const Family* find_family(std::string_view name);

/// A name of NVIDIA's that has no rows here.
struct Withheld {
    std::string_view name;
    std::string_view old{};  // its name in NVIDIA's 1.x list
    std::string_view why{};
};
std::span<const Withheld> withheld();

}  // namespace aliquot::exposition
