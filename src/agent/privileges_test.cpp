// SPDX-License-Identifier: Apache-2.0
#include "agent/privileges.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace aliquot::agent {
namespace {

/// The soft limit of descriptors after the call, in a process that began with these.
rlim_t room_after(rlim_t soft, rlim_t hard) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) return 0;
    const pid_t child = ::fork();
    if (child == 0) {
        rlimit limit{.rlim_cur = soft, .rlim_max = hard};
        ::setrlimit(RLIMIT_NOFILE, &limit);
        take_room_for_descriptors();
        ::getrlimit(RLIMIT_NOFILE, &limit);
        (void)!::write(ends[1], &limit.rlim_cur, sizeof limit.rlim_cur);
        ::_exit(0);
    }
    rlim_t found = 0;
    ::close(ends[1]);
    (void)!::read(ends[0], &found, sizeof found);
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return found;
}

TEST(Privileges, RoomForDescriptorsIsTakenAsFarAsItMayBe) {
    rlimit own{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &own), 0);
    const rlim_t hard = std::min<rlim_t>(own.rlim_max, 512);  // which nobody may raise
    EXPECT_EQ(room_after(hard / 8, hard), hard);
    EXPECT_EQ(room_after(hard, hard), hard);
    EXPECT_EQ(room_after(1, hard / 4), hard / 4);
}

}  // namespace
}  // namespace aliquot::agent
