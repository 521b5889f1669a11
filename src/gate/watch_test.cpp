// SPDX-License-Identifier: Apache-2.0
#include "gate/watch.h"

#include <gtest/gtest.h>

namespace aliquot::gate {
namespace {

using std::chrono::seconds;
using Names = std::vector<std::string>;

GpuState state_of(const std::string& uuid, std::uint64_t memory = 0) {
    return {.uuid = uuid, .memory_used_bytes = memory};
}
const os::TimePoint kBegin{};
const Names kBoth{"GPU-a", "GPU-b"};

TEST(GateWatch, GatesAGpuWhenItsJobHasEndedAndNotBefore) {
    Watch watch;
    EXPECT_EQ(watch.due(kBoth, {"GPU-a"}, kBegin), Names{"GPU-b"});
    watch.note({"GPU-b"}, {state_of("GPU-b")}, {}, kBegin);
    EXPECT_EQ(watch.due(kBoth, {"GPU-a"}, kBegin + seconds(1)), Names{});
    EXPECT_EQ(watch.due(kBoth, {}, kBegin + seconds(2)), Names{"GPU-a"});
    watch.note({"GPU-a"}, {state_of("GPU-a")}, {}, kBegin + seconds(2));
    EXPECT_EQ(watch.due(kBoth, {"GPU-b"}, kBegin + seconds(3)), Names{});
    EXPECT_EQ(watch.due(kBoth, {}, kBegin + seconds(4)), Names{"GPU-b"});
}

TEST(GateWatch, LooksAtADirtyGpuAgainUntilItIsCleanAndAtAFreeOneNowAndThen) {
    Watch watch;
    (void)watch.due(kBoth, {}, kBegin);
    const Leftover left{.kind = LeftoverKind::kMemory, .uuid = "GPU-a", .message = "900 MiB"};
    watch.note(kBoth, {state_of("GPU-a", 900), state_of("GPU-b")}, {left}, kBegin);
    EXPECT_EQ(watch.leftovers(), std::vector<Leftover>{left});
    EXPECT_EQ(watch.due(kBoth, {}, kBegin + seconds(10)), Names{"GPU-a"});
    watch.note({"GPU-a"}, {state_of("GPU-a")}, {}, kBegin + seconds(10));
    EXPECT_TRUE(watch.leftovers().empty());
    EXPECT_EQ(watch.due(kBoth, {}, kBegin + seconds(30)), Names{"GPU-b"});
}

TEST(GateWatch, ComparesWithWhatAGpuWasWhenItWasLastClean) {
    Watch watch;
    EXPECT_TRUE(watch.base_of(kBoth).empty());
    (void)watch.due(kBoth, {}, kBegin);
    watch.note(kBoth, {state_of("GPU-a", 60), state_of("GPU-b", 70)}, {}, kBegin);
    const Leftover left{.kind = LeftoverKind::kMemory, .uuid = "GPU-a", .message = "900 MiB"};
    watch.note({"GPU-a"}, {state_of("GPU-a", 900)}, {left}, kBegin + seconds(9));
    const NodeState base = watch.base_of(kBoth);
    ASSERT_EQ(base.size(), 2U);
    EXPECT_EQ(base[0].memory_used_bytes, 60U);
}

TEST(GateWatch, TellsAGpuThatTheDriverListsNoMoreUntilItIsBack) {
    Watch watch;
    (void)watch.due(kBoth, {}, kBegin);
    watch.note(kBoth, {state_of("GPU-a"), state_of("GPU-b")}, {}, kBegin);
    EXPECT_EQ(watch.due({"GPU-a"}, {}, kBegin + seconds(1)), Names{});
    ASSERT_EQ(watch.leftovers().size(), 1U);
    EXPECT_EQ(watch.leftovers()[0].kind, LeftoverKind::kGone);
    EXPECT_EQ(watch.due(kBoth, {}, kBegin + seconds(2)), Names{"GPU-b"});
    watch.note({"GPU-b"}, {state_of("GPU-b")}, {}, kBegin + seconds(2));
    EXPECT_TRUE(watch.leftovers().empty());
}

TEST(GateWatch, KeepsAQuarantineWhileAJobHasTheDirtyGpu) {
    Watch watch;
    (void)watch.due(kBoth, {}, kBegin);
    const Leftover left{.kind = LeftoverKind::kFault, .uuid = "GPU-b", .gpu = 1, .message = "lost"};
    watch.note(kBoth, {state_of("GPU-a"), state_of("GPU-b")}, {left}, kBegin);
    (void)watch.due(kBoth, {"GPU-b"}, kBegin + seconds(60));
    EXPECT_EQ(watch.leftovers().size(), 1U);
}

}  // namespace
}  // namespace aliquot::gate
