// SPDX-License-Identifier: Apache-2.0
// How a process comes to its ledger, whatever lies in its place and whatever it lacks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "guard/test_ledger.h"

namespace aliquot::guard {
namespace {

TEST_F(LedgerTest, RefusesAFileThatIsNoLedger) {
    const int file = ::open(settings_.ledger, O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(::write(file, "hello", 5), 5);
    Ledger ledger;
    EXPECT_STREQ(ledger.attach(settings_), "the ledger is too short");
    ASSERT_EQ(::ftruncate(file, sizeof(abi::Ledger)), 0);
    Ledger other;
    EXPECT_STREQ(other.attach(settings_), "the ledger is not of this guard's layout");
    ::close(file);
}

TEST_F(LedgerTest, SaysThatItsDirectoryIsMissing) {
    set_path(settings_.ledger, directory_ / "none" / "ledger");
    Ledger ledger;
    EXPECT_STREQ(ledger.attach(settings_), "the ledger cannot be opened for writing");
}

TEST_F(LedgerTest, IsForEveryUserWhateverTheMaskOfModes) {
    EXPECT_EQ(in_a_process([&] {
                  ::umask(0077);
                  Ledger ledger;
                  return ledger.attach(settings_) == nullptr ? 0 : 1;
              }),
              0);
    EXPECT_EQ(std::filesystem::status(settings_.ledger).permissions(),
              std::filesystem::perms(0666));
}

TEST_F(LedgerTest, IsRefusedWhereThereIsNoRoomForIt) {
    EXPECT_EQ(in_a_process([&] {
                  ::signal(SIGXFSZ, SIG_IGN);
                  const rlimit limit{sizeof(abi::Ledger) / 2, sizeof(abi::Ledger) / 2};
                  ::setrlimit(RLIMIT_FSIZE, &limit);
                  Ledger ledger;
                  const char* problem = ledger.attach(settings_);
                  return problem != nullptr && std::strstr(problem, "no room") != nullptr ? 0 : 1;
              }),
              0);
}

TEST_F(LedgerTest, HasAllItsRoomFromTheBeginning) {
    const auto ledger = joined();
    struct stat status {};
    ASSERT_EQ(::stat(settings_.ledger, &status), 0);
    constexpr std::uint64_t kBlock = 512;
    EXPECT_GE(static_cast<std::uint64_t>(status.st_blocks) * kBlock, sizeof(abi::Ledger));
}

TEST_F(LedgerTest, IsMadeThoughAProcessHoldsEveryByteOfIt) {
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const pid_t hostile = ::fork();
    if (hostile == 0) {
        const int file = ::open(settings_.ledger, O_RDWR | O_CREAT, 0666);
        struct flock lock {};
        lock.l_type = F_WRLCK;
        lock.l_start = static_cast<off_t>(abi::kSlotLockOffset) - 1;
        lock.l_len = 1;
        if (::fcntl(file, F_OFD_SETLK, &lock) != 0 || ::write(ready[1], "x", 1) != 1) ::_exit(1);
        for (;;) ::pause();
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_EQ(in_a_process([&] {
                  constexpr unsigned kSeconds = 20;
                  ::alarm(kSeconds);
                  return joined()->grow(0, kMiB, Part::kTracked) ? 0 : 1;
              }),
              0);
    kill(hostile);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(LedgerTest, APipeInItsPlaceHoldsNobodyUp) {
    const auto pipe = directory_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
    EXPECT_EQ(in_a_process([&] {
                  constexpr unsigned kSeconds = 20;
                  ::alarm(kSeconds);
                  Settings settings = settings_;
                  set_path(settings.config, pipe);
                  Ledger first;
                  if (first.attach(settings) == nullptr) return 1;
                  settings = settings_;
                  set_path(settings.ledger, pipe);
                  Ledger second;
                  return second.attach(settings) == nullptr ? 2 : 0;
              }),
              0);
}

TEST_F(LedgerTest, MemoryOfTheDeadIsFreeWithoutADescriptor) {
    EXPECT_EQ(in_a_process([&] {
                  const auto grow_by = [](std::uint64_t bytes) {
                      return [bytes](Ledger& ledger) { ledger.grow(0, bytes, Part::kTracked); };
                  };
                  const pid_t other = start(grow_by(70 * kMiB));
                  const pid_t living = start(grow_by(20 * kMiB));
                  const auto ledger = joined();
                  const rlimit none{0, 0};
                  ::setrlimit(RLIMIT_NOFILE, &none);
                  kill(other);
                  ledger->reap();
                  const std::uint64_t used = ledger->used(0);
                  kill(living);
                  return used == 20 * kMiB ? 0 : 1;
              }),
              0);
}

}  // namespace
}  // namespace aliquot::guard
