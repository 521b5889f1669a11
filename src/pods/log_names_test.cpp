// SPDX-License-Identifier: Apache-2.0
#include "pods/log_names.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "os/temporary_directory.h"

namespace aliquot::pods {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kUid = "8b0f2a6e-41d7-4c39-9a55-0de1c7f3b284";
const std::string kId(64, 'c');

TEST(PodLogName, HasNamespacePodAndUid) {
    const auto read = parse_pod_log_name("team-a_trainer-0.x_" + kUid);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->first, kUid);
    EXPECT_EQ(read->second, (PodName{"team-a", "trainer-0.x"}));
    for (const char* name : {"", "a", "a_b", "a__c", "_b_c", "a_b_", "a_b_c_d"}) {
        EXPECT_FALSE(parse_pod_log_name(name)) << name;
    }
}

TEST(ContainerLogName, HasPodNamespaceContainerAndId) {
    const auto read = parse_container_log_name("trainer_team-a_main-2-" + kId + ".log");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->first, kId);
    EXPECT_EQ(read->second, (ContainerName{{"team-a", "trainer"}, "main-2"}));
    for (const std::string& name :
         {"trainer_team-a_main-" + kId, "trainer_team-a_main-" + kId.substr(1) + ".log",
          "trainer_team-a_" + kId + ".log", "trainer_team-a_-" + kId + ".log",
          "trainer_team-a_main." + kId + ".log", "trainer_main-" + kId + ".log",
          "trainer_team-a_main-" + std::string(64, 'g') + ".log", std::string(".log")}) {
        EXPECT_FALSE(parse_container_log_name(name)) << name;
    }
}

class LogNamesTest : public testing::Test {
protected:
    void make(const std::string& path) const { ASSERT_TRUE(root_.make_directories(path)); }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    LogNames names_{root_, "/var/log/pods", "/var/log/containers"};
};

TEST_F(LogNamesTest, KnowsPodsByUidAndContainersById) {
    names_.refresh();
    EXPECT_EQ(names_.pod(kUid), nullptr);
    make("/var/log/pods/ai_trainer_" + kUid + "/main");
    make("/var/log/containers");
    ASSERT_TRUE(root_.write_atomically("/var/log/containers/trainer_ai_main-" + kId + ".log", ""));
    EXPECT_TRUE(names_.refresh());
    ASSERT_NE(names_.pod(kUid), nullptr);
    EXPECT_EQ(*names_.pod(kUid), (PodName{"ai", "trainer"}));
    ASSERT_NE(names_.container(kId), nullptr);
    EXPECT_EQ(names_.container(kId)->container, "main");
    EXPECT_THAT(names_.uids_of({"ai", "trainer"}), ElementsAre(kUid));
    EXPECT_EQ(names_.only_container(kUid), "main");
    make("/var/log/pods/ai_trainer_" + kUid + "/side");
    EXPECT_EQ(names_.only_container(kUid), std::nullopt);
}

TEST_F(LogNamesTest, SeesThatADirectoryChangesAndGoes) {
    make("/var/log/pods/ai_trainer_" + kUid);
    names_.refresh();
    make("/var/log/pods/ai_other_11111111-41d7-4c39-9a55-0de1c7f3b284");
    names_.refresh();  // even within one tick of the file system's clock
    EXPECT_THAT(names_.uids_of({"ai", "other"}),
                ElementsAre("11111111-41d7-4c39-9a55-0de1c7f3b284"));
    std::filesystem::remove_all(root_.resolve("/var/log/pods"));
    names_.refresh();
    EXPECT_EQ(names_.pod(kUid), nullptr);
    EXPECT_THAT(names_.uids_of({"ai", "trainer"}), IsEmpty());
}

}  // namespace
}  // namespace aliquot::pods
