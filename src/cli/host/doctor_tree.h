// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bundle/tree.h"
#include "cli/command.h"
#include "doctor/facts.h"

namespace aliquot::cli {

/// Saves what was read, redacted: a bundle (.tgz, .tar.gz), else facts as JSON.
/// target   the words behind `doctor`, which may name the node
/// False: it was said why not.
bool save_tree(Context& context, const bundle::Tree& tree, const std::vector<std::string>& target,
               const std::string& file);

/// Whether the node or pod that is asked about is among those that were read; where none was read
/// nobody can tell. False: it was said which there are.
bool is_there(Context& context, const bundle::Tree& tree, const doctor::Facts& facts);

}  // namespace aliquot::cli
