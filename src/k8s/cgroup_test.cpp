// SPDX-License-Identifier: Apache-2.0
#include "k8s/cgroup.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/case_files.h"

namespace aliquot::k8s {
namespace {

const std::string kUid = "8b0f2a6e-41d7-4c39-9a55-0de1c7f3b284";
const std::string kSliceUid = "8b0f2a6e_41d7_4c39_9a55_0de1c7f3b284";
const std::string kStaticUid = "5d1c0f9e8b7a69584736251403f2e1d0";
const std::string kId(64, 'c');
const std::string kOther(64, 'd');

std::string v2(const std::string& path) { return "0::" + path + "\n"; }

bool says(const std::optional<CgroupPlace>& place, const std::string& uid, const std::string& id) {
    return place && place->pod_uid == uid && place->container_id == id;
}

TEST(PlaceOf, ReadsEveryFormOfAPath) {
    const std::string burstable = "/kubepods.slice/kubepods-burstable.slice/";
    const std::array paths{
        burstable + "kubepods-burstable-pod" + kSliceUid + ".slice/cri-containerd-" + kId +
            ".scope",
        "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + kSliceUid +
            ".slice/crio-" + kId + ".scope",
        "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + kSliceUid +
            ".slice/crio-" + kId + ".scope/container",
        burstable + "kubepods-burstable-pod" + kSliceUid + ".slice/docker-" + kId + ".scope",
        "/kubepods.slice/kubepods-pod" + kSliceUid + ".slice/cri-containerd-" + kId + ".scope",
        "/kubepods/burstable/pod" + kUid + "/" + kId,
        "/kubepods/pod" + kUid + "/" + kId,
        "/kubepods/burstable/pod" + kUid + "/crio-" + kId,
        "/system.slice/containerd.service/kubepods-burstable-pod" + kSliceUid +
            ".slice:cri-containerd:" + kId,
        "/kubepods-burstable-pod" + kSliceUid + ".slice:docker:" + kId,
        "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + kSliceUid +
            ".slice/cri-containerd-" + kId + ".scope",
        "/docker/" + kOther + "/kubelet/kubepods/besteffort/pod" + kUid + "/" + kId,
        "/../../kubepods-burstable-pod" + kSliceUid + ".slice/cri-containerd-" + kId + ".scope",
        "/../../../kubepods-pod" + kSliceUid + ".slice/cri-containerd-" + kId + ".scope",
        "/user.slice/user-1000.slice/user@1000.service/app.slice/k3s.service/kubepods/pod" + kUid +
            "/" + kId,
        "/kubepods/pod" + kUid + "/" + kId + " (deleted)",
    };
    for (const std::string& path : paths) {
        const auto place = place_of(v2(path));
        ASSERT_TRUE(place) << path;
        EXPECT_EQ(place->pod_uid, kUid) << path;
        EXPECT_EQ(place->container_id, kId) << path;
    }
}

TEST(PlaceOf, KnowsAStaticPodByItsHash) {
    for (const std::string& path :
         {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kStaticUid +
              ".slice/cri-containerd-" + kId + ".scope",
          "/kubepods/burstable/pod" + kStaticUid + "/" + kId}) {
        const auto place = place_of(v2(path));
        ASSERT_TRUE(place) << path;
        EXPECT_EQ(place->pod_uid, kStaticUid);
        EXPECT_EQ(place->container_id, kId);
    }
}

TEST(PlaceOf, TakesTheLineOfVersion1ThatSaysMost) {
    const std::string pod = "/kubepods/burstable/pod" + kUid;
    const std::string text = "12:pids:" + pod + "\n11:cpu,cpuacct:" + pod + "/" + kOther +
                             "\n10:perf_event:/\n9:memory:" + pod + "/" + kId +
                             "\n1:name=systemd:" + pod + "/" + kOther + "\n";
    EXPECT_TRUE(says(place_of(text), kUid, kId));
    const std::string hybrid = "3:devices:" + pod + "/" + kId + "\n0::/system.slice/x.service\n";
    EXPECT_TRUE(says(place_of(hybrid), kUid, kId));
    EXPECT_TRUE(says(place_of("0::/\n4:freezer:" + pod + "/" + kId), kUid, kId));
}

TEST(PlaceOf, DoesNotTakeAMonitorForItsContainer) {
    EXPECT_TRUE(says(place_of(v2("/kubepods.slice/kubepods-pod" + kSliceUid +
                                 ".slice/crio-conmon-" + kId + ".scope")),
                     kUid, ""));
    EXPECT_TRUE(says(place_of(v2("/kubepods/pod" + kUid + "/crio-conmon-" + kId)), kUid, ""));
    EXPECT_TRUE(says(place_of(v2("/kubepods/pod" + kUid)), kUid, ""));
}

TEST(PlaceOf, TakesTheInnerPodAndItsOwnContainer) {
    const std::string outer = "/kubepods/pod" + kStaticUid + "/" + kOther;
    EXPECT_TRUE(says(place_of(v2(outer + "/kubelet/kubepods/pod" + kUid + "/" + kId)), kUid, kId));
    // A container that runs Docker: kubelet knows the outer one.
    EXPECT_TRUE(
        says(place_of(v2("/kubepods/pod" + kUid + "/" + kId + "/docker/" + kOther)), kUid, kId));
}

TEST(PlaceOf, SaysNothingOfProcessesThatAreInNoPod) {
    for (const std::string& path :
         {std::string("/"), std::string("/init.scope"), std::string("/system.slice/sshd.service"),
          "/system.slice/docker-" + kId + ".scope", "/docker/" + kId,
          "/../cri-containerd-" + kId + ".scope",
          "/machine.slice/machine-libpod_pod_" + kId + ".slice/libpod-" + kId + ".scope",
          "/kubepods/pod" + kUid + "0/" + kId, "/kubepods/xpod" + kUid,
          "/kubepods.slice/kubepods-pod" + kSliceUid + ".slices", std::string("/kubepods/podium"),
          "/kubepods/pod" + kUid.substr(0, 35),
          "/kubepods/pod" + kUid.substr(0, 8) + "_" + kUid.substr(9)}) {
        EXPECT_FALSE(place_of(v2(path))) << path;
    }
    EXPECT_FALSE(place_of(""));
    EXPECT_FALSE(place_of("\n\n:::::\n"));
    EXPECT_FALSE(place_of("pod" + kUid));
}

TEST(PlaceOf, ReadsNoMoreThanItsLimit) {
    const std::string filler(kMostCgroupBytes, 'x');
    EXPECT_FALSE(place_of("0::/" + filler + "\n0::/kubepods/pod" + kUid + "/" + kId));
}

TEST(PlaceOf, TellsTheContainersOwnGroup) {
    const std::string group = "/kubepods/pod" + kUid + "/crio-" + kId;
    for (const char* const below : {"", "/container", "/made/by/the/container"}) {
        const auto place = place_of(v2(group + below));
        ASSERT_TRUE(place);
        EXPECT_EQ(place->group, group) << below;
        EXPECT_TRUE(place->unified);
        EXPECT_FALSE(place->nested);
    }
    EXPECT_EQ(place_of(v2("/kubepods/pod" + kUid))->group, "");
    const auto old = place_of("9:memory:" + group + "/x\n");
    EXPECT_EQ(old->group, group);
    EXPECT_FALSE(old->unified);
    EXPECT_TRUE(place_of(v2(group + "/kubepods/pod" + kStaticUid + "/" + kOther))->nested);
    const std::string old_form = "/kubepods-pod" + kSliceUid + ".slice:cri-containerd:" + kId;
    EXPECT_EQ(place_of(v2(old_form + "/x"))->group, old_form);
}

TEST(ContainerOf, KnowsAContainerOfNoPodByTheOutermostId) {
    const auto place = container_of(v2("/system.slice/docker-" + kId + ".scope/" + kOther));
    ASSERT_TRUE(place);
    EXPECT_EQ(place->container_id, kId);
    EXPECT_EQ(place->group, "/system.slice/docker-" + kId + ".scope");
    EXPECT_EQ(place->pod_uid, "");
    EXPECT_EQ(container_of(v2("/docker/" + kOther + "/kubepods/pod" + kUid + "/" + kId))->pod_uid,
              kUid);
    EXPECT_FALSE(container_of(v2("/user.slice/session-3.scope")));
}

/// A text of /proc/PID/cgroup, "---", and what it says.
class CgroupCase : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(CgroupCase, SaysWhoseItIs) {
    const std::string text = cases::read(GetParam());
    const auto mark = text.find("---\n");
    ASSERT_NE(mark, std::string::npos);
    const std::string cgroup = text.substr(0, mark);
    const auto place = container_of(cgroup);
    const auto word = [](const std::string& value) { return value.empty() ? "-" : value; };
    const CgroupPlace shown = place.value_or(CgroupPlace{.unified = true});
    std::string told = "pod " + word(shown.pod_uid) + "\ncontainer " + word(shown.container_id) +
                       "\ngroup " + word(shown.group) + "\n";
    if (!shown.unified) told += "version 1\n";
    if (shown.nested) told += "nested\n";
    if (cases::rewrites(GetParam(), cgroup + "---\n" + told)) return;
    EXPECT_EQ(told, text.substr(mark + 4));
}

INSTANTIATE_TEST_SUITE_P(Cgroup, CgroupCase,
                         testing::ValuesIn(cases::files({"src/k8s/cases/cgroup"})),
                         [](const auto& one) { return cases::name(one.param); });

TEST(PathsOf, AreOneOfEachHierarchy) {
    EXPECT_EQ(paths_of("2:cpu,cpuacct:/a\n0::/b:c/d (deleted)\n"),
              (std::vector<std::string_view>{"/a", "/b:c/d"}));
    EXPECT_TRUE(paths_of("").empty());
}

}  // namespace
}  // namespace aliquot::k8s
