// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "doctor/check.h"

namespace aliquot::doctor {

/// What became of one check.
struct Judged {
    std::string id;
    Level level = Level::kHardware;
    std::string severity;  // "error", "warning", "info": what its failure is
    Verdict verdict;
    std::string blocked_by;  // of kSkipped: the id whose failure it waits for
};

struct Report {
    Target target;
    std::string title;           // "gpu-1   Ubuntu 24.04   kernel 6.8.0-85   1x NVIDIA A2"
    std::vector<Judged> checks;  // by level, then id
    std::vector<std::string> root_causes;
    bool of_speed = false;  // made for Scope::kSlow: says also what could not be told of the speed
    [[nodiscard]] bool success() const;
    [[nodiscard]] unsigned count(Outcome outcome) const;
    [[nodiscard]] const Judged* find(std::string_view id) const;
    /// Where nothing failed, the warning that tells most; advice about versions and settings tells
    /// least. nullptr: something failed, or nobody warns.
    [[nodiscard]] const Judged* first_warning() const;
};

/// Runs every check that belongs to the target, lowest level first. The first broken layer wins: a
/// failed fatal check keeps the levels above from being judged, and a check whose failure is
/// explained by another is not judged either.
enum class Scope : std::uint8_t {
    kAll,
    kBeforeInstall,  // only what must hold before anything of ours is installed: levels 0 to 4
    kSlow,  // why is it slow: where nothing failed, what holds it back most is the root cause
};
Report judge(const Facts& facts, Scope scope = Scope::kAll);

}  // namespace aliquot::doctor
