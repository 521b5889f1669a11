// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"
#include "cli/host/top_source.h"
#include "cli/terminal.h"
#include "top/screen.h"

namespace aliquot::cli {

struct LiveOptions {
    top::Style style;
    Mouse mouse = Mouse::kOurs;
};

/// The live view, until the user leaves it or a signal ends the program (then the program ends by
/// that signal, with the terminal restored). Looks at the nodes in a thread of its own, so that a
/// slow agent never keeps a key waiting.
/// first   what was seen already
void run_live(Context& context, TopSource& source, TopUpdate first, top::UiState ui,
              const LiveOptions& options);

}  // namespace aliquot::cli
