// SPDX-License-Identifier: Apache-2.0
#include "pods/holder_join.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "os/temporary_directory.h"

namespace aliquot::pods {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Ids = std::vector<std::string>;

const std::string kUid = "8b0f2a6e-41d7-4c39-9a55-0de1c7f3b284";
const std::string kOtherUid = "11111111-41d7-4c39-9a55-0de1c7f3b284";
const std::string kGpu = "nvidia.com/gpu";

kubelet::Holder listed(const std::string& pod, const std::string& container, Ids ids) {
    return {"ai", pod, container, kGpu, std::move(ids)};
}
CheckpointEntry written(const std::string& uid, const std::string& container, Ids ids) {
    return {uid, container, kGpu, std::move(ids)};
}
Holder holder(const std::string& uid, const std::string& pod, const std::string& container,
              Ids ids) {
    return {.owner = {.pod_uid = uid,
                      .pod_namespace = pod.empty() ? "" : "ai",
                      .pod = pod,
                      .container = container},
            .resource = kGpu,
            .ids = std::move(ids)};
}

class HolderJoinTest : public testing::Test {
protected:
    void name_pod(const std::string& uid, const std::string& pod) {
        ASSERT_TRUE(root_.make_directories("/logs/ai_" + pod + "_" + uid));
        names_.refresh();
    }
    std::vector<Holder> joined() { return join_.join(names_); }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    LogNames names_{root_, "/logs", "/containers"};
    HolderJoin join_{1500ms};
    os::TimePoint now_{};
};

TEST_F(HolderJoinTest, GivesAToldHolderTheUidThatIsWrittenDown) {
    join_.set_entries({{written(kUid, "main", {"a::0"}), written(kOtherUid, "main", {"a::1"})}});
    join_.set_listed({listed("t1", "main", {"a::1"}), listed("t0", "main", {"a::0"})}, now_);
    EXPECT_THAT(joined(), ElementsAre(holder(kUid, "t0", "main", {"a::0"}),
                                      holder(kOtherUid, "t1", "main", {"a::1"})));
    EXPECT_FALSE(join_.wants_another_answer());
}

TEST_F(HolderJoinTest, ADeviceOfAPodThatIsGoneBringsTheNextOneNoUid) {
    name_pod(kUid, "t0");
    join_.set_entries({{written(kUid, "main", {"a::0"})}});
    join_.set_listed({listed("t0", "main", {"a::0"})}, now_);
    EXPECT_THAT(joined(), ElementsAre(holder(kUid, "t0", "main", {"a::0"})));
    // t0 is deleted with its logs and t1 has its device; the checkpoint was read before that.
    ASSERT_TRUE(std::filesystem::remove(root_.resolve("/logs/ai_t0_" + kUid)));
    names_.refresh();
    join_.set_listed({listed("t1", "main", {"a::0"})}, now_ + 1s);
    EXPECT_THAT(joined(), ElementsAre(holder("", "t1", "main", {"a::0"})));
    join_.set_entries({{written(kUid, "main", {"a::0"}), written(kOtherUid, "main", {"a::0"})}});
    EXPECT_THAT(joined(), ElementsAre(holder(kOtherUid, "t1", "main", {"a::0"})));
}

TEST_F(HolderJoinTest, APodIsKnownByTheNameItWasToldByBeforeItWasGone) {
    join_.set_entries({{written(kUid, "main", {"a::0"})}});
    join_.set_listed({listed("t0", "main", {"a::0"})}, now_);
    EXPECT_THAT(joined(), ElementsAre(holder(kUid, "t0", "main", {"a::0"})));
    join_.set_listed({listed("t1", "main", {"a::0"})}, now_ + 1s);
    EXPECT_THAT(joined(), ElementsAre(holder("", "t1", "main", {"a::0"})));
}

TEST_F(HolderJoinTest, AnAnswerOlderThanAnEntryDoesNotNameIt) {
    join_.set_entries({{written(kUid, "main", {"a::0"})}});
    join_.set_listed({listed("t0", "main", {"a::0"})}, now_);
    joined();
    join_.set_entries(
        {{written(kOtherUid, "main", {"a::0"})}});  // kubelet has not been asked since
    joined();
    join_.set_listed({listed("t1", "main", {"a::0"})}, now_ + 1s);
    EXPECT_THAT(joined(), ElementsAre(holder(kOtherUid, "t1", "main", {"a::0"})));
}

TEST_F(HolderJoinTest, FindsTheUidByTheLogDirectoryWhenThereIsNoCheckpoint) {
    name_pod(kUid, "t0");
    join_.set_entries(std::nullopt);
    join_.set_listed({listed("t0", "main", {"a::0"}), listed("t1", "main", {"a::1"})}, now_);
    EXPECT_THAT(joined(), ElementsAre(holder(kUid, "t0", "main", {"a::0"}),
                                      holder("", "t1", "main", {"a::1"})));
    name_pod(kOtherUid, "t0");  // made anew: which of both is not known
    EXPECT_THAT(joined()[0].owner.pod_uid, "");
}

TEST_F(HolderJoinTest, NamesWhatIsWrittenDownByTheLogDirectoryWhenKubeletIsSilent) {
    name_pod(kUid, "t0");
    join_.set_entries({{written(kUid, "main", {"a::0"}), written(kOtherUid, "main", {"a::1"})}});
    EXPECT_THAT(joined(), ElementsAre(holder(kOtherUid, "", "main", {"a::1"}),
                                      holder(kUid, "t0", "main", {"a::0"})));
}

TEST_F(HolderJoinTest, DropsAnEntryOfWhichKubeletDoesNotTellTwice) {
    name_pod(kUid, "t0");
    name_pod(kOtherUid, "t1");
    join_.set_entries({{written(kUid, "main", {"a::0"})}});
    join_.set_listed({}, now_);  // it may be too early
    EXPECT_THAT(joined(), ElementsAre(holder(kUid, "t0", "main", {"a::0"})));
    EXPECT_TRUE(join_.wants_another_answer());
    join_.set_listed({}, now_ + 1s);
    EXPECT_EQ(joined().size(), 1U);
    join_.set_listed({}, now_ + 2s);
    EXPECT_THAT(joined(), IsEmpty());
    EXPECT_FALSE(join_.wants_another_answer());
    // Another pod is written down; what has ended stays ended.
    join_.set_entries({{written(kUid, "main", {"a::0"}), written(kOtherUid, "main", {"a::1"})}});
    EXPECT_THAT(joined(), ElementsAre(holder(kOtherUid, "t1", "main", {"a::1"})));
    // It was a mistake.
    join_.set_listed({listed("t0", "main", {"a::0"})}, now_ + 4s);
    EXPECT_THAT(joined(), ElementsAre(holder(kUid, "t0", "main", {"a::0"}),
                                      holder(kOtherUid, "t1", "main", {"a::1"})));
}

TEST_F(HolderJoinTest, DoesNotCountAnEntryOfADeletedPod) {
    join_.set_entries({{written(kUid, "main", {"a::0"})}});
    EXPECT_EQ(joined().size(), 1U);  // kubelet has not said anything yet
    join_.set_listed({}, now_);
    EXPECT_THAT(joined(), IsEmpty());
    join_.forget_listed();
    EXPECT_EQ(joined().size(), 1U);
}

TEST_F(HolderJoinTest, DoesNotCountTwiceWhatAnInitContainerLeftToTheNextOne) {
    join_.set_entries({{written(kUid, "init", {"a::0"}), written(kUid, "main", {"a::0"})}});
    join_.set_listed({listed("t0", "main", {"a::0"})}, now_);
    EXPECT_THAT(joined(), ElementsAre(holder(kUid, "t0", "main", {"a::0"})));
}

TEST_F(HolderJoinTest, KeepsWhatOnlyAnInitContainerHoldsWhileItsPodIsThere) {
    name_pod(kUid, "t0");
    join_.set_entries({{written(kUid, "init", {"a::0", "a::1"}), written(kUid, "main", {"a::0"})}});
    for (const auto later : {0s, 2s, 4s}) {
        join_.set_listed({listed("t0", "main", {"a::0"})}, now_ + later);
    }
    EXPECT_THAT(joined(), ElementsAre(holder(kUid, "t0", "init", {"a::1"}),
                                      holder(kUid, "t0", "main", {"a::0"})));
}

TEST_F(HolderJoinTest, DoesNotGiveANewPodTheUidOfTheOneBeforeIt) {
    name_pod(kUid, "old");
    join_.set_entries({{written(kUid, "main", {"a::0"})}});
    join_.set_listed({listed("new", "main", {"a::0"})}, now_);
    EXPECT_THAT(joined(), ElementsAre(holder("", "new", "main", {"a::0"})));
}

}  // namespace
}  // namespace aliquot::pods
