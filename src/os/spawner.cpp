// SPDX-License-Identifier: Apache-2.0
#include "os/spawner.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "os/root.h"

namespace aliquot::os {
namespace {

std::vector<std::string> search_paths(const Command& command) {
    const std::string& program = command.argv.front();
    if (program.contains('/')) return {program};
    const auto found = command.environment.find("PATH");
    const std::string_view path = found == command.environment.end()
                                      ? "/usr/local/bin:/usr/bin:/bin"
                                      : std::string_view(found->second);
    std::vector<std::string> candidates;
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        const std::string directory(path.substr(begin, end - begin));
        candidates.push_back((directory.empty() ? "." : directory) + "/" + program);
        begin = end + 1;
    }
    return candidates;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

/// Everything the child needs, made before fork: after it only async-signal-safe calls are allowed.
struct Prepared {
    std::vector<std::string> candidates;
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
    std::vector<char*> argv;
    std::vector<char*> envp;
};

/// Makes the mount that `path` lies on a slave: what the host mounts later is still seen, what we mount
/// on it is not seen by the host. Async-signal-safe; shortens `path` on its way up. Returns errno; 0: done.
int hide_mounts_below(char* path) {
    while (::mount(nullptr, path, nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
        if (errno != EINVAL) return errno;  // EINVAL: no mount point, so look above
        char* const last = ::strrchr(path, '/');
        // A plain chroot: the mount begins above what we can name.
        if (last == nullptr || path[1] == '\0') return EPERM;
        last[last == path ? 1 : 0] = '\0';
    }
    return 0;
}

/// Puts the binds of a command in a mount namespace of its own. Returns errno; 0: done.
int enter_binds(const Command& command) {
    if (command.binds.empty()) return 0;
    if (::unshare(CLONE_NEWNS) != 0) return errno;
    char root[] = "/";
    const bool all = hide_mounts_below(root) == 0;
    for (const Command::Bind& bind : command.binds) {
        char path[PATH_MAX];
        if (bind.target.size() >= sizeof path) return ENAMETOOLONG;
        std::copy_n(bind.target.c_str(), bind.target.size() + 1, path);
        if (!all) {
            if (const int problem = hide_mounts_below(path); problem != 0) return problem;
        }
        if (::mount(bind.source.c_str(), bind.target.c_str(), nullptr, MS_BIND, nullptr) != 0) {
            return errno;
        }
    }
    return 0;
}

[[noreturn]] void run_child(const Command& command, const Prepared& prepared, int report_fd) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    if (command.new_process_group) ::setpgid(0, 0);
    if (command.die_with_parent) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int problem = 0;
    if (!command.output_path.empty()) {
        const int file = ::open(command.output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        if (file < 0) problem = errno;
        if (file >= 0 && (::dup2(file, 1) < 0 || ::dup2(file, 2) < 0)) problem = errno;
        const int in = ::open("/dev/null", O_RDONLY);
        if (in >= 0) ::dup2(in, 0);
    }
    if (command.input_descriptor >= 0 && ::dup2(command.input_descriptor, 0) < 0) problem = errno;
    const int out = command.output_descriptor;
    const int err = command.error_descriptor >= 0 ? command.error_descriptor : out;
    if (err >= 0 && ::dup2(err, 2) < 0) problem = errno;
    if (out >= 0 && ::dup2(out, 1) < 0) problem = errno;
    if (problem == 0) problem = enter_binds(command);
    if (problem == 0 && !command.working_directory.empty() &&
        ::chdir(command.working_directory.c_str()) != 0) {
        problem = errno;
    }
    if (problem == 0) {
        problem = ENOENT;
        for (const std::string& candidate : prepared.candidates) {
            ::execve(candidate.c_str(), prepared.argv.data(), prepared.envp.data());
            const int why = errno;
            // Nobody knows what a closed folder of PATH holds: it says nothing of the program.
            const bool is_closed = why == EACCES && prepared.candidates.size() > 1 &&
                                   ::access(candidate.c_str(), F_OK) != 0;
            if (why != ENOENT && why != ENOTDIR && !is_closed) problem = why;
        }
    }
    const ssize_t written = ::write(report_fd, &problem, sizeof problem);
    (void)written;
    ::_exit(127);
}

Exit exit_of(int status) {
    if (WIFSIGNALED(status)) return {.code = 128 + WTERMSIG(status), .signal = WTERMSIG(status)};
    return {.code = WEXITSTATUS(status), .signal = 0};
}

}  // namespace

Result<Process> Process::start(const Command& command) {
    if (command.argv.empty()) return Error{ErrorCode::kInvalidInput, "no program to start"};
    Prepared prepared;
    prepared.candidates = search_paths(command);
    prepared.arguments = command.argv;
    for (const auto& [name, value] : command.environment) {
        prepared.environment.push_back(name + "=" + value);
    }
    prepared.argv = pointers(prepared.arguments);
    prepared.envp = pointers(prepared.environment);

    std::array<int, 2> report{};  // closed by a successful exec, else carries errno
    if (::pipe2(report.data(), O_CLOEXEC) != 0)
        return error_from_errno(errno, command.argv.front());
    const pid_t pid = ::fork();
    if (pid < 0) {
        const int number = errno;
        ::close(report[0]);
        ::close(report[1]);
        return error_from_errno(number, command.argv.front());
    }
    if (pid == 0) {
        ::close(report[0]);
        run_child(command, prepared, report[1]);
    }
    ::close(report[1]);
    int problem = 0;
    ssize_t got = 0;
    do {
        got = ::read(report[0], &problem, sizeof problem);
    } while (got < 0 && errno == EINTR);
    ::close(report[0]);
    if (got == static_cast<ssize_t>(sizeof problem)) {
        ::waitpid(pid, nullptr, 0);
        return error_from_errno(problem, command.argv.front());
    }
    return Process(pid, command.new_process_group);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), group_(other.group_), exit_(other.exit_) {}

Process& Process::operator=(Process&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(group_, other.group_);
    std::swap(exit_, other.exit_);
    return *this;
}

Process::~Process() {
    if (pid_ <= 0 || poll()) return;
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

std::optional<Exit> Process::poll() {
    if (exit_) return exit_;
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == pid_) exit_ = exit_of(status);
    if (got < 0 && errno == ECHILD) exit_ = Exit{};  // reaped by somebody else
    return exit_;
}

std::optional<Exit> Process::wait(std::chrono::milliseconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    auto pause = std::chrono::milliseconds(1);
    while (!poll() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::milliseconds(20));
    }
    return exit_;
}

Exit Process::terminate(std::chrono::milliseconds grace) {
    signal(SIGTERM);
    if (!wait(grace)) {
        signal(SIGKILL);
        int status = 0;
        if (::waitpid(pid_, &status, 0) == pid_) exit_ = exit_of(status);
    }
    return exit_.value_or(Exit{});
}

void Process::signal(int number) {
    if (pid_ <= 0 || exit_) return;
    if (!group_ || ::kill(-pid_, number) != 0) ::kill(pid_, number);
}

std::map<std::string, std::string> current_environment() {
    std::map<std::string, std::string> result;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos || equals == 0) continue;
        result.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return result;
}

}  // namespace aliquot::os
