// SPDX-License-Identifier: Apache-2.0
#include "turns/shared_keeper.h"

#include <gtest/gtest.h>

#include <optional>

#include "os/temporary_directory.h"
#include "turns/fake_container.h"

namespace aliquot::turns {
namespace {

using std::chrono::seconds;

constexpr seconds kPatience{60};
constexpr char kRunGpu[] = "GPU-00000000-0000-0000-0000-000000000001";

class SharedKeeperTest : public testing::Test {
protected:
    guard_region::Reservation reserve() {
        guard_region::RunRequest request{.settings = {.container = "run", .devices = {}}};
        request.settings.devices.push_back({.uuid = kRunGpu, .weight = 50});
        auto run = runs_.reserve(request);
        if (!run) throw std::runtime_error(run.error().message);
        return *std::move(run);
    }
    /// From whoever listens there at last.
    static FakeContainer joined(const guard_region::Reservation& run) {
        const auto end = std::chrono::steady_clock::now() + kPatience;
        while (std::chrono::steady_clock::now() < end) {
            FakeContainer container(pages_from(run.node()));
            if (container.has_pages() && container.turns().heartbeat.load() != 0) return container;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return FakeContainer({});
    }

    os::TemporaryDirectory directory_;
    guard_region::Runs runs_{directory_.path()};
};

TEST_F(SharedKeeperTest, TwoRunsTakeTurnsBeforeOneKeeper) {
    const auto first = reserve();
    const auto second = reserve();
    const SharedKeeper one(runs_);
    const SharedKeeper other(runs_);
    ASSERT_TRUE(SharedKeeper::wait_for(first.node(), kPatience));
    FakeContainer a = joined(first);
    FakeContainer b = joined(second);
    ASSERT_TRUE(a.has_pages() && b.has_pages());
    ASSERT_TRUE(a.take());
    EXPECT_FALSE(b.is_mine());
    a.give_back();
    EXPECT_TRUE(b.take());
}

TEST_F(SharedKeeperTest, AnotherTakesOverWhenWhoeverKeepsTurnsEnds) {
    const auto run = reserve();
    std::optional<SharedKeeper> one(runs_);
    FakeContainer before = joined(run);
    ASSERT_TRUE(before.has_pages());
    const SharedKeeper other(runs_);
    one.reset();
    EXPECT_EQ(before.turns().heartbeat.load(), 0U);
    FakeContainer after = joined(run);
    ASSERT_TRUE(after.has_pages());
    EXPECT_TRUE(after.take());
}

TEST_F(SharedKeeperTest, WaitingForNobodyEnds) {
    const auto run = reserve();
    EXPECT_FALSE(SharedKeeper::wait_for(run.node(), std::chrono::milliseconds(20)));
}

}  // namespace
}  // namespace aliquot::turns
