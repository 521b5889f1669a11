// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"

namespace aliquot::cli {

/// Adds --svg FILE: the answer as a picture, beside what is printed; "-": on the standard output, in its place.
/// what   "now and after, as a picture"
void add_svg_flag(command_line::Command& command, std::string& file, std::string_view what);

/// Whether the answer is to be printed as well.
inline bool prints_beside(const std::string& svg_file) { return svg_file != "-"; }

/// Writes the picture where the words say; nowhere, where they say nothing. A failure is told in `context`.
void write_svg(Context& context, const std::string& file, std::string_view picture);

}  // namespace aliquot::cli
