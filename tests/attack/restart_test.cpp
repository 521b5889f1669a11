// SPDX-License-Identifier: Apache-2.0
// An agent that starts again has the rights that are shipped and no more (privileges.h): what it needs of
// containers that were there before it gets with these.
#include <filesystem>
#include <fstream>

#include "abi/region.h"
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

/// A container whose guard is of another version than the agent, as after an upgrade in place.
class OtherVersion : public Restarted {
protected:
    void SetUp() override {
        AttackNode::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        if (!std::filesystem::exists(kLibrary)) GTEST_SKIP() << "not built under sanitizers";
    }
    /// Its config as an agent of that version writes it.
    void change_config(const Container& container) {
        for (const auto& mount : container.grant.mounts) {
            if (mount.container_path != abi::kGuardDirectory) continue;
            const auto config = root_.resolve(mount.host_path) / abi::kConfigFile;
            constexpr std::uint32_t kVersion = ALIQUOT_NEXT_REGION_ABI;
            std::fstream(config, std::ios::binary | std::ios::in | std::ios::out)
                .seekp(offsetof(abi::Config, abi))
                .write(reinterpret_cast<const char*>(&kVersion), sizeof kVersion);
        }
    }
    os::Process run(const Container& container, const std::string& name,
                    const std::vector<std::string>& words) {
        std::vector<std::string> argv{"/usr/bin/env", "LD_PRELOAD=" + kLibrary,
                                      ALIQUOT_TEST_DIR "/cuda_tenant"};
        argv.insert(argv.end(), words.begin(), words.end());
        return run_in(container, GetParam(), name, argv, false);
    }
    void restart() {
        agent_->terminate(60s);
        agent_.reset();
        start_agent("{watchdog: report}");
    }
    const std::string kLibrary = ALIQUOT_TEST_DIR "/next/libaliquot-guard.so";
};

TEST_P(OtherVersion, ItsContainersGoOnAndAreMeasuredByTheDriver) {
    start_agent("{watchdog: report}");
    if (HasFatalFailure() || IsSkipped()) return;
    const auto train = admit("train");
    ASSERT_TRUE(train) << train.error().message;
    change_config(*train);
    restart();
    if (HasFatalFailure()) return;
    EXPECT_TRUE(eventually([&] { return status().contains("\"other_version\""); })) << status();
    EXPECT_THAT(status(), HasSubstr("a guard's config of version 1000, expected "));
    // Nobody had a ledger: its guard makes the content of a new one.
    auto first = run(*train, "first.log",
                     {"alloc:2147483648", "alloc:1073741824", "wait:" + file("over").native()});
    ASSERT_TRUE(eventually([&] { return log("first.log").contains("alloc 0\nalloc 2\n"); }))
        << log("first.log");
    const std::string measured = "2462056448";  // 2 GiB and a context
    EXPECT_TRUE(eventually([&] { return status().contains(measured); })) << status();
    // Now a process has it, and the next agent hands it on.
    restart();
    if (HasFatalFailure()) return;
    auto second = run(*train, "second.log", {"alloc:1073741824", "alloc:134217728"});
    const auto exit = second.wait(120s);
    EXPECT_TRUE(exit && exit->code == 0);
    EXPECT_THAT(log("second.log"), HasSubstr("alloc 2\nalloc 0\n"));
    // A container that begins now has all that this agent's version has.
    const auto later = admit("later");
    ASSERT_TRUE(later) << later.error().message;
    auto new_one =
        run_in(*later, GetParam(), "later.log",
               {ALIQUOT_TEST_DIR "/cuda_tenant", "alloc:1073741824", "alloc:3221225472"}, true);
    EXPECT_TRUE(new_one.wait(120s));
    EXPECT_THAT(log("later.log"), HasSubstr("alloc 0\nalloc 2\n"));
    make("over");
    EXPECT_TRUE(first.wait(120s));
}

INSTANTIATE_TEST_SUITE_P(User, OtherVersion, testing::Values(0U, 65'532U));

INSTANTIATE_TEST_SUITE_P(User, Restarted, testing::Values(0U, 65'532U));

}  // namespace
}  // namespace aliquot::attack
