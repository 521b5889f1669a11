// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "lint/families.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;
/// Official images of Docker Hub that people copy files out of: `COPY --from=busybox` is right.
constexpr std::array<std::string_view, 30> kOfficialImages{
    "alpine", "busybox",         "bash",    "caddy",   "composer", "debian",
    "docker", "eclipse-temurin", "fedora",  "gcc",     "golang",   "gradle",
    "httpd",  "maven",           "mysql",   "nginx",   "node",     "openjdk",
    "php",    "postgres",        "python",  "redis",   "registry", "ruby",
    "rust",   "rockylinux",      "scratch", "traefik", "ubuntu",   "vault"};

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Names that no stage has are sought and suggested among so many: what a Dockerfile costs grows with its size.
constexpr std::size_t kMostNames = 100;

/// All that belongs to one Dockerfile: a file, or a fence of a runbook.
struct Recipe {
    const File& file;
    const Set& set;
    int block;
    const std::set<std::string_view>& names;  // of all stages of the file
    std::vector<const Instruction*> instructions;
    std::vector<const Stage*> stages;
    std::set<const Stage*> final_stages;  // the last one and those that it is built on
    std::string root_image;               // what the last stage is built on in the end
    std::size_t unknown_sources = 0;      // of --from

    [[nodiscard]] const Stage* last() const { return stages.empty() ? nullptr : stages.back(); }
    [[nodiscard]] std::string_view text() const {
        return block >= 0 && static_cast<std::size_t>(block) < file.blocks.size()
                   ? std::string_view(file.blocks[static_cast<std::size_t>(block)].text)
                   : std::string_view{};
    }
    /// Fills what follows from `stages`.
    void know_stages() {
        const Stage* current = last();
        while (current != nullptr && final_stages.insert(current).second) {
            root_image = current->image;
            const int base = current->base_stage;
            const bool known = base >= 0 && static_cast<std::size_t>(base) < file.stages.size();
            current = known ? &file.stages[static_cast<std::size_t>(base)] : nullptr;
        }
    }
};

/// Whether what the instruction makes is part of the final image.
bool is_in_final_image(const Recipe& recipe, const Instruction& instruction) {
    const auto number = static_cast<std::size_t>(instruction.stage);
    return instruction.stage >= 0 && number < recipe.stages.size() &&
           recipe.final_stages.contains(recipe.stages[number]);
}

/// Names that `docker build --build-context NAME=...`, a bake file or compose may bring in.
bool may_be_a_context(const Recipe& recipe, std::string_view name) {
    const auto says = [name](const File& file) {
        return (file.mentions("build-context") || file.mentions("build_context") ||
                file.mentions("build context") || file.mentions("additional_contexts") ||
                file.mentions("contexts")) &&
               contains(file.text, name);
    };
    if (says(recipe.file)) {
        return true;
    }
    // FROM of a word that is neither a stage nor an image: the build gives names, perhaps others too.
    for (const Stage* stage : recipe.stages) {
        const bool word = stage->base_stage < 0 && !stage->image.empty() &&
                          stage->image.find_first_of("/:@$.") == std::string::npos;
        if (word && std::find(kOfficialImages.begin(), kOfficialImages.end(), stage->image) ==
                        kOfficialImages.end()) {
            return true;
        }
    }
    const auto near = recipe.set.neighbours(recipe.file);
    return std::any_of(near.begin(), near.end(), [&says, &recipe](const File* other) {
        return other != &recipe.file && says(*other);
    });
}

/// `COPY --from=NAME ./ /`: the source of a stage is written from its root as a rule, that of a
/// context which the build is given from where it begins.
bool is_path_of_a_context(std::string_view path) {
    return !path.empty() && path != "..." && path.front() != '/' && path.front() != '$' &&
           path.front() != '[';
}

/// What COPY takes: its first word that is no flag.
std::string_view copied_path(const Instruction& instruction) {
    for (const Word& word : instruction.words) {
        if (!word.text.starts_with("--")) return word.text;
    }
    return {};
}

/// What a mount takes: `source=` of its parts.
std::string_view mounted_path(const std::vector<std::string_view>& parts) {
    for (const std::string_view part : parts) {
        for (const std::string_view key : {"source=", "src="}) {
            if (part.starts_with(key)) return part.substr(key.size());
        }
    }
    return {};
}

/// `path`: what is taken from it.
void check_source_stage(Recipe& recipe, const Instruction& instruction, const std::string& source,
                        std::string_view path, Report& report) {
    if (source.empty() || recipe.stages.empty() || is_placeholder(source) ||
        source.find_first_of("/:.$@{") != std::string::npos) {
        return;
    }
    const auto name = lower(source);
    if (is_number(name)) {
        const bool exists = name.size() < 4 && std::stoi(name) < instruction.stage;
        if (!exists) {
            report.add("DKF001", instruction.mark,
                       "--from=" + source + ": " + std::to_string(std::max(instruction.stage, 0)) +
                           " stages stand before this one, counted from 0");
        }
        return;
    }
    if (recipe.names.contains(name) ||
        std::find(kOfficialImages.begin(), kOfficialImages.end(), name) != kOfficialImages.end() ||
        ++recipe.unknown_sources > kMostNames || may_be_a_context(recipe, source)) {
        return;
    }
    std::vector<std::string_view> known;
    std::string names;
    for (const auto* stage : recipe.stages) {
        if (stage->name.empty()) continue;
        if (known.size() == kMostNames) {
            names += ", ...";
            break;
        }
        known.emplace_back(stage->name);
        names += (names.empty() ? "" : ", ") + stage->name;
    }
    if (is_path_of_a_context(path) && nearest(name, known).empty()) return;
    auto entry =
        report.add("DKF001", instruction.mark, "--from=" + source + ": no stage has this name");
    if (!names.empty()) {
        entry.expected("one of " + names);
    }
    if (const auto near = nearest(name, known); !near.empty()) {
        entry.fix("--from=" + std::string(near));
    }
}

void check_stages(Recipe& recipe, Report& report) {
    for (const auto* instruction : recipe.instructions) {
        if (instruction->keyword == "COPY" || instruction->keyword == "ADD") {
            const auto path = copied_path(*instruction);
            for (const auto& [name, value] : instruction->flags) {
                if (name == "from") check_source_stage(recipe, *instruction, value, path, report);
            }
        } else if (instruction->keyword == "RUN") {
            for (const auto& [name, value] : instruction->flags) {
                if (name != "mount") continue;
                const auto parts = split(value, ',');
                const auto path = mounted_path(parts);
                for (const auto part : parts) {
                    if (!part.starts_with("from=")) continue;
                    check_source_stage(recipe, *instruction, std::string(part.substr(5)), path,
                                       report);
                }
            }
        }
    }
}

/// What compiles kernels when it runs and therefore needs the compiler in the final image, or is
/// a place to develop and test in.
constexpr std::array<std::string_view, 26> kNeedsCompiler{
    "vllm",         "triton",        "deepspeed",       "sglang",       "flashinfer",
    "tensorrt_llm", "tensorrt-llm",  "torch_extension", "cupy",         "numba",
    "pycuda",       "jupyter",       "openssh-server",  "devcontainer", "code-server",
    "nsight",       "cuda-gdb",      "ctest",           "pytest",       "git clone",
    "nvcc",         "torch.compile", "bitsandbytes",    "flash-attn",   "mpirun",
    "nccl-tests"};

bool is_place_to_build(const Recipe& recipe, const Stage& last) {
    const auto name = recipe.file.name + " " + last.name;
    constexpr std::array<std::string_view, 18> kWords{
        "dev",          "devel", "develop",   "development", "build",  "builder",
        "ci",           "test",  "tests",     "wheel",       "wheels", "export",
        "devcontainer", "bench", "benchmark", "sdk",         "lint",   "toolchain"};
    return std::any_of(kWords.begin(), kWords.end(),
                       [&name](std::string_view word) { return contains_word(name, word); });
}

void check_final_stage(const Recipe& recipe, Report& report) {
    const auto* last = recipe.last();
    if (last == nullptr || last->from < 0 ||
        static_cast<std::size_t>(last->from) >= recipe.file.instructions.size()) {
        return;
    }
    const auto image = lower(recipe.root_image);
    const auto colon = image.rfind(':');
    if (colon == std::string::npos || is_place_to_build(recipe, *last)) {
        return;
    }
    const auto tag = image.substr(colon);
    const bool devel =
        image.find("cuda") != std::string::npos && (tag.find("-devel") != std::string::npos);
    const auto text = recipe.text();
    const bool needs = std::any_of(kNeedsCompiler.begin(), kNeedsCompiler.end(),
                                   [text](std::string_view word) { return contains(text, word); });
    if (devel && !needs) {
        report.add(
            "DKF002", recipe.file.instructions[static_cast<std::size_t>(last->from)].mark,
            "the final stage is built on '" + recipe.root_image + "', with compiler and headers");
    }
}

bool is_driver_package(std::string_view word) {
    const auto name = lower(word.substr(0, word.find('=')));
    const auto begins = [&name](std::string_view part) { return name.starts_with(part); };
    if (begins("nvidia-driver-assistant")) {
        return false;
    }
    return begins("nvidia-driver") || begins("nvidia-utils") || begins("nvidia-headless") ||
           begins("libnvidia-compute") || begins("nvidia-compute-utils") || name == "libcuda1" ||
           begins("nvidia-kernel-dkms") || begins("nvidia-dkms") || name == "cuda-drivers" ||
           begins("cuda-drivers-") || begins("nvidia-open") || begins("libnvidia-gl") ||
           begins("libnvidia-ml1") || begins("xserver-xorg-video-nvidia");
}

/// The image is meant to install a driver on the node.
bool is_driver_image(const File& file) {
    const auto name = lower(file.name);
    return name.find("driver") != std::string::npos || file.mentions("nvidia-installer") ||
           file.mentions("kernel-headers") || file.mentions("linux-headers") ||
           file.mentions("ubuntu-drivers") || file.mentions("bootc") || file.mentions("ostree");
}

bool is_installer(const Command& command) {
    constexpr std::array<std::string_view, 10> kTools{
        "apt", "apt-get", "yum", "dnf", "microdnf", "zypper", "apk", "tdnf", "aptitude", "nala"};
    if (std::find(kTools.begin(), kTools.end(), command.program) == kTools.end()) {
        return false;
    }
    return std::any_of(command.words.begin(), command.words.end(), [](const Word& word) {
        return word.text == "install" || word.text == "add";
    });
}

void check_packages(const Recipe& recipe, Report& report) {
    for (const auto* instruction : recipe.instructions) {
        if (!is_in_final_image(recipe, *instruction)) {
            continue;
        }
        for (const int index : instruction->commands) {
            if (index < 0 || static_cast<std::size_t>(index) >= recipe.file.commands.size()) {
                continue;
            }
            const auto& command = recipe.file.commands[static_cast<std::size_t>(index)];
            if (!is_installer(command)) {
                continue;
            }
            for (const auto& word : command.words) {
                if (is_driver_package(word.text) && !is_driver_image(recipe.file)) {
                    report.add("DKF003", word.mark,
                               "'" + word.text + "' puts a part of the driver into the image");
                    break;
                }
                if (word.text.starts_with("cuda-compat")) {
                    report.add("DKF004", word.mark, "'" + word.text + "' is in the image")
                        .severity(Severity::kInfo);
                    break;
                }
            }
        }
    }
}

/// The image is one of those that manage GPUs and may see all of them.
bool is_management_recipe(const Recipe& recipe) {
    constexpr std::array<std::string_view, 12> kWords{
        "device-plugin",  "exporter",          "validator",   "operator",
        "toolkit",        "feature-discovery", "mig-manager", "mig-parted",
        "driver-manager", "monitor",           "dra-driver",  "discovery"};
    const auto name = lower(recipe.file.name);
    const auto text = recipe.text();
    return std::any_of(kWords.begin(), kWords.end(), [&name, text](std::string_view word) {
        return name.find(word) != std::string::npos || contains(text, word);
    });
}

/// "NAME=value" and "NAME value" of ENV.
std::string env_value(const Instruction& instruction, std::string_view name) {
    for (std::size_t i = 0; i < instruction.words.size(); ++i) {
        const std::string_view word = instruction.words[i].text;
        if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=') {
            return std::string(word.substr(name.size() + 1));
        }
        if (i == 0 && word == name && instruction.words.size() > 1) {
            return instruction.words[1].text;
        }
    }
    return {};
}

void check_environment(const Recipe& recipe, Report& report) {
    const Instruction* all = nullptr;
    const Instruction* compat = nullptr;
    bool has_capabilities = false;
    for (const auto* instruction : recipe.instructions) {
        if (instruction->keyword != "ENV") {
            continue;
        }
        if (env_value(*instruction, "NVIDIA_VISIBLE_DEVICES") == "all") {
            all = instruction;
        }
        if (env_value(*instruction, "LD_LIBRARY_PATH").find("/cuda/compat") != std::string::npos) {
            compat = instruction;
        }
        has_capabilities =
            has_capabilities || !env_value(*instruction, "NVIDIA_DRIVER_CAPABILITIES").empty();
    }
    if (compat != nullptr) {
        report.add("DKF004", compat->mark, "LD_LIBRARY_PATH has the directory of cuda-compat first")
            .severity(Severity::kInfo);
    }
    if (all == nullptr || is_management_recipe(recipe)) {
        return;
    }
    const auto base = lower(recipe.root_image);
    const bool has_it_anyway = base.find("nvidia/") != std::string::npos ||
                               base.find("cuda") != std::string::npos || is_placeholder(base);
    auto entry = report.add(
        "DKF005", all->mark,
        has_capabilities || has_it_anyway
            ? "NVIDIA_VISIBLE_DEVICES=all in the image"
            : "NVIDIA_VISIBLE_DEVICES=all in the image, and no NVIDIA_DRIVER_CAPABILITIES: without "
              "a value only 'utility' is mounted");
    if (has_it_anyway) {
        entry.severity(Severity::kInfo);
    }
}

/// Advice: `as`, pip's cache, no list of architectures.
void check_style(const Recipe& recipe, Report& report) {
    const auto text = recipe.text();
    for (const auto* stage : recipe.stages) {
        if (stage->written_as == "as" && stage->from >= 0 &&
            static_cast<std::size_t>(stage->from) < recipe.file.instructions.size()) {
            const auto& from = recipe.file.instructions[static_cast<std::size_t>(stage->from)];
            if (from.written_keyword != "FROM") {
                continue;
            }
            auto entry =
                report.add("DKF006", from.mark, "FROM in capitals and 'as' in small letters");
            for (const auto& word : from.words) {
                if (word.text == "as" && !word.quoted) {
                    entry.edit(recipe.file, word.mark, 2, "AS");
                }
            }
        }
    }
    if (!contains(text, "cuda")) {
        return;
    }
    const bool has_list = contains(text, "TORCH_CUDA_ARCH_LIST") ||
                          contains(text, "CMAKE_CUDA_ARCHITECTURES") || contains(text, "gencode") ||
                          contains(text, "-arch") || contains(text, "CUDA_ARCH");
    const bool keeps_no_cache = contains(text, "no-cache-dir") ||
                                contains(text, "PIP_NO_CACHE_DIR") || contains(text, "type=cache");
    for (const auto* instruction : recipe.instructions) {
        if (instruction->keyword != "RUN") {
            continue;
        }
        const std::string_view run = instruction->text;
        if (!keeps_no_cache && (contains(run, "pip install") || contains(run, "pip3 install")) &&
            contains(run, "torch")) {
            report.add("DKF006", instruction->mark, "pip keeps its cache in the layer")
                .fix("pip install --no-cache-dir ...");
        }
        if (!has_list && (contains_word(run, "nvcc") || contains(run, "setup.py") ||
                          contains(run, "flash-attn"))) {
            report
                .add("DKF006", instruction->mark,
                     "GPU code is compiled without a list of architectures")
                .fix("ENV TORCH_CUDA_ARCH_LIST=\"8.0;8.6;9.0+PTX\"");
        }
    }
}

}  // namespace

void check_dockerfiles(const File& file, const Set& set, const Facts* /*facts*/, Report& report) {
    std::set<std::string_view> names;
    std::map<int, std::vector<const Stage*>> stages;  // by block
    for (const auto& stage : file.stages) {
        stages[stage.block].push_back(&stage);
        if (!stage.name.empty()) names.insert(stage.name);
    }
    std::vector<Recipe> recipes;
    for (const auto& instruction : file.instructions) {
        if (recipes.empty() || recipes.back().block != instruction.block) {
            recipes.push_back({file, set, instruction.block, names, {}, {}, {}, {}});
        }
        recipes.back().instructions.push_back(&instruction);
    }
    for (auto& recipe : recipes) {
        recipe.stages = stages[recipe.block];
        recipe.know_stages();
        check_stages(recipe, report);
        check_final_stage(recipe, report);
        check_packages(recipe, report);
        check_environment(recipe, report);
        check_style(recipe, report);
    }
}

}  // namespace aliquot::lint
