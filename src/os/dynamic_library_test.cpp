// SPDX-License-Identifier: Apache-2.0
#include "os/dynamic_library.h"

#include <gtest/gtest.h>

namespace aliquot::os {
namespace {

TEST(DynamicLibrary, OpensTheFirstThatLoads) {
    const auto library = DynamicLibrary::open({"/no/such.so", "libc.so.6"});
    ASSERT_TRUE(library) << library.error().message;
    EXPECT_EQ(library->path(), "libc.so.6");
    EXPECT_NE(library->symbol("malloc"), nullptr);
    EXPECT_EQ(library->symbol("no_such_symbol_at_all"), nullptr);
}

TEST(DynamicLibrary, TellsAbsentFromBroken) {
    const auto absent = DynamicLibrary::open({"/no/such.so"});
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
    const auto broken = DynamicLibrary::open({"/etc/passwd"});
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace aliquot::os
