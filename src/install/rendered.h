// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "document/yaml.h"
#include "install/render.h"

/// For the tests of this folder: what render() makes, read.
namespace aliquot::install {

namespace fs = std::filesystem;
using document::Value;

inline const fs::path kDeploy = fs::path(ALIQUOT_SOURCE_DIR) / "deploy";

inline std::string text_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

/// A file of deploy/ is what we render. UPDATE_CASES=1 writes it.
inline void expect_file(const fs::path& path, const std::string& text) {
    if (std::getenv("UPDATE_CASES") != nullptr) {  // NOLINT(concurrency-mt-unsafe): one thread
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
        return;
    }
    EXPECT_EQ(text_of(path), text) << path << ": run with UPDATE_CASES=1 if the new one is right";
}

inline Value node_of(const Manifest& one) {
    auto read = document::parse_yaml(one.yaml);
    EXPECT_TRUE(read.errors.empty()) << one.yaml;
    return read.documents.empty() ? Value() : read.documents.front();
}

/// By dots; lists by number: "spec.template.spec.containers.0.image".
inline const Value* at(const Value& root, std::string_view path) {
    const Value* node = &root;
    while (node != nullptr && !path.empty()) {
        const auto dot = path.find('.');
        const std::string word(path.substr(0, dot));
        path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
        if (node->is_sequence()) {
            const auto index = static_cast<std::size_t>(std::stoul(word));
            node = index < node->items.size() ? &node->items[index] : nullptr;
        } else {
            node = node->find(word);
        }
    }
    return node;
}

inline std::string text_at(const Value& root, std::string_view path) {
    const Value* const found = at(root, path);
    return found == nullptr ? "(none)" : found->scalar;
}

inline const Manifest* find(const std::vector<Manifest>& all, const std::string& kind,
                            const std::string& name) {
    for (const Manifest& one : all) {
        if (one.kind == kind && one.name == name) return &one;
    }
    return nullptr;
}

inline Value object(const Values& values, const std::string& kind, const std::string& name) {
    const auto all = render(values);
    const Manifest* const found = find(all, kind, name);
    EXPECT_NE(found, nullptr) << kind << " " << name;
    return found == nullptr ? Value() : node_of(*found);
}

}  // namespace aliquot::install
