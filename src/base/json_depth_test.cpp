// SPDX-License-Identifier: Apache-2.0
#include "base/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace aliquot {
namespace {

TEST(JsonDepth, CountsWhatIsOpenAtOnceOutsideOfStrings) {
    EXPECT_FALSE(is_nested_deeper("", 0));
    EXPECT_FALSE(is_nested_deeper("7", 0));
    EXPECT_TRUE(is_nested_deeper("[]", 0));
    EXPECT_FALSE(is_nested_deeper(R"([{"a":[]},{"b":[]}])", 3));
    EXPECT_TRUE(is_nested_deeper(R"([{"a":[]}])", 2));
    EXPECT_FALSE(is_nested_deeper(R"(["[[[[", "\"[[", "{"])", 1));
    EXPECT_FALSE(is_nested_deeper("]]]][", 1)) << "no JSON, and no reason to fall";
    EXPECT_TRUE(is_nested_deeper(std::string(100, '['), 99));
}

}  // namespace
}  // namespace aliquot
