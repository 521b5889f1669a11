// SPDX-License-Identifier: Apache-2.0
#include "document/toml.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "document/path.h"

namespace aliquot::document {
namespace {

TEST(Toml, ReadsWhatContainerRuntimesWrite) {
    const Toml toml = parse_toml(
        "version = 2\nimports = [\n  \"a\", # why\n  'b',\n]\n"
        "[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  default_runtime_name = \"nvidia\"\n"
        "[[x]]\na.b = {c = 1}\n{{ template \"base\" . }}\nbroken\nlast = true\n");
    EXPECT_EQ(text_at(toml.root, {"version"}), "2");
    EXPECT_EQ(items_at(toml.root, {"imports"}).size(), 2U);
    const Value* const name = at_path(
        toml.root, {"plugins", "io.containerd.grpc.v1.cri", "containerd", "default_runtime_name"});
    ASSERT_NE(name, nullptr);
    EXPECT_EQ(name->scalar, "nvidia");
    EXPECT_EQ(name->mark.line, 7U);
    ASSERT_EQ(items_at(toml.root, {"x"}).size(), 1U);
    EXPECT_EQ(text_at(items_at(toml.root, {"x"})[0], {"a", "b", "c"}), "1");
    EXPECT_EQ(text_at(items_at(toml.root, {"x"})[0], {"last"}), "true");
    EXPECT_EQ(toml.problems.size(), 2U);
}

TEST(Toml, StopsAtATableThatNobodyWrote) {
    std::string text;
    for (int i = 0; i < 3'000; ++i) text += "[t" + std::to_string(i) + "]\nk = 1\n";
    const Toml toml = parse_toml(text);
    EXPECT_EQ(toml.root.entries.size(), 2'000U);
    ASSERT_EQ(toml.problems.size(), 1U);
    EXPECT_TRUE(toml.problems[0].message.contains("keys in one table"));
}

}  // namespace
}  // namespace aliquot::document
