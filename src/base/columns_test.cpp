// SPDX-License-Identifier: Apache-2.0
#include "base/columns.h"

#include <gtest/gtest.h>

namespace aliquot {
namespace {

TEST(Columns, AreAsWideAsTheirWidestCell) {
    EXPECT_EQ(in_columns({{"NAME", "N"}, {"long-name", "1", "more"}, {}, {"x", "", ""}}),
              "NAME       N\nlong-name  1  more\n\nx\n");
    EXPECT_EQ(in_columns({{"a", "bb"}, {"aa", "b"}}, {.indent = 2, .gap = 3}),
              "  a    bb\n  aa   b\n");
    EXPECT_EQ(in_columns({{"a", "bb"}, {"aa", "b"}}, {.right = true}), "a   bb\naa   b\n");
    EXPECT_EQ(in_columns({}), "");
}

TEST(Columns, CountCharactersAndNotBytes) {
    EXPECT_EQ(in_columns({{"\xc3\xa4", "x"}, {"ab", "y"}}), "\xc3\xa4   x\nab  y\n");
}

}  // namespace
}  // namespace aliquot
