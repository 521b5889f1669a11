// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "findings/finding.h"
#include "lint/facts.h"
#include "lint/set.h"

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

/// Runs every family over every file, `threads` at a time (0: as many as there are processors).
/// Returns sorted findings, ignored ones left out.
std::vector<findings::Finding> check(const Set& set, const Facts* facts, unsigned threads = 0);

/// Rules that are switched off are taken out, others get the severity they were given.
void apply_settings(const Settings& settings, std::vector<findings::Finding>& findings);

/// The text with what its findings say is mechanical. Edits of one finding are made together or not at
/// all; where two findings want the same bytes the first one wins.
struct Mended {
    std::string text;
    std::vector<std::size_t> mended;  // indices of the findings whose edits were made
};
Mended mend(std::string_view original, const std::vector<findings::Finding>& findings);

/// A unified diff of two texts; empty when they are equal.
std::string unified_diff(std::string_view name, std::string_view before, std::string_view after);

}  // namespace aliquot::lint
