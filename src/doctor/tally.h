// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "doctor/judge.h"

namespace aliquot::doctor {

/// What became of the checks of one level.
struct Tally {
    unsigned ok = 0;
    unsigned unknown = 0;
    unsigned bad = 0;  // failed or warning
    unsigned failed = 0;
    unsigned blocked = 0;  // not run, since another failed
    unsigned beside = 0;   // without an occasion here
    std::string blocker;

    [[nodiscard]] unsigned judged() const { return ok + unknown + bad; }
};
Tally tally(const Report& report, Level level);

/// Whether it failed or warns.
bool is_bad(const Judged& one);

}  // namespace aliquot::doctor
