// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/manifest_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "os/root.h"

namespace aliquot::sim::cluster {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBytes = 4U << 20U;
constexpr std::size_t kMaxFiles = 1000;

Result<std::string> read_standard_input() {
    std::string text;
    std::array<char, 16384> chunk{};
    while (std::cin.read(chunk.data(), chunk.size()), std::cin.gcount() > 0) {
        text.append(chunk.data(), static_cast<std::size_t>(std::cin.gcount()));
        if (text.size() > kMaxBytes) {
            return Error{ErrorCode::kInvalidInput, "<stdin>: larger than 4 MiB"};
        }
    }
    return text;
}

bool is_manifest_name(const fs::path& path) {
    const fs::path extension = path.extension();
    return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

Result<std::vector<std::string>> files_in(const std::string& folder) {
    const os::Root root(fs::absolute(folder));
    const auto names = root.list("/", kMaxFiles);
    if (!names) return names.error();
    std::vector<std::string> files;
    for (const std::string& name : *names) {
        if (is_manifest_name(name)) files.push_back((fs::path(folder) / name).native());
    }
    if (files.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     folder + ": no *.yaml, *.yml or *.json in this folder"};
    }
    return files;
}

Result<ManifestText> read_file(const std::string& name) {
    if (name == "-") {
        auto text = read_standard_input();
        if (!text) return std::move(text).error();
        return ManifestText{.file = "<stdin>", .text = *std::move(text)};
    }
    if (name.empty()) return Error{ErrorCode::kInvalidInput, "'' is not the name of a file"};
    const fs::path path = fs::absolute(name);
    const os::Root root(path.parent_path());
    auto text = root.read(path.filename().native(), kMaxBytes);
    if (!text) return std::move(text).error();
    return ManifestText{.file = name, .text = *std::move(text)};
}

}  // namespace

Result<std::vector<ManifestText>> read_inputs(const std::vector<std::string>& names,
                                              const std::string& config_file) {
    std::vector<std::string> files;
    for (const std::string& name : names) {
        std::error_code ignored;
        if (name == "-" || !fs::is_directory(name, ignored)) {
            files.push_back(name);
            continue;
        }
        auto found = files_in(name);
        if (!found) return std::move(found).error();
        std::ranges::move(*found, std::back_inserter(files));
    }
    std::vector<ManifestText> texts;
    for (const std::string& file : files) {
        std::error_code ignored;
        if (!config_file.empty() && file != "-" && fs::equivalent(file, config_file, ignored)) {
            continue;
        }
        auto text = read_file(file);
        if (!text) return std::move(text).error();
        texts.push_back(*std::move(text));
    }
    return texts;
}

}  // namespace aliquot::sim::cluster
