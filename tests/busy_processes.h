// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <vector>

namespace aliquot {

/// Processes that only compute, so that whoever is tested waits for its turn as on a busy node. They end
/// with the object, and with the thread that made it.
class BusyProcesses {
public:
    explicit BusyProcesses(std::size_t count) {
        const pid_t parent = ::getpid();
        while (processes_.size() < count) {
            const pid_t process = ::fork();
            if (process == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (::getppid() != parent) ::_exit(0);
                for (volatile unsigned turns = 0;;) turns = turns + 1;
            }
            if (process < 0) return;  // as many as the machine has
            processes_.push_back(process);
        }
    }
    ~BusyProcesses() {
        for (const pid_t process : processes_) ::kill(process, SIGKILL);
        for (const pid_t process : processes_) ::waitpid(process, nullptr, 0);
    }
    BusyProcesses(const BusyProcesses&) = delete;
    BusyProcesses& operator=(const BusyProcesses&) = delete;

private:
    std::vector<pid_t> processes_;
};

}  // namespace aliquot
