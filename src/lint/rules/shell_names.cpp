// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "lint/rules/shell.h"
#include "lint/words.h"

/// SH012: names that a runbook uses and does not define.
namespace aliquot::lint {

namespace {

std::string kind_name(std::string_view word) {
    const auto kind = lower(word);
    if (kind == "deploy" || kind == "deployment" || kind == "deployments" ||
        kind == "deployment.apps") {
        return "Deployment";
    }
    if (kind == "sts" || kind == "statefulset" || kind == "statefulsets") {
        return "StatefulSet";
    }
    if (kind == "job" || kind == "jobs") {
        return "Job";
    }
    return {};
}

/// "cat-watcher" and "cat-watcher-inference", "trainer" and "trainr": one is meant for the other.
bool is_meant(std::string_view used, std::string_view defined) {
    if (used.size() < 4 || defined.size() < 4) {
        return false;
    }
    const auto extends = [](std::string_view longer, std::string_view shorter) {
        return longer.size() > shorter.size() + 1 &&
               ((longer.starts_with(shorter) && longer[shorter.size()] == '-') ||
                (longer.ends_with(shorter) && longer[longer.size() - shorter.size() - 1] == '-'));
    };
    return extends(used, defined) || extends(defined, used) || !nearest(used, {defined}).empty();
}

struct Use {
    std::string kind;
    std::string name;
    Mark mark;
};

/// kubectl logs deploy/NAME and the like. Commands that change an object are DEP004's.
std::vector<Use> uses_of(const Command& command) {
    constexpr std::array<std::string_view, 8> kVerbs{
        "logs", "exec", "describe", "wait", "expose", "autoscale", "get", "port-forward"};
    std::vector<Use> uses;
    if (!command.is("kubectl")) {
        return uses;
    }
    const auto words = command.positionals();
    if (words.empty()) {
        return uses;
    }
    const std::size_t first = 1;
    if (std::find(kVerbs.begin(), kVerbs.end(), words[0]->text) == kVerbs.end()) {
        return uses;
    }
    if (first >= words.size()) {
        return uses;
    }
    const std::string_view word = words[first]->text;
    if (const auto slash = word.find('/'); slash != std::string_view::npos) {
        uses.push_back({kind_name(word.substr(0, slash)), std::string(word.substr(slash + 1)),
                        words[first]->mark});
    } else if (first + 1 < words.size()) {
        uses.push_back({kind_name(word), words[first + 1]->text, words[first + 1]->mark});
    }
    return uses;
}

bool is_made_elsewhere(const File& file, const Set& set, const Use& use) {
    for (const auto* other : set.neighbours(file)) {
        for (const auto& object : other->objects) {
            if (object.is(use.kind) && object.name == use.name) {
                return true;
            }
        }
    }
    for (const auto& command : file.commands) {
        if (is_kubectl(command, "create") && contains(command.text, use.name)) {
            return true;
        }
    }
    return false;
}

std::string namespace_of(const Command& command) {
    for (const std::string_view flag : {"-n", "--namespace"}) {
        if (const auto value = command.value(flag)) {
            return *value;
        }
    }
    return {};
}

void check_object_names(const File& file, const Set& set, Report& report) {
    for (const auto& command : file.commands) {
        if (command.block < 0 || command.shown) {
            continue;
        }
        for (const auto& use : uses_of(command)) {
            if (use.kind.empty() || use.name.empty() || is_placeholder(use.name) ||
                use.name.find_first_of("$<>{}[]*|") != std::string::npos) {
                continue;
            }
            const auto name_space = namespace_of(command);
            const Object* meant = nullptr;
            for (const auto& object : file.objects) {
                if (object.is(use.kind) && !object.name.empty() && !is_placeholder(object.name) &&
                    is_meant(use.name, object.name) &&
                    (name_space.empty() || object.name_space.empty() ||
                     object.name_space == name_space)) {
                    meant = &object;
                    break;
                }
            }
            if (meant == nullptr || is_made_elsewhere(file, set, use)) {
                continue;
            }
            report.add("SH012", use.mark, "no " + use.kind + " '" + use.name + "' is defined here")
                .expected(meant->name + " (line " + std::to_string(meant->mark().line) + ")")
                .fix(meant->name);
        }
    }
}

std::string_view directory_of(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}
std::string_view stem_of(std::string_view path) {
    const auto slash = path.rfind('/');
    const auto name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    return name.substr(0, name.find('.'));
}
bool is_manifest_name(std::string_view word) {
    return (word.ends_with(".yaml") || word.ends_with(".yml")) &&
           word.find_first_of(" ,:<>${}*()[]\"'`") == std::string_view::npos;
}

/// `# k8s/deployment-timeslice.yaml` in the first line of a block names its file.
std::vector<std::string> named_files(const File& file) {
    std::vector<std::string> names;
    for (const auto& block : file.blocks) {
        if (block.setting != Setting::kFence) {
            continue;
        }
        const std::string_view text = block.text;
        const auto line = trim(text.substr(0, text.find('\n')));
        if (line.starts_with("#") && is_manifest_name(trim(line.substr(1)))) {
            names.emplace_back(trim(line.substr(1)));
        }
    }
    return names;
}

/// Whether a command of the file applies just this path: it is a file beside the other one.
bool applies(const File& file, const std::string& path) {
    return std::any_of(file.commands.begin(), file.commands.end(), [&path](const Command& command) {
        if (!is_kubectl(command, "apply")) return false;
        const auto words = command.values("-f");
        return std::any_of(words.begin(), words.end(),
                           [&path](const Word& word) { return word.text == path; });
    });
}

/// kubectl apply -f k8s/deployment.yaml, where the runbook shows k8s/deployment-timeslice.yaml.
void check_file_names(const File& file, const Set& set, Report& report) {
    const auto names = named_files(file);
    if (names.empty()) {
        return;
    }
    for (const auto& command : file.commands) {
        if (command.block < 0 || command.shown || !is_kubectl(command, "apply")) {
            continue;
        }
        for (const auto& word : command.values("-f")) {
            const std::string_view path = word.text;
            if (!is_manifest_name(path) || path.find('/') == std::string_view::npos ||
                std::find(names.begin(), names.end(), path) != names.end()) {
                continue;
            }
            const auto found = std::find_if(names.begin(), names.end(), [path](const auto& name) {
                return directory_of(name) == directory_of(path) && stem_of(name) != stem_of(path) &&
                       (stem_of(name).starts_with(stem_of(path)) ||
                        stem_of(path).starts_with(stem_of(name)));
            });
            const auto on_disk =
                std::any_of(set.files().begin(), set.files().end(),
                            [path](const auto& other) { return other->name.ends_with(path); });
            if (found == names.end() || on_disk || applies(file, *found)) {
                continue;
            }
            report.add("SH012", word.mark, "no file '" + word.text + "' is shown here")
                .expected(*found)
                .severity(findings::Severity::kWarning);
        }
    }
}

}  // namespace

void check_names(const File& file, const Set& set, Report& report) {
    if (!file.is_prose() || !file.mentions("kubectl")) {
        return;
    }
    check_object_names(file, set, report);
    check_file_names(file, set, report);
}

}  // namespace aliquot::lint
