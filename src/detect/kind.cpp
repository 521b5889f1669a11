// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/text.h"
#include "detect/detect.h"

namespace aliquot::detect {
namespace {

constexpr std::size_t kMostSniffed = 8192;  // bytes
constexpr int kMostLines = 120;

Kind kind_of_name(std::string_view name) {
    if (name.empty()) return Kind::kUnknown;
    if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos) {
        name.remove_prefix(slash + 1);
    }
    const std::string low = lower(name);
    if (low.find("dockerfile") != std::string::npos || low == "containerfile")
        return Kind::kDockerfile;
    if (low == "pyproject.toml" || low == "pipfile" || low == "setup.cfg" || low == "poetry.lock" ||
        low == "uv.lock" || low == "pipfile.lock" || low.starts_with("environment.y") ||
        low.starts_with("conda") ||
        (low.starts_with("requirements") && (low.ends_with(".txt") || low.ends_with(".in")))) {
        return Kind::kRequirements;
    }
    for (const char* end : {".py", ".cu", ".cuh", ".cpp", ".cc", ".c", ".h", ".hpp", ".ipynb",
                            ".jl", ".go", ".rs", ".r", ".cmake"}) {
        if (low.ends_with(end)) return Kind::kCode;
    }
    if (low == "cmakelists.txt") return Kind::kCode;
    for (const char* end : {".sh", ".bash", ".sbatch", ".slurm"}) {
        if (low.ends_with(end)) return Kind::kCommand;
    }
    for (const char* end : {".md", ".txt", ".rst", ".adoc"}) {
        if (low.ends_with(end)) return Kind::kText;
    }
    return Kind::kUnknown;
}

bool starts_with_any(std::string_view line, std::initializer_list<std::string_view> starts) {
    return std::any_of(starts.begin(), starts.end(),
                       [&](std::string_view start) { return line.starts_with(start); });
}

/// "torch==2.1", "numpy>=1.26", "- cudatoolkit=11.8": a name, then a version.
bool is_pinned_package(std::string_view line) {
    if (line.starts_with("- ")) line.remove_prefix(2);
    std::size_t at = 0;
    const auto is_name = [](char byte) {
        return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
               (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.';
    };
    while (at < line.size() && is_name(line[at])) ++at;
    if (at < 2 || at == line.size()) return false;
    if (line[at] == '[') {
        at = line.find(']', at);
        if (at == std::string_view::npos) return false;
        if (++at == line.size()) return true;
    }
    const std::string_view rest = line.substr(at);
    return starts_with_any(rest, {"==", ">=", "<=", "~=", "!="});
}

/// "torch", "uvicorn[standard]": a name alone on its line.
bool is_bare_package(std::string_view line) {
    while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
    if (line.size() < 2 || line.size() > 60) return false;
    return std::all_of(line.begin(), line.end(), [](char byte) {
        return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
               (byte >= '0' && byte <= '9') ||
               std::string_view("-_.[],").find(byte) != std::string_view::npos;
    });
}

using Heads = std::span<const std::string_view>;

constexpr auto kDockerHeads = std::to_array<std::string_view>(
    {"FROM ", "RUN ", "COPY ", "ENTRYPOINT ", "CMD [", "WORKDIR ", "ENV "});
constexpr auto kManifestHeads = std::to_array<std::string_view>(
    {"apiVersion:", "kind:", "spec:", "metadata:", "containers:", "resources:", "limits:",
     "- name:", "services:", "image:", "\"apiVersion\"", "nodeSelector:", "tolerations:"});
constexpr auto kCodeHeads = std::to_array<std::string_view>(
    {"import ", "def ",     "class ", "#include", "from ",    "with ", "return ", "__global__",
     "fn ",     "package ", "func ",  "print(",   "raise ",   "elif ", "else:",   "try:",
     "const ",  "let ",     "var ",   "void ",    "int main", "@"});
constexpr auto kLoopHeads = std::to_array<std::string_view>({"if ", "for ", "while "});
constexpr auto kCommandHeads =
    std::to_array<std::string_view>({"#!",          "#SBATCH",
                                     "$ ",          "docker ",
                                     "pip ",        "pip3 ",
                                     "python ",     "python3 ",
                                     "torchrun ",   "deepspeed ",
                                     "accelerate ", "kubectl ",
                                     "srun ",       "sbatch ",
                                     "conda ",      "mpirun ",
                                     "export ",     "apt-get ",
                                     "sudo ",       "helm ",
                                     "nvidia-smi",  "cmake ",
                                     "uv ",         "ollama ",
                                     "vllm ",       "CUDA_VISIBLE_DEVICES="});
constexpr auto kPackageHeads = std::to_array<std::string_view>(
    {"--index-url", "--extra-index-url", "-r ", "dependencies:", "dependencies =", "[project]",
     "[tool.poetry", "channels:"});

enum HeadList : unsigned { kDocker, kManifest, kCode, kLoop, kCommand, kPackage, kHeadLists };
constexpr std::array<Heads, kHeadLists> kHeads = {kDockerHeads, kManifestHeads, kCodeHeads,
                                                  kLoopHeads,   kCommandHeads,  kPackageHeads};

/// By the first byte of a line: a bit for every list that it may be in.
constexpr std::array<std::uint8_t, 256> kListsOf = [] {
    std::array<std::uint8_t, 256> lists{};
    for (unsigned list = 0; list < kHeadLists; ++list) {
        for (const std::string_view head : kHeads[list]) {
            lists[static_cast<unsigned char>(head.front())] |=
                static_cast<std::uint8_t>(1U << list);
        }
    }
    return lists;
}();

/// What speaks for each kind, line by line.
struct Votes {
    int docker = 0;
    int manifest = 0;
    int code = 0;
    int command = 0;
    int packages = 0;
    int bare = 0;      // names alone on their lines
    int comments = 0;  // lines that begin with #
    int lines = 0;

    /// line   not empty
    void count(std::string_view line) {
        ++lines;
        const unsigned lists = kListsOf[static_cast<unsigned char>(line.front())];
        const auto begins = [&](HeadList list) {
            return ((lists >> list) & 1U) != 0 &&
                   std::any_of(kHeads[list].begin(), kHeads[list].end(),
                               [&](std::string_view head) { return line.starts_with(head); });
        };
        if (begins(kDocker)) ++docker;
        if (begins(kManifest)) ++manifest;
        if (begins(kCode) &&
            (!line.starts_with("from ") || line.find(" import ") != std::string_view::npos) &&
            (!line.starts_with("with ") || line.ends_with(":")) &&
            line.find(". ") == std::string_view::npos) {
            ++code;
        }
        if (line.ends_with(":") && begins(kLoop)) ++code;
        if (line.find('(') != std::string_view::npos &&
            line.find(" = ") != std::string_view::npos && !line.starts_with("#"))
            ++code;
        if (begins(kCommand)) ++command;
        if (is_pinned_package(line) || begins(kPackage))
            ++packages;
        else if (line.starts_with('#'))
            ++comments;
        else if (is_bare_package(line))
            ++bare;
    }
};

Kind kind_of_votes(const Votes& votes) {
    if (votes.docker > 0 && votes.docker * 4 >= votes.lines) return Kind::kDockerfile;
    if (votes.packages > 0 && votes.packages * 3 >= votes.lines) return Kind::kRequirements;
    const int said = votes.lines - votes.comments;  // a service that is commented out
    if (votes.manifest > 0 && (votes.manifest * 4 >= said || votes.manifest >= 3))
        return Kind::kManifest;
    if (votes.command > 0 && votes.command * 2 >= votes.lines) return Kind::kCommand;
    if (votes.code > 0 && votes.code * 4 >= votes.lines) return Kind::kCode;
    if (votes.packages >= 2) return Kind::kRequirements;
    const bool is_list = votes.bare + votes.packages + votes.comments == votes.lines;
    if (is_list && votes.lines >= 3 && votes.bare > 0) return Kind::kRequirements;
    return Kind::kText;
}

}  // namespace

Kind sniff_kind(std::string_view name, std::string_view text) {
    if (const Kind known = kind_of_name(name); known != Kind::kUnknown) return known;
    Votes votes;
    text = text.substr(0, kMostSniffed);
    while (!text.empty() && votes.lines < kMostLines) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        while (!line.empty() && (line.front() == ' ' || line.front() == '\t'))
            line.remove_prefix(1);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (!line.empty()) votes.count(line);
    }
    return kind_of_votes(votes);
}

}  // namespace aliquot::detect
