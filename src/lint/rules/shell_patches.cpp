// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "document/yaml.h"
#include "lint/rules/shell.h"
#include "lint/words.h"

/// SH013 and its like: patches, labels and paths that are refused or show nothing for their form. And which commands a
/// text warns of.
namespace aliquot::lint {

namespace {

/// "clusterpolicies.nvidia.com/cluster-policy" -> "clusterpolicies.nvidia.com".
std::string kind_word(const Command& command) {
    const auto words = command.positionals();
    if (words.size() < 2) return {};
    std::string word = lower(words[1]->text);
    return word.substr(0, word.find('/'));
}

/// A kind that a CustomResourceDefinition made: the server cannot merge its lists.
bool is_custom_kind(std::string_view kind) {
    const auto dot = kind.find('.');
    if (dot != std::string_view::npos) {
        const auto group = kind.substr(dot + 1);
        constexpr std::array<std::string_view, 10> kBuiltIn{
            "apps",    "batch",    "autoscaling",       "policy",        "extensions", "v1",
            "v1.apps", "v1.batch", "networking.k8s.io", "storage.k8s.io"};
        return group.find('.') != std::string_view::npos && !group.ends_with(".k8s.io") &&
               std::find(kBuiltIn.begin(), kBuiltIn.end(), group) == kBuiltIn.end();
    }
    constexpr std::array<std::string_view, 30> kKinds{"clusterpolicy",
                                                      "clusterpolicies",
                                                      "nvidiadriver",
                                                      "nvidiadrivers",
                                                      "inferenceservice",
                                                      "inferenceservices",
                                                      "isvc",
                                                      "rayservice",
                                                      "raycluster",
                                                      "rayjob",
                                                      "scaledobject",
                                                      "scaledobjects",
                                                      "nodepool",
                                                      "nodepools",
                                                      "ec2nodeclass",
                                                      "clusterqueue",
                                                      "clusterqueues",
                                                      "localqueue",
                                                      "pytorchjob",
                                                      "mpijob",
                                                      "tfjob",
                                                      "servicemonitor",
                                                      "servicemonitors",
                                                      "prometheusrule",
                                                      "prometheusrules",
                                                      "podmonitor",
                                                      "helmrelease",
                                                      "kustomizations",
                                                      "nodefeaturerule",
                                                      "leaderworkerset"};
    return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

/// The patch as it is written on the line; empty: it is in a file, or is made.
std::string patch_text(const Command& command) {
    for (const std::string_view flag : {"-p", "--patch"}) {
        if (const auto value = command.value(flag)) return *value;
    }
    return {};
}

/// `args=(kubectl patch ...)`: more words may follow, `args+=(--type=merge)`.
bool stands_in_array(const File& file, const Command& command) {
    const std::size_t begin = file.offset(command.mark);
    const std::string_view before = std::string_view(file.text).substr(0, begin);
    const auto last = before.find_last_not_of(" \t\n\\");
    return last != std::string_view::npos && last > 0 && before[last] == '(' &&
           before[last - 1] == '=';
}

}  // namespace

/// `.allocatable.nvidia.com/gpu` in a path: three keys for kubectl, where one is meant.
void check_path_dots(const Command& command, Report& report) {
    if (!is_kubectl(command, "get")) return;
    const bool path = contains(command.text, "jsonpath") ||
                      contains(command.text, "custom-columns") ||
                      contains(command.text, "go-template");
    if (!path || contains(command.text, "go-template")) return;
    for (const std::string_view name : {"nvidia.com/", "amd.com/", "gpu.intel.com/"}) {
        const auto at = command.text.find("." + std::string(name));
        if (at == std::string::npos) continue;
        std::string escaped(name.substr(0, name.find('/')));
        escaped.replace(escaped.rfind('.'), 1, "\\.");
        report
            .add("SH005", command.mark,
                 "the path takes '" + std::string(name.substr(0, name.size() - 1)) +
                     "' for two keys, and shows nothing")
            .expected("." + escaped + "/gpu");
        return;
    }
}

/// `kubectl label node gpu-1 a = b`.
void check_blanks(const Command& command, Report& report) {
    if (!is_kubectl(command, "label") && !is_kubectl(command, "taint") &&
        !is_kubectl(command, "annotate"))
        return;
    for (const Word& word : command.words) {
        if (word.quoted || word.text.empty() || word.text.front() != '=') continue;
        report.add("SH014", word.mark, "a blank beside '=' makes several words of KEY=VALUE")
            .expected("KEY=VALUE without blanks");
        return;
    }
}

/// A patch on the line that is neither JSON nor YAML.
void check_patch_text(const Command& command, Report& report) {
    if (!is_kubectl(command, "patch")) return;
    const std::string patch = patch_text(command);
    const std::string_view text = trim(patch);
    if (text.empty() || (text.front() != '{' && text.front() != '[')) return;
    if (contains(text, "$") || contains(text, "...") || contains(text, "<") || contains(text, "{{"))
        return;
    const auto read = document::parse_yaml(text);
    if (!read.errors.empty()) {
        report.add("SH013", command.mark, "the patch is not JSON: " + read.errors.front().message)
            .expected("commas between members, quotes and brackets in pairs");
    }
}

void check_patch(const File& file, const Command& command, Report& report) {
    check_patch_text(command, report);
    check_blanks(command, report);
    check_path_dots(command, report);
    if (!is_kubectl(command, "patch") || command.flag("--type") != nullptr ||
        contains(command.text, "--type") || stands_in_array(file, command)) {
        return;
    }
    const std::string patch = patch_text(command);
    const std::string kind = kind_word(command);
    if (trim(patch).starts_with("[{") || trim(patch).starts_with("[ {")) {
        report
            .add("SH013", command.mark,
                 "a list of operations is not a strategic merge patch, which is what kubectl sends")
            .expected("--type=json");
    } else if (is_custom_kind(kind)) {
        report
            .add("SH013", command.mark,
                 "the server takes no strategic merge patch, which is what kubectl sends, for '" +
                     kind + "'")
            .expected("--type=merge")
            .fix("kubectl patch --type=merge ...");
    }
}

constexpr std::array<std::string_view, 7> kWarnings{
    "never run",     "never use", "do not run",         "don't run",
    "do not use th", "never do",  "do not do any of th"};

bool warns_of_commands(const File& file) {
    return file.mentions("not to do") || file.mentions("will break") ||
           std::any_of(kWarnings.begin(), kWarnings.end(),
                       [&file](std::string_view word) { return file.mentions(word); });
}

bool is_warned_of(const File& file, const Command& command) {
    if (command.block < 0) return false;
    const auto warns = [](std::string_view text) {
        return std::any_of(kWarnings.begin(), kWarnings.end(),
                           [text](std::string_view word) { return contains(text, word); });
    };
    if (contains(file.heading_path(command.heading), "not to do")) return true;
    const Block& block = file.blocks[static_cast<std::size_t>(command.block)];
    const unsigned top = block.fence_line != 0 ? block.fence_line : block.line;
    constexpr unsigned kNear = 3;
    const Statement* above = nullptr;  // the last line of prose above the block
    for (const Statement& statement : file.statements) {
        if (statement.mark.line >= command.mark.line) break;
        if (statement.kind == Statement::Kind::kComment) {
            const bool own = statement.mark.line > top;
            if (own && (warns(statement.text) || contains(statement.text, "will break"))) {
                return true;
            }
        } else if (statement.mark.line < top) {
            above = &statement;
        }
    }
    return above != nullptr && top - above->mark.line <= kNear && warns(above->text);
}

}  // namespace aliquot::lint
