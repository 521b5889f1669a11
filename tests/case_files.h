// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

/// Case files: what goes in and what must come out, as text. UPDATE_CASES=1 in the environment rewrites what
/// must come out; look at the difference before you commit it.
namespace aliquot::cases {

inline std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Those of some folders ("src/plan/cases") of the source tree, in the order of their names.
inline std::vector<std::filesystem::path> files(std::initializer_list<const char*> folders,
                                                const char* extension = ".case") {
    std::vector<std::filesystem::path> found;
    for (const char* const folder : folders) {
        const std::filesystem::path root(ALIQUOT_SOURCE_DIR);
        for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
            if (entry.path().extension() == extension) found.push_back(entry.path());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// Of a test: "a_b" of ".../a-b.case".
inline std::string name(const std::filesystem::path& path) {
    std::string stem = path.stem().string();
    std::replace_if(
        stem.begin(), stem.end(), [](char c) { return c == '-' || c == '.'; }, '_');
    return stem;
}

/// Whether this run is one that rewrites the files; then `text` is in the file.
inline bool rewrites(const std::filesystem::path& path, const std::string& text) {
    if (std::getenv("UPDATE_CASES") == nullptr)
        return false;  // NOLINT(concurrency-mt-unsafe): one thread
    std::ofstream(path, std::ios::binary) << text;
    return true;
}

}  // namespace aliquot::cases
