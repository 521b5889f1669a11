// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "cli/command.h"
#include "cli/host/top_source.h"
#include "top/screen.h"

namespace aliquot::cli {

struct LiveOptions {
    std::chrono::milliseconds interval{2000};  // between looks
    top::Style style;
};

/// The live view, until the user leaves it or a signal ends the program (then the program ends by
/// that signal, with the terminal restored). Looks at the nodes in a thread of its own, so that a
/// slow agent never keeps a key waiting.
/// first   what was seen already
void run_live(Context& context, TopSource& source, TopUpdate first, top::UiState ui,
              const LiveOptions& options);

}  // namespace aliquot::cli
