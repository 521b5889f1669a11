// SPDX-License-Identifier: Apache-2.0
#include "agent/system_calls.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "os/root.h"

namespace aliquot::agent {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kOtherTable = 0x40000000;  // x32: the same calls under other numbers
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kOtherTable = 0;
#else
#error "which architecture is this?"
#endif

constexpr std::array kDenied {
    // kernel and modules
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_reboot, SYS_bpf,
        SYS_perf_event_open, SYS_syslog, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl,
        SYS_userfaultfd,
#if defined(__x86_64__)
        SYS_kexec_file_load, SYS_iopl, SYS_ioperm,
#endif
        // names, clocks, keys
        SYS_sethostname, SYS_setdomainname, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime,
        SYS_adjtimex, SYS_add_key, SYS_request_key, SYS_keyctl,
    // other processes
#if !defined(__SANITIZE_ADDRESS__)
        SYS_ptrace,  // the leak sanitizer traces itself
#endif
        SYS_process_vm_writev, SYS_setns, SYS_open_by_handle_at, SYS_vhangup,
        // file systems
        SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount, SYS_fsopen,
        SYS_fsconfig, SYS_fsmount, SYS_fspick
};
constexpr std::array kMounting{SYS_mount, SYS_unshare};

sock_filter load(std::size_t offset) {
    return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter answer(std::uint32_t with) { return BPF_STMT(BPF_RET | BPF_K, with); }

void deny_if(std::vector<sock_filter>& program, std::uint16_t comparison, std::uint32_t value) {
    program.push_back(
        BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | BPF_K | comparison), value, 0, 1));
    program.push_back(answer(SECCOMP_RET_ERRNO | EPERM));
}

}  // namespace

Result<Done> deny_system_calls(Mounts mounts) {
    // Calls of another architecture (int 0x80) have other numbers: none is let through.
    std::vector<sock_filter> program{load(offsetof(seccomp_data, arch)),
                                     BPF_JUMP(BPF_JMP | BPF_K | BPF_JEQ, kArchitecture, 1, 0),
                                     answer(SECCOMP_RET_ERRNO | EPERM),
                                     load(offsetof(seccomp_data, nr))};
    if (kOtherTable != 0) deny_if(program, BPF_JGE, kOtherTable);
    for (const auto call : kDenied) deny_if(program, BPF_JEQ, static_cast<std::uint32_t>(call));
    if (mounts == Mounts::kDenied) {
        for (const auto call : kMounting)
            deny_if(program, BPF_JEQ, static_cast<std::uint32_t>(call));
    }
    program.push_back(answer(SECCOMP_RET_ALLOW));
    const sock_fprog filter{.len = static_cast<unsigned short>(program.size()),
                            .filter = program.data()};
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return os::error_from_errno(errno, "seccomp");
    return Done{};
}

}  // namespace aliquot::agent
