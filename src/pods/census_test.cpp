// SPDX-License-Identifier: Apache-2.0
#include "pods/census.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <latch>
#include <thread>

#include "base/log.h"
#include "os/temporary_directory.h"

namespace aliquot::pods {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using Kind = Belonging::Kind;

const std::string kUid = "8b0f2a6e-41d7-4c39-9a55-0de1c7f3b284";
const std::string kOtherUid = "11111111-41d7-4c39-9a55-0de1c7f3b284";
const std::string kId(64, 'c');
const std::string kCheckpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";

std::string entry(const std::string& uid, const std::string& container, const std::string& id) {
    return R"({"PodUID":")" + uid + R"(","ContainerName":")" + container +
           R"(","ResourceName":"nvidia.com/gpu","DeviceIDs":{"0":[")" + id +
           R"("]},"AllocResp":"AA=="})";
}

class CensusTest : public testing::Test {
protected:
    void SetUp() override {
        log::set_sink([](std::string_view) {});
        put_process(2, 1, "kthreadd", "/", 0);
    }
    void TearDown() override { log::set_sink({}); }

    void put_process(std::uint32_t pid, std::uint64_t start, const std::string& command,
                     const std::string& path, std::uint32_t parent = 1) {
        const std::string directory = "/proc/" + std::to_string(pid);
        ASSERT_TRUE(root_.write_atomically(
            directory + "/stat",
            std::to_string(pid) + " (" + command + ") S " + std::to_string(parent) +
                " 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + std::to_string(start) + "\n"));
        ASSERT_TRUE(root_.write_atomically(directory + "/cgroup", "0::" + path + "\n"));
    }
    void end_process(std::uint32_t pid) {
        std::filesystem::remove_all(root_.resolve("/proc/" + std::to_string(pid)));
    }
    static std::string in_pod(const std::string& uid, const std::string& id = kId) {
        return "/kubepods/burstable/pod" + uid + "/" + id;
    }
    void write_checkpoint(const std::string& entries) {
        ASSERT_TRUE(
            root_.write_atomically(kCheckpoint, R"({"Data":{"PodDeviceEntries":[)" + entries +
                                                    R"(],"RegisteredDevices":{}},"Checksum":1})"));
    }
    void log_container(const std::string& name) {
        ASSERT_TRUE(root_.write_atomically("/var/log/containers/" + name + ".log", ""));
    }
    void make(const std::string& path) { ASSERT_TRUE(root_.make_directories(path)); }

    Census& census(bool with_kubelet = true) {
        Census::List list;
        if (with_kubelet) {
            list = [this](std::chrono::milliseconds) -> Result<std::vector<kubelet::Holder>> {
                ++questions_;
                if (!kubelet_error_.empty()) return Error{ErrorCode::kUnavailable, kubelet_error_};
                return listed_;
            };
        }
        if (!census_) census_ = std::make_unique<Census>(root_, clock_, options_, std::move(list));
        return *census_;
    }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    os::ManualClock clock_;
    CensusOptions options_;
    std::vector<kubelet::Holder> listed_;
    std::string kubelet_error_;
    int questions_ = 0;
    std::unique_ptr<Census> census_;
};

TEST_F(CensusTest, FindsPodContainerAndDevicesOfAProcess) {
    put_process(500, 77, "python3", in_pod(kUid));
    write_checkpoint(entry(kUid, "main", "GPU-a::3"));
    listed_ = {{"ai", "trainer", "main", "nvidia.com/gpu", {"GPU-a::3"}}};
    census().refresh();
    EXPECT_THAT(census().holders()->list,
                ElementsAre(Holder{.owner = {kUid, "ai", "trainer", "main", ""},
                                   .resource = "nvidia.com/gpu",
                                   .ids = {"GPU-a::3"}}));
    EXPECT_THAT(census().holders()->degraded, IsEmpty());
    const Belonging found = census().belonging_of(500);
    EXPECT_EQ(found.kind, Kind::kPod);
    EXPECT_EQ(found.owner, (Owner{kUid, "ai", "trainer", "main", kId}));
    EXPECT_EQ(found.start_ticks, 77U);
    EXPECT_EQ(found.command, "python3");
}

TEST_F(CensusTest, WorksWithTheLogDirectoriesAlone) {
    put_process(500, 77, "python3", in_pod(kUid));
    make("/var/log/pods/ai_trainer_" + kUid + "/main");
    census(false).refresh();
    EXPECT_EQ(census().belonging_of(500).owner, (Owner{kUid, "ai", "trainer", "main", kId}));
    EXPECT_THAT(census().holders()->degraded, ElementsAre(Degraded::kStaleHolders));
}

TEST_F(CensusTest, TellsContainersOfAPodApartByTheirLogFiles) {
    const std::string other(64, 'd');
    put_process(500, 77, "python3", in_pod(kUid));
    put_process(501, 78, "python3", in_pod(kUid, other));
    write_checkpoint(entry(kUid, "one", "GPU-a::0") + "," + entry(kUid, "two", "GPU-a::1"));
    make("/var/log/pods/ai_trainer_" + kUid + "/one");
    make("/var/log/pods/ai_trainer_" + kUid + "/two");
    census(false).refresh();
    EXPECT_EQ(census().belonging_of(500).owner.container, "");  // nothing tells
    log_container("trainer_ai_one-" + kId);
    log_container("trainer_ai_two-" + other);
    census().refresh();
    EXPECT_EQ(census().belonging_of(500).owner.container, "one");
    EXPECT_EQ(census().belonging_of(501).owner.container, "two");
}

// As a node with kubelet 1.36, containerd 2.1 and the cgroupfs driver showed it: a pod whose init
// container and first container have the same device, and one that has ended.
TEST_F(CensusTest, ReadsANodeAsItWasSeen) {
    const std::string ended = "bfd8337a-a88a-44d4-bc39-003d76c4f06f";
    const std::string sandbox(64, 'a');
    const std::string one(64, 'b');
    const std::string prepare(64, 'e');
    write_checkpoint(entry(kUid, "prepare", "GPU-a::0") + "," + entry(kUid, "one", "GPU-a::0") +
                     "," + entry(kUid, "two", "GPU-b::0") + "," + entry(ended, "main", "GPU-a::1"));
    listed_ = {{"default", "trainer", "one", "nvidia.com/gpu", {"GPU-a::0"}},
               {"default", "trainer", "two", "nvidia.com/gpu", {"GPU-b::0"}}};
    make("/var/log/pods/default_trainer_" + kUid + "/prepare");
    make("/var/log/pods/default_trainer_" + kUid + "/one");
    make("/var/log/pods/default_short_" + ended + "/main");
    log_container("trainer_default_prepare-" + prepare);
    log_container("trainer_default_one-" + one);
    put_process(24827, 70, "pause", "/kubepods/besteffort/pod" + kUid + "/" + sandbox);
    put_process(25652, 71, "sleep", "/kubepods/besteffort/pod" + kUid + "/" + one);
    put_process(25653, 71, "sleep", "/kubepods/besteffort/pod" + kUid + "/" + prepare);
    for (int second = 0; second < 4; ++second, clock_.advance(1000ms)) census().refresh();
    EXPECT_THAT(census().holders()->list,
                ElementsAre(Holder{.owner = {kUid, "default", "trainer", "one", ""},
                                   .resource = "nvidia.com/gpu",
                                   .ids = {"GPU-a::0"}},
                            Holder{.owner = {kUid, "default", "trainer", "two", ""},
                                   .resource = "nvidia.com/gpu",
                                   .ids = {"GPU-b::0"}}));
    EXPECT_THAT(census().holders()->degraded, IsEmpty());
    EXPECT_EQ(census().belonging_of(24827).owner, (Owner{kUid, "default", "trainer", "", sandbox}));
    EXPECT_EQ(census().belonging_of(25652).owner.container, "one");
    EXPECT_EQ(census().belonging_of(25653).owner.container, "prepare");
}

TEST_F(CensusTest, DoesNotTakeASandboxForTheOnlyContainer) {
    put_process(500, 77, "pause", in_pod(kUid, std::string(64, 'a')));
    write_checkpoint(entry(kUid, "main", "GPU-a::3"));
    listed_ = {{"ai", "trainer", "main", "nvidia.com/gpu", {"GPU-a::3"}}};
    log_container("trainer_ai_main-" + kId);
    census().refresh();
    EXPECT_EQ(census().belonging_of(500).owner.container, "");
}

TEST_F(CensusTest, NamesAStaticPod) {
    const std::string hash = "656c84258b904c0a21201f9b769e33f9";
    put_process(500, 77, "sleep", in_pod(hash));
    make("/var/log/pods/kube-system_static-vm_" + hash + "/main");
    census().refresh();
    EXPECT_EQ(census().belonging_of(500).owner,
              (Owner{hash, "kube-system", "static-vm", "main", kId}));
}

TEST_F(CensusTest, SaysThatAProcessHasEndedAndWhoseItWas) {
    put_process(500, 77, "python3", in_pod(kUid));
    census().refresh();
    ASSERT_EQ(census().belonging_of(500).kind, Kind::kPod);
    end_process(500);
    const Belonging gone = census().belonging_of(500);
    EXPECT_EQ(gone.kind, Kind::kGone);
    EXPECT_EQ(gone.owner.pod_uid, kUid);
    EXPECT_EQ(gone.start_ticks, 77U);
    const Belonging forgotten = census().belonging_of(500);
    EXPECT_EQ(forgotten.kind, Kind::kGone);
    EXPECT_EQ(forgotten.owner.pod_uid, "");
}

TEST_F(CensusTest, DoesNotTakeAReusedPidForTheProcessBeforeIt) {
    put_process(500, 77, "python3", in_pod(kUid));
    census().refresh();
    ASSERT_EQ(census().belonging_of(500).owner.pod_uid, kUid);
    put_process(500, 99, "python3", in_pod(kOtherUid));
    const Belonging found = census().belonging_of(500);
    EXPECT_EQ(found.owner.pod_uid, kOtherUid);
    EXPECT_EQ(found.start_ticks, 99U);
}

TEST_F(CensusTest, LooksAgainWhetherAProcessOfTheHostWasMovedIntoAPod) {
    put_process(500, 77, "runc", "/system.slice/containerd.service");
    census().refresh();
    ASSERT_EQ(census().belonging_of(500).kind, Kind::kHost);
    put_process(500, 77, "runc", in_pod(kUid));
    EXPECT_EQ(census().belonging_of(500).kind, Kind::kHost);  // from the cache
    put_process(500, 77, "python3", in_pod(kUid));            // it became another program
    EXPECT_EQ(census().belonging_of(500).kind, Kind::kPod);
    put_process(501, 77, "runc", "/system.slice/containerd.service");
    ASSERT_EQ(census().belonging_of(501).kind, Kind::kHost);
    put_process(501, 77, "runc", in_pod(kUid));
    clock_.advance(options_.between_lists);
    EXPECT_EQ(census().belonging_of(501).kind, Kind::kPod);
}

TEST_F(CensusTest, KnowsNothingOfProcessesWithoutTheHostsPids) {
    end_process(2);
    put_process(1, 1, "agent", "/", 0);
    write_checkpoint(entry(kUid, "main", "GPU-a::3"));
    make("/var/log/pods/ai_trainer_" + kUid);
    census().refresh();
    EXPECT_EQ(census().belonging_of(500).kind, Kind::kUnknown);
    EXPECT_EQ(census().belonging_of(1).kind, Kind::kUnknown);  // another process has that number
    EXPECT_THAT(census().holders()->degraded, ElementsAre(Degraded::kNoHostPid));
    EXPECT_EQ(census().holders()->list.size(), 1U);
}

TEST_F(CensusTest, DoesNotSayGoneOnANodeInsideAnotherMachine) {
    end_process(2);
    put_process(120, 5, "kubelet", "/kubelet.slice/kubelet.service");
    put_process(500, 77, "python3", in_pod(kUid));
    census().refresh();
    EXPECT_EQ(census().belonging_of(500).kind, Kind::kPod);
    EXPECT_EQ(census().belonging_of(31'000).kind, Kind::kUnknown);
    census().refresh();
    EXPECT_THAT(census().holders()->degraded, Contains(Degraded::kNoHostPid));
    end_process(500);
    EXPECT_EQ(census().belonging_of(500).kind, Kind::kGone);
    clock_.advance(options_.between_lists);
    census().refresh();
    EXPECT_THAT(census().holders()->degraded, Not(Contains(Degraded::kNoHostPid)));
}

TEST_F(CensusTest, AsksKubeletSeldomAndWhenTheCheckpointChanges) {
    make("/var/log/pods/ai_trainer_" + kUid);
    write_checkpoint("");
    for (int second = 0; second < 10; ++second, clock_.advance(1000ms)) census().refresh();
    EXPECT_EQ(questions_, 1);
    census().refresh();
    EXPECT_EQ(questions_, 2);
    clock_.advance(1000ms);
    write_checkpoint(entry(kUid, "main", "GPU-a::3"));
    census().refresh();
    EXPECT_EQ(questions_, 3);
    // kubelet did not tell of it yet: again after a moment, and then no more.
    clock_.advance(1000ms);
    census().refresh();
    EXPECT_EQ(questions_, 3);
    clock_.advance(500ms);
    census().refresh();
    EXPECT_EQ(questions_, 4);
    EXPECT_THAT(census().holders()->list, IsEmpty());
    clock_.advance(5000ms);
    census().refresh();
    EXPECT_EQ(questions_, 4);
}

TEST_F(CensusTest, SaysThatKubeletHasNotToldForAWhile) {
    write_checkpoint(entry(kUid, "main", "GPU-a::3"));
    make("/var/log/pods/ai_trainer_" + kUid);
    kubelet_error_ = "too many requests";
    for (int second = 0; second < 59; ++second, clock_.advance(1000ms)) census().refresh();
    EXPECT_LE(questions_, 6);
    EXPECT_THAT(census().holders()->degraded, IsEmpty());
    clock_.advance(1000ms);
    census().refresh();
    EXPECT_THAT(census().holders()->degraded, ElementsAre(Degraded::kStaleHolders));
    EXPECT_EQ(census().holders()->list.size(), 1U);  // what is written down is still the best
    kubelet_error_.clear();
    listed_ = {{"ai", "trainer", "main", "nvidia.com/gpu", {"GPU-a::3"}}};
    clock_.advance(10'000ms);
    census().refresh();
    EXPECT_THAT(census().holders()->degraded, IsEmpty());
}

TEST_F(CensusTest, SaysThatPodsAreKnownByUidOnly) {
    put_process(500, 77, "python3", in_pod(kUid));
    census().refresh();
    EXPECT_EQ(census().belonging_of(500).owner, (Owner{kUid, "", "", "", kId}));
    census().refresh();
    EXPECT_THAT(census().holders()->degraded, ElementsAre(Degraded::kNoPodIdentity));
    make("/var/log/pods/ai_trainer_" + kUid);
    census().refresh();
    EXPECT_EQ(census().belonging_of(500).owner.pod, "trainer");
    clock_.advance(options_.between_lists);
    census().refresh();
    EXPECT_THAT(census().holders()->degraded, IsEmpty());
}

TEST_F(CensusTest, KnowsANewPodBeforeKubeletIsAskedAgain) {
    census().refresh();
    write_checkpoint(entry(kUid, "main", "GPU-a::3"));
    make("/var/log/pods/ai_trainer_" + kUid + "/main");
    put_process(500, 77, "python3", in_pod(kUid));
    census().look();
    EXPECT_THAT(census().holders()->list,
                ElementsAre(Holder{.owner = {kUid, "ai", "trainer", "main", ""},
                                   .resource = "nvidia.com/gpu",
                                   .ids = {"GPU-a::3"}}));
    EXPECT_EQ(census().belonging_of(500).owner, (Owner{kUid, "ai", "trainer", "main", kId}));
    EXPECT_EQ(questions_, 1);
    clock_.advance(1000ms);
    census().refresh();  // now it is
    EXPECT_EQ(questions_, 2);
}

TEST_F(CensusTest, DoesWithoutACheckpointThatCannotBeRead) {
    ASSERT_TRUE(root_.write_atomically(kCheckpoint, "{\"Data\":"));
    listed_ = {{"ai", "trainer", "main", "nvidia.com/gpu", {"GPU-a::3"}}};
    census().refresh();
    EXPECT_THAT(census().holders()->list,
                ElementsAre(Holder{.owner = {"", "ai", "trainer", "main", ""},
                                   .resource = "nvidia.com/gpu",
                                   .ids = {"GPU-a::3"}}));
    write_checkpoint(entry(kUid, "main", "GPU-a::3"));
    clock_.advance(1000ms);
    census().refresh();
    EXPECT_EQ(census().holders()->list.at(0).owner.pod_uid, kUid);
}

TEST_F(CensusTest, KeepsALimitedNumberOfProcesses) {
    options_.most_processes = 8;
    census().refresh();
    for (std::uint32_t pid = 100; pid < 140; ++pid) {
        put_process(pid, pid, "python3", in_pod(kUid));
        EXPECT_EQ(census().belonging_of(pid).start_ticks, pid);
    }
    // Those that fell out are read again.
    for (std::uint32_t pid = 100; pid < 140; ++pid) {
        EXPECT_EQ(census().belonging_of(pid).owner.pod_uid, kUid);
    }
}

TEST_F(CensusTest, AnswersWhileKubeletDoesNot) {
    put_process(500, 77, "python3", in_pod(kUid));
    make("/var/log/pods/ai_trainer_" + kUid + "/main");
    std::latch asked(1);
    std::latch released(1);
    Census census(root_, clock_, options_,
                  [&](std::chrono::milliseconds) -> Result<std::vector<kubelet::Holder>> {
                      asked.count_down();
                      released.wait();
                      return std::vector<kubelet::Holder>{};
                  });
    std::jthread refreshing([&] { census.refresh(); });
    asked.wait();
    EXPECT_EQ(census.belonging_of(500).owner.pod, "trainer");
    EXPECT_THAT(census.holders()->list, IsEmpty());
    released.count_down();
}

TEST_F(CensusTest, PublishesOnlyWhatIsNew) {
    write_checkpoint(entry(kUid, "main", "GPU-a::3"));
    census(false).refresh();
    const auto before = census().holders();
    census().refresh();
    EXPECT_EQ(census().holders(), before);
}

}  // namespace
}  // namespace aliquot::pods
