// SPDX-License-Identifier: Apache-2.0
#include "guard_region/ledger.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>

#include "guard_region/fake_tenant.h"
#include "guard_region/ledger_file.h"
#include "os/temporary_directory.h"

namespace aliquot::guard_region {
namespace {

constexpr const char* kGpu = "GPU-00000000-0000-0000-0000-000000000001";

class LedgerTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(create_ledger(path(), 42)); }
    [[nodiscard]] std::filesystem::path path() const { return directory_.path() / "ledger"; }
    [[nodiscard]] Result<LedgerView> read() const {
        const auto file = LedgerFile::open(path());
        if (!file) return file.error();
        return file->read();
    }
    os::TemporaryDirectory directory_;
};

TEST_F(LedgerTest, IsEmptyAtFirstAndForEveryUser) {
    const auto view = read();
    ASSERT_TRUE(view) << view.error().message;
    EXPECT_EQ(view->region, 42U);
    EXPECT_TRUE(view->slots.empty());
    EXPECT_FALSE(view->place_of(*parse_uuid(kGpu)));
    EXPECT_EQ(std::filesystem::status(path()).permissions(), std::filesystem::perms(0666));
    EXPECT_EQ(create_ledger(path(), 43).error().code, ErrorCode::kConflict);
}

TEST_F(LedgerTest, HasAllItsRoomFromTheBeginning) {
    struct stat status {};
    ASSERT_EQ(::stat(path().c_str(), &status), 0);
    constexpr std::uint64_t kBlock = 512;
    EXPECT_GE(static_cast<std::uint64_t>(status.st_blocks) * kBlock, sizeof(abi::Ledger));
}

TEST_F(LedgerTest, TellsWhoLivesByTheLocksAlone) {
    FakeTenant tenant(path());
    tenant.join(5, 100, 1, 2);
    tenant.join(1023, 101);
    tenant.use(5, kGpu, 1000, 100, 10);
    tenant.leave(1023);
    const auto view = read();
    ASSERT_TRUE(view) << view.error().message;
    ASSERT_EQ(view->slots.size(), 2U);
    const SlotView* const slot = view->find(5, tenant.owner(5));
    ASSERT_NE(slot, nullptr);
    EXPECT_TRUE(slot->alive);
    EXPECT_EQ(slot->pid(), 100U);
    EXPECT_EQ(slot->start_time, 1U);
    EXPECT_EQ(slot->pid_namespace, 2U);
    EXPECT_EQ(slot->devices[*view->place_of(*parse_uuid(kGpu))].bytes(), 1010U);
    EXPECT_FALSE(view->find(1023, tenant.owner(1023))->alive);
    EXPECT_EQ(view->find(5, 1), nullptr);
    EXPECT_TRUE(LedgerFile::open(path())->held());
    tenant.leave(5);
    EXPECT_FALSE(LedgerFile::open(path())->held());
}

TEST_F(LedgerTest, CutShortOrScribbledOverIsAnError) {
    const auto file = LedgerFile::open(path());
    ASSERT_TRUE(file);
    std::filesystem::resize_file(path(), 1000);
    EXPECT_EQ(file->read().error().code, ErrorCode::kInvalidInput);
    std::filesystem::resize_file(path(), sizeof(abi::Ledger));
    EXPECT_TRUE(file->read());  // the head is still there
    std::fstream(path()) << "garbage";
    EXPECT_EQ(file->read().error().code, ErrorCode::kInvalidInput);
    std::filesystem::resize_file(path(), 0);
    EXPECT_EQ(file->read().error().code, ErrorCode::kInvalidInput);
    EXPECT_FALSE(file->held());
    EXPECT_EQ(LedgerFile::open(directory_.path()).error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(LedgerFile::open(directory_.path() / "none").error().code, ErrorCode::kNotFound);
}

TEST(Ledger, SumsDoNotOverflow) {
    EXPECT_EQ(saturating_add(~std::uint64_t{0}, 1), ~std::uint64_t{0});
    EXPECT_EQ(saturating_add(1, 2), 3U);
    const SlotUse use{.tracked_bytes = ~std::uint64_t{0}, .overhead_bytes = 5};
    EXPECT_EQ(use.bytes(), ~std::uint64_t{0});
}

TEST(Ledger, AnyContentBehindTheHeadIsRead) {
    std::vector<std::byte> bytes(sizeof(abi::Ledger));
    std::mt19937 random(1);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    EXPECT_FALSE(parse_ledger(bytes, bytes.size()));
    const std::uint32_t version[2]{abi::kRegionAbi, sizeof(abi::Ledger)};
    std::memcpy(bytes.data(), &abi::kLedgerMagic, sizeof abi::kLedgerMagic);
    std::memcpy(bytes.data() + offsetof(abi::Ledger, abi), version, sizeof version);
    const std::uint32_t all = ~0U;
    std::memcpy(bytes.data() + offsetof(abi::Ledger, slots_high), &all, sizeof all);
    const auto view = parse_ledger(bytes, bytes.size());
    ASSERT_TRUE(view);
    EXPECT_EQ(view->slots.size(), std::size_t{abi::kRegionSlots});
    EXPECT_FALSE(parse_ledger(bytes, bytes.size() - 1));
    EXPECT_FALSE(parse_ledger(std::span(bytes).first(bytes.size() - 1), bytes.size()));
    for (std::size_t size = 0; size <= kLedgerHead; ++size) {
        EXPECT_FALSE(parse_ledger(std::span(bytes).first(size), bytes.size())) << size;
    }
}

TEST(Ledger, WhatNoProcessHasUsedIsNotRead) {
    std::vector<std::byte> bytes(sizeof(abi::Ledger), std::byte{1});
    const std::uint32_t version[2]{abi::kRegionAbi, sizeof(abi::Ledger)};
    const std::uint64_t high = 3;
    std::memcpy(bytes.data(), &abi::kLedgerMagic, sizeof abi::kLedgerMagic);
    std::memcpy(bytes.data() + offsetof(abi::Ledger, abi), version, sizeof version);
    std::memcpy(bytes.data() + offsetof(abi::Ledger, slots_high), &high, sizeof high);
    const std::size_t end = used_end(bytes);
    EXPECT_EQ(end, kLedgerHead + 3 * sizeof(abi::Slot));
    const auto view = parse_ledger(std::span(bytes).first(end), sizeof(abi::Ledger));
    ASSERT_TRUE(view);
    EXPECT_EQ(view->slots.size(), 3U);
    EXPECT_EQ(view->slots.back().index, 2U);
}

}  // namespace
}  // namespace aliquot::guard_region
