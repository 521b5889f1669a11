// SPDX-License-Identifier: Apache-2.0
#include "pods/host_view.h"

#include <gtest/gtest.h>

#include "os/temporary_directory.h"

namespace aliquot::pods {
namespace {

const std::string kId(64, 'c');
const std::string kPodA = "/kubepods/pod8b0f2a6e-41d7-4c39-9a55-0de1c7f3b284/";
const std::string kPodB = "/kubepods/pod11111111-41d7-4c39-9a55-0de1c7f3b284/";

class HostViewTest : public testing::Test {
protected:
    void put(const std::string& pid, const std::string& command, const std::string& path,
             const std::string& parent = "1") const {
        const std::string number = pid == "self" ? "7" : pid;
        ASSERT_TRUE(root_.write_atomically("/proc/" + pid + "/stat",
                                           number + " (" + command + ") S " + parent +
                                               " 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77\n"));
        ASSERT_TRUE(root_.write_atomically("/proc/" + pid + "/cgroup", "0::" + path + "\n"));
    }
    HostView view() const { return look_at_proc(root_, "/proc"); }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
};

TEST_F(HostViewTest, IsNoneWithoutProcesses) {
    EXPECT_EQ(view(), HostView::kNone);
    ASSERT_TRUE(root_.write_atomically("/proc/version", "Linux"));
    EXPECT_EQ(view(), HostView::kNone);
}

TEST_F(HostViewTest, IsTheMachinesWhereItsKernelThreadsAre) {
    put("1", "systemd", "/init.scope", "0");
    put("2", "kthreadd", "/", "0");
    EXPECT_EQ(view(), HostView::kMachine);
}

TEST_F(HostViewTest, IsOurOwnInAContainerWithoutHostPid) {
    put("1", "agent", "/");  // version 2: a cgroup namespace of its own
    put("self", "agent", "/");
    EXPECT_EQ(view(), HostView::kOwn);
    put("2", "kthreadd", "/");  // somebody's joke: it has a parent
    EXPECT_EQ(view(), HostView::kOwn);
}

TEST_F(HostViewTest, IsOurOwnWhenAPodSharesItsPidNamespace) {
    put("1", "pause", kPodA + std::string(64, 'd'), "0");
    put("7", "agent", kPodA + kId, "0");
    put("self", "agent", kPodA + kId, "0");
    EXPECT_EQ(view(), HostView::kOwn);
}

TEST_F(HostViewTest, IsANodesWhereOtherPodsOrKubeletRun) {
    put("1", "systemd", "/docker/" + kId + "/init.scope", "0");
    put("self", "agent", kPodA + kId);
    EXPECT_EQ(view(), HostView::kOwn);
    put("300", "python3", kPodB + kId);
    EXPECT_EQ(view(), HostView::kNode);
}

TEST_F(HostViewTest, IsANodesWhereKubeletRuns) {
    put("1", "init", "/", "0");
    put("self", "agent", "/");
    put("120", "kubelet", "/system.slice/kubelet.service");
    EXPECT_EQ(view(), HostView::kNode);
}

}  // namespace
}  // namespace aliquot::pods
