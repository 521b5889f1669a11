// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_ledgers.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "agent/guard_link_fixture.h"
#include "guard_region/hand_over.h"

namespace aliquot::agent {
namespace {

/// Does not wait where the queue is full.
Descriptor connected(const fs::path& socket) {
    const Descriptor directory(::open(socket.parent_path().c_str(), O_PATH | O_CLOEXEC));
    const std::string path = "/proc/self/fd/" + std::to_string(directory.get()) + "/ledger";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    Descriptor wire(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(wire.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return Descriptor();
    }
    return wire;
}

bool has_something(const Descriptor& wire) {
    char byte = 0;
    return ::recv(wire.get(), &byte, 1, MSG_PEEK) == 1;
}

/// What was sent, as it is. Waits for it.
Descriptor taken(const Descriptor& wire) {
    ::fcntl(wire.get(), F_SETFL, 0);
    char byte = 0;
    iovec part{.iov_base = &byte, .iov_len = 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    int fd = -1;
    if (::recvmsg(wire.get(), &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message)) {
        std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    }
    return Descriptor(fd);
}

class GuardLedgersTest : public GuardLinkTest {
protected:
    grant::Grant granted(const std::string& id = "::1") {
        grant::Grant grant = grant_of(kGiB, 25);
        const std::vector<std::string> ids{kGpu + id};
        EXPECT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
        return grant;
    }
    static bool has_total(const GuardSnapshot& seen, std::uint64_t gpu_ns, std::uint64_t denied) {
        return seen.regions.size() == 1 && seen.regions[0].devices.at(0).gpu_ns == gpu_ns &&
               seen.regions[0].devices.at(0).denied == denied;
    }
};

TEST_F(GuardLedgersTest, AContainerGetsMemoryThatItCannotMakeLarger) {
    start();
    const grant::Grant grant = granted();
    ASSERT_TRUE(fs::is_socket(guard_of(grant) / "ledger"));
    for (const auto& mount : grant.mounts) EXPECT_TRUE(mount.read_only) << mount.container_path;
    const auto memory = guard_region::receive_from(guard_of(grant) / "ledger");
    ASSERT_TRUE(memory) << memory.error().message;
    EXPECT_NE(::ftruncate(memory->get(), 1 << 30), 0);
    const char byte = 1;
    EXPECT_LT(::pwrite(memory->get(), &byte, 1, sizeof(abi::Ledger)), 0);
    // Two processes have the same memory, and locks of their own.
    const auto other = guard_region::receive_from(guard_of(grant) / "ledger");
    ASSERT_TRUE(other);
    struct stat first {};
    struct stat second {};
    ASSERT_EQ(::fstat(memory->get(), &first), 0);
    ASSERT_EQ(::fstat(other->get(), &second), 0);
    EXPECT_EQ(first.st_ino, second.st_ino);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(abi::kSlotLockOffset);
    lock.l_len = 1;
    EXPECT_EQ(::fcntl(memory->get(), F_OFD_SETLK, &lock), 0);
    EXPECT_NE(::fcntl(other->get(), F_OFD_SETLK, &lock), 0);
}

TEST_F(GuardLedgersTest, WhatIsHandedOutIsOneOpenFileOfTheAgents) {
    start(60s);
    const fs::path socket = guard_of(granted()) / "ledger";
    const Descriptor first = taken(connected(socket));
    const Descriptor second = taken(connected(socket));
    ASSERT_TRUE(first && second);
    // Else each would be kernel memory of the agent's for as long as a container keeps it.
    ASSERT_EQ(::fcntl(first.get(), F_SETFL, O_APPEND), 0);
    EXPECT_NE(::fcntl(second.get(), F_GETFL) & O_APPEND, 0);
    // A lock that a container leaves there makes nobody alive.
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const auto file = guard_region::LedgerFile::open(socket);
    ASSERT_TRUE(file);
    for (int look = 0; look < 2; ++look) {
        // The agent may take it away before we have looked.
        ASSERT_TRUE(eventually([&](const auto&) {
            return ::fcntl(first.get(), F_OFD_SETLK, &lock) == 0 && file->held();
        }));
        EXPECT_TRUE(eventually([&](const auto&) { return !file->held(); }));
    }
}

TEST_F(GuardLedgersTest, WhoDoesNotTakeItKeepsNobodyElseWaiting) {
    start(60s);
    const fs::path hostile = guard_of(granted("::1")) / "ledger";
    const fs::path honest = guard_of(granted("::2")) / "ledger";
    constexpr std::size_t kMany = 100;
    constexpr std::size_t kMostUntaken = 16;
    std::vector<Descriptor> held;
    for (std::size_t i = 0; i < kMany; ++i) held.push_back(connected(hostile));
    const auto sent = [&] { return std::ranges::count_if(held, has_something); };
    ASSERT_TRUE(eventually([&](const auto&) { return std::cmp_equal(sent(), kMostUntaken); }));
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(guard_region::receive_from(honest));
    EXPECT_EQ(sent(), kMostUntaken);  // no more of them than that
    // Each that goes or takes makes room for another one.
    for (Descriptor& one : held) {
        EXPECT_TRUE(one);
        EXPECT_TRUE(taken(one));
    }
    held.clear();
    EXPECT_TRUE(guard_region::receive_from(hostile));
}

TEST_F(GuardLedgersTest, AProcessOfAnotherContainerGetsNothing) {
    start();
    const grant::Grant mine = granted("::1");
    const grant::Grant others = granted("::2");
    // By the kernel's word it belongs to the other region, whatever it could say itself.
    auto environment = os::current_environment();
    environment["ALIQUOT_GUARD_REGION"] = guard_of(others) / "ledger";
    const std::string ask =
        "import socket, sys\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        "s.settimeout(20)\n"
        "s.connect(sys.argv[1])\n"
        "data, ancillary, _, _ = s.recvmsg(1, 64)\n"
        "sys.exit(10 + len(ancillary))\n";
    const auto asked = [&](const grant::Grant& grant) {
        auto process =
            os::Process::start({.argv = {"/usr/bin/python3", "-c", ask, guard_of(grant) / "ledger"},
                                .environment = environment});
        const auto exit = process ? process->wait(60s) : std::nullopt;
        return exit ? exit->code : -1;
    };
    EXPECT_EQ(asked(others), 11);
    EXPECT_EQ(asked(mine), 10);
}

TEST_F(GuardLedgersTest, AnAgentThatComesAgainFindsTheLedgerThatProcessesHave) {
    start();
    const grant::Grant grant = granted();
    ASSERT_TRUE(eventually([](const auto& seen) { return seen.regions.size() == 1; }));
    auto environment = os::current_environment();
    environment["ALIQUOT_GUARD_REGION"] = guard_of(grant) / "ledger";
    const std::string hold =
        "import array, socket, sys, time\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        "s.connect(sys.argv[1])\n"
        "keep = s.recvmsg(1, 64)\n"
        "open(sys.argv[2], 'w').close()\n"
        "time.sleep(1000)\n";
    const fs::path held = root_.resolve("/held");
    auto process = os::Process::start(
        {.argv = {"/usr/bin/python3", "-c", hold, guard_of(grant) / "ledger", held},
         .environment = environment});
    ASSERT_TRUE(process);
    ASSERT_TRUE(eventually([&](const auto&) { return fs::exists(held); }));
    guard_region::FakeTenant tenant(guard_of(grant) / "ledger");
    tenant.join(0, 4711);
    tenant.use(0, kGpu, 1000);
    link_.reset();
    start();
    ASSERT_TRUE(eventually([](const GuardSnapshot& seen) {
        return seen.regions.size() == 1 && seen.regions[0].devices.at(0).tracked_bytes == 1000;
    }));
    // It is the same memory, not a copy.
    tenant.use(0, kGpu, 2000);
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        return seen.regions.at(0).devices.at(0).tracked_bytes == 2000;
    }));
    process->signal(SIGKILL);
}

TEST_F(GuardLedgersTest, CountersGoOnWhereTheLedgerIsLost) {
    start(60s);
    const grant::Grant grant = granted();
    {
        guard_region::FakeTenant tenant(guard_of(grant) / "ledger");
        abi::DeviceLedger& device = tenant.ledger().devices[tenant.device(kGpu)];
        device.gpu_ns = 5'000'000'000;
        device.denied = 3;
    }
    ASSERT_TRUE(eventually([](const auto& seen) { return has_total(seen, 5'000'000'000, 3); }));
    link_.reset();
    start(60s);
    // Never anything less in between.
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        if (seen.regions.empty()) return false;
        EXPECT_TRUE(has_total(seen, 5'000'000'000, 3));
        return true;
    }));
}

}  // namespace
}  // namespace aliquot::agent
