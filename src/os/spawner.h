// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace aliquot::os {

/// How to start a program: no shell in between, so nothing in an argument can be a command.
struct Command {
    std::vector<std::string> argv;                   // argv[0] is searched in PATH of `environment`
    std::map<std::string, std::string> environment;  // the whole environment of the program
    std::string working_directory;                   // empty: ours
    std::string output_path;     // stdout and stderr are appended here; empty: ours
    int input_descriptor = -1;   // becomes stdin; -1: ours, or /dev/null with an output_path
    int output_descriptor = -1;  // becomes stdout and stderr, before output_path
    int error_descriptor = -1;   // becomes stderr instead of output_descriptor; 2: ours stays
    /// What the program sees in other places than we do: a mount namespace of its own. Needs
    /// CAP_SYS_ADMIN, and a mount point at or above each target: in a plain chroot, whose root is a
    /// directory of another mount, there may be none that we can name (else start() is kPermission).
    struct Bind {
        std::string source;
        std::string target;
    };
    std::vector<Bind> binds;
    bool new_process_group = true;  // so that its children can be ended with it
    bool die_with_parent = true;    // SIGKILL when the starting thread's process ends
};

/// How a program ended: exit code, or 128 + signal as a shell says it.
struct Exit {
    int code = 0;
    int signal = 0;  // 0: it exited by itself
};

/// A started program. Not thread-safe. The destructor ends it (SIGKILL to the group) and reaps it.
class Process {
public:
    /// errors   kNotFound: no such program; kPermission; kUnavailable: no process could be made
    static Result<Process> start(const Command& command);

    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process();

    [[nodiscard]] pid_t pid() const { return pid_; }

    /// Empty while it runs. Never blocks.
    std::optional<Exit> poll();

    /// Empty when it still runs after `timeout`.
    std::optional<Exit> wait(std::chrono::milliseconds timeout);

    /// SIGTERM to the group, SIGKILL after `grace`; reaps.
    Exit terminate(std::chrono::milliseconds grace);

    /// Sends a signal to the process group (or the process); nothing when it has ended.
    void signal(int number);

    /// Lets it run on without us: the destructor then does nothing.
    void release() { pid_ = -1; }

private:
    explicit Process(pid_t pid, bool group) : pid_(pid), group_(group) {}
    pid_t pid_ = -1;
    bool group_ = false;
    std::optional<Exit> exit_;
};

/// This process's environment as a map.
std::map<std::string, std::string> current_environment();

}  // namespace aliquot::os
