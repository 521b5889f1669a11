// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace aliquot::cli {

/// How --help looks: what the command does, examples, then usage, arguments and options. The
/// examples are the footer of the CLI11 command, one per line.
std::shared_ptr<CLI::FormatterBase> make_help();

}  // namespace aliquot::cli
