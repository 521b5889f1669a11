// SPDX-License-Identifier: Apache-2.0
#include "cli/svg_file.h"

#include <ostream>

#include "base/text.h"
#include "command_line/command.h"
#include "os/replace_file.h"

namespace aliquot::cli {

void add_svg_flag(command_line::Command& command, std::string& file, std::string_view what) {
    command.add_option("--svg", file,
                       concat({"Write ", what, "; -: to standard output, in place of the text"}),
                       "FILE");
}

void write_svg(Context& context, const std::string& file, std::string_view picture) {
    if (file.empty()) return;
    if (file == "-") {
        context.out << picture;
        return;
    }
    const auto written = os::write_output(file, picture);
    if (!written) fail(context, kCouldNotRun, "--svg: " + written.error().message);
}

}  // namespace aliquot::cli
