// SPDX-License-Identifier: Apache-2.0
// An agent that starts again has the rights that are shipped and no more (privileges.h): what it needs of
// containers that were there before it gets with these.
#include "tests/attack/attack_node.h"

namespace aliquot::attack {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Restarted : public AttackNode, public testing::WithParamInterface<unsigned> {};

TEST_P(Restarted, AContainerOfThisUserKeepsItsOneLedger) {
    start_agent("{watchdog: report}");
    if (HasFatalFailure() || IsSkipped()) return;
    const auto train = admit("train");
    ASSERT_TRUE(train) << train.error().message;
    // 2 GiB and a context of 3 GiB.
    auto first = run_in(
        *train, GetParam(), "first.log",
        {ALIQUOT_TEST_DIR "/cuda_tenant", "alloc:2147483648", "wait:" + file("restarted").native(),
         "alloc:1073741824", "wait:" + file("over").native()},
        true);
    ASSERT_TRUE(eventually([&] { return log("first.log").contains("alloc 0"); }))
        << log("first.log");
    agent_->terminate(60s);
    agent_.reset();
    start_agent("{watchdog: report}");
    if (HasFatalFailure()) return;
    // What comes now is counted beside it.
    auto second =
        run_in(*train, GetParam(), "second.log",
               {ALIQUOT_TEST_DIR "/cuda_tenant", "alloc:1073741824", "alloc:134217728"}, true);
    const auto exit = second.wait(120s);
    EXPECT_TRUE(exit && exit->code == 0);
    EXPECT_THAT(log("second.log"), HasSubstr("alloc 2\nalloc 0\n"));
    make("restarted");
    EXPECT_TRUE(eventually([&] { return log("first.log").contains("alloc 2"); }))
        << log("first.log");
    make("over");
    EXPECT_TRUE(first.wait(120s));
}

INSTANTIATE_TEST_SUITE_P(User, Restarted, testing::Values(0U, 65'532U));

}  // namespace
}  // namespace aliquot::attack
