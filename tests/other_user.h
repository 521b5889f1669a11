// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

namespace aliquot {

constexpr uid_t kNobody = 65'534;

/// Whether this process may go on as nobody. Root may, unless it is root of a user namespace that has
/// no other users, as in a container of a user without rights.
inline bool may_become_nobody() {
    if (::geteuid() != 0) return false;
    const pid_t child = ::fork();
    if (child == 0) {
        const bool became =
            ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
        ::_exit(became ? 0 : 1);
    }
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace aliquot
