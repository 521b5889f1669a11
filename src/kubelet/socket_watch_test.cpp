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

class PinnedSocketTest : public testing::Test {
protected:
    os::TemporaryDirectory directory_;
    std::filesystem::path socket_ = directory_.path() / "kubelet.sock";
};

// chmod, chcon and a hard link change a file's ctime; each was taken for a restart of kubelet.
TEST_F(PinnedSocketTest, StaysWhenModeOrLinksChange) {
    make_socket(socket_);
    const auto pinned = PinnedSocket::at(socket_);
    ASSERT_TRUE(pinned);
    ASSERT_EQ(::chmod(socket_.c_str(), 0700), 0);
    EXPECT_TRUE(pinned->still_at(socket_));
    ASSERT_EQ(::link(socket_.c_str(), (directory_.path() / "other").c_str()), 0);
    EXPECT_TRUE(pinned->still_at(socket_));
}

// File systems give the inode number of a file that was removed to the next one.
TEST_F(PinnedSocketTest, KnowsEachSocketThatWasMadeAnew) {
    make_socket(socket_);
    for (int i = 0; i < 200; ++i) {
        const auto pinned = PinnedSocket::at(socket_);
        ASSERT_TRUE(pinned);
        EXPECT_TRUE(pinned->still_at(socket_));
        std::filesystem::remove(socket_);
        EXPECT_FALSE(pinned->still_at(socket_));
        make_socket(socket_);
        EXPECT_FALSE(pinned->still_at(socket_)) << "after " << i;
    }
}

TEST_F(PinnedSocketTest, IsOfASocketOnly) {
    EXPECT_EQ(PinnedSocket::at(socket_).error().code, ErrorCode::kNotFound);
    std::filesystem::create_directory(socket_);
    EXPECT_EQ(PinnedSocket::at(socket_).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace aliquot::kubelet
