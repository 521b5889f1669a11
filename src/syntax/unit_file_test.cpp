// SPDX-License-Identifier: Apache-2.0
#include "syntax/unit_file.h"

#include <gtest/gtest.h>

namespace aliquot::syntax {
namespace {

TEST(UnitFile, IsReadByItsSections) {
    const auto lines = read_unit(
        "# a comment\n[Unit]\nDescription = Model server\n\n[Service]\n; another\n"
        "ExecStart=/opt/venv/bin/vllm serve \\\n    # in between\n    /models/a \\\n    --port "
        "8000\n"
        "Environment=A=1\n");
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0].section, "Unit");
    EXPECT_EQ(lines[0].key, "Description");
    EXPECT_EQ(lines[0].value, "Model server");
    EXPECT_EQ(lines[1].value, "/opt/venv/bin/vllm serve /models/a --port 8000");
    EXPECT_EQ(lines[2].section, "Service");
    EXPECT_EQ(lines[2].value, "A=1");
    EXPECT_EQ(lines[0].offset, 19U);
}

TEST(UnitFile, OfAnyBytesIsReadWithoutHarm) {
    EXPECT_TRUE(read_unit("").empty());
    EXPECT_TRUE(read_unit("Key=before any section\n").empty());
    EXPECT_TRUE(read_unit("[]\n=\n[Service\nA B=1\n").empty());
    const auto lines = read_unit("[Service]\nExecStart=/bin/x \\");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].value, "/bin/x");
    const auto last = read_unit("[Service]\nExecStart=/bin/x \\\n# the end");
    ASSERT_EQ(last.size(), 1U);
    EXPECT_EQ(last[0].value, "/bin/x # the end");
}

TEST(UnitFile, IsKnownByItsFirstHead) {
    EXPECT_TRUE(looks_like_unit("\n# a server\n[Service]\n"));
    EXPECT_FALSE(looks_like_unit("[D-BUS Service]\nName=x\n"));
    EXPECT_FALSE(looks_like_unit("Unit: [Service]\n"));
    EXPECT_FALSE(looks_like_unit(""));
}

TEST(UnitWords, ArePartedAsSystemdDoes) {
    const std::vector<std::string> words = unit_words("\"A=1 2\" B='3 4' C=5\\ 6  ''");
    ASSERT_EQ(words.size(), 4U);
    EXPECT_EQ(words[0], "A=1 2");
    EXPECT_EQ(words[1], "B=3 4");
    EXPECT_EQ(words[2], "C=5 6");
    EXPECT_EQ(words[3], "");
    EXPECT_TRUE(unit_words("  ").empty());
}

}  // namespace
}  // namespace aliquot::syntax
