// SPDX-License-Identifier: Apache-2.0
// What a tenant names, an agent that starts neither opens nor waits for.
#include <csignal>

#include "tests/attack/attack_node.h"

namespace aliquot::attack {
namespace {

using namespace std::chrono_literals;
using testing::Not;

class Baited : public AttackNode, public testing::WithParamInterface<unsigned> {};

TEST_P(Baited, AnAgentThatStartsTakesNone) {
    start_agent("{}");
    if (HasFatalFailure() || IsSkipped()) return;
    const auto hostile = admit("hostile");
    ASSERT_TRUE(hostile) << hostile.error().message;
    if (hostile->groups.empty()) GTEST_SKIP() << "no control groups can be made here";
    ASSERT_TRUE(eventually([&] { return status().contains("\"hostile\""); }));
    // By this one the agent knows whose the group is: the other hides its mounts.
    os::Process open = run_in(*hostile, 65'532, "open.log", {"/bin/sleep", "1000"}, false);
    os::Process attack = attack_in(*hostile, "bait", 1000, GetParam());
    ASSERT_TRUE(eventually([&] { return log("attacker.log").contains('\n'); }));
    if (!log("attacker.log").contains("baited")) GTEST_SKIP() << log("attacker.log");
    agent_->terminate(60s);
    agent_.reset();
    start_agent("{}");
    if (HasFatalFailure()) return;
    // It has looked through all that the container has when the ledger is handed out again.
    const auto attached = [&] {
        auto process = run_in(*hostile, 65'532, "attach.log",
                              {ALIQUOT_TEST_DIR "/attacker", "attach", "1"}, false);
        (void)process.wait(60s);
        return ("\n" + log("attach.log")).contains("\n1 ");  // one line for each try
    };
    EXPECT_TRUE(eventually(attached)) << log("attach.log") << log("attacker.log") << status();
    EXPECT_TRUE(admit("another"));
    EXPECT_THAT(log("attacker.log"), Not(testing::HasSubstr("opened")));
    for (os::Process* const one : {&attack, &open}) {
        one->signal(SIGKILL);
        EXPECT_TRUE(one->wait(60s));
    }
}

INSTANTIATE_TEST_SUITE_P(Attack, Baited, testing::Values(65'534U, 0U),
                         [](const auto& one) { return "AsUser" + std::to_string(one.param); });

}  // namespace
}  // namespace aliquot::attack
