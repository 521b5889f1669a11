// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "lint/rules/evidence.h"
#include "lint/rules/shell.h"
#include "lint/words.h"

/// SH004, SH007, SH010: where things are fetched from, and whether a configuration takes effect.
namespace aliquot::lint {

using findings::Severity;

namespace {

struct Moved {
    std::string_view part;
    std::string_view what;
    std::string_view now;
};
constexpr std::array<Moved, 10> kMoved{{
    {"nvidia.github.io/nvidia-docker", "the repository of nvidia-docker is closed",
     "https://nvidia.github.io/libnvidia-container/stable/deb/nvidia-container-toolkit.list"},
    {"nvidia.github.io/nvidia-container-runtime",
     "the repository of nvidia-container-runtime is closed",
     "https://nvidia.github.io/libnvidia-container/stable/deb/nvidia-container-toolkit.list"},
    {"nvidia.github.io/gpu-monitoring-tools", "the chart moved with its project",
     "https://nvidia.github.io/dcgm-exporter/helm-charts"},
    {"NVIDIA/gpu-monitoring-tools", "the project moved to NVIDIA/dcgm-exporter",
     "https://github.com/NVIDIA/dcgm-exporter"},
    {"kubernetes-charts.storage.googleapis.com", "the repository of stable charts is closed",
     "the repository of the chart's own project"},
    {"apt.kubernetes.io", "the repository of Kubernetes packages is closed",
     "https://pkgs.k8s.io/core:/stable:/v1.34/deb/"},
    {"yum.kubernetes.io", "the repository of Kubernetes packages is closed",
     "https://pkgs.k8s.io/core:/stable:/v1.34/rpm/"},
    {"packages.cloud.google.com/yum/repos/kubernetes",
     "the repository of Kubernetes packages is closed",
     "https://pkgs.k8s.io/core:/stable:/v1.34/rpm/"},
    {"repos/ubuntu1804/x86_64/7fa2af80.pub", "NVIDIA changed the key of its packages in April 2022",
     "the package cuda-keyring"},
    {"x86_64/7fa2af80.pub", "NVIDIA changed the key of its packages in April 2022",
     "the package cuda-keyring"},
}};

/// libnvidia-container/<distribution>/...: the layout before 2023.
bool is_old_layout(std::string_view word) {
    constexpr std::string_view kHost = "nvidia.github.io/libnvidia-container/";
    const auto at = word.find(kHost);
    if (at == std::string_view::npos) {
        return false;
    }
    const auto rest = word.substr(at + kHost.size());
    return !rest.empty() && !rest.starts_with("stable/") && !rest.starts_with("experimental/") &&
           !rest.starts_with("gpgkey") && !rest.starts_with("stable") &&
           !rest.starts_with("experimental");
}

bool writes_as_root(const File& file, const Command& command) {
    const auto text = pipeline_text(file, command);
    return contains(text, "tee /etc/") || contains(text, "tee /usr/") ||
           contains(text, "tee -a /etc/");
}

bool fails_on_errors(const Command& command) {
    return std::any_of(command.words.begin() + 1, command.words.end(), [](const Word& word) {
        return word.text.starts_with("--fail") ||
               (word.text.size() > 1 && word.text[0] == '-' && word.text[1] != '-' &&
                word.text.find('f') != std::string::npos);
    });
}

/// "owner/repository" of a raw address of a branch; "" when it is none.
std::string moving_source(std::string_view url) {
    constexpr std::string_view kHost = "raw.githubusercontent.com/";
    const auto at = url.find(kHost);
    if (at == std::string_view::npos) {
        return {};
    }
    const auto parts = split(url.substr(at + kHost.size()), '/');
    if (parts.size() < 4) {
        return {};
    }
    const auto branch = parts[2] == "refs" && parts.size() > 5 ? parts[4] : parts[2];
    if (branch != "main" && branch != "master") {
        return {};
    }
    return std::string(parts[0]) + "/" + std::string(parts[1]);
}

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

/// A document about a project may name its own branch.
bool is_own_document(const File& file, std::string_view repository) {
    return count(file.folded, lower(repository)) > 3;
}

void check_moving_source(const File& file, const Command& command, const Word& word,
                         Report& report) {
    const auto repository = moving_source(word.text);
    if (repository.empty() || is_placeholder(repository) || !about_gpus(file)) {
        return;
    }
    const auto folded = lower(repository);
    const bool is_of_gpus = folded.starts_with("nvidia/");
    const bool is_applied = is_kubectl(command, "apply") || is_kubectl(command, "create");
    report
        .add("SH004", word.mark,
             "the address names a branch of " + repository + ", which changes from day to day")
        .expected("a tag in place of the branch")
        .severity(is_of_gpus && is_applied && !is_own_document(file, repository)
                      ? Severity::kWarning
                      : Severity::kInfo);
}

/// A list of package sources that a heredoc writes.
void check_written_sources(const File& file, const Command& command, Report& report) {
    if (command.document < 0) return;
    const Block& block = file.blocks[static_cast<std::size_t>(command.document)];
    for (const auto& moved : kMoved) {
        const auto at = block.text.find(moved.part);
        if (at == std::string::npos) continue;
        const auto begin = block.text.find_last_of(" \n=", at) + 1;  // 0 of npos
        const auto end = std::min(block.text.find_first_of(" \n", at), block.text.size());
        report
            .add("SH004", block.place(begin),
                 "'" + block.text.substr(begin, end - begin) + "': " + std::string(moved.what))
            .fix(std::string(moved.now));
        return;
    }
}

}  // namespace

void check_sources(const File& file, const Command& command, Report& report) {
    check_written_sources(file, command, report);
    if (command.text.find('/') == std::string::npos) {
        return;
    }
    const bool in_prose = command.block < 0;
    for (const auto& word : command.words) {
        if (word.text.size() < 12 || (word.quoted && word.text.find('\n') != std::string::npos)) {
            continue;  // a script in quotes is read by itself
        }
        bool found = false;
        for (const auto& moved : kMoved) {
            if (word.text.find(moved.part) != std::string::npos) {
                report.add("SH004", word.mark, "'" + word.text + "': " + std::string(moved.what))
                    .fix(std::string(moved.now));
                found = true;
                break;
            }
        }
        if (found) {
            continue;
        }
        if (is_old_layout(word.text)) {
            report
                .add("SH004", word.mark,
                     "'" + word.text + "': there is one repository for all distributions now")
                .fix(contains(word.text, ".repo")
                         ? "https://nvidia.github.io/libnvidia-container/stable/rpm/"
                           "nvidia-container-toolkit.repo"
                         : "https://nvidia.github.io/libnvidia-container/stable/deb/"
                           "nvidia-container-toolkit.list");
        } else if (!in_prose) {
            check_moving_source(file, command, word, report);
        }
    }
    if (command.is("curl") && !in_prose && !command.words.empty() && !fails_on_errors(command) &&
        writes_as_root(file, command)) {
        report
            .add("SH004", command.mark,
                 "curl without -f writes the text of an error page into the system's files")
            .severity(Severity::kInfo)
            .fix("curl -fsSL ...");
    }
}

void check_toolkit(const File& file, const Command& command, Report& report) {
    if (!command.is("nvidia-ctk", "runtime") || !contains(command.text, "configure") ||
        contains(command.text, "--dry-run")) {
        return;
    }
    const auto config = command.value("--config");
    if (config && (contains(*config, "template") || config->ends_with(".tmpl"))) {
        const auto* word = command.flag("--config");
        report
            .add("SH007", word != nullptr ? word->mark : command.mark,
                 "'" + *config +
                     "' is a template: placeholders in it are no TOML, and it is "
                     "written over")
            .expected("the file that containerd reads, or a drop-in file beside it");
        return;
    }
    if (config && contains(*config, "/var/lib/rancher/")) {
        const auto* word = command.flag("--config");
        report
            .add("SH007", word != nullptr ? word->mark : command.mark,
                 "'" + *config + "' is written anew at every start of k3s and RKE2")
            .expected(
                "nothing: they find nvidia-container-runtime by themselves and make a runtime "
                "class 'nvidia'");
        return;
    }
    constexpr std::array<std::string_view, 9> kRestarts{
        "restart",         "reboot", "reload",   "microk8s stop", "service docker",
        "systemctl start", "sighup", "stop && ", "pkill"};
    const bool restarts =
        std::any_of(kRestarts.begin(), kRestarts.end(),
                    [&file](std::string_view word) { return file.mentions(word); });
    if (!restarts) {
        const bool is_tested = std::any_of(
            file.commands.begin(), file.commands.end(), [&command](const Command& other) {
                return other.block >= 0 && other.mark.line > command.mark.line &&
                       (other.is("kubectl", "run") || other.is("kubectl", "apply") ||
                        other.is("docker", "run") || other.is("nerdctl", "run"));
            });
        if (!is_tested) {
            return;
        }
        report.add("SH007", command.mark, "nothing here restarts the runtime after its change")
            .fix("sudo systemctl restart " + command.value("--runtime").value_or("docker"));
        return;
    }
    const auto runtime = command.value("--runtime").value_or("docker");
    const bool becomes_default = file.mentions("set-as-default") || file.mentions("runtimeclass") ||
                                 file.mentions("default_runtime_name") ||
                                 file.mentions("default runtime") || file.mentions("cdi") ||
                                 file.mentions("gpu-operator") || file.mentions("gpu operator") ||
                                 file.mentions("default-runtime");
    if ((runtime == "containerd" || runtime == "crio") && !becomes_default &&
        (file.mentions("kubectl run") || file.mentions("kubectl apply") ||
         file.mentions("kubectl create"))) {
        report
            .add("SH007", command.mark,
                 "'nvidia' does not become the default runtime, and no pod here names a "
                 "runtimeClassName")
            .fix(command.text + " --set-as-default");
    }
}

namespace {

constexpr std::array<std::string_view, 13> kWiring{
    "deviceplugin.config", "config.name",   "clusterpolic", "nvidia.com/device-plugin.config",
    "config_file",         "config.map",    "--set config", "config-file",
    "config.default",      "deviceplugin:", "--set-file",   "config:\n      name",
    "volumemounts"};

bool says_wiring(const File& file) {
    return std::any_of(kWiring.begin(), kWiring.end(),
                       [&file](std::string_view word) { return file.mentions(word); });
}

}  // namespace

void check_restart(const File& file, const Set& set, const Command& command, Report& report) {
    if (!is_kubectl(command, "rollout") || !contains(command.text, "restart") ||
        !contains(command.text, "device-plugin")) {
        return;
    }
    const bool has_config =
        (file.mentions("timeslicing") || file.mentions("mps:")) && file.mentions("configmap");
    if (!has_config || says_wiring(file)) {
        return;
    }
    for (const auto* other : set.neighbours(file)) {
        if (other != &file && says_wiring(*other)) {
            return;
        }
    }
    report
        .add("SH010", command.mark,
             "the restart changes nothing: nothing here tells the plugin to read the ConfigMap")
        .fix(
            "kubectl patch clusterpolicies.nvidia.com/cluster-policy --type merge -p "
            "'{\"spec\":{\"devicePlugin\":{\"config\":{\"name\":\"<configmap>\",\"default\":\"<key>"
            "\"}}}}'");
}

}  // namespace aliquot::lint
