// SPDX-License-Identifier: Apache-2.0
#include "guard_region/node_page.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <future>

#include "abi/region.h"
#include "guard_region/node_socket.h"
#include "os/temporary_directory.h"

namespace aliquot::guard_region {
namespace {

std::uint64_t magic_of(int fd) {
    std::uint64_t magic = 0;
    EXPECT_EQ(::pread(fd, &magic, sizeof magic, 0), static_cast<ssize_t>(sizeof magic));
    return magic;
}

/// What a guard does to get the page.
Descriptor receive(const std::filesystem::path& socket) {
    const Descriptor connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
    if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
        0) {
        return Descriptor();
    }
    char byte = 0;
    iovec part{.iov_base = &byte, .iov_len = 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(connection.get(), &message, MSG_CMSG_CLOEXEC) != 1) return Descriptor();
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr) return Descriptor();
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return Descriptor(fd);
}

ino_t inode(int fd) {
    struct stat status {};
    EXPECT_EQ(::fstat(fd, &status), 0);
    return status.st_ino;
}

TEST(NodePage, CannotBeCutShort) {
    const auto page = make_node_memory();
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_EQ(magic_of(page->get()), abi::kNodeMagic);
    EXPECT_NE(::ftruncate(page->get(), 0), 0);
    EXPECT_NE(::ftruncate(page->get(), 1 << 24), 0);
}

TEST(NodePage, IsFoundAgainInAProcessThatHoldsIt) {
    const auto page = make_node_memory();
    ASSERT_TRUE(page);
    const os::Root root("/");
    const std::array<pid_t, 2> pids{::getpid(), 0x7ffffff};
    const auto found = find_node_memory(root, pids);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(inode(found->get()), inode(page->get()));
    EXPECT_EQ(find_node_memory(root, {}).error().code, ErrorCode::kNotFound);
}

TEST(NodePage, AsAFileIsMadeOnce) {
    const os::TemporaryDirectory directory;
    const auto file = directory.path() / "node";
    ASSERT_TRUE(make_node_file(file));
    { std::fstream(file).seekp(4096).put('x'); }
    ASSERT_TRUE(make_node_file(file));
    EXPECT_EQ(std::fstream(file).seekg(4096).get(), 'x');
    EXPECT_EQ(std::filesystem::file_size(file), sizeof(abi::NodePage));
    std::ofstream(directory.path() / "other") << "x";
    EXPECT_EQ(make_node_file(directory.path() / "other").error().code, ErrorCode::kInvalidInput);
}

TEST(NodeSocket, HandsThePageToWhoeverConnects) {
    const os::TemporaryDirectory directory;
    auto page = make_node_memory();
    ASSERT_TRUE(page);
    const ino_t wanted = inode(page->get());
    auto socket = NodeSocket::listen(directory.path() / "node.sock", *std::move(page));
    ASSERT_TRUE(socket) << socket.error().message;
    const auto place = directory.path() / "node";
    ASSERT_TRUE((*socket)->link(place));
    ASSERT_TRUE((*socket)->link(place));  // again: nothing is left beside
    EXPECT_FALSE(std::filesystem::exists(place.native() + ".new"));
    const Descriptor first = receive(place);
    const Descriptor second = receive(place);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(inode(first.get()), wanted);
    // Locks must not be shared: each has a description of its own.
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_start = static_cast<off_t>(abi::kSlotLockOffset);
    lock.l_len = 1;
    EXPECT_EQ(::fcntl(first.get(), F_OFD_SETLK, &lock), 0);
    EXPECT_NE(::fcntl(second.get(), F_OFD_SETLK, &lock), 0);
}

// Whoever opens a file with a lease waits for its holder, for 45 s as kernels come.
TEST(NodePage, AFileThatATenantNamesAfterItIsNotWaitedFor) {
    const std::string file = "/memfd:aliquot-node-" + std::to_string(::getpid());
    const Descriptor leased(::open(file.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644));
    if (!leased || ::fcntl(leased.get(), F_SETLEASE, F_RDLCK) != 0) {
        ::unlink(file.c_str());
        GTEST_SKIP() << "needs a root directory that may be written and gives leases";
    }
    ::signal(SIGIO, SIG_IGN);  // what the holder is told with: it does not care
    auto asked = std::async(std::launch::async, [] {
        const pid_t self = ::getpid();
        return find_node_memory(os::Root("/"), {&self, 1}).ok();
    });
    EXPECT_EQ(asked.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    ::fcntl(leased.get(), F_SETLEASE, F_UNLCK);
    EXPECT_FALSE(asked.get());
    ::unlink(file.c_str());
}

TEST(NodeSocket, OfALaterAgentTakesThePlace) {
    const os::TemporaryDirectory directory;
    const auto place = directory.path() / "node";
    {
        auto page = make_node_memory();
        ASSERT_TRUE(page);
        auto socket = NodeSocket::listen(directory.path() / "sock", *std::move(page));
        ASSERT_TRUE(socket);
        ASSERT_TRUE((*socket)->link(place));
    }
    EXPECT_FALSE(receive(place));  // nobody listens
    auto page = make_node_memory();
    ASSERT_TRUE(page);
    auto socket = NodeSocket::listen(directory.path() / "sock", *std::move(page));
    ASSERT_TRUE(socket);
    ASSERT_TRUE((*socket)->link(place));
    EXPECT_TRUE(receive(place));
}

}  // namespace
}  // namespace aliquot::guard_region
