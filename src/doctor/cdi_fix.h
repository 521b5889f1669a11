// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "doctor/check.h"

namespace aliquot::doctor {

/// Adds the command that writes a CDI spec anew, to a place that can be written: where its mount is
/// read-only, one that is not, or the command that makes it writable first, and what else that breaks.
///
/// path     of the spec that is there; empty: none is, it goes where the runtime looks
/// options  of `nvidia-ctk cdi generate`, with a blank behind them
void fix_spec(Verdict& verdict, const Facts& facts, std::string_view path,
              std::string_view options = {});

}  // namespace aliquot::doctor
