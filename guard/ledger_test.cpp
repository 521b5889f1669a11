// SPDX-License-Identifier: Apache-2.0
#include "guard/ledger.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "guard/test_ledger.h"

namespace aliquot::guard {
namespace {

TEST_F(LedgerTest, HoldsTheLimitToTheByte) {
    const auto ledger = joined();
    EXPECT_TRUE(ledger->grow(0, 60 * kMiB, Part::kTracked));
    EXPECT_FALSE(ledger->grow(0, 40 * kMiB + 1, Part::kTracked));
    EXPECT_TRUE(ledger->grow(0, 40 * kMiB, Part::kTracked));
    EXPECT_FALSE(ledger->grow(0, 1, Part::kTracked));
    ledger->shrink(0, 1, Part::kTracked);
    EXPECT_TRUE(ledger->grow(0, 1, Part::kTracked));
    EXPECT_EQ(ledger->used(0), 100 * kMiB);
}

TEST_F(LedgerTest, NeverGoesBelowNothing) {
    const auto ledger = joined();
    ledger->shrink(0, 5 * kMiB, Part::kTracked);
    EXPECT_EQ(ledger->used(0), 0U);
    EXPECT_TRUE(ledger->grow(0, 100 * kMiB, Part::kTracked));
}

TEST_F(LedgerTest, CountsAllProcesses) {
    const pid_t other =
        start([](Ledger& ledger) { EXPECT_TRUE(ledger.grow(0, 70 * kMiB, Part::kTracked)); });
    const auto ledger = joined();
    EXPECT_EQ(ledger->used(0), 70 * kMiB);
    EXPECT_FALSE(ledger->grow(0, 31 * kMiB, Part::kTracked));
    EXPECT_TRUE(ledger->grow(0, 30 * kMiB, Part::kTracked));
    kill(other);
    ledger->reap();
    EXPECT_EQ(ledger->used(0), 30 * kMiB);
}

TEST_F(LedgerTest, ALivingProcessKeepsItsPlaceWithoutAnyDescriptor) {
    const pid_t other = start([](Ledger& ledger) {
        ledger.grow(0, 10 * kMiB, Part::kTracked);
        // All but the way back to the test, which is known to work on.
        for (int descriptor = 3; descriptor < 256; ++descriptor)
            if (::fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 &&
                ::lseek(descriptor, 0, SEEK_CUR) >= 0)
                ::close(descriptor);
    });
    const auto ledger = joined();
    ledger->reap();
    EXPECT_EQ(ledger->used(0), 10 * kMiB);
    kill(other);
    ledger->reap();
    EXPECT_EQ(ledger->used(0), 0U);
}

// As in a container without an agent: there a mapping does not hold the file's locks.
TEST_F(LedgerTest, OnOverlayfsTheLivingAreCountedAndTheDeadAreNot) {
    if (const std::string why = use_overlay(); !why.empty()) GTEST_SKIP() << why;
    const pid_t other = start([](Ledger& ledger) { ledger.grow(0, 50 * kMiB, Part::kTracked); });
    const pid_t closing = start([](Ledger& ledger) {
        ledger.grow(0, 20 * kMiB, Part::kTracked);
        for (int descriptor = 3; descriptor < 2000; ++descriptor)
            if (::lseek(descriptor, 0, SEEK_CUR) >= 0) ::close(descriptor);
    });
    const auto ledger = joined();
    ledger->reap();
    EXPECT_EQ(ledger->used(0), 70 * kMiB);
    EXPECT_FALSE(ledger->grow(0, 31 * kMiB, Part::kTracked));
    kill(other);
    ledger->reap();
    EXPECT_EQ(ledger->used(0), 20 * kMiB);
    kill(start([](Ledger& next) { next.grow(0, 10 * kMiB, Part::kTracked); }));
    ledger->reap();
    EXPECT_EQ(ledger->used(0), 20 * kMiB);
    kill(closing);
    ledger->reap();
    EXPECT_EQ(ledger->used(0), 0U);
}

TEST_F(LedgerTest, OnOverlayfsAChildDoesNotKeepItsParentAlive) {
    if (const std::string why = use_overlay(); !why.empty()) GTEST_SKIP() << why;
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const pid_t parent = ::fork();
    if (parent == 0) {
        const auto ledger = joined();
        ledger->grow(0, 10 * kMiB, Part::kTracked);
        const pid_t child = ::fork();
        if (child == 0) {
            ledger->forget();
            const pid_t self = ::getpid();
            if (::write(ready[1], &self, sizeof self) != sizeof self) ::_exit(1);
        }
        for (;;) ::pause();
    }
    pid_t child = 0;
    ASSERT_EQ(::read(ready[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
    const auto ledger = joined();
    EXPECT_EQ(ledger->used(0), 10 * kMiB);
    kill(parent);
    ledger->reap();
    EXPECT_EQ(ledger->used(0), 0U);
    ::kill(child, SIGKILL);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(LedgerTest, AChildDoesNotKeepItsParentAlive) {
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const pid_t parent = ::fork();
    if (parent == 0) {
        const auto ledger = joined();
        ledger->grow(0, 10 * kMiB, Part::kTracked);
        const pid_t child = ::fork();
        if (child == 0) {
            ledger->forget();
            for (;;) ::pause();
        }
        if (::write(ready[1], &child, sizeof child) != sizeof child) ::_exit(1);
        for (;;) ::pause();
    }
    pid_t child = 0;
    ASSERT_EQ(::read(ready[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
    kill(parent);
    const auto ledger = joined();
    ledger->reap();
    EXPECT_EQ(ledger->used(0), 0U);
    ::kill(child, SIGKILL);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(LedgerTest, TheNextProcessInAPlaceBeginsWithNothing) {
    for (int round = 0; round < 20; ++round)
        kill(start([](Ledger& ledger) {
            ledger.reap();
            EXPECT_TRUE(ledger.grow(0, 90 * kMiB, Part::kTracked));
        }));
    const auto ledger = joined();
    ledger->reap();
    EXPECT_EQ(ledger->used(0), 0U);
}

TEST_F(LedgerTest, SurvivesADeathInsideTheLock) {
    // The word is what the lock is: as if its holder had died right there.
    const pid_t other = start([](Ledger& ledger) { ledger.grow(0, 10 * kMiB, Part::kTracked); });
    const int file = ::open(settings_.ledger, O_RDWR);
    ASSERT_GE(file, 0);
    const std::uint32_t held = 1;  // the slot that the process had
    ASSERT_EQ(::pwrite(file, &held, sizeof held, offsetof(abi::Ledger, lock)),
              static_cast<ssize_t>(sizeof held));
    ::close(file);
    kill(other);
    const auto ledger = joined();
    ledger->reap();
    EXPECT_TRUE(ledger->grow(0, 100 * kMiB, Part::kTracked));
}

TEST_F(LedgerTest, TwoNeverBothGetTheLastBytes) {
    for (int round = 0; round < 50; ++round) {
        std::array<int, 2> go{};
        ASSERT_EQ(::pipe(go.data()), 0);
        std::vector<pid_t> racers;
        for (int i = 0; i < 2; ++i) {
            const pid_t racer = ::fork();
            if (racer == 0) {
                const auto ledger = joined();
                char byte = 0;
                ::close(go[1]);
                if (::read(go[0], &byte, 1) < 0) ::_exit(2);
                const bool won = ledger->grow(0, 60 * kMiB, Part::kTracked);
                ::usleep(20'000);  // alive until the other has tried
                ::_exit(won ? 1 : 0);
            }
            racers.push_back(racer);
        }
        ::close(go[0]);
        ::close(go[1]);
        int winners = 0;
        for (const pid_t racer : racers) {
            int status = 0;
            ::waitpid(racer, &status, 0);
            winners += WEXITSTATUS(status);
        }
        ASSERT_LE(winners, 1) << round;
    }
}

TEST_F(LedgerTest, ManyThreadsNeverPassTheLimit) {
    const auto ledger = joined();
    std::vector<std::thread> threads;
    std::atomic<std::uint64_t> highest{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 20'000; ++i) {
                if (!ledger->grow(0, 40 * kMiB, Part::kTracked)) continue;
                const std::uint64_t used = ledger->used(0);
                std::uint64_t seen = highest.load();
                while (used > seen && !highest.compare_exchange_weak(seen, used)) {
                }
                ledger->shrink(0, 40 * kMiB, Part::kTracked);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(highest.load(), 100 * kMiB);
    EXPECT_EQ(ledger->used(0), 0U);
}

TEST_F(LedgerTest, TakesOverTheAgentsFigures) {
    auto config = std::make_unique<abi::Config>();
    config->magic = abi::kConfigMagic;
    config->abi = abi::kRegionAbi;
    config->size = sizeof(abi::Config);
    config->devices[3].uuid = kGpu;
    config->devices[3].memory_bytes = 100 * kMiB;
    const auto path = directory_ / "config";
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(::ftruncate(file, sizeof(abi::Config)), 0);
    auto* mapped = static_cast<abi::Config*>(
        ::mmap(nullptr, sizeof(abi::Config), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ASSERT_NE(mapped, MAP_FAILED);
    std::memcpy(static_cast<void*>(mapped), config.get(), sizeof(abi::Config));
    set_path(settings_.config, path);

    const auto ledger = joined();
    ASSERT_TRUE(ledger->grow(0, 10 * kMiB, Part::kTracked));
    const int ledger_file = ::open(settings_.ledger, O_RDONLY);
    std::uint64_t owner = 0;
    ASSERT_EQ(::pread(ledger_file, &owner, sizeof owner, offsetof(abi::Ledger, slots)),
              static_cast<ssize_t>(sizeof owner));
    ::close(ledger_file);

    mapped->truth[0].overhead_bytes[3] = 50 * kMiB;
    mapped->truth[0].owner = owner;
    mapped->truth_changes = 1;
    EXPECT_FALSE(ledger->grow(0, 41 * kMiB, Part::kTracked));
    EXPECT_TRUE(ledger->grow(0, 40 * kMiB, Part::kTracked));
    EXPECT_EQ(ledger->used(0), 100 * kMiB);

    // Figures of another process in this place are not taken.
    mapped->truth[0].owner = owner + 1;
    mapped->truth[0].overhead_bytes[3] = 0;
    mapped->truth_changes = 2;
    EXPECT_FALSE(ledger->grow(0, 1, Part::kTracked));

    // A limit that is lowered below what is used only stops growth.
    mapped->devices[3].memory_bytes = 20 * kMiB;
    EXPECT_FALSE(ledger->grow(0, 1, Part::kTracked));
    EXPECT_EQ(ledger->used(0), 100 * kMiB);
    ledger->shrink(0, 50 * kMiB, Part::kTracked);
    EXPECT_EQ(ledger->used(0), 50 * kMiB);
    ::munmap(mapped, sizeof(abi::Config));
    ::close(file);
}

}  // namespace
}  // namespace aliquot::guard
