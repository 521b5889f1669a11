// SPDX-License-Identifier: Apache-2.0
#include "mps/journal.h"

#include <gtest/gtest.h>

#include "mps/directories.h"
#include "mps/journal_file.h"
#include "os/temporary_directory.h"

namespace aliquot::mps {
namespace {

const gpu::Uuid kFirst{"GPU-11111111-2222-3333-4444-555555555555"};
const gpu::Uuid kSecond{"GPU-66666666-2222-3333-4444-555555555555"};

TEST(Journal, ReadsWhatItWrites) {
    const Journal journal{.boot = "3f2a",
                          .entries = {{kFirst, gpu::ComputeMode::kDefault, {1234, 567890}},
                                      {kSecond, std::nullopt, {}}}};
    const auto again = parse_journal(to_text(journal));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, journal);
}

TEST(Journal, RefusesWhatIsNoneAndNamesTheLine) {
    EXPECT_FALSE(parse_journal("aliquot-mps 2\n"));
    const auto odd = parse_journal("aliquot-mps 1\nboot x\ngpu GPU-1 mode sideways daemon 1 2\n");
    ASSERT_FALSE(odd);
    EXPECT_EQ(odd.error().message, "line 3 is not a line of an MPS journal");
}

TEST(JournalFile, KeepsEntriesOverARestartAndLeavesNoFileWhenAllIsUndone) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    const JournalEntry entry{kFirst, gpu::ComputeMode::kDefault, {12, 34}};
    {
        JournalFile file(root, "/state/mps.journal");
        ASSERT_TRUE(file.load());
        ASSERT_TRUE(file.put(entry));
    }
    JournalFile file(root, "/state/mps.journal");
    ASSERT_TRUE(file.load());
    EXPECT_EQ(file.find(kFirst), entry);
    EXPECT_FALSE(file.find(kSecond));
    ASSERT_TRUE(file.remove(kFirst));
    EXPECT_FALSE(root.exists("/state/mps.journal"));
}

TEST(JournalFile, ForgetsWhatARebootHasUndone) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    const Journal old{.boot = "another",
                      .entries = {{kFirst, gpu::ComputeMode::kDefault, {12, 34}}}};
    ASSERT_TRUE(root.write_atomically("/state/mps.journal", to_text(old)));
    JournalFile file(root, "/state/mps.journal");
    ASSERT_TRUE(file.load());
    EXPECT_TRUE(file.entries().empty());
}

TEST(JournalFile, KeepsADamagedFileAside) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    ASSERT_TRUE(root.write_atomically("/state/mps.journal", "nonsense"));
    JournalFile file(root, "/state/mps.journal");
    EXPECT_FALSE(file.load());
    EXPECT_TRUE(root.exists("/state/mps.journal.damaged"));
    EXPECT_TRUE(file.entries().empty());
}

TEST(Directories, EverybodyReachesThePipeAndMayWriteToSharedMemory) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    const auto made = directories_of("/run/nvidia/mps/", kFirst);
    EXPECT_EQ(made.pipe, "/run/nvidia/mps/" + kFirst.text + "/pipe");
    ASSERT_TRUE(make_directories(root, made));
    EXPECT_EQ(root.status("/run/nvidia/mps")->mode, 0755U);
    EXPECT_EQ(root.status(made.pipe)->mode, 0755U);
    EXPECT_EQ(root.status(made.shm)->mode, 01777U);
    remove_directories(root, made);
    EXPECT_FALSE(root.exists(made.base));
}

TEST(Directories, AParentThatKeepsOthersOutIsNamed) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    ASSERT_TRUE(root.make_directories("/run/nvidia", 0755));
    std::filesystem::permissions(root.resolve("/run/nvidia"), std::filesystem::perms::owner_all);
    const auto made = make_directories(root, directories_of("/run/nvidia/mps", kFirst));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::kConflict);
    EXPECT_TRUE(made.error().message.starts_with("/run/nvidia does not let other users in"))
        << made.error().message;
}

TEST(Directories, APathTooLongForASocketIsRefused) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    const auto made =
        make_directories(root, directories_of("/run/" + std::string(60, 'x'), kFirst));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace aliquot::mps
