// SPDX-License-Identifier: Apache-2.0
#include "dra/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "os/temporary_directory.h"

namespace aliquot::dra {
namespace {

PreparedClaim example() {
    return {.claim = {"ai", "gpu", "0a1b"},
            .state = PreparedClaim::State::kPrepared,
            .boot = "b",
            .devices = {{.request = "gpu",
                         .pool = "node-1",
                         .device = "gpu-0000-65-00-0",
                         .share = "s",
                         .uuid = "GPU-0",
                         .gpu = "GPU-0",
                         .cdi_name = "0a1b-0",
                         .memory_bytes = 3ULL << 30U,
                         .compute_percent = 25,
                         .limits = {.memory_bytes = 3ULL << 30U, .weight = 25}},
                        {.device = "m", .kind = Device::Kind::kMig, .admin = true, .whole = true}},
            .pods = {"p1", "p2"},
            .mounts = {{.container_path = "/a", .host_path = "/b \"quoted\"", .read_only = false}},
            .environment = {{"NAME", "a\nb"}}};
}

TEST(DraCheckpoint, ReadsWhatItWrote) {
    const auto read = parse_prepared_claim(to_text(example()));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, example());
}

TEST(DraCheckpoint, NoticesEveryCutAndEveryChange) {
    const std::string text = to_text(example());
    for (std::size_t length = 0; length < text.size(); ++length) {
        EXPECT_FALSE(parse_prepared_claim(text.substr(0, length))) << length;
    }
    for (std::size_t place = 0; place < text.size(); ++place) {
        std::string changed = text;
        changed[place] = changed[place] == 'x' ? 'y' : 'x';
        EXPECT_FALSE(parse_prepared_claim(changed)) << place;
    }
}

TEST(DraCheckpoint, ReadsWhatANewerVersionWrote) {
    // The checksum is over the bytes as stored, so that a member more changes nothing.
    const std::string stored =
        "aliquot-claim 1 1d672dfa2b49ab92\n"
        R"({"uid":"0a1b","future":{"x":[1]},"namespace":"ai","name":"gpu","state":"PrepareCompleted"})"
        "\n";
    const auto read = parse_prepared_claim(stored);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->claim.name, "gpu");
}

// A directory that is a link to itself cannot be listed, as when the system has no descriptor left.
TEST(DraCheckpoint, RemembersNoListingThatFailed) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    const auto none = [](const std::string&) -> Result<std::vector<PreparedDevice>> {
        return std::vector<PreparedDevice>{};
    };
    Checkpoint checkpoint(root, "/state", none);
    EXPECT_TRUE((*checkpoint.claims())->empty()) << "a directory that is not there has no claims";
    ASSERT_TRUE(checkpoint.put(example()));
    Checkpoint fresh(root, "/state", none);
    const auto state = root.resolve("/state");
    const auto kept = root.resolve("/kept");
    std::filesystem::rename(state, kept);
    std::filesystem::create_symlink(state, state);
    for (Checkpoint* const one : {&checkpoint, &fresh}) {
        const auto read = one->claims();
        ASSERT_FALSE(read);
        EXPECT_NE(read.error().code, ErrorCode::kNotFound);
        EXPECT_FALSE(one->put(example()));
        EXPECT_FALSE(one->claims());
    }
    std::filesystem::remove(state);
    std::filesystem::rename(kept, state);
    for (Checkpoint* const one : {&checkpoint, &fresh}) {
        const auto read = one->claims();
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ((*read)->size(), 1U);
    }
}

TEST(DraCheckpoint, TakesNoPathForAUid) {
    EXPECT_TRUE(is_claim_uid("8f2c9a44-0f0e-4e6c-9f3e-0d8f8f1f2a3b"));
    EXPECT_FALSE(is_claim_uid("../x"));
    EXPECT_FALSE(is_claim_uid(""));
    EXPECT_FALSE(is_claim_uid(std::string(65, 'a')));
}

}  // namespace
}  // namespace aliquot::dra
