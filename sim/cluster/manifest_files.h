// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/cluster/manifest_reader.h"

namespace aliquot::sim::cluster {

/// Reads the manifests that a command line names: files, folders (their *.yaml, *.yml and *.json by
/// name, not deeper) and "-" for standard input.
///
/// config_file   passed over when it is among them, so that FOLDER/*.yaml may hold it
/// errors        kNotFound, kPermission; kInvalidInput: a folder without manifests, a file too
/// large
Result<std::vector<ManifestText>> read_inputs(const std::vector<std::string>& names,
                                              const std::string& config_file);

}  // namespace aliquot::sim::cluster
