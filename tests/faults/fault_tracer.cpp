// SPDX-License-Identifier: Apache-2.0
//
// Runs a program and fails one of its system calls once, also those that go around the C library, as the
// guard's do. As fault_library.cpp has it: ALIQUOT_FAULT_UNDER, ALIQUOT_FAULT_LOG, ALIQUOT_FAULT ("7:28").
//   fault_tracer PROGRAM ARGUMENTS...
// Ends as the program does; 125: it cannot trace, 128 + N: signal N ended the program.
#include <elf.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

namespace {

constexpr int kCannotTrace = 125;
constexpr int kSyscallStop = SIGTRAP | 0x80;

std::string text_at(pid_t pid, std::uint64_t address, std::size_t most) {
    std::string text(most, '\0');
    iovec here{.iov_base = text.data(), .iov_len = most};
    // To the end of its page first: what follows may not be mapped.
    constexpr std::uint64_t kPage = 4096;
    iovec there{.iov_base = reinterpret_cast<void*>(address),  // NOLINT(performance-no-int-to-ptr)
                .iov_len = std::min<std::uint64_t>(most, kPage - address % kPage)};
    const ssize_t got = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

std::string path_of(pid_t pid, std::uint64_t descriptor) {
    const std::string link =
        "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(static_cast<int>(descriptor));
    std::string path(4096, '\0');
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return path;
}

/// "open /path" of a call that may be failed; empty: it is none.
std::string name_of(pid_t pid, const __ptrace_syscall_info& info) {
    const auto& arguments = info.entry.args;
    const auto by_descriptor = [&](const char* name, std::uint64_t descriptor) {
        return std::string(name) + ' ' + path_of(pid, descriptor);
    };
    switch (info.entry.nr) {
        case SYS_openat:
            return std::string("open ") + text_at(pid, arguments[1], 4096).c_str();
        case SYS_mmap:
            return by_descriptor("mmap", arguments[4]);
        case SYS_read:
            return by_descriptor("read", arguments[0]);
        case SYS_pread64:
            return by_descriptor("pread", arguments[0]);
        case SYS_write:
            return by_descriptor("write", arguments[0]);
        case SYS_pwrite64:
            return by_descriptor("pwrite", arguments[0]);
        case SYS_ftruncate:
            return by_descriptor("ftruncate", arguments[0]);
        case SYS_fallocate:
            return by_descriptor("fallocate", arguments[0]);
        case SYS_fcntl:
            return by_descriptor("fcntl", arguments[0]);
        case SYS_fchmod:
            return by_descriptor("fchmod", arguments[0]);
        case SYS_fstat:
            return by_descriptor("fstat", arguments[0]);
        case SYS_lseek:
            return by_descriptor("lseek", arguments[0]);
        case SYS_connect: {
            const std::string address = text_at(pid, arguments[1], sizeof(sockaddr_un));
            if (address.size() <= sizeof(sa_family_t)) return {};
            return std::string("connect ") + (address.c_str() + sizeof(sa_family_t));
        }
        default:
            return {};
    }
}

class Tracer {
public:
    Tracer() {
        if (const char* const under = ::getenv("ALIQUOT_FAULT_UNDER")) under_ = under;
        if (const char* const log = ::getenv("ALIQUOT_FAULT_LOG")) log_.open(log, std::ios::app);
        if (const char* const fault = ::getenv("ALIQUOT_FAULT")) {
            char* end = nullptr;
            number_ = std::strtoul(fault, &end, 10);
            if (*end == ':') error_ = std::atol(end + 1);
        }
    }

    int follow(pid_t program) {
        int status = 0;
        constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                                  PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
        if (::waitpid(program, &status, __WALL) != program || !WIFSTOPPED(status) ||
            ::ptrace(PTRACE_SETOPTIONS, program, 0, kOptions) != 0) {
            return kCannotTrace;
        }
        ::ptrace(PTRACE_SYSCALL, program, 0, 0);
        int result = kCannotTrace;
        for (pid_t one = 0; (one = ::waitpid(-1, &status, __WALL)) > 0;) {
            if (WIFSTOPPED(status)) {
                go_on(one, status);
            } else if (one == program) {
                result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
            }
        }
        return result;
    }

private:
    void go_on(pid_t one, int status) {
        const int signal = WSTOPSIG(status);
        const bool event = signal == SIGTRAP && (status >> 16) != 0;
        const bool begins = signal == SIGSTOP && known_.emplace(one, false).second;
        if (signal == kSyscallStop) at_call(one);
        const bool ours = signal == kSyscallStop || event || begins;
        ::ptrace(PTRACE_SYSCALL, one, 0, ours ? 0 : signal);
    }

    void at_call(pid_t one) {
        __ptrace_syscall_info info{};
        if (::ptrace(PTRACE_GET_SYSCALL_INFO, one, sizeof info, &info) <= 0) return;
        bool& failing = known_[one];
        if (info.op == PTRACE_SYSCALL_INFO_EXIT && failing) {
            failing = false;
            set_result(one, -error_);
        }
        if (info.op != PTRACE_SYSCALL_INFO_ENTRY) return;
        const std::string name = name_of(one, info);
        if (under_.empty() || !name.contains(' ' + under_)) return;
        ++calls_;
        log_ << name << std::endl;
        if (calls_ != number_) return;
        failing = true;
        skip(one);
    }

    /// The kernel finds no such call, and does nothing.
    static void skip(pid_t one) {
#if defined(__x86_64__)
        user_regs_struct registers{};
        ::ptrace(PTRACE_GETREGS, one, 0, &registers);
        registers.orig_rax = static_cast<unsigned long long>(-1);
        ::ptrace(PTRACE_SETREGS, one, 0, &registers);
#else
        int none = -1;
        iovec part{.iov_base = &none, .iov_len = sizeof none};
        ::ptrace(PTRACE_SETREGSET, one, NT_ARM_SYSTEM_CALL, &part);
#endif
    }

    static void set_result(pid_t one, long result) {
        user_regs_struct registers{};
        iovec part{.iov_base = &registers, .iov_len = sizeof registers};
        ::ptrace(PTRACE_GETREGSET, one, NT_PRSTATUS, &part);
#if defined(__x86_64__)
        registers.rax = static_cast<unsigned long long>(result);
#else
        registers.regs[0] = static_cast<unsigned long long>(result);
#endif
        ::ptrace(PTRACE_SETREGSET, one, NT_PRSTATUS, &part);
    }

    std::string under_;
    std::ofstream log_;
    unsigned long number_ = 0;
    unsigned long calls_ = 0;
    long error_ = 0;
    std::map<pid_t, bool> known_;  // thread: whether the call that it is in is being failed
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return kCannotTrace;
    const pid_t program = ::fork();
    if (program < 0) return kCannotTrace;
    if (program == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) ::_exit(kCannotTrace);
        ::raise(SIGSTOP);
        ::execvp(argv[1], argv + 1);
        ::_exit(kCannotTrace);
    }
    return Tracer().follow(program);
}
