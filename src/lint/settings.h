// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "findings/finding.h"

namespace aliquot::lint {

/// What a repository wants of the linter: .aliquot.yaml.
struct Settings {
    /// Of a rule: nullopt switches it off.
    std::map<std::string, std::optional<findings::Severity>, std::less<>> rules;
    /// Patterns of paths that directories are not searched for: "vendor", "docs/old/*.md". A pattern
    /// without '/' is held against every part of the path.
    std::vector<std::string> ignored_paths;
    std::string facts;     // as written: relative to the file's directory
    bool aliquot = false;  // `plugin: aliquot`: sharing configurations are read by our agent
};

/// errors   kInvalidInput: broken YAML, an unknown key, rule or severity; the message has the place
Result<Settings> read_settings(std::string_view name, std::string_view text);

/// What `aliquot lint --init` writes.
std::string settings_template();

/// Whether a path is one of those that `ignored_paths` names.
bool is_ignored(const Settings& settings, std::string_view path);

/// Rules that are switched off are taken out, others get the severity they were given.
void apply_settings(const Settings& settings, std::vector<findings::Finding>& findings);

}  // namespace aliquot::lint
