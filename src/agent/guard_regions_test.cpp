// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_regions.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <thread>

#include "os/temporary_directory.h"

namespace aliquot::agent {
namespace {

using namespace std::chrono_literals;

class GuardRegionsTest : public testing::Test {
protected:
    /// A shared library as far as anybody looks: the first part of this program.
    void SetUp() override {
        std::array<char, 4096> head{};
        std::ifstream("/proc/self/exe", std::ios::binary).read(head.data(), head.size());
        std::ofstream(library_, std::ios::binary).write(head.data(), head.size());
    }
    [[nodiscard]] GuardRegions::Options options() const {
        return {.library = library_, .library_base = "/lib", .regions = "/regions"};
    }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    std::filesystem::path library_ = directory_.path() / "libaliquot-guard.so";
};

TEST_F(GuardRegionsTest, AreKnownAgainByTheNextAgent) {
    GuardRegions regions(root_, options());
    auto kept = regions.make({.resource = "nvidia.com/gpu"}, {});
    ASSERT_TRUE(kept) << kept.error().message;
    const auto gone = regions.make({.resource = "nvidia.com/gpu"}, {});
    ASSERT_TRUE(gone);
    ASSERT_TRUE(root_.make_directories("/regions/.new-half"));
    kept->holder = "ai/train/main";
    ASSERT_TRUE(regions.update(*kept));
    ASSERT_TRUE(regions.remove(gone->id));
    const GuardRegions again(root_, options());
    EXPECT_EQ(again.list(), (std::vector{*kept}));
    EXPECT_EQ(regions.list(), again.list());
    EXPECT_FALSE(root_.exists("/regions/.new-half"));
}

TEST_F(GuardRegionsTest, ManyAtOnceInstallOneGuard) {
    GuardRegions regions(root_, options());
    std::atomic<int> made = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&] {
                if (regions.make({}, {})) ++made;
                regions.remove_unused_guards();
            });
        }
    }
    EXPECT_EQ(made, 8);
    EXPECT_EQ(regions.list().size(), 8U);
    const auto guards = root_.list("/lib");
    ASSERT_TRUE(guards);
    EXPECT_EQ(*guards, (std::vector{regions.state().version}));
}

TEST_F(GuardRegionsTest, AProblemLastsUntilARegionCanBeMade) {
    std::filesystem::remove(library_);
    GuardRegions regions(root_, options());
    EXPECT_FALSE(regions.make({}, {}));
    EXPECT_NE(regions.state().problem, "");
    const os::TimePoint now = os::SystemClock().now();
    regions.try_again(now);
    EXPECT_NE(regions.state().problem, "");
    SetUp();
    regions.try_again(now + 1s);
    EXPECT_NE(regions.state().problem, "") << "tried again too soon";
    regions.try_again(now + 10s);
    EXPECT_EQ(regions.state().problem, "");
    EXPECT_TRUE(regions.list().empty());
}

}  // namespace
}  // namespace aliquot::agent
