// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "base/colour.h"
#include "doctor/judge.h"
#include "document/value.h"

namespace aliquot::doctor {

struct PrintOptions {
    Colour colour = Colour::kNever;
    bool unicode = false;  // marks beyond ASCII
    bool verbose = false;  // every check, not only what is not well
    double seconds = -1;   // how long it took; negative: not told
};

/// The chain of layers in a line, the root cause with its fix, then by level what is not well with what was
/// read; the rest as counts, or one line per check with `verbose`.
void print_text(std::ostream& out, const Report& report, const PrintOptions& options);
/// Only warnings and failures, one line each: "DRV003 failed  nouveau holds the GPU ...".
void print_short(std::ostream& out, const Report& report);
/// {"schemaVersion","success","target","summary","rootCauses","categories"}; keys and order are a
/// contract.
document::Value to_value(const Report& report);
void print_junit(std::ostream& out, const Report& report);
/// Whatever was read stands there as text: no Markdown and no HTML of its own.
void print_markdown(std::ostream& out, const Report& report);

}  // namespace aliquot::doctor
