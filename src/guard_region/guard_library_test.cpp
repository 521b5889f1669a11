// SPDX-License-Identifier: Apache-2.0
#include "guard_region/guard_library.h"

#include <gmock/gmock.h>

#include <fstream>

#include "os/temporary_directory.h"

namespace aliquot::guard_region {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBase = "/var/lib/aliquot/guard";

class GuardLibraryTest : public testing::Test {
protected:
    void SetUp() override {
        // Any shared library will do; this test program itself is linked like one.
        fs::copy_file("/proc/self/exe", library_);
    }
    [[nodiscard]] std::string text(const std::string& path) const {
        const auto content = root_.read(path, std::size_t{64} << 20U);
        return content ? *content : "";
    }
    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    fs::path library_ = directory_.path() / "libaliquot-guard.so";
};

TEST_F(GuardLibraryTest, LiesBesideItsPreloadFileUnderItsVersion) {
    const auto version = install_guard(root_, kBase, library_);
    ASSERT_TRUE(version) << version.error().message;
    const std::string place = std::string(kBase) + "/" + *version;
    EXPECT_EQ(text(place + "/ld.so.preload"), "/run/aliquot/lib/libaliquot-guard.so\n");
    EXPECT_EQ(fs::file_size(root_.resolve(place + "/libaliquot-guard.so")),
              fs::file_size(library_));
    EXPECT_EQ(root_.list(kBase)->size(), 1U);
}

TEST_F(GuardLibraryTest, IsNeverOverwritten) {
    const auto first = install_guard(root_, kBase, library_);
    ASSERT_TRUE(first);
    const auto file = root_.resolve(std::string(kBase) + "/" + *first + "/libaliquot-guard.so");
    const auto before = os::Root("/").status(file.native());
    const auto again = install_guard(root_, kBase, library_);
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *first);
    EXPECT_EQ(os::Root("/").status(file.native())->identity, before->identity);

    std::ofstream(library_, std::ios::app) << "a new version";
    const auto second = install_guard(root_, kBase, library_);
    ASSERT_TRUE(second);
    EXPECT_NE(*second, *first);

    fs::resize_file(file, 100);  // a damaged copy is left where it is, too
    std::ofstream(library_, std::ios::trunc) << std::ifstream("/proc/self/exe").rdbuf();
    const auto beside = install_guard(root_, kBase, library_);
    ASSERT_TRUE(beside);
    EXPECT_EQ(*beside, *first + ".1");
    EXPECT_EQ(fs::file_size(file), 100U);
}

TEST_F(GuardLibraryTest, RemovesOnlyWhatIsNotUsed) {
    const auto first = install_guard(root_, kBase, library_);
    std::ofstream(library_, std::ios::app) << "a new version";
    const auto second = install_guard(root_, kBase, library_);
    ASSERT_TRUE(first && second);
    ASSERT_TRUE(root_.write_atomically(std::string(kBase) + "/contexts", "x"));
    remove_guards(root_, kBase, {*first, *second});
    EXPECT_EQ(root_.list(kBase)->size(), 3U);
    remove_guards(root_, kBase, {*second});
    EXPECT_THAT(*root_.list(kBase), testing::UnorderedElementsAre(*second, "contexts"));
}

TEST_F(GuardLibraryTest, SaysWhatIsNoLibrary) {
    EXPECT_EQ(install_guard(root_, kBase, directory_.path() / "none").error().code,
              ErrorCode::kNotFound);
    std::ofstream(library_, std::ios::trunc) << "#!/bin/sh\n";
    EXPECT_EQ(install_guard(root_, kBase, library_).error().code, ErrorCode::kInvalidInput);
    EXPECT_FALSE(root_.exists(kBase));
}

}  // namespace
}  // namespace aliquot::guard_region
