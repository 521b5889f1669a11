// SPDX-License-Identifier: Apache-2.0
#include "job_server/journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "os/temporary_directory.h"

namespace aliquot::job_server {
namespace {

class JournalTest : public testing::Test {
protected:
    Journal open() {
        auto journal = Journal::open(file_);
        EXPECT_TRUE(journal) << journal.error().message;
        return *std::move(journal);
    }
    static Record job(const std::string& name) {
        Record record{.user = {.uid = 7, .gid = 8, .name = "mia", .home = "/home/mia"},
                      .key = "k'\";--",
                      .submitted = 5};
        record.request.name = name;
        record.request.command = {"sh", "-c", "echo '\n\t\"$x\"'"};
        record.request.env = {{"TOKEN", "s3cret"}};
        return record;
    }
    os::TemporaryDirectory directory_;
    std::filesystem::path file_ = directory_.path() / "journal.sqlite";
};

TEST_F(JournalTest, HasWhatWasWrittenWhenItIsOpenedAgain) {
    std::vector<Record> records{job("a"), job("b")};
    {
        Journal journal = open();
        ASSERT_TRUE(journal.add(records));
        EXPECT_NE(records[0].id, records[1].id);
        records[1].state = jobs::State::kRunning;
        records[1].devices = {"GPU-1", "GPU-2"};
        records[1].attempt = 3;
        records[1].started = 99;
        records[1].cause = jobs::Cause::kNodeLost;
        ASSERT_TRUE(journal.update(
            records[1],
            {.at = 99, .from = jobs::State::kQueued, .to = jobs::State::kRunning, .reason = "x"}));
    }
    Journal journal = open();
    const auto loaded = journal.load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_EQ(loaded->size(), 2U);
    const Record& second = (*loaded)[1];
    EXPECT_EQ(second.user, records[1].user);
    EXPECT_EQ(second.key, records[1].key);
    EXPECT_EQ(second.request, records[1].request);
    EXPECT_EQ(second.state, jobs::State::kRunning);
    EXPECT_EQ(second.devices, records[1].devices);
    EXPECT_EQ(second.attempt, 3U);
    EXPECT_EQ(second.cause, jobs::Cause::kNodeLost);
    const auto steps = journal.steps(second.id);
    ASSERT_TRUE(steps);
    ASSERT_EQ(steps->size(), 2U);
    EXPECT_EQ((*steps)[1].to, jobs::State::kRunning);
}

TEST_F(JournalTest, KeepsWhatIsIdleAndWhyAJobIsEnded) {
    std::vector<Record> records{job("a"), job("b"), job("c")};
    const IdleStretch one{.job = 1, .attempt = 2, .since = 3, .until = 4, .told = 5};
    {
        Journal journal = open();
        ASSERT_TRUE(journal.add(records));
        records[0].cancel_asked = records[0].for_idleness = true;
        records[1].cancel_asked = true;
        ASSERT_TRUE(journal.update(records[0]));
        ASSERT_TRUE(journal.update(records[1]));
        ASSERT_TRUE(journal.put_idle({{.job = 7, .attempt = 1, .since = 1, .until = 1}}));
        ASSERT_TRUE(journal.put_idle({one}));
    }
    Journal journal = open();
    EXPECT_EQ(*journal.idle(), std::vector<IdleStretch>{one});
    const auto loaded = journal.load();
    ASSERT_TRUE(loaded);
    EXPECT_TRUE((*loaded)[0].cancel_asked && (*loaded)[0].for_idleness);
    EXPECT_TRUE((*loaded)[1].cancel_asked && !(*loaded)[1].for_idleness);
    EXPECT_FALSE((*loaded)[2].cancel_asked || (*loaded)[2].for_idleness);
    ASSERT_TRUE(journal.put_idle({}));
    EXPECT_TRUE(journal.idle()->empty());
}

// R17.
TEST_F(JournalTest, ForgetsAJobAndStillFindsIt) {
    std::vector<Record> records{job("a")};
    Journal journal = open();
    ASSERT_TRUE(journal.add(records));
    ASSERT_TRUE(journal.forget(records[0].id));
    EXPECT_TRUE(journal.load()->empty());
    const auto found = journal.find(records[0].id);
    ASSERT_TRUE(found && found->has_value());
    EXPECT_EQ((*found)->request.name, "a");
    EXPECT_EQ((*found)->request.command, std::vector<std::string>{"sh"});
    EXPECT_TRUE((*found)->request.env.empty());
    EXPECT_FALSE(journal.find(4711)->has_value());
    std::vector<Record> more{job("b")};
    ASSERT_TRUE(journal.add(more));
    EXPECT_GT(more[0].id, records[0].id);
}

TEST_F(JournalTest, IsOfOneServerAtATimeAndForItsOwnerAlone) {
    const Journal first = open();
    const auto second = Journal::open(file_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    for (const char* name : {"journal.sqlite", "journal.sqlite-wal"}) {
        struct stat status {};
        ASSERT_EQ(::stat((directory_.path() / name).c_str(), &status), 0) << name;
        EXPECT_EQ(status.st_mode & 0077U, 0U) << name;
    }
}

TEST_F(JournalTest, RefusesAFileThatIsNone) {
    std::ofstream(file_) << std::string(5'000, 'x');
    const auto journal = Journal::open(file_);
    ASSERT_FALSE(journal);
    EXPECT_EQ(journal.error().code, ErrorCode::kInvalidInput) << journal.error().message;
}

}  // namespace
}  // namespace aliquot::job_server
