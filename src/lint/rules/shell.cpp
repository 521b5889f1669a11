// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/shell.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lint/rules/evidence.h"
#include "lint/rules/statements.h"
#include "lint/words.h"

namespace aliquot::lint {

bool is_kubectl(const Command& command, std::string_view verb) {
    return command.is("kubectl", verb) || command.is("oc", verb) || command.is("k", verb);
}

std::string pipeline_text(const File& file, const Command& command) {
    std::string text = command.text;
    const auto* current = &command;
    for (int steps = 0; steps < 5 && current->piped_to >= 0; ++steps) {
        if (static_cast<std::size_t>(current->piped_to) >= file.commands.size()) {
            break;
        }
        current = &file.commands[static_cast<std::size_t>(current->piped_to)];
        text += " | " + current->text;
    }
    return text;
}

bool runs_in_container(const Command& command) {
    return is_kubectl(command, "exec") || command.is("docker", "exec") ||
           command.is("podman", "exec") || command.is("crictl", "exec");
}

namespace {

struct GoneFlag {
    std::string_view name;
    std::string_view field;  // of the pod, for the fixed form; "" when there is none
};
constexpr std::array<GoneFlag, 9> kGoneFlags{{{"--limits", "limits"},
                                              {"--requests", "requests"},
                                              {"--serviceaccount", "serviceAccountName"},
                                              {"--hostport", ""},
                                              {"--generator", ""},
                                              {"--replicas", ""},
                                              {"--schedule", ""},
                                              {"--service-generator", ""},
                                              {"--service-overrides", ""}}};

/// {"nvidia.com/gpu":"1","cpu":"2"} of "nvidia.com/gpu=1,cpu=2"; "" when it cannot be one.
std::string quantities(std::string_view text) {
    std::string json = "{";
    for (const auto part : split(text, ',')) {
        const auto equals = part.find('=');
        if (equals == std::string_view::npos || equals == 0 ||
            part.find_first_of("\"'\\{}<>") != std::string_view::npos) {
            return {};
        }
        json += (json.size() > 1 ? "," : "") +
                ("\"" + std::string(part.substr(0, equals)) + "\":\"") +
                std::string(part.substr(equals + 1)) + "\"";
    }
    return json + "}";
}

bool is_gone(const Word& word, std::string_view flag) {
    return word.text == flag || (word.text.starts_with(flag) && word.text.size() > flag.size() &&
                                 word.text[flag.size()] == '=');
}

/// `--limits=...` and `--requests=...` as one --overrides.
std::string as_overrides(const Command& command) {
    const auto names = command.positionals();  // "run", the name
    if (names.size() < 2) {
        return {};
    }
    std::string resources;
    for (const std::string_view flag : {"--limits", "--requests"}) {
        if (const auto value = command.value(flag); value && !value->empty()) {
            const auto json = quantities(*value);
            if (json.empty()) {
                return {};
            }
            resources +=
                (resources.empty() ? "\"" : ",\"") + std::string(flag.substr(2)) + "\":" + json;
        }
    }
    std::string spec;
    if (!resources.empty()) {
        spec = R"("containers":[{"name":")" + names[1]->text + R"(","resources":{)" + resources +
               "}}]";
    }
    if (const auto account = command.value("--serviceaccount"); account && !account->empty()) {
        spec +=
            std::string(spec.empty() ? "" : ",") + R"("serviceAccountName":")" + *account + "\"";
    }
    return spec;
}

/// The bytes of the word in the file, when they are what was read.
bool stands_as_read(const File& file, const Word& word) {
    return !word.quoted &&
           file.text.compare(file.offset(word.mark), word.text.size(), word.text) == 0;
}

/// Puts the override in the place of the first flag and takes the others away, where that is sure.
void fix_run(const File& file, const Command& command,
             const std::vector<std::pair<const Word*, const Word*>>& gone, Report::Entry entry) {
    const auto spec = as_overrides(command);
    if (spec.empty()) {
        return;
    }
    const bool has_overrides = command.flag("--overrides") != nullptr;
    if (has_overrides) {
        entry.fix("put into --overrides, with --override-type=strategic: {\"spec\":{" + spec +
                  "}}");
        return;
    }
    const auto flag = "--override-type=strategic --overrides='{\"spec\":{" + spec + "}}'";
    entry.fix(flag);
    for (const auto& [word, value] : gone) {
        if (!stands_as_read(file, *word) || (value != nullptr && !stands_as_read(file, *value))) {
            return;
        }
    }
    bool first = true;
    for (const auto& [word, value] : gone) {
        const auto begin = file.offset(word->mark);
        auto end = begin + word->text.size();
        if (value != nullptr) {
            end = file.offset(value->mark) + value->text.size();
        }
        entry.edit(begin, end - begin, first ? flag : "");
        first = false;
    }
}

void check_gone_flags(const File& file, const Command& command, Report& report) {
    std::vector<std::pair<const Word*, const Word*>> gone;
    std::string names;
    bool all_can_be_fixed = true;
    for (std::size_t i = 1; i < command.words.size(); ++i) {
        const auto& word = command.words[i];
        if (word.text == "--") {
            break;
        }
        const auto* found =
            std::find_if(kGoneFlags.begin(), kGoneFlags.end(),
                         [&word](const GoneFlag& f) { return is_gone(word, f.name); });
        if (found == kGoneFlags.end()) {
            continue;
        }
        const bool apart = word.text == found->name && i + 1 < command.words.size();
        gone.emplace_back(&word, apart ? &command.words[i + 1] : nullptr);
        names += (names.empty() ? "" : ", ") + std::string(found->name);
        all_can_be_fixed = all_can_be_fixed && !found->field.empty();
    }
    if (gone.empty()) {
        return;
    }
    const auto entry = report.add("SH001", gone[0].first->mark,
                                  "kubectl run has no " + names + " any more: \"unknown flag\"");
    if (all_can_be_fixed) {
        fix_run(file, command, gone, entry);
    }
}

bool asks_nvidia_smi(const Command& command) {
    return std::any_of(command.words.begin() + 1, command.words.end(), [](const Word& word) {
        return word.text == "nvidia-smi" || word.text.find("nvidia-smi") == 0 ||
               word.text.find("torch.cuda.is_available") != std::string::npos ||
               word.text.find(" nvidia-smi") != std::string::npos;
    });
}

void check_proof(const File& file, const Command& command, Report& report) {
    const auto overrides = command.value("--overrides");
    const bool has_gone_flag = command.flag("--limits") != nullptr;
    const bool has_wish =
        overrides &&
        (contains(*overrides, "limits") || contains(*overrides, "requests") ||
         contains(*overrides, "runtimeClass") || contains(*overrides, "resources") ||
         contains(*overrides, "resourceClaims") || overrides->find('$') != std::string::npos ||
         contains(*overrides, "...") || contains(*overrides, "{{"));
    if (command.words.size() < 3 || !asks_nvidia_smi(command) || has_wish || has_gone_flag) {
        return;
    }
    const auto names = command.positionals();
    const std::string name =
        names.size() > 1 && !is_placeholder(names[1]->text) ? names[1]->text : "gpu-test";
    (void)file;
    report.add("SH002", command.mark, "kubectl run asks for no GPU, so the test proves nothing")
        .fix("--override-type=strategic --overrides='{\"spec\":{\"containers\":[{\"name\":\"" +
             name + "\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}'");
}

/// docker run IMAGE nvidia-smi, without --gpus.
void check_docker_proof(const File& file, const Command& command, Report& report) {
    if (!command.is("docker", "run") || !asks_nvidia_smi(command) ||
        contains(command.text, "--gpus") || contains(command.text, "--runtime") ||
        contains(command.text, "--device") || contains(command.text, "NVIDIA_VISIBLE_DEVICES") ||
        contains(command.text, "--privileged") || contains(command.text, "$") ||
        contains(command.text, "/nvidia-container-devices") || file.mentions("default-runtime") ||
        file.mentions("set-as-default") || file.mentions("default runtime") ||
        file.mentions("default_runtime")) {
        return;
    }
    report.add("SH002", command.mark, "docker run has no --gpus, so nvidia-smi is not there")
        .fix("docker run --gpus all ...");
}

}  // namespace

namespace {

/// The pod is that of the plugin; its namespace may have the name as well.
bool names_plugin(const Command& command) {
    std::string text = command.text;
    for (const std::string_view flag : {"-n", "--namespace"}) {
        const auto name_space = command.value(flag);
        if (!name_space || name_space->empty()) continue;
        if (const auto at = text.find(*name_space); at != std::string::npos) {
            text.erase(at, name_space->size());
        }
    }
    return contains(text, "device-plugin");
}

}  // namespace

void check_kubectl_run(const File& file, const Command& command, Report& report) {
    check_docker_proof(file, command, report);
    if (is_kubectl(command, "run")) {
        check_gone_flags(file, command, report);
        check_proof(file, command, report);
        return;
    }
    if (is_kubectl(command, "exec") && asks_nvidia_smi(command) && names_plugin(command)) {
        report
            .add("SH002", command.mark,
                 "nvidia-smi in the pod of the device plugin shows the node's driver, not what a "
                 "workload gets")
            .fix("kubectl exec <the workload's pod> -- nvidia-smi");
    }
}

void check_nvidia_tools(const Command& command, Report& report) {
    if (command.words.size() < 2) {
        return;
    }
    if (command.program == "nvidia-smi" && command.words[1].text == "mig") {
        constexpr std::array<std::string_view, 24> kFlags{"-i",
                                                          "--id",
                                                          "-gi",
                                                          "-ci",
                                                          "-lgip",
                                                          "--list-gpu-instance-profiles",
                                                          "-lgipp",
                                                          "-lgi",
                                                          "-cgi",
                                                          "-dgi",
                                                          "-lcip",
                                                          "-lcipp",
                                                          "-lci",
                                                          "-cci",
                                                          "-dci",
                                                          "-C",
                                                          "-h",
                                                          "--help",
                                                          "--list-gpu-instances",
                                                          "--create-gpu-instance",
                                                          "--destroy-gpu-instance",
                                                          "--create-compute-instance",
                                                          "--destroy-compute-instance",
                                                          "--default-compute-instance"};
        if (command.words.size() < 3 || is_placeholder(command.words[2].text)) {
            return;
        }
        const auto& next = command.words[2].text;
        const bool known = std::any_of(kFlags.begin(), kFlags.end(),
                                       [&next](std::string_view f) { return next.starts_with(f); });
        if (!known && !next.starts_with("-")) {
            report.add("SH003", command.mark, "'nvidia-smi mig " + next + "' is not a command")
                .expected(
                    "nvidia-smi -i N -mig 1 to switch MIG on; nvidia-smi mig -cgi ... -C to "
                    "make instances")
                .fix(next == "0" || next == "disable" ? "nvidia-smi -i 0 -mig 0"
                                                      : "nvidia-smi -i 0 -mig 1");
        }
        return;
    }
    if (command.program == "nvidia-cuda-mps-control") {
        const auto& next = command.words[1].text;
        constexpr std::array<std::string_view, 9> kWrong{
            "-s", "status", "start", "stop", "quit", "-q", "--status", "--stop", "--quit"};
        if (std::find(kWrong.begin(), kWrong.end(), next) != kWrong.end()) {
            report
                .add("SH003", command.mark,
                     "'nvidia-cuda-mps-control " + next + "': it has no such argument")
                .expected("-d starts the daemon; requests go to its standard input")
                .fix(contains(next, "q") || contains(next, "stop")
                         ? "echo quit | nvidia-cuda-mps-control"
                         : "echo get_server_list | nvidia-cuda-mps-control");
        }
    }
}

namespace {

/// POD006 by command: kubectl set env deployment/x NVIDIA_VISIBLE_DEVICES=all.
void check_set_env(const Command& command, Report& report) {
    if (!is_kubectl(command, "set") || !contains(command.text, " env ")) return;
    for (const std::string_view own :
         {"device-plugin", "dcgm", "gpu-operator", "gpu-feature", "toolkit", "validator"}) {
        if (contains(command.text, own)) return;
    }
    constexpr std::string_view kName = "NVIDIA_VISIBLE_DEVICES=";
    for (const Word& word : command.words) {
        if (!word.text.starts_with(kName)) continue;
        const std::string_view value = std::string_view(word.text).substr(kName.size());
        if (value.empty() || value == "none" || value == "void" || is_placeholder(value)) continue;
        report.add("POD006", word.mark,
                   "NVIDIA_VISIBLE_DEVICES is set to '" + std::string(value) +
                       "': the container sees GPUs that were not given to it");
    }
}

}  // namespace

namespace {

/// SH009, each kind once in a file: whoever fixes one looks for the others.
class Repeatable {
public:
    explicit Repeatable(Report& report) : report_(report) {}

    void look(const Command& command) {
        const bool from_file =
            command.flag("-f") != nullptr || command.flag("--filename") != nullptr;
        if (!created_ && is_kubectl(command, "create") && from_file &&
            !contains(command.text, "--dry-run") && !contains(command.text, "generateName")) {
            created_ = true;
            report_
                .add("SH009", command.mark, "kubectl create fails when the object is there already")
                .fix("kubectl apply -f ...");
        }
        if (!labelled_ && is_kubectl(command, "label") && command.flag("--overwrite") == nullptr &&
            contains(command.text, "=")) {
            labelled_ = true;
            report_
                .add("SH009", command.mark, "kubectl label fails when the label has another value")
                .fix(command.text + " --overwrite");
        }
    }

private:
    Report& report_;
    bool created_ = false;
    bool labelled_ = false;
};

}  // namespace

void check_shell(const File& file, const Set& set, const Facts* /*facts*/, Report& report) {
    const bool warns = warns_of_commands(file);
    const bool gpus = about_gpus(file);
    Repeatable repeatable(report);
    for (const auto& command : file.commands) {
        if (command.words.empty()) {
            continue;
        }
        const bool in_prose = command.block < 0;  // inline code: often the subject of a warning
        check_sources(file, command, report);
        if (in_prose) {
            if (!is_negated(file.line(command.mark.line))) {
                check_nvidia_tools(command, report);
                check_node_queries(file, command, report);
                check_set_env(command, report);
            }
            continue;
        }
        if (warns && is_warned_of(file, command)) continue;
        check_kubectl_run(file, command, report);
        check_nvidia_tools(command, report);
        check_node_queries(file, command, report);
        check_patch(file, command, report);
        check_toolkit(file, command, report);
        check_set_env(command, report);
        if (command.shown) continue;
        if (gpus) repeatable.look(command);
        check_restart(file, set, command, report);
        check_measurements(file, command, report);
    }
    check_fence_words(file, report);
    check_names(file, set, report);
}

}  // namespace aliquot::lint
