// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "lint/rules/shell.h"
#include "lint/words.h"

/// SH005, SH006, SH008, SH011, SH012: whether a command shows what it is meant to show.
namespace aliquot::lint {

using findings::Severity;

namespace {

bool is_node_kind(std::string_view word) {
    return word == "node" || word == "nodes" || word == "no" || word.starts_with("node/") ||
           word.starts_with("nodes/");
}

/// "status.capacity", but not that of pods or cpu alone.
bool shows_gpu_capacity(std::string_view text) {
    constexpr std::string_view kPath = "status.capacity";
    const auto at = text.find(kPath);
    if (at == std::string_view::npos) return false;
    const auto key = text.substr(at + kPath.size());
    const auto word = key.substr(0, key.find_first_of(" ,}\n|"));
    if (word.find('/') != std::string_view::npos && !contains(word, "gpu") &&
        !contains(word, "nvidia") && !contains(word, "mig-")) {
        return false;  // a device of another kind
    }
    return !key.starts_with(".pods") && !key.starts_with(".cpu") && !key.starts_with(".memory") &&
           !key.starts_with(".ephemeral") && !key.starts_with(".storage");
}

/// The kind that a kubectl command is about: the second positional.
std::string kind_of(const Command& command) {
    const auto words = command.positionals();
    return words.size() > 1 ? words[1]->text : std::string{};
}

}  // namespace

void check_node_queries(const File& file, const Command& command, Report& report) {
    if (is_kubectl(command, "get") && is_node_kind(kind_of(command))) {
        const auto text = pipeline_text(file, command);
        const bool first_only = text.find("items[0]") != std::string::npos ||
                                text.find("items.[0]") != std::string::npos;
        const bool shows_resources = text.find("capacity") != std::string::npos ||
                                     text.find("allocatable") != std::string::npos;
        // Who selects the GPU nodes knows how many there are.
        const bool selected =
            command.flag("-l") != nullptr || command.flag("--selector") != nullptr;
        if (first_only && shows_resources && !selected) {
            report.add("SH005", command.mark, "items[0] shows the first node only")
                .fix(
                    "kubectl get nodes -o custom-columns='NODE:.metadata.name,"
                    "GPUS:.status.allocatable.nvidia\\.com/gpu'");
        } else if (shows_gpu_capacity(text) && text.find("llocatable") == std::string::npos) {
            report.add("SH005", command.mark, "status.capacity counts GPUs that are unhealthy, too")
                .expected("status.allocatable");
        }
        return;
    }
    if (is_kubectl(command, "describe")) {
        const auto kind = kind_of(command);
        const auto text = pipeline_text(file, command);
        if (is_node_kind(kind) && text.find("Capacity") != std::string::npos &&
            text.find("llocat") == std::string::npos && contains(text, "grep")) {
            report.add("SH005", command.mark, "Capacity counts GPUs that are unhealthy, too")
                .expected("Allocatable");
            return;
        }
        const auto path = lower(file.heading_path(command.heading));
        if ((kind == "job" || kind == "jobs" || kind.starts_with("job/")) &&
            (contains(path, "pending") || contains(command.comment, "pending"))) {
            report
                .add("SH006", command.mark,
                     "a Job does not say why its pods are pending: the scheduler writes to the pod")
                .fix("kubectl describe pod -l job-name=<job>");
            return;
        }
        if (command.piped_to >= 0 && contains(text, "grep")) {
            report.add("SH006", command.mark, "the output of describe has no fixed form")
                .fix("kubectl get ... -o jsonpath=... or -o custom-columns=...");
        }
        return;
    }
    if (is_kubectl(command, "get") && command.piped_to >= 0 &&
        (kind_of(command) == "pods" || kind_of(command) == "pod" || kind_of(command) == "po")) {
        const auto text = pipeline_text(file, command);
        if (contains(text, "grep nvidia") && command.flag("-A") == nullptr &&
            command.flag("--all-namespaces") == nullptr) {
            report
                .add("SH006", command.mark,
                     "the pods may be in another namespace: gpu-operator, kube-system, ...")
                .fix("kubectl get pods -A | grep nvidia");
        }
    }
}

namespace {

/// `nvidia-smi  # Check the CUDA version`, where versions do not match.
void check_version_display(const File& file, const Command& command, Report& report) {
    if (!command.is("nvidia-smi") || !contains(command.comment, "cuda version") ||
        contains(command.comment, "max") || contains(command.comment, "support") ||
        contains(command.comment, "driver") || contains(command.comment, "highest")) {
        return;
    }
    const auto path = lower(file.heading_path(command.heading));
    report
        .add("SH011", command.mark,
             "nvidia-smi shows the newest CUDA version that the driver runs, not the one that is "
             "installed")
        .severity(contains(path, "mismatch") ? Severity::kWarning : Severity::kInfo);
}

}  // namespace

void check_measurements(const File& file, const Command& command, Report& report) {
    check_version_display(file, command, report);
    const std::string_view text = command.text;
    if (text.find("cudnn.version") != std::string_view::npos ||
        text.find("nccl.version") != std::string_view::npos) {
        return;  // a list of what is installed
    }
    if (text.find("torch.version.cuda") != std::string_view::npos &&
        text.find("is_available") == std::string_view::npos &&
        text.find("device_count") == std::string_view::npos &&
        text.find("get_device") == std::string_view::npos) {
        report
            .add(
                "SH011", command.mark,
                "torch.version.cuda is what PyTorch was built with; it is there without a GPU, too")
            .fix(
                "python -c \"import torch; print(torch.cuda.is_available(), "
                "torch.cuda.device_count())\"")
            .severity(runs_in_container(command) ? Severity::kWarning : Severity::kInfo);
        return;
    }
    if (command.program.starts_with("python") &&
        (text.find("cuda.memory_summary(") != std::string_view::npos ||
         text.find("cuda.memory_allocated(") != std::string_view::npos) &&
        text.find(" -c ") != std::string_view::npos &&
        text.find("randn") == std::string_view::npos &&
        text.find(".cuda()") == std::string_view::npos) {
        report
            .add("SH011", command.mark,
                 "PyTorch shows the memory of its own process, and this one has just begun: 0")
            .fix("nvidia-smi --query-compute-apps=pid,used_memory --format=csv");
        return;
    }
    if (text.find("nvcc") != std::string_view::npos &&
        (text.find("nvcc --version") != std::string_view::npos ||
         text.find("nvcc -V") != std::string_view::npos) &&
        (is_kubectl(command, "exec") || command.is("nvcc"))) {
        const auto path = lower(file.heading_path(command.heading));
        const bool about_driver = contains(path, "mismatch") || contains(path, "driver") ||
                                  contains(path, "troubleshoot") || contains(path, "test");
        if (is_kubectl(command, "exec") || about_driver) {
            report
                .add("SH011", command.mark,
                     "nvcc tells the version of the compiler, not of the library that runs, and is "
                     "in devel images only")
                .severity(is_kubectl(command, "exec") ? Severity::kWarning : Severity::kInfo)
                .fix(
                    "python -c \"import torch; print(torch.version.cuda, "
                    "torch.cuda.is_available())\"");
        }
    }
}

namespace {

constexpr std::array<std::string_view, 23> kManifestKeys{
    "mig-configs",  "apiVersion", "kind",         "metadata",    "spec",     "resources",
    "limits",       "requests",   "nodeSelector", "tolerations", "affinity", "containers",
    "env",          "volumes",    "volumeMounts", "sharing",     "template", "data",
    "devicePlugin", "driver",     "toolkit",      "mig",         "selector"};

constexpr std::array<std::string_view, 9> kCommands{"kubectl ",  "helm ",      "sudo ",
                                                    "docker ",   "apt-get ",   "nvidia-smi ",
                                                    "microk8s ", "$ kubectl ", "$ helm "};

std::string_view line_of(std::string_view text, std::size_t begin) {
    return text.substr(begin, text.find('\n', begin) - begin);
}

/// "resources:" at the left edge with an indented line below: no command looks like that.
bool is_manifest_line(std::string_view line, std::string_view next) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !trim(line.substr(colon + 1)).empty() ||
        std::find(kManifestKeys.begin(), kManifestKeys.end(), line.substr(0, colon)) ==
            kManifestKeys.end()) {
        return false;
    }
    const auto inner = trim(next);
    return (next.starts_with("  ") || next.starts_with("- ")) &&
           inner.find(':') != std::string_view::npos;
}

/// A command before it may have printed it.
bool may_print(std::string_view line) {
    constexpr std::array<std::string_view, 17> kWords{
        "cat ", "-o yaml", "-oyaml", "describe", " show", "values", "template", " edit", "yq",
        "diff", "echo",    "printf", "<<",       "$ ",    "vim ",   "vi ",      "nano "};
    return std::any_of(kWords.begin(), kWords.end(), [line](std::string_view word) {
        return line.find(word) != std::string_view::npos;
    });
}

bool is_key_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '/' || c == '"' || c == '\'';
}

/// Nothing but keys, items and comments, with a key that holds others: values of a chart. What
/// `describe` and `show` print begins with a capital.
bool is_all_manifest(std::string_view text) {
    unsigned keys = 0;
    bool nested = false;
    bool opened = false;
    for (std::size_t begin = 0; begin < text.size();) {
        const auto line = line_of(text, begin);
        begin += line.size() + 1;
        auto words = trim(line);
        if (words.empty() || words.front() == '#') continue;
        const bool deeper = line.front() == ' ' || line.front() == '-';
        while (words.starts_with("- ")) words = trim(words.substr(2));
        std::size_t end = 0;
        while (end < words.size() && is_key_byte(words[end])) ++end;
        const bool key = end > 0 && end < words.size() && words[end] == ':' &&
                         (end + 1 == words.size() || words[end + 1] == ' ');
        if (!key && !(deeper && trim(line).starts_with("- "))) return false;
        if (keys == 0 && (words.front() < 'a' || words.front() > 'z')) return false;
        nested = nested || (opened && deeper);
        opened = key && end + 1 == words.size();
        keys += key ? 1 : 0;
    }
    return keys >= 2 && nested;
}

/// "import torch", "from torch import nn" at the left edge: no command begins so.
bool is_python_line(std::string_view line) {
    const auto is_module = [](std::string_view word) {
        return !word.empty() && word.find_first_not_of(
                                    "abcdefghijklmnopqrstuvwxyz"
                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789_.") == std::string_view::npos;
    };
    if (line.starts_with("with torch.")) return line.ends_with(":");
    if (line.starts_with("from ")) {
        const auto at = line.find(" import ");
        return at != std::string_view::npos && is_module(line.substr(5, at - 5));
    }
    if (!line.starts_with("import ")) return false;
    const auto words = line.substr(7);
    return is_module(words.substr(0, words.find(" as ")));
}

/// `[Unit]`, `[plugins."io.containerd.grpc.v1.cri"]`.
bool is_settings_head(std::string_view line) {
    if (line.size() < 3 || line.front() != '[' || line.back() != ']') return false;
    const auto name = line.substr(1, line.size() - 2);
    return name.find_first_of(",: '$[]") == std::string_view::npos && name.front() != '"';
}

/// `[Unit]` with `Key=value` below it.
bool is_settings_text(std::string_view text) {
    std::size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
    if (!is_settings_head(trim(line_of(text, begin)))) return false;
    while (begin < text.size() && is_settings_head(trim(line_of(text, begin)))) {
        begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
    }
    const auto next = trim(line_of(text, begin));
    const auto name = trim(next.substr(0, next.find('=')));
    return name.size() < next.size() && !name.empty() &&
           name.find_first_of(": \"[$") == std::string_view::npos;
}

void report_settings(const Block& block, Report& report) {
    report
        .add("SH008", block.place(block.text.find('[')),
             "settings of another form in a block that is marked as " + block.word)
        .expected("a block of its own, marked as ini or toml");
}

/// A query of Prometheus and nothing else.
bool check_query_fence(const Block& block, Report& report) {
    if (block.text.find("DCGM_FI_") == std::string::npos ||
        syntax::sniff(block.text) != Language::kPromql) {
        return false;
    }
    report
        .add("SH008", block.place(block.text.find("DCGM_FI_")),
             "PromQL in a block that is marked as " + block.word)
        .severity(Severity::kInfo)  // often meant for the browser
        .expected("a block of its own, marked as promql");
    return true;
}

void check_shell_fence(const Block& block, Report& report) {
    const std::string_view text = block.text;
    if (check_query_fence(block, report)) return;
    if (is_settings_text(text)) return report_settings(block, report);
    if (is_all_manifest(text)) {
        std::size_t first = text.find_first_not_of(" \n");
        while (first != std::string_view::npos && text[first] == '#') {
            const auto end = text.find('\n', first);
            first = end == std::string_view::npos ? end : text.find_first_not_of(" \n", end);
        }
        report
            .add("SH008", block.place(first == std::string_view::npos ? 0 : first),
                 "YAML in a block that is marked as " + block.word)
            .expected("a block of its own, marked as yaml");
        return;
    }
    for (std::size_t begin = 0; begin < text.size();) {
        const auto line = line_of(text, begin);
        const auto next_begin = begin + line.size() + 1;
        const auto next = next_begin < text.size() ? line_of(text, next_begin) : std::string_view{};
        const auto quote = line.empty() ? ' ' : line.back();
        const bool opens =
            (quote == '\'' || quote == '"') && std::count(line.begin(), line.end(), quote) % 2 == 1;
        if (may_print(line) || opens) return;
        if (is_python_line(line)) {
            report
                .add("SH008", block.place(begin),
                     "Python in a block that is marked as " + block.word)
                .expected("a block of its own, marked as python");
            return;
        }
        if (is_manifest_line(line, next) ||
            (line.starts_with("apiVersion: ") && next.starts_with("kind: "))) {
            report
                .add("SH008", block.place(begin), "YAML in a block that is marked as " + block.word)
                .expected("a block of its own, marked as yaml");
            return;
        }
        begin = next_begin;
    }
}

void check_yaml_fence(const Block& block, Report& report) {
    const std::string_view text = block.text;
    if (check_query_fence(block, report)) return;
    if (is_settings_text(text)) return report_settings(block, report);
    for (std::size_t begin = 0; begin < text.size();) {
        const auto line = line_of(text, begin);
        const auto inner = trim(line);
        if (inner.empty() || inner.starts_with("#")) {
            begin += line.size() + 1;
            continue;
        }
        const bool is_command =
            std::any_of(kCommands.begin(), kCommands.end(),
                        [line](std::string_view word) { return line.starts_with(word); }) &&
            !line.ends_with(":") && line.find(": ") == std::string_view::npos;
        if (is_command) {
            report
                .add("SH008", block.place(begin),
                     "a command in a block that is marked as " + block.word)
                .expected("a block of its own, marked as bash");
        }
        return;
    }
}

}  // namespace

void check_fence_words(const File& file, Report& report) {
    for (const auto& block : file.blocks) {
        if (block.setting != Setting::kFence) {
            continue;
        }
        const auto& word = block.word;
        if (word == "bash" || word == "sh" || word == "shell" || word == "zsh") {
            check_shell_fence(block, report);
        } else if (word == "yaml" || word == "yml") {
            check_yaml_fence(block, report);
        }
    }
}

}  // namespace aliquot::lint
