// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lint/report.h"
#include "lint/rules/evidence.h"
#include "lint/set.h"

/// The parts of the family GOP. Inside src/lint only.
namespace aliquot::lint {

/// GOP013 and GOP014: old versions of the device plugin, and its bare manifest.
void check_plugin_versions(const File& file, const std::vector<ChartInstall>& installs,
                           Report& report);

/// GOP008, GOP009: keys of Helm values and paths of --set.
void check_helm_keys(const File& file, const std::vector<ChartInstall>& installs, Report& report);
/// The same for values of gha-runner-scale-set.
void check_runner_keys(const Object& object, Report& report);

}  // namespace aliquot::lint
