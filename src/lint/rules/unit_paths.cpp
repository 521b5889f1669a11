// SPDX-License-Identifier: Apache-2.0
// Directories that a service of systemd is kept from: SVC009 (models and caches), SVC010 (the pipe of MPS).
#include <algorithm>
#include <array>

#include "base/text.h"
#include "lint/report.h"
#include "lint/rules/unit.h"

namespace aliquot::lint {
namespace {

/// Variables that name a directory which the program writes to.
constexpr std::array<std::string_view, 11> kCaches{
    "HF_HOME",         "HF_HUB_CACHE",    "TRANSFORMERS_CACHE",     "TORCH_HOME",
    "OLLAMA_MODELS",   "CUDA_CACHE_PATH", "TRITON_CACHE_DIR",       "XDG_CACHE_HOME",
    "VLLM_CACHE_ROOT", "NUMBA_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"};

bool is_below(std::string_view path, std::string_view directory) {
    if (!path.starts_with(directory)) return false;
    return path.size() == directory.size() || directory.ends_with('/') ||
           path[directory.size()] == '/';
}

/// Whether a line lets the service write there, whatever ProtectSystem= and ProtectHome= say.
bool is_given(const Unit& unit, std::string_view path) {
    for (const std::string_view key : {"ReadWritePaths", "BindPaths", "ReadWriteDirectories"}) {
        for (const std::string& word : unit.words("Service", key)) {
            std::string_view one = word;
            while (!one.empty() && (one.front() == '-' || one.front() == '+')) one.remove_prefix(1);
            if (key == "BindPaths" && one.find(':') != std::string_view::npos) {
                one = one.substr(one.find(':') + 1);
                one = one.substr(0, one.find(':'));
            }
            if (is_below(path, one)) return true;
        }
    }
    struct Kept {
        std::string_view key;
        std::string_view root;
    };
    constexpr std::array<Kept, 5> kKept{{{"StateDirectory", "/var/lib/"},
                                         {"CacheDirectory", "/var/cache/"},
                                         {"LogsDirectory", "/var/log/"},
                                         {"RuntimeDirectory", "/run/"},
                                         {"ConfigurationDirectory", "/etc/"}}};
    for (const Kept& one : kKept) {
        for (const std::string& word : unit.words("Service", one.key)) {
            const std::string path_of = std::string(one.root) + word.substr(0, word.find(':'));
            if (is_below(path, path_of)) return true;
        }
    }
    return false;
}

bool is_home(std::string_view path) {
    return is_below(path, "/home") || is_below(path, "/root") || is_below(path, "/run/user");
}

/// What keeps the service from writing to the path; nullptr: nothing that we know.
const UnitLine* bar_of(const Unit& unit, std::string_view path) {
    const UnitLine* home = unit.setting("ProtectHome");
    if (home != nullptr && is_home(path)) {
        const std::string value = lower(home->value);
        const bool on = unit.switched_on("ProtectHome") != nullptr;
        if (on || value == "tmpfs" || value == "read-only") return home;
    }
    const UnitLine* system = unit.setting("ProtectSystem");
    if (system == nullptr || lower(system->value) != "strict") return nullptr;
    const bool free = is_below(path, "/dev") || is_below(path, "/proc") || is_below(path, "/sys");
    const bool own_tmp = unit.switched_on("PrivateTmp") != nullptr &&
                         (is_below(path, "/tmp") || is_below(path, "/var/tmp"));
    return free || own_tmp ? nullptr : system;
}

void check_caches(const Unit& unit, Report& report) {
    const auto variables = unit.variables();
    const bool offline =
        std::any_of(variables.begin(), variables.end(), [](const UnitVariable& one) {
            return one.name == "HF_HUB_OFFLINE" && !one.value.empty() && one.value != "0";
        });
    if (offline) return;  // it reads what is there
    for (const UnitVariable& one : variables) {
        if (std::find(kCaches.begin(), kCaches.end(), one.name) == kCaches.end()) continue;
        if (!one.value.starts_with('/') || one.value.find_first_of("%${") != std::string::npos) {
            continue;
        }
        const UnitLine* bar = bar_of(unit, one.value);
        if (bar == nullptr || is_given(unit, one.value)) continue;
        const bool home = bar->key == "ProtectHome";
        auto entry = report.add("SVC009", unit.mark(*one.line),
                                one.name + " is " + one.value + ", where " + bar->key + '=' +
                                    bar->value + " lets the service write nothing");
        entry.expected(home ? "a directory below /var/lib with StateDirectory="
                            : "ReadWritePaths=" + one.value + ", or a StateDirectory=");
        if (!home) entry.fix("ReadWritePaths=" + one.value);
    }
}

/// The daemon of MPS and its clients meet in a directory, which must not be a private one.
void check_pipe(const Unit& unit, Report& report) {
    const UnitLine* private_tmp = unit.switched_on("PrivateTmp");
    if (private_tmp == nullptr) return;
    const auto words = program_of(*unit.setting("ExecStart"));
    const bool daemon = !words.empty() && base_name(words.front()).starts_with("nvidia-cuda-mps-");
    std::string directory = daemon ? "/tmp/nvidia-mps" : "";
    for (const UnitVariable& one : unit.variables()) {
        if (one.name == "CUDA_MPS_PIPE_DIRECTORY") directory = one.value;
    }
    if (!is_below(directory, "/tmp") && !is_below(directory, "/var/tmp")) return;
    if (is_given(unit, directory)) return;
    report
        .add("SVC010", unit.mark(*private_tmp),
             "PrivateTmp=" + private_tmp->value + " hides " + directory +
                 ", where MPS and its clients meet")
        .expected("PrivateTmp=no, or CUDA_MPS_PIPE_DIRECTORY below /run");
}

}  // namespace

void check_unit_paths(const Unit& unit, Report& report) {
    check_caches(unit, report);
    check_pipe(unit, report);
}

}  // namespace aliquot::lint
