// SPDX-License-Identifier: Apache-2.0
#include "agent/served_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/temporary_directory.h"

namespace aliquot::agent {
namespace {

constexpr char kFile[] = "/var/lib/aliquot/served-devices.json";

ServedRecord::Content content() {
    ServedRecord::Content content;
    sharing::ServedDevice shares{.resource = {.name = "nvidia.com/gpu.shared", .shared = true}};
    shares.device.gpu = {.index = 1, .uuid = {"GPU-b"}, .model = "NVIDIA A2", .memory_bytes = 16};
    shares.device.replicas = 2;
    shares.device.shared_by = grant::Mechanism::kMps;
    shares.device.limits = {.memory_bytes = 8, .compute_percent = 50, .weight = 3};
    shares.device.shares = {{.memory_bytes = 8}, {.memory_bytes = 4}};
    content.served[{"GPU-b"}] = shares;
    sharing::ServedDevice mig{.resource = {.name = "nvidia.com/mig-1g.10gb"}};
    mig.device.gpu = {.index = 0, .uuid = {"GPU-a"}};
    mig.device.mig = gpu::MigDevice{.uuid = {"MIG-x"}, .index = 3, .profile = "1g.10gb"};
    content.served[{"MIG-x"}] = mig;
    return content;
}

class ServedRecordTest : public testing::Test {
protected:
    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
};

TEST_F(ServedRecordTest, TheNextAgentReadsWhatOneHasSaved) {
    ServedRecord record(root_, kFile);
    EXPECT_TRUE(record.load().served.empty());
    EXPECT_FALSE(record.load().incomplete);
    ASSERT_TRUE(record.save(content()));
    const auto read = ServedRecord(root_, kFile).load();
    EXPECT_FALSE(read.incomplete);
    EXPECT_TRUE(sharing::is_same_service(read.served, content().served));
    EXPECT_EQ(read.served.at({"MIG-x"}).device.index_text(), "0:3");
}

TEST_F(ServedRecordTest, ADamagedRecordIsIncompleteAndNotEmpty) {
    const std::string good = to_json(content());
    std::vector<std::string> bad{"", "{", "[]", "{}", "null"};
    for (std::size_t cut = 1; cut + 2 < good.size(); cut += 7) bad.push_back(good.substr(0, cut));
    std::string other = good;
    other.replace(other.find("\"version\": 1"), 12, "\"version\": 2");
    bad.push_back(other);
    other = good;
    other.replace(other.find("\"replicas\": 2"), 13, "\"replicas\": 0");
    bad.push_back(other);
    for (const std::string& text : bad) {
        ASSERT_TRUE(root_.write_atomically(kFile, text));
        const auto read = ServedRecord(root_, kFile).load();
        EXPECT_TRUE(read.incomplete) << text;
        EXPECT_TRUE(read.served.empty()) << text;
    }
}

TEST_F(ServedRecordTest, WhatDidNotChangeIsNotWritten) {
    ServedRecord record(root_, kFile);
    ASSERT_TRUE(record.save({}));
    EXPECT_FALSE(root_.exists(kFile));
    ASSERT_TRUE(record.save(content()));
    const auto before = root_.status(kFile)->identity;
    ASSERT_TRUE(record.save(content()));
    EXPECT_EQ(root_.status(kFile)->identity, before);
    auto more = content();
    more.incomplete = true;
    ASSERT_TRUE(record.save(more));
    EXPECT_TRUE(ServedRecord(root_, kFile).load().incomplete);
}

}  // namespace
}  // namespace aliquot::agent
