// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

namespace aliquot::contract {

/// A process that does nothing, for as long as the object lives.
class Sleeper {
public:
    Sleeper() : pid_(::fork()) {
        if (pid_ != 0) return;
        for (;;) ::pause();
    }
    ~Sleeper() { end(); }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
    void end() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

private:
    pid_t pid_;
};

}  // namespace aliquot::contract
