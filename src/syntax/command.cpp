// SPDX-License-Identifier: Apache-2.0
#include "syntax/command.h"

#include <algorithm>
#include <array>

#include "syntax/words.h"

namespace aliquot::syntax {
namespace {

/// Flags of kubectl, helm, docker and friends that stand alone; any other takes the next word.
constexpr std::array<std::string_view, 67> kSwitches{"--rm",
                                                     "--all",
                                                     "--all-namespaces",
                                                     "--force",
                                                     "--watch",
                                                     "--wait",
                                                     "--overwrite",
                                                     "--help",
                                                     "--privileged",
                                                     "--create-namespace",
                                                     "--install",
                                                     "--atomic",
                                                     "--debug",
                                                     "--devel",
                                                     "--reuse-values",
                                                     "--reset-values",
                                                     "--previous",
                                                     "--no-headers",
                                                     "--show-labels",
                                                     "--ignore-not-found",
                                                     "--recursive",
                                                     "--prune",
                                                     "--server-side",
                                                     "--quiet",
                                                     "--command",
                                                     "--attach",
                                                     "--expose",
                                                     "--verify",
                                                     "--skip-crds",
                                                     "--tty",
                                                     "--stdin",
                                                     "--detach",
                                                     "--init",
                                                     "--interactive",
                                                     "--no-cache",
                                                     "--read-only",
                                                     "--dry-run",
                                                     "--cascade",
                                                     "--force-update",
                                                     "--insecure-skip-tls-verify",
                                                     "--ignore-daemonsets",
                                                     "--delete-emptydir-data",
                                                     "--delete-local-data",
                                                     "--follow",
                                                     "--generate-name",
                                                     "--dependency-update",
                                                     "--include-crds",
                                                     "--wait-for-jobs",
                                                     "--keep-history",
                                                     "--no-hooks",
                                                     "--list",
                                                     "--show-managed-fields",
                                                     "--all-containers",
                                                     "--timestamps",
                                                     "--force-conflicts",
                                                     "--reset-then-reuse-values",
                                                     "--render-subchart-notes",
                                                     "--cleanup-on-failure",
                                                     "--replace",
                                                     "--save-config",
                                                     "--validate",
                                                     "--record",
                                                     "--leave-stdin-open",
                                                     "--raw-json",
                                                     "--pass-credentials",
                                                     "--privileged-ports",
                                                     "--publish-all"};

constexpr std::array<std::string_view, 16> kShortSwitches{"-it", "-i", "-t", "-ti", "-d",   "-A",
                                                          "-w",  "-h", "-R", "-q",  "-itd", "-dit",
                                                          "-P",  "-k", "-y", "-D"};

bool is_switch(std::string_view program, std::string_view flag) {
    if (flag.starts_with("--")) {
        return std::find(kSwitches.begin(), kSwitches.end(), flag) != kSwitches.end();
    }
    if (program == "kubectl" && flag == "-k") return false;
    if (program == "helm" && flag == "-i") return true;
    if (program == "helm" && (flag == "-set" || flag == "-version" || flag == "-namespace" ||
                              flag == "-values" || flag == "-repo")) {
        return false;  // HELM002: two dashes are meant
    }
    if (program == "kubectl" && flag == "-t") return true;
    if (flag.size() > 3) return true;
    return std::find(kShortSwitches.begin(), kShortSwitches.end(), flag) != kShortSwitches.end();
}

bool is_flag(const Word& word) { return word.text.size() >= 2 && word.text[0] == '-'; }

}  // namespace

std::vector<const Word*> Command::positionals() const {
    std::vector<const Word*> result;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const Word& word = words[i];
        if (word.text == "--") break;
        if (!is_flag(word)) {
            result.push_back(&word);
            continue;
        }
        const bool alone =
            word.text.find('=') != std::string::npos || is_switch(program, word.text);
        if (!alone && i + 1 < words.size() && !is_flag(words[i + 1])) ++i;
    }
    return result;
}

bool Command::is(std::string_view some_program, std::string_view verb) const {
    if (program != some_program) return false;
    const auto plain = positionals();
    return !plain.empty() && plain.front()->text == verb;
}

const Word* Command::flag(std::string_view name) const {
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i].text;
        if (word == "--") break;
        if (word == name) return &words[i];
        if (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=') {
            return &words[i];
        }
    }
    return nullptr;
}

std::vector<Word> Command::values(std::string_view name) const {
    std::vector<Word> result;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const Word& word = words[i];
        if (word.text == "--") break;
        if (word.text == name) {
            Word value;
            if (i + 1 < words.size()) value = words[i + 1];
            result.push_back(std::move(value));
        } else if (word.text.starts_with(name) && word.text.size() > name.size() &&
                   word.text[name.size()] == '=') {
            Word value = word;
            value.text.erase(0, name.size() + 1);
            result.push_back(std::move(value));
        }
    }
    return result;
}

std::optional<std::string> Command::value(std::string_view name) const {
    auto all = values(name);
    if (all.empty()) return std::nullopt;
    return std::move(all.front().text);
}

std::vector<const Word*> Command::behind_dashes() const {
    std::vector<const Word*> result;
    const auto dashes = std::find_if(words.begin(), words.end(),
                                     [](const Word& word) { return word.text == "--"; });
    if (dashes == words.end()) return result;
    for (auto word = dashes + 1; word != words.end(); ++word) result.push_back(&*word);
    return result;
}

}  // namespace aliquot::syntax
