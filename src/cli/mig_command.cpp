// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

namespace aliquot::cli {

void add_mig_command(CLI::App& /*program*/, Context& /*context*/) {}

}  // namespace aliquot::cli
