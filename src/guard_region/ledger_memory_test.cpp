// SPDX-License-Identifier: Apache-2.0
#include "guard_region/ledger_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "guard_region/ledger_file.h"
#include "guard_region/uuid.h"

namespace aliquot::guard_region {
namespace {

constexpr const char* kGpu = "GPU-00000000-0000-0000-0000-000000000001";

LedgerView view_of(const Descriptor& memory) {
    auto view = LedgerFile::of(Descriptor(::dup(memory.get())), "memory").read();
    EXPECT_TRUE(view) << view.error().message;
    return view ? *view : LedgerView{};
}

TEST(LedgerMemory, IsALedgerThatNobodyCanMakeLargerOrSmaller) {
    const auto memory = make_ledger_memory(42, {});
    ASSERT_TRUE(memory) << memory.error().message;
    EXPECT_EQ(view_of(*memory).region, 42U);
    EXPECT_NE(::ftruncate(memory->get(), 0), 0);
    EXPECT_NE(::ftruncate(memory->get(), 1 << 30), 0);
    EXPECT_NE(::posix_fallocate(memory->get(), 0, 1 << 30), 0);
    const char byte = 1;
    EXPECT_LT(::pwrite(memory->get(), &byte, 1, sizeof(abi::Ledger)), 0);
    EXPECT_NE(::fcntl(memory->get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
    struct stat status {};
    ASSERT_EQ(::fstat(memory->get(), &status), 0);
    EXPECT_EQ(static_cast<std::size_t>(status.st_size), sizeof(abi::Ledger));
    // What is only read takes no memory of ours: a container pays for what it writes.
    constexpr std::int64_t kFewBlocks = 16;  // of 512 bytes
    EXPECT_LE(status.st_blocks, kFewBlocks);
}

TEST(LedgerMemory, GoesOnWithTheCountersThatWereKept) {
    const std::vector<Totals> kept{{.uuid = kGpu,
                                    .denied = 1,
                                    .denied_bytes = 2,
                                    .gpu_ns = 3,
                                    .throttled_ns = 4,
                                    .launches = 5,
                                    .overruns = 6}};
    const auto memory = make_ledger_memory(42, kept);
    ASSERT_TRUE(memory) << memory.error().message;
    EXPECT_EQ(totals_of(view_of(*memory)), kept);
}

/// A process that has `memory`, mapped or as an open file, until it is ended.
class Holder {
public:
    Holder(const Descriptor& memory, bool mapped) {
        std::array<int, 2> ready{};
        if (::pipe(ready.data()) != 0) return;
        pid_ = ::fork();
        if (pid_ == 0) {
            if (mapped) {
                ::mmap(nullptr, sizeof(abi::Ledger), PROT_READ | PROT_WRITE, MAP_SHARED,
                       memory.get(), 0);
                ::close(memory.get());
            }
            if (::write(ready[1], "x", 1) != 1) ::_exit(1);
            for (;;) ::pause();
        }
        char byte = 0;
        EXPECT_EQ(::read(ready[0], &byte, 1), 1);
        ::close(ready[0]);
        ::close(ready[1]);
    }
    ~Holder() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    [[nodiscard]] pid_t pid() const { return pid_; }

private:
    pid_t pid_ = -1;
};

ino_t inode_of(const Descriptor& memory) {
    struct stat status {};
    return ::fstat(memory.get(), &status) == 0 ? status.st_ino : 0;
}

TEST(LedgerMemory, IsFoundAgainWhereAProcessHasItOpen) {
    const os::Root root("/");
    const auto memory = make_ledger_memory(7, {});
    ASSERT_TRUE(memory);
    const Holder holder(*memory, false);
    const std::array pids{holder.pid()};
    const auto found = find_ledger_memory(root, pids, 7);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(inode_of(*found), inode_of(*memory));
    EXPECT_EQ(find_ledger_memory(root, pids, 8).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(find_ledger_memory(root, {}, 7).error().code, ErrorCode::kNotFound);
}

TEST(LedgerMemory, IsFoundAgainInWhatAProcessHasMapped) {
    const os::Root root("/");
    auto memory = make_ledger_memory(7, {});
    ASSERT_TRUE(memory);
    const Holder holder(*memory, true);
    const ino_t inode = inode_of(*memory);
    const std::array pids{holder.pid()};
    const auto found = find_ledger_memory(root, pids, 7);
    if (!found) GTEST_SKIP() << "this user may not look into others' mappings";
    EXPECT_EQ(inode_of(*found), inode);
}

TEST(LedgerMemory, OfSeveralTheOneIsTakenThatMostHave) {
    const os::Root root("/");
    auto forged = make_ledger_memory(7, {});  // by a tenant that has read the number
    ASSERT_TRUE(forged);
    const Holder liar(*forged, false);
    forged->reset();  // the others do not have it
    const auto right = make_ledger_memory(7, {});
    ASSERT_TRUE(right);
    const Holder first(*right, false);
    const Holder second(*right, false);
    const std::array pids{liar.pid(), first.pid(), second.pid()};
    const auto found = find_ledger_memory(root, pids, 7);
    ASSERT_TRUE(found);
    EXPECT_EQ(inode_of(*found), inode_of(*right));
}

TEST(LedgerMemory, OfAnotherVersionIsFoundToo) {
    const os::Root root("/");
    constexpr std::uint64_t kBytes = 4096;
    const auto memory = make_unmade_ledger(7, kBytes);
    ASSERT_TRUE(memory) << memory.error().message;
    struct stat status {};
    ASSERT_EQ(::fstat(memory->get(), &status), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(status.st_size), kBytes);
    EXPECT_NE(::ftruncate(memory->get(), 0), 0);
    const Holder holder(*memory, false);
    const std::array pids{holder.pid()};
    const auto unmade = find_ledger_memory(root, pids, 7);
    ASSERT_TRUE(unmade) << unmade.error().message;
    EXPECT_EQ(inode_of(*unmade), inode_of(*memory));
    // Its guard makes the content.
    const std::array<std::uint64_t, 2> head{abi::kLedgerMagic,
                                            kBytes << 32U | (abi::kRegionAbi + 1)};
    ASSERT_EQ(::pwrite(memory->get(), head.data(), sizeof head, 0), 16);
    const auto made = find_ledger_memory(root, pids, 7);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(inode_of(*made), inode_of(*memory));
    EXPECT_FALSE(find_ledger_memory(root, pids, 8));
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{8}, kMostLedgerBytes + 1}) {
        EXPECT_FALSE(make_unmade_ledger(7, size)) << size;
    }
}

TEST(LedgerMemory, MemoryThatCanChangeItsSizeIsNotTaken) {
    const os::Root root("/");
    const Descriptor fd(::memfd_create("aliquot-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(fd.get(), sizeof(abi::Ledger)), 0);
    ASSERT_TRUE(write_ledger_head(fd.get(), 7));
    const Holder holder(fd, false);
    const std::array pids{holder.pid()};
    EXPECT_FALSE(find_ledger_memory(root, pids, 7));
}

}  // namespace
}  // namespace aliquot::guard_region
