// SPDX-License-Identifier: Apache-2.0
#include "job_server/gang.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "base/text.h"

namespace aliquot::job_server {
namespace {

constexpr int kNoProgram = 127;

std::string environment(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    return value == nullptr ? "" : value;
}

/// The part of a list that one of `members` gets: equal parts, in order.
std::string part_of(const std::string& list, unsigned member, unsigned members) {
    const auto all = split_list(list);
    const std::size_t each = all.size() / members;
    std::vector<std::string> mine;
    for (std::size_t i = member * each; i < (member + 1) * each; ++i) mine.emplace_back(all[i]);
    return join(mine, ",");
}

void hold_sigterm(int how) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigprocmask(how, &set, nullptr);
}

[[noreturn]] void become_member(unsigned member, unsigned members,
                                const std::vector<std::string>& command) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGTERM, SIG_DFL);  // NOLINT(performance-no-int-to-ptr)
    hold_sigterm(SIG_UNBLOCK);   // one that came meanwhile ends us here
    const std::string rank = std::to_string(member);
    ::setenv("RANK", rank.c_str(), 1);
    ::setenv("LOCAL_RANK", rank.c_str(), 1);
    ::setenv("WORLD_SIZE", std::to_string(members).c_str(), 1);
    ::setenv("MASTER_ADDR", "127.0.0.1", 0);
    for (const char* const name : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}) {
        const std::string part = part_of(environment(name), member, members);
        if (!part.empty()) ::setenv(name, part.c_str(), 1);
    }
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    std::cerr << command.front() << ": " << std::strerror(errno) << '\n';  // NOLINT: one thread
    ::_exit(errno == ENOENT ? kNoProgram : kNoProgram - 1);
}

}  // namespace

int run_gang(unsigned members, const std::vector<std::string>& command) {
    if (members == 0 || command.empty()) return kNoProgram;
    // The whole group hears SIGTERM; we wait for how the members take it.
    ::signal(SIGTERM, SIG_IGN);  // NOLINT(performance-no-int-to-ptr)
    hold_sigterm(SIG_BLOCK);     // and no member misses one before it is itself
    std::vector<pid_t> running;
    int code = 0;
    const auto end_others = [&] {
        for (const pid_t pid : running) ::kill(pid, SIGTERM);
    };
    for (unsigned member = 0; member < members && code == 0; ++member) {
        const pid_t pid = ::fork();
        if (pid == 0) become_member(member, members, command);
        if (pid > 0) {
            running.push_back(pid);
        } else {
            code = kNoProgram;
        }
    }
    if (code != 0) end_others();
    while (!running.empty()) {
        int status = 0;
        const pid_t pid = ::waitpid(-1, &status, 0);
        if (pid < 0 && errno == EINTR) continue;
        if (pid < 0) break;
        std::erase(running, pid);
        const int ended = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (ended == 0 || code != 0) continue;
        code = ended;
        end_others();
    }
    return code;
}

}  // namespace aliquot::job_server
