// SPDX-License-Identifier: Apache-2.0
#include "agent/free_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/temporary_directory.h"

namespace aliquot::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMi = 1U << 20U;

TEST(FreeSpace, IsShortOfBytesOrOfFiles) {
    EXPECT_THAT(shortage("/run/a", {.bytes = kMi, .files = 16}), IsEmpty());
    EXPECT_THAT(shortage("/run/a", {.bytes = kMi}), IsEmpty());
    EXPECT_THAT(shortage("/run/a", {.bytes = kMi / 2, .files = 16}),
                AllOf(HasSubstr("/run/a has 512Ki left, 1Mi are needed"), HasSubstr("make room")));
    EXPECT_THAT(shortage("/run/a", {.bytes = 0}), HasSubstr("/run/a has 0 left"));
    EXPECT_THAT(shortage("/run/a", {.bytes = kMi, .files = 15}), HasSubstr("15 files"));
}

TEST(FreeSpace, OfADirectoryThatIsNotThereYetIsItsParents) {
    os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    const auto space = free_space(root, "/var/lib/aliquot");
    ASSERT_TRUE(space);
    EXPECT_GT(space->bytes, 0U);
}

TEST(FreeSpace, OfAFullFileSystemIsNamed) {
    const os::Root machine("/");
    // The kernel's own trees have no room for files of ours.
    EXPECT_THAT(shortage_in(machine, {"/proc"}), HasSubstr("/proc has 0 left"));
}

}  // namespace
}  // namespace aliquot::agent
