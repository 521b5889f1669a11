// SPDX-License-Identifier: Apache-2.0
// Packages and compilers of a Dockerfile against the CUDA version of its base image: DKF007, DKF008.
#include <algorithm>
#include <array>

#include "base/number.h"
#include "base/text.h"
#include "findings/finding.h"
#include "lint/families.h"
#include "lint/kept.h"
#include "lint/rules/cuda_tag.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

/// The CUDA of a stage: of its base image, or of the stage below it.
struct StageCuda {
    unsigned major = 0;  // 0: not known
    unsigned minor = 0;
    std::string flavour;  // "base", "runtime", "devel"; "" when the image does not say
};

StageCuda cuda_of(const File& file, std::size_t index, int depth = 0) {
    constexpr int kDeepest = 20;
    const Stage& stage = file.stages[index];
    if (stage.base_stage >= 0 && depth < kDeepest &&
        static_cast<std::size_t>(stage.base_stage) < file.stages.size()) {
        return cuda_of(file, static_cast<std::size_t>(stage.base_stage), depth + 1);
    }
    StageCuda result;
    const std::string_view image = stage.image;
    const auto colon = image.rfind(':');
    if (colon == std::string_view::npos || !contains(image.substr(0, colon), "nvidia/cuda") ||
        is_placeholder(image)) {
        return result;
    }
    const auto tag = read_cuda_tag(image.substr(colon + 1));
    if (!tag) return result;
    const auto numbers = split(tag->version, '.');
    result.major = parse_number<unsigned>(numbers.front()).value_or(0);
    result.minor = numbers.size() > 1 ? parse_number<unsigned>(numbers[1]).value_or(0) : 0;
    result.flavour = tag->flavour;
    return result;
}

/// Whether something installs a compiler or a toolkit in the stage, or copies one into it.
bool brings_compiler(const File& file, int block, int stage) {
    return std::any_of(
        file.instructions.begin(), file.instructions.end(), [&](const Instruction& one) {
            if (one.block != block || one.stage > stage) return false;
            const bool copies =
                (one.keyword == "COPY" || one.keyword == "ADD") && contains(one.text, "cuda");
            const bool installs =
                one.keyword == "RUN" &&
                (contains(one.text, "cuda-nvcc") || contains(one.text, "cuda-toolkit") ||
                 contains(one.text, "cuda-minimal-build") || contains(one.text, "cudatoolkit") ||
                 contains(one.text, "cuda-compiler") || contains(one.text, "nvidia-cuda-toolkit") ||
                 contains(one.text, "nvidia-cuda-nvcc") || contains(one.text, "install cuda-") ||
                 contains(one.text, "conda") || contains(one.text, ".run "));
            return copies || installs;
        });
}

/// An architecture that a toolkit knows from one version on, and up to another.
struct Architecture {
    unsigned number;
    unsigned first;  // 1108: 11.8
    unsigned end;    // the first version without it; 0: none yet
};
constexpr std::array<Architecture, 21> kArchitectures{
    {{35, 0, 1200},   {37, 0, 1200},   {50, 0, 1300},   {52, 0, 1300},   {53, 0, 1300},
     {60, 800, 1300}, {61, 800, 1300}, {62, 800, 1300}, {70, 900, 1300}, {72, 902, 1300},
     {75, 1000, 0},   {80, 1100, 0},   {86, 1101, 0},   {87, 1104, 0},   {88, 1300, 0},
     {89, 1108, 0},   {90, 1108, 0},   {100, 1208, 0},  {103, 1209, 0},  {120, 1208, 0},
     {121, 1209, 0}}};

void check_architecture(const Word& word, unsigned number, const StageCuda& cuda, Report& report) {
    const auto* const known =
        std::find_if(kArchitectures.begin(), kArchitectures.end(),
                     [number](const Architecture& one) { return one.number == number; });
    constexpr unsigned kMajor = 100;
    const unsigned version = cuda.major * kMajor + cuda.minor;
    const std::string shown = "sm_" + std::to_string(number);
    if (known == kArchitectures.end()) {
        constexpr unsigned kNewest = 121;
        if (number > kNewest) return;  // one to come
        report.add("DKF008", word.mark, "there is no architecture " + shown)
            .expected("sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120");
        return;
    }
    const bool late = known->end != 0 && version >= known->end;
    if (version >= known->first && !late) return;
    const auto text = [](unsigned value) {
        return std::to_string(value / kMajor) + '.' + std::to_string(value % kMajor);
    };
    report
        .add("DKF008", word.mark,
             "CUDA " + text(version) + " of the base image does not compile for " + shown)
        .expected(late ? "CUDA before " + text(known->end) + ", or a newer architecture"
                       : "CUDA " + text(known->first) + " or newer");
}

std::optional<unsigned> number_behind(std::string_view text, std::string_view before) {
    const auto at = text.find(before);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(at + before.size());
    return parse_number<unsigned>(
        rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size())));
}

/// "arch=compute_80,code=sm_70": code of an older GPU than the virtual one.
void check_generation(const Word& word, Report& report) {
    const auto compute = number_behind(word.text, "arch=compute_");
    const auto code = number_behind(word.text, "code=sm_");
    if (!compute || !code || *code >= *compute) return;
    report
        .add("DKF008", word.mark,
             "nvcc makes no sm_" + std::to_string(*code) + " from compute_" +
                 std::to_string(*compute))
        .expected("arch=compute_" + std::to_string(*code) + ",code=sm_" + std::to_string(*code));
}

void check_compiler(const File& file, const Instruction& run, const StageCuda& cuda,
                    Report& report) {
    for (const int index : run.commands) {
        if (index < 0 || static_cast<std::size_t>(index) >= file.commands.size()) continue;
        const Command& command = file.commands[static_cast<std::size_t>(index)];
        if (!command.is("nvcc")) continue;
        const bool bare = cuda.flavour == "base" || cuda.flavour == "runtime";
        const bool asks = command.words.size() == 2 && command.words[1].text.starts_with("-");
        if (bare && !asks && !brings_compiler(file, run.block, run.stage)) {
            report.add("DKF008", command.mark, "the base image (" + cuda.flavour + ") has no nvcc")
                .expected("a -devel image for this stage");
        }
        for (const Word& word : command.words) {
            check_generation(word, report);
            if (cuda.major == 0) continue;
            if (const auto number = number_behind(word.text, "sm_"))
                check_architecture(word, *number, cuda, report);
        }
    }
}

/// "cu118" -> 11, "cuda12x" -> 12, "cu12" -> 12; 0: none.
unsigned major_in(std::string_view word) {
    for (const std::string_view before : {"cuda", "cu"}) {
        for (auto at = word.find(before); at != std::string_view::npos;
             at = word.find(before, at + 1)) {
            const bool begins = at == 0 || word[at - 1] == '-' || word[at - 1] == '/' ||
                                word[at - 1] == '+' || word[at - 1] == '[' || word[at - 1] == '_';
            const std::string_view rest = word.substr(at + before.size());
            const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
            if (!begins || digits < 2) continue;
            const unsigned number = parse_number<unsigned>(rest.substr(0, 2)).value_or(0);
            constexpr unsigned kFirst = 9;
            constexpr unsigned kLast = 14;
            if (number >= kFirst && number <= kLast) return number;
        }
    }
    return 0;
}

bool is_pip(const Command& command) {
    return command.program.starts_with("pip") || command.program == "uv" ||
           command.program.starts_with("python");
}

void check_packages_of(const File& file, const Instruction& run, const StageCuda& cuda,
                       Report& report) {
    if (cuda.major == 0) return;
    for (const int index : run.commands) {
        if (index < 0 || static_cast<std::size_t>(index) >= file.commands.size()) continue;
        const Command& command = file.commands[static_cast<std::size_t>(index)];
        if (!is_pip(command) || !contains(command.text, "install")) continue;
        for (const Word& word : command.words) {
            if (is_placeholder(word.text) || contains(word.text, "$")) continue;
            const bool torch = contains(word.text, "whl/cu") || contains(word.text, "+cu");
            if (contains(word.text, "whl/cpu") && contains(command.text, "torch")) {
                report.add("DKF007", word.mark, "the CPU build of PyTorch in an image with CUDA")
                    .expected("https://download.pytorch.org/whl/cu" + std::to_string(cuda.major) +
                              std::to_string(cuda.minor))
                    .severity(Severity::kWarning);
                continue;
            }
            const unsigned wanted = major_in(word.text);
            if (wanted == 0 || wanted == cuda.major) continue;
            const std::string image = std::to_string(cuda.major) + '.' + std::to_string(cuda.minor);
            report
                .add("DKF007", word.mark,
                     '\'' + word.text + "' is for CUDA " + std::to_string(wanted) +
                         ", and the image has " + image)
                .expected("a build for CUDA " + std::to_string(cuda.major))
                .severity(torch ? Severity::kWarning : Severity::kError);
        }
    }
}

}  // namespace

void check_docker_builds(const File& file, const Set&, const Facts*, Report& report) {
    if (is_kept(file)) return;
    std::size_t first = 0;  // of the stages of one Dockerfile
    for (const Instruction& run : file.instructions) {
        if (run.keyword != "RUN" || run.stage < 0) continue;
        while (first < file.stages.size() && file.stages[first].block != run.block) ++first;
        const std::size_t index = first + static_cast<std::size_t>(run.stage);
        if (index >= file.stages.size() || file.stages[index].block != run.block) {
            first = 0;
            continue;
        }
        const StageCuda cuda = cuda_of(file, index);
        check_compiler(file, run, cuda, report);
        check_packages_of(file, run, cuda, report);
    }
}

}  // namespace aliquot::lint
