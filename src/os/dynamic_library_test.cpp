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
    EXPECT_EQ(absent.error().message, "no such library: /no/such.so");
    const auto broken = DynamicLibrary::open({"/etc/passwd"});
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, ErrorCode::kUnavailable);
}

TEST(DynamicLibrary, AnAbsentOneIsNamedOnceWithSomeOfThePlaces) {
    const auto absent = DynamicLibrary::open(
        {"/no/lib/libno.so.1", "/no/lib64/libno.so.1", "/no/lib32/libno.so.1", "libno.so.1"});
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().message,
              "no such library: libno.so.1 in /no/lib, /no/lib64 and 2 other places");
}

}  // namespace
}  // namespace aliquot::os
