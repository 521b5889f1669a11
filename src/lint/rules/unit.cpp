// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/unit.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "lint/families.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// They talk to the driver through NVML alone.
constexpr std::array<std::string_view, 9> kTools{
    "nvidia-persistenced", "nv-hostengine",    "nvidia-smi",    "dcgm-exporter", "dcgmi",
    "nvidia_gpu_exporter", "nv-fabricmanager", "aliquot-agent", "nvidia-powerd"};
/// They can do nothing without a GPU.
constexpr std::array<std::string_view, 9> kComputing{
    "vllm",    "text-generation-launcher", "trtllm-serve",           "trtexec", "lmdeploy",
    "gpuburn", "nvidia-cuda-mps-control",  "nvidia-cuda-mps-server", "tabbyapi"};
/// Modules and scripts of the same kind, among the words of Python.
constexpr std::array<std::string_view, 3> kComputingModules{"vllm.", "sglang.", "tensorrt_llm."};
constexpr std::array<std::string_view, 10> kMaybeComputing{
    "ollama",    "llama-server", "llama-cli",      "tritonserver",           "torchrun",
    "koboldcpp", "local-ai",     "whisper-server", "text-embeddings-router", "accelerate"};
/// What they start gets its devices from another program.
constexpr std::array<std::string_view, 8> kElsewhere{
    "docker", "podman", "nerdctl", "docker-compose", "kubectl", "ssh", "crictl", "machinectl"};

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& known) {
    return std::find(known.begin(), known.end(), word) != known.end();
}

/// "-ngl 0" asks for none.
bool is_positive(std::string_view text) {
    const auto number = parse_number<long>(text);
    return !number || *number > 0;
}

/// A word of a command that asks for a GPU, with the word behind it.
bool asks_for_gpu(std::string_view word, std::string_view next) {
    constexpr std::array<std::string_view, 4> kCounts{"-ngl", "--n-gpu-layers", "--gpu-layers",
                                                      "--gpus"};
    if (is_one_of(word, kCounts)) return is_positive(next);
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos && is_one_of(word.substr(0, equals), kCounts)) {
        return is_positive(word.substr(equals + 1));
    }
    if (word == "--device" || word == "--accelerator") {
        return next.starts_with("cuda") || next == "gpu";
    }
    return word.starts_with("--device=cuda") || word.starts_with("--gpu-memory-utilization") ||
           word.starts_with("--tensor-parallel-size") || word.starts_with("device=cuda");
}

GpuUse use_of(const std::vector<std::string>& words) {
    if (words.empty()) return GpuUse::kNone;
    const std::string_view program = base_name(words.front());
    if (is_one_of(program, kElsewhere)) return GpuUse::kNone;
    if (is_one_of(program, kTools)) return GpuUse::kTool;
    GpuUse use = GpuUse::kNone;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const std::string_view next = i + 1 < words.size() ? words[i + 1] : std::string_view();
        const bool module = std::any_of(kComputingModules.begin(), kComputingModules.end(),
                                        [word](auto one) { return word.starts_with(one); });
        const bool named = i < 2 && is_one_of(base_name(word), kComputing);
        if (named || module || asks_for_gpu(word, next)) return GpuUse::kCompute;
        if (i < 2 && is_one_of(base_name(word), kMaybeComputing)) use = GpuUse::kMaybe;
    }
    return use;
}

/// Each of `marks` as a word of its own.
std::string spaced(std::string_view text, std::string_view marks) {
    std::string result;
    for (const char one : text) {
        const bool mark = marks.find(one) != std::string_view::npos;
        result += mark ? std::string{' ', one, ' '} : std::string{one};
    }
    return result;
}

/// The commands of `sh -c "sleep 5 && nvidia-smi -pm 1"`, each as its words; empty: no shell starts.
std::vector<std::vector<std::string>> shell_commands(const std::vector<std::string>& words) {
    constexpr std::array<std::string_view, 4> kShells{"sh", "bash", "dash", "zsh"};
    std::vector<std::vector<std::string>> commands;
    if (words.empty() || !is_one_of(base_name(words.front()), kShells)) return commands;
    const auto flag = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
        return word.starts_with('-') && word.ends_with('c');
    });
    if (flag == words.end() || flag + 1 == words.end()) return commands;
    constexpr std::string_view kEnds = "&|;\n";
    const std::string script = spaced(*(flag + 1), kEnds);
    std::vector<std::string> command;
    for (const std::string_view word : split(script, ' ')) {
        if (kEnds.find(word) != std::string_view::npos) {  // empty words, too
            if (!word.empty()) commands.push_back(std::exchange(command, {}));
        } else if (word != "exec") {
            command.emplace_back(word);
        }
    }
    commands.push_back(std::move(command));
    return commands;
}

GpuUse use_of(const UnitLine& line) {
    const std::vector<std::string> words = program_of(line);
    GpuUse use = use_of(words);
    for (const auto& command : shell_commands(words)) use = std::max(use, use_of(command));
    return use;
}

/// "0,1", "GPU-...": it is told which.
bool names_gpus(const UnitVariable& one) {
    const bool which = one.name == "CUDA_VISIBLE_DEVICES" || one.name == "NVIDIA_VISIBLE_DEVICES";
    if (!which) return one.name == "PYTORCH_CUDA_ALLOC_CONF" || one.name == "CUDA_CACHE_PATH";
    return !one.value.empty() && one.value.front() != '-' && one.value != "none" &&
           one.value != "void";
}

GpuUse use_of(const Unit& unit) {
    GpuUse use = GpuUse::kNone;
    bool elsewhere = false;
    for (const UnitLine* line : unit.all("Service", "ExecStart")) {
        use = std::max(use, use_of(*line));
        const auto words = program_of(*line);
        elsewhere = elsewhere || (!words.empty() && is_one_of(base_name(words[0]), kElsewhere));
    }
    if (elsewhere || use == GpuUse::kTool || use == GpuUse::kCompute) return use;
    const auto variables = unit.variables();
    if (std::any_of(variables.begin(), variables.end(), names_gpus)) return GpuUse::kCompute;
    const auto devices = unit.words("Service", "DeviceAllow");
    const bool allowed = std::any_of(devices.begin(), devices.end(), [](const std::string& one) {
        return one.starts_with("/dev/nvidia") || one.starts_with("char-nvidia");
    });
    return allowed ? std::max(use, GpuUse::kMaybe) : use;
}

bool is_yes(std::string_view value) {
    const std::string word = lower(value);
    return word == "yes" || word == "true" || word == "on" || word == "1";
}

/// A unit in a file or a block. Excerpts of a few lines are no services: see is_service().
void check_block(const Block& block, Report& report) {
    if (!syntax::looks_like_unit(block.text)) return;
    const Unit unit(block);
    if (!unit.is_service() || unit.gpu_use() == GpuUse::kNone) return;
    check_unit_devices(unit, report);
    check_unit_start(unit, report);
    // A shell may have put values in where `$NAME` stands in its heredoc.
    check_unit_environment(unit, block.setting != Setting::kHeredoc, report);
    check_unit_paths(unit, report);
}

}  // namespace

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string> program_of(const UnitLine& line) {
    std::string_view value = line.value;
    while (!value.empty() && std::string_view("-@:+!|").find(value.front()) != std::string::npos) {
        value.remove_prefix(1);
    }
    std::vector<std::string> words = syntax::unit_words(value);
    // `env NAME=VALUE program`
    if (!words.empty() && base_name(words.front()) == "env") {
        std::size_t program = 1;
        while (program < words.size() &&
               (words[program].find('=') != std::string::npos || words[program].starts_with('-'))) {
            ++program;
        }
        words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(program));
    }
    return words;
}

Unit::Unit(const Block& block) : block_(block), lines_(syntax::read_unit(block.text)) {
    use_ = use_of(*this);
}

bool Unit::is_service() const { return setting("ExecStart") != nullptr; }

std::vector<const UnitLine*> Unit::all(std::string_view section, std::string_view key) const {
    std::vector<const UnitLine*> found;
    for (const UnitLine& line : lines_) {
        if (line.section != section || line.key != key) continue;
        if (line.value.empty()) {
            found.clear();
        } else {
            found.push_back(&line);
        }
    }
    return found;
}

const UnitLine* Unit::setting(std::string_view key) const {
    const auto found = all("Service", key);
    return found.empty() ? nullptr : found.back();
}

const UnitLine* Unit::switched_on(std::string_view key) const {
    const UnitLine* line = setting(key);
    return line != nullptr && is_yes(line->value) ? line : nullptr;
}

std::vector<std::string> Unit::words(std::string_view section, std::string_view key) const {
    std::vector<std::string> words;
    for (const UnitLine* line : all(section, key)) {
        for (std::string& word : syntax::unit_words(line->value)) words.push_back(std::move(word));
    }
    return words;
}

std::vector<UnitVariable> Unit::variables() const {
    std::vector<UnitVariable> variables;
    for (const UnitLine* line : all("Service", "Environment")) {
        for (const std::string& word : syntax::unit_words(line->value)) {
            const std::size_t equals = word.find('=');
            if (equals == std::string::npos || equals == 0) continue;
            const std::string name = word.substr(0, equals);
            const auto known =
                std::find_if(variables.begin(), variables.end(),
                             [&name](const UnitVariable& one) { return one.name == name; });
            if (known != variables.end()) variables.erase(known);
            variables.push_back({name, word.substr(equals + 1), line});
        }
    }
    return variables;
}

void check_units(const File& file, const Set&, const Facts*, Report& report) {
    if (!file.mentions("execstart")) return;
    for (const Block& block : file.blocks) check_block(block, report);
}

}  // namespace aliquot::lint
