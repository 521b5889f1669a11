// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "doctor/judge.h"

namespace aliquot::doctor {

struct PrintOptions {
    bool colour = false;
    bool unicode = false;  // marks beyond ASCII
    bool quiet = false;    // only what is not well
    double seconds = -1;   // how long it took; negative: not told
};

/// By level, one line per check, then the root cause with its evidence and its fix.
void print_text(std::ostream& out, const Report& report, const PrintOptions& options);
/// Only warnings and failures, one line each: "DRV003 failed  nouveau holds the GPU ...".
void print_short(std::ostream& out, const Report& report);
/// {"schemaVersion","success","target","summary","rootCauses","categories"}; keys and order are a
/// contract.
void print_json(std::ostream& out, const Report& report);
void print_junit(std::ostream& out, const Report& report);
void print_markdown(std::ostream& out, const Report& report);

}  // namespace aliquot::doctor
