// SPDX-License-Identifier: Apache-2.0
#include "syntax/quick_yaml.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "document/yaml.h"

namespace aliquot::syntax {
namespace {

namespace fs = std::filesystem;
using document::Value;

std::string place(const Value& node) {
    return std::to_string(node.mark.line) + ':' + std::to_string(node.mark.column);
}

/// The first difference of two nodes; empty: none.
std::string difference(const Value& a, const Value& b) {
    if (a.kind != b.kind) return place(b) + " kind";
    if (a.mark != b.mark) return place(a) + " instead of " + place(b);
    if (a.scalar != b.scalar) return place(b) + " '" + a.scalar + "' instead of '" + b.scalar + "'";
    if (a.quoted != b.quoted || a.block != b.block) return place(b) + " style";
    if (a.items.size() != b.items.size() || a.entries.size() != b.entries.size())
        return place(b) + " size";
    for (std::size_t i = 0; i < a.items.size(); ++i) {
        if (auto found = difference(a.items[i], b.items[i]); !found.empty()) return found;
    }
    for (std::size_t i = 0; i < a.entries.size(); ++i) {
        if (auto found = difference(a.entries[i].first, b.entries[i].first); !found.empty())
            return found;
        if (auto found = difference(a.entries[i].second, b.entries[i].second); !found.empty())
            return found;
    }
    return {};
}

/// What read_quick() reads is what parse_yaml() reads. Returns whether it read it.
bool expect_same(const std::string& text, const std::string& name) {
    const auto quick = read_quick(text);
    if (!quick) return false;
    const document::Stream slow = document::parse_yaml(text);
    EXPECT_TRUE(slow.errors.empty())
        << name << ": " << (slow.errors.empty() ? "" : slow.errors.front().message);
    if (!slow.errors.empty()) return true;
    EXPECT_EQ(slow.documents.size(), 1U) << name;
    EXPECT_EQ(difference(*quick, slow.documents.front()), "") << name << '\n' << text;
    return true;
}

TEST(QuickYaml, ReadsPlainManifests) {
    for (const char* text :
         {"a: 1\nb:\n- x\n- y: z\n  w: \"q\\n\"\nc:\n    d: 'it''s'\n    e:\nf: [1, \"2\", {g: "
          "h}]\n",
          "# c\na: b # c\n\nlist:\n  -   deep: 1\n      er: 2\n  - - n1\n    - n2\ntext: |-\n  "
          "one\n\n   two\nkeep: |+\n  x\n\nlast: |\n  y\n",
          "- a\n- b: c\n-\n  d: e\n",
          "\"quoted key\": v\n'k': {}\nl: []\nn: ~\nt: true\nu: http://x:80/y#z\n",
          "a:\n  b: |\n    x: y\n    - z\n  c: d\n"}) {
        EXPECT_TRUE(expect_same(text, text)) << text;
    }
}

TEST(QuickYaml, LeavesToTheOtherWhatItDoesNotKnow) {
    for (const char* text :
         {"a: &x b\n", "a: *x\n", "a: >\n  b\n", "a: b\n  c\n", "a: \"b\n  c\"\n", "? a\n: b\n",
          "a:\tb\n", "a: b: c\n", "a: [b,\n  c]\n", "<<: {a: b}\n", "plain\n", "a: !!str b\n",
          "a: b\n c: d\n", "", "a: |2\n   x\n", "- a\nb: c\n"}) {
        expect_same(text, text);
        EXPECT_FALSE(read_quick(text).has_value()) << text;
    }
}

TEST(QuickYaml, ReadsTheRepositoryLikeTheOther) {
    int read = 0;
    for (const char* folder : {"/examples", "/src/lint/cases", "/src/sharing/cases", "/api"}) {
        for (const auto& entry :
             fs::recursive_directory_iterator(std::string(ALIQUOT_SOURCE_DIR) + folder)) {
            if (entry.path().extension() != ".yaml") continue;
            std::ifstream file(entry.path(), std::ios::binary);
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            if (expect_same(text, entry.path().string())) ++read;
        }
    }
    EXPECT_GE(read, 30);
}

}  // namespace
}  // namespace aliquot::syntax
