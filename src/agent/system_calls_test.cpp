// SPDX-License-Identifier: Apache-2.0
#include "agent/system_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace aliquot::agent {
namespace {

/// What `call` says in a process of its own, made ready by `prepare`: 0, or its errno. -1: it was not
/// made ready.
int said_after(const std::function<bool()>& prepare, const std::function<long()>& call) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (!prepare()) ::_exit(255);
        errno = 0;
        ::_exit(call() == -1 ? errno : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    return code == 255 ? -1 : code;
}

int filtered(Mounts mounts, const std::function<long()>& call) {
    const auto filter = [mounts] {
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        return bool{deny_system_calls(mounts)};
    };
    return said_after(filter, call);
}

/// What it says anyway: a container may have a filter of its own.
int unfiltered(const std::function<long()>& call) {
    return said_after([] { return true; }, call);
}

// The bad arguments say who refuses: the kernel would say something else than EPERM.
TEST(SystemCalls, WhatTheAgentNeverNeedsIsDenied) {
    const auto denied = [](long number) {
        return filtered(Mounts::kDenied,
                        [number] { return ::syscall(number, -1, -1, -1, -1, -1); });
    };
    for (const long number : {SYS_init_module, SYS_finit_module, SYS_bpf, SYS_kexec_load, SYS_setns,
                              SYS_process_vm_writev, SYS_mount, SYS_unshare, SYS_userfaultfd}) {
        EXPECT_EQ(denied(number), EPERM) << number;
    }
#if defined(__x86_64__)
    EXPECT_EQ(denied(SYS_setns | 0x40000000), EPERM);
#endif
}

TEST(SystemCalls, FilesProcessesAndWithMpsMountsGoOn) {
    EXPECT_EQ(
        filtered(Mounts::kDenied, [] { return ::open("/proc/self/status", O_RDONLY | O_CLOEXEC); }),
        0);
    EXPECT_EQ(filtered(Mounts::kDenied,
                       [] {
                           const pid_t child = ::fork();
                           if (child == 0) ::_exit(0);
                           int status = 0;
                           return static_cast<long>(::waitpid(child, &status, 0));
                       }),
              0);
    // Both reach the kernel, which finds no such directory, and no such kind of namespace.
    const auto mount = [] { return ::mount("none", "/nowhere/at/all", "tmpfs", 0, nullptr); };
    const auto unshare = [] { return ::unshare(-1); };
    EXPECT_EQ(filtered(Mounts::kAllowed, mount), unfiltered(mount));
    EXPECT_EQ(filtered(Mounts::kAllowed, unshare), unfiltered(unshare));
    if (unfiltered(unshare) == EPERM) GTEST_SKIP() << "system calls are denied here already";
}

}  // namespace
}  // namespace aliquot::agent
