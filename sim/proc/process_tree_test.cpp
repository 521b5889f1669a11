// SPDX-License-Identifier: Apache-2.0
#include "sim/proc/process_tree.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "k8s/cgroup.h"
#include "os/process_stat.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot::sim {
namespace {

bool says(const std::optional<k8s::CgroupPlace>& place, const std::string& uid,
          const std::string& id) {
    return place && place->pod_uid == uid && place->container_id == id;
}

using namespace std::chrono_literals;
using testing::ElementsAre;

const std::string kUid = "8b0f2a6e-41d7-4c39-9a55-0de1c7f3b284";
const PodOnNode kPod{.pod_namespace = "ai", .name = "trainer", .uid = kUid};

class ProcessTreeTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(tree_.begin()); }

    static os::Process start(std::vector<std::string> argv) {
        auto process =
            os::Process::start({.argv = std::move(argv), .environment = os::current_environment()});
        if (!process) throw std::runtime_error(process.error().message);
        return *std::move(process);
    }
    std::string read(const std::string& path) const {
        const auto text = root_.read(path);
        return text ? *text : "";
    }
    std::optional<k8s::CgroupPlace> place(std::uint32_t pid) const {
        return k8s::place_of(read("/proc/" + std::to_string(pid) + "/cgroup"));
    }
    bool is_there(std::uint32_t pid) const {
        return root_.exists("/proc/" + std::to_string(pid) + "/stat");
    }
    /// Refreshes until it holds: other processes have to get that far.
    bool eventually(const std::function<bool()>& holds) {
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < end) {
            tree_.refresh();
            if (holds()) return true;
            std::this_thread::sleep_for(10ms);
        }
        return false;
    }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    ProcessTree tree_{root_, {}};
};

TEST_F(ProcessTreeTest, ShowsARealProcessInItsPodsCgroup) {
    const auto id = tree_.start_container(kPod, "main");
    ASSERT_TRUE(id) << id.error().message;
    const os::Process process = start({"/bin/sleep", "1000"});
    const auto pid = static_cast<std::uint32_t>(process.pid());
    ASSERT_TRUE(tree_.add_process(kUid, "main", process.pid()));
    EXPECT_TRUE(says(place(pid), kUid, *id));
    const auto stat = os::parse_stat(read("/proc/" + std::to_string(pid) + "/stat"));
    ASSERT_TRUE(stat);
    EXPECT_EQ(stat->pid, pid);
    EXPECT_EQ(stat->parent, static_cast<std::uint32_t>(::getpid()));
}

TEST_F(ProcessTreeTest, WritesEveryFormSoThatItReadsBack) {
    const std::string id(64, 'a');
    for (const CgroupForm form : all_cgroup_forms()) {
        for (const auto quality : {QualityOfService::kGuaranteed, QualityOfService::kBurstable,
                                   QualityOfService::kBestEffort}) {
            const std::string text = cgroup_text(form, quality, kUid, id);
            EXPECT_TRUE(says(k8s::place_of(text), kUid, id)) << text;
        }
        EXPECT_FALSE(k8s::place_of(host_cgroup_text(form, "sshd")));
    }
}

TEST_F(ProcessTreeTest, FollowsChildrenAlsoThoseWhoseParentHasEnded) {
    ASSERT_TRUE(tree_.start_container(kPod, "main"));
    // A child, and a grandchild whose parent ends at once.
    const os::Process process =
        start({"/bin/sh", "-c", "sleep 1000 & (sleep 1000 &) ; sleep 1000; true"});
    ASSERT_TRUE(tree_.add_process(kUid, "main", process.pid()));
    EXPECT_TRUE(eventually([&] { return tree_.size() == 2 + 4; })) << tree_.size();
}

TEST_F(ProcessTreeTest, ForgetsWhatHasEnded) {
    ASSERT_TRUE(tree_.start_container(kPod, "main"));
    os::Process process = start({"/bin/sleep", "1000"});
    const auto pid = static_cast<std::uint32_t>(process.pid());
    ASSERT_TRUE(tree_.add_process(kUid, "main", process.pid()));
    ASSERT_TRUE(is_there(pid));
    process.terminate(0ms);
    EXPECT_FALSE(is_there(pid));  // at once
    tree_.refresh();
    EXPECT_FALSE(root_.exists("/proc/" + std::to_string(pid)));
    EXPECT_EQ(tree_.size(), 2U);
}

TEST_F(ProcessTreeTest, ShowsOtherProcessesAsTheHosts) {
    const os::Process process = start({"/bin/sleep", "1000"});
    const auto pid = static_cast<std::uint32_t>(process.pid());
    EXPECT_FALSE(is_there(pid));
    tree_.refresh();
    EXPECT_TRUE(is_there(pid));
    EXPECT_FALSE(place(pid));
    EXPECT_EQ(read("/proc/1/comm"), "systemd\n");
    EXPECT_EQ(read("/proc/2/comm"), "kthreadd\n");
}

TEST_F(ProcessTreeTest, GivesAContainerItsDirectoriesAndANewIdAtEachStart) {
    const auto first = tree_.start_container(kPod, "main", "/tmp/main.log");
    const auto second = tree_.start_container(kPod, "main", "/tmp/main.log");
    ASSERT_TRUE(first && second);
    EXPECT_NE(*first, *second);
    EXPECT_THAT(*root_.list("/var/log/pods"), ElementsAre("ai_trainer_" + kUid));
    EXPECT_THAT(*root_.list("/var/log/pods/ai_trainer_" + kUid), ElementsAre("main"));
    EXPECT_THAT(*root_.list("/var/log/containers"),
                ElementsAre("trainer_ai_main-" + *second + ".log"));
    ASSERT_TRUE(tree_.put_process(kUid, "main", {.pid = 4'000'000, .start_ticks = 7}));
    EXPECT_TRUE(says(place(4'000'000), kUid, *second));
    tree_.remove_pod(kUid);
    EXPECT_THAT(*root_.list("/var/log/pods"), ElementsAre());
    EXPECT_THAT(*root_.list("/var/log/containers"), ElementsAre());
    EXPECT_FALSE(is_there(4'000'000));
}

TEST_F(ProcessTreeTest, RefusesWhatNoNodeCouldHave) {
    EXPECT_FALSE(tree_.start_container({"ai", "trainer", "uid-1"}, "main"));
    EXPECT_FALSE(tree_.start_container({"ai", "../trainer", kUid}, "main"));
    EXPECT_FALSE(tree_.start_container(kPod, "a_b"));
    EXPECT_FALSE(tree_.add_process(kUid, "main", ::getpid()));
    ASSERT_TRUE(tree_.start_container(kPod, "main"));
    EXPECT_FALSE(tree_.add_process(kUid, "main", 999'999'999));
    const os::Root machine("/");
    ProcessTree own(machine, {});
    EXPECT_FALSE(own.begin());
}

}  // namespace
}  // namespace aliquot::sim
