// SPDX-License-Identifier: Apache-2.0
// How a process comes to its ledger, whatever lies in its place and whatever it lacks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

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

/// An agent: sealed memory, and a socket that hands it to whoever asks.
class Agent {
public:
    explicit Agent(const std::filesystem::path& place) : place_(place) {
        memory_ = ::memfd_create("aliquot-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        EXPECT_EQ(::ftruncate(memory_, sizeof(abi::Ledger)), 0);
        EXPECT_EQ(::fcntl(memory_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    }
    ~Agent() {
        end();
        ::close(memory_);
    }
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;

    void serve() {
        ::unlink(place_.c_str());
        listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, place_.c_str(), sizeof address.sun_path - 1);
        ASSERT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        ASSERT_EQ(::listen(listener_, 100), 0);
        thread_ = std::thread([this] {
            for (;;) {
                const int connection = ::accept(listener_, nullptr, nullptr);
                if (connection < 0) return;
                give(connection);
                ::close(connection);
            }
        });
    }
    void end() {
        if (!thread_.joinable()) return;
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }

private:
    void give(int connection) const {
        const std::string path = "/proc/self/fd/" + std::to_string(memory_);
        const int own = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        char byte = 1;
        iovec part{&byte, 1};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof own)> control{};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof own);
        std::memcpy(CMSG_DATA(header), &own, sizeof own);
        ::sendmsg(connection, &message, MSG_NOSIGNAL);
        ::close(own);
    }

    std::filesystem::path place_;
    int memory_ = -1;
    int listener_ = -1;
    std::thread thread_;
};

// Of `aliquot up`, whose containers see the host's path.
TEST_F(LedgerTest, IsTakenFromASocketWhosePathIsLongerThanAnAddress) {
    const std::filesystem::path near(settings_.ledger);
    Agent agent(near);
    agent.serve();
    auto directory = near.parent_path();
    while (directory.native().size() < 120) directory /= "a-directory-with-a-name";
    std::filesystem::create_directories(directory);
    std::filesystem::rename(near, directory / "ledger");
    std::strncpy(settings_.ledger, (directory / "ledger").c_str(), sizeof settings_.ledger - 1);
    EXPECT_TRUE(joined()->grow(0, kMiB, Part::kTracked));
}

TEST_F(LedgerTest, IsTakenFromAnAgentThatHandsItOver) {
    Agent agent(settings_.ledger);
    agent.serve();
    const pid_t other = start([](Ledger& ledger) { ledger.grow(0, 70 * kMiB, Part::kTracked); });
    const auto ledger = joined();
    EXPECT_EQ(ledger->used(0), 70 * kMiB);
    EXPECT_FALSE(ledger->grow(0, 31 * kMiB, Part::kTracked));
    EXPECT_TRUE(ledger->grow(0, 30 * kMiB, Part::kTracked));
    // The dead are found also while there is no agent.
    agent.end();
    kill(other);
    ledger->reap();
    EXPECT_EQ(ledger->used(0), 30 * kMiB);
}

TEST_F(LedgerTest, OfAnAgentIsNotHeldByAChildOfItsOwner) {
    Agent agent(settings_.ledger);
    agent.serve();
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const pid_t parent = ::fork();
    if (parent == 0) {
        const auto ledger = joined();
        ledger->grow(0, 10 * kMiB, Part::kTracked);
        const pid_t child = ::fork();
        if (child == 0)
            for (;;) ::pause();
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

TEST_F(LedgerTest, WaitsForAnAgentThatIsExchanged) {
    Agent agent(settings_.ledger);
    agent.serve();
    const auto first = joined();
    ASSERT_TRUE(first->grow(0, kMiB, Part::kTracked));
    agent.end();
    std::thread again([&] {
        ::usleep(300'000);
        agent.serve();
    });
    const auto second = joined();
    again.join();
    EXPECT_EQ(second->used(0), kMiB);
}

/// What an agent that comes again can find: an open file of that memory.
TEST_F(LedgerTest, OfAnAgentStaysOpenToBeFound) {
    Agent agent(settings_.ledger);
    agent.serve();
    const auto count = [] {
        int found = 0;
        for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            const auto target = std::filesystem::read_symlink(one.path(), gone);
            // The agent's own, in this process too, are low ones.
            const bool high = one.path().filename().native().size() > 2;
            found += high && target.native().starts_with("/memfd:aliquot-ledger") ? 1 : 0;
        }
        return found;
    };
    const int before = count();
    const auto ledger = joined();
    EXPECT_EQ(count(), before + 1);
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
