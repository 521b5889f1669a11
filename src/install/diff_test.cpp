// SPDX-License-Identifier: Apache-2.0
#include "install/diff.h"

#include <gtest/gtest.h>

namespace aliquot::install {
namespace {

TEST(LineDiff, ShowsWhatChangesWithAFewLinesAround) {
    EXPECT_EQ(line_diff("a\nb\nc\n", "a\nb\nc\n"), "");
    EXPECT_EQ(line_diff("", "a\n"), "+a\n");
    EXPECT_EQ(line_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\nX\n7\n8\n9\n"),
              " ...\n 3\n 4\n 5\n-6\n+X\n 7\n 8\n 9\n");
}

TEST(LineDiff, AnObjectIsReadWithoutWhatTheServerKeepsForItself) {
    EXPECT_EQ(readable(R"({"kind":"A","metadata":{"name":"web","uid":"u","managedFields":[1],
                          "resourceVersion":"5"},"status":{"x":1}})"),
              "kind: A\nmetadata:\n  name: web\n");
    EXPECT_EQ(readable(R"({"kind":"Secret","data":{"key":"czNjcmV0"}})"), "kind: Secret\n");
}

}  // namespace
}  // namespace aliquot::install
