// SPDX-License-Identifier: Apache-2.0
#include "kubelet/socket_watch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "os/temporary_directory.h"

namespace aliquot::kubelet {
namespace {

void make_socket(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(socket);
}

class SocketIdentity : public testing::Test {
protected:
    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    std::filesystem::path socket_ = directory_.path() / "kubelet.sock";
};

// chmod, chcon and a hard link change a file's ctime; each was taken for a restart of kubelet.
TEST_F(SocketIdentity, StaysWhenModeOrLinksChange) {
    make_socket(socket_);
    const auto before = socket_identity(root_, "/kubelet.sock");
    ASSERT_TRUE(before);
    ASSERT_EQ(::chmod(socket_.c_str(), 0700), 0);
    EXPECT_EQ(socket_identity(root_, "/kubelet.sock"), before);
    ASSERT_EQ(::link(socket_.c_str(), (directory_.path() / "other").c_str()), 0);
    EXPECT_EQ(socket_identity(root_, "/kubelet.sock"), before);
}

TEST_F(SocketIdentity, ChangesWithEachSocketMadeAnew) {
    make_socket(socket_);
    const auto before = socket_identity(root_, "/kubelet.sock");
    std::filesystem::remove(socket_);
    EXPECT_EQ(socket_identity(root_, "/kubelet.sock"), std::nullopt);
    make_socket(socket_);
    EXPECT_NE(socket_identity(root_, "/kubelet.sock"), before);
}

TEST_F(SocketIdentity, IsOfASocketOnly) {
    std::filesystem::create_directory(socket_);
    EXPECT_EQ(socket_identity(root_, "/kubelet.sock"), std::nullopt);
}

}  // namespace
}  // namespace aliquot::kubelet
