// SPDX-License-Identifier: Apache-2.0
#include "lint/settings.h"

#include <algorithm>

#include "document/yaml.h"
#include "findings/rule.h"
#include "lint/words.h"

namespace aliquot::lint {

using document::Value;

namespace {

Error refuse(std::string_view name, const Value& at, const std::string& message) {
    return {ErrorCode::kInvalidInput,
            std::string(name) + ':' + std::to_string(at.mark.line) + ": " + message};
}

std::optional<findings::Severity> severity_of(std::string_view word) {
    if (word == "error") return findings::Severity::kError;
    if (word == "warning") return findings::Severity::kWarning;
    if (word == "info") return findings::Severity::kInfo;
    return std::nullopt;
}

Result<Done> read_rules(std::string_view name, const Value& rules, Settings& settings) {
    for (const auto& [key, value] : rules.entries) {
        if (findings::find_rule(key.scalar) == nullptr) {
            return refuse(name, key,
                          "no rule '" + key.scalar + "': aliquot lint --rules lists them");
        }
        const auto severity = severity_of(value.scalar);
        if (!severity && value.scalar != "off" && value.scalar != "false") {
            return refuse(
                name, value,
                key.scalar + ": '" + value.scalar + "': expected off, error, warning or info");
        }
        settings.rules[key.scalar] = severity;
    }
    return Done{};
}

Result<Done> read_paths(std::string_view name, const Value& paths, Settings& settings) {
    for (const auto& [key, value] : paths.entries) {
        if (key.scalar != "ignore" || !value.is_sequence()) {
            return refuse(name, key,
                          "paths." + key.scalar + ": expected paths.ignore, a list of patterns");
        }
        for (const Value& item : value.items) settings.ignored_paths.push_back(item.scalar);
    }
    return Done{};
}

/// `*` any text within one part of a path, `**` any text, `?` one character.
bool matches(std::string_view pattern, std::string_view text) {
    std::size_t star = std::string_view::npos;
    std::size_t star_text = 0;
    bool across = false;
    std::size_t p = 0;
    std::size_t t = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            across = pattern.substr(p, 2) == "**";
            star = p = p + (across ? 2 : 1);
            star_text = t;
        } else if (p < pattern.size() &&
                   (pattern[p] == text[t] || (pattern[p] == '?' && text[t] != '/'))) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos && (across || text[star_text] != '/')) {
            p = star;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

}  // namespace

Result<Settings> read_settings(std::string_view name, std::string_view text) {
    const document::Stream stream = document::parse_yaml(text);
    if (!stream.errors.empty()) {
        return Error{ErrorCode::kInvalidInput, std::string(name) + ':' +
                                                   std::to_string(stream.errors.front().mark.line) +
                                                   ": " + stream.errors.front().message};
    }
    Settings settings;
    const Value& root = stream.documents.front();
    if (root.kind == Value::Kind::kNull) return settings;
    if (!root.is_mapping())
        return refuse(name, root, "expected a mapping with rules, paths, facts or plugin");
    for (const auto& [key, value] : root.entries) {
        Result<Done> done = Done{};
        if (key.scalar == "rules") {
            done = read_rules(name, value, settings);
        } else if (key.scalar == "paths") {
            done = read_paths(name, value, settings);
        } else if (key.scalar == "facts") {
            settings.facts = value.scalar;
        } else if (key.scalar == "plugin" &&
                   (value.scalar == "nvidia" || value.scalar == "aliquot")) {
            settings.aliquot = value.scalar == "aliquot";
        } else if (key.scalar == "plugin") {
            return refuse(name, value,
                          "plugin: '" + value.scalar + "': expected nvidia or aliquot");
        } else {
            return refuse(
                name, key,
                "unknown key '" + key.scalar + "': expected rules, paths, facts or plugin");
        }
        if (!done) return std::move(done).error();
    }
    return settings;
}

std::string settings_template() {
    return "# What aliquot lint looks for below this directory: docs/guide/lint.md\n"
           "rules: {}\n"
           "#  POD014: off          # error, warning, info or off; aliquot lint --rules lists all "
           "ids\n"
           "#  DPC014: warning\n"
           "paths:\n"
           "  ignore: []\n"
           "#  - docs/archive        # a directory, a file or a pattern\n"
           "#facts: cluster.json     # kubectl get nodes,runtimeclasses -o json > cluster.json\n"
           "plugin: nvidia           # who reads sharing configurations: nvidia or aliquot\n";
}

bool is_ignored(const Settings& settings, std::string_view path) {
    while (path.starts_with("./")) path.remove_prefix(2);
    return std::any_of(settings.ignored_paths.begin(), settings.ignored_paths.end(),
                       [path](std::string_view pattern) {
                           while (pattern.ends_with("/")) pattern.remove_suffix(1);
                           if (pattern.find('/') == std::string_view::npos) {
                               const auto parts = split(path, '/');
                               return std::any_of(parts.begin(), parts.end(),
                                                  [pattern](std::string_view part) {
                                                      return matches(pattern, part);
                                                  });
                           }
                           if (matches(pattern, path)) return true;
                           // A directory: everything below it.
                           for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
                                slash = path.find('/', slash + 1)) {
                               if (matches(pattern, path.substr(0, slash))) return true;
                           }
                           return false;
                       });
}

void apply_settings(const Settings& settings, std::vector<findings::Finding>& findings) {
    if (settings.rules.empty()) return;
    std::vector<findings::Finding> kept;
    kept.reserve(findings.size());
    for (findings::Finding& one : findings) {
        const auto rule = settings.rules.find(one.rule);
        if (rule != settings.rules.end()) {
            if (!rule->second) continue;
            one.severity = *rule->second;
        }
        kept.push_back(std::move(one));
    }
    findings = std::move(kept);
}

}  // namespace aliquot::lint
