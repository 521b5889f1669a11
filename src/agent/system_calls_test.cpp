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

/// What `call` says in a process with the filter: 0, or its errno. -1: the filter was refused.
int filtered(Mounts mounts, const std::function<long()>& call) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (!deny_system_calls(mounts)) ::_exit(255);
        errno = 0;
        ::_exit(call() == -1 ? errno : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    return code == 255 ? -1 : code;
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
    // Reaches the kernel, which finds no such directory (or who asks is not root).
    const int mounted = filtered(
        Mounts::kAllowed, [] { return ::mount("none", "/nowhere/at/all", "tmpfs", 0, nullptr); });
    EXPECT_EQ(mounted, ::geteuid() == 0 ? ENOENT : EPERM);
    EXPECT_EQ(filtered(Mounts::kAllowed, [] { return ::unshare(-1); }), EINVAL);
}

}  // namespace
}  // namespace aliquot::agent
