// SPDX-License-Identifier: Apache-2.0
#include "cli/host/guarded_process.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigtimedwait is POSIX

#include <array>
#include <utility>

namespace aliquot::cli {
namespace {

constexpr std::array kPassedOn{SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM,
                               SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};

sigset_t watched() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : kPassedOn) ::sigaddset(&set, number);
    ::sigaddset(&set, SIGCHLD);
    return set;
}

/// The terminal sends these to all that is in front, so the program has got it, too.
bool from_terminal(const siginfo_t& info) { return info.si_code == SI_KERNEL; }

}  // namespace

void block_signals() {
    const sigset_t set = watched();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Result<os::Exit> run_in_front(os::Command command) {
    command.new_process_group = false;  // else it could not read the terminal
    command.die_with_parent = true;
    auto process = os::Process::start(command);
    if (!process) return std::move(process).error();
    const sigset_t set = watched();
    for (;;) {
        if (const auto exit = process->poll()) return *exit;
        // A signal may come between poll() and the wait: SIGCHLD then stays pending, since it is
        // blocked. The limit is for what cannot happen.
        const timespec limit{.tv_sec = 1, .tv_nsec = 0};
        siginfo_t info{};
        const int number = ::sigtimedwait(&set, &info, &limit);
        if (number <= 0 || number == SIGCHLD || from_terminal(info)) continue;
        process->signal(number);
    }
}

}  // namespace aliquot::cli
