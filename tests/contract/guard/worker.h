// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

/// A process that does with CUDA what a check tells it, so that a check can have several.
namespace aliquot::guardkit {

class Worker {
public:
    struct Options {
        std::vector<std::string> environment;  // "NAME=VALUE" besides ours; "NAME" removes one
        bool new_pid_namespace = false;        // it is pid 1 of one of its own
        int own_files = 0;                     // 1: closes all descriptors but its pipes first
    };
    /// Starts it; it has not touched CUDA. Skips where a pid namespace is not permitted.
    static Worker start(const Options& options);
    static Worker start() { return start(Options{}); }
    Worker(Worker&& other) noexcept;
    Worker& operator=(Worker&&) = delete;
    /// Kills it.
    ~Worker();

    /// Sends a line and waits for the answer, at most 20 s; fails when it dies or says nothing.
    ///   init              cuInit and a context: result
    ///   alloc BYTES       result; it keeps the pointer
    ///   fill BYTES        allocates so much again and again until refused: how many times
    ///   free              frees the last pointer: result
    ///   freeall           frees all: result
    ///   view              result FREE TOTAL
    ///   fork              leaves a child that only sleeps: its pid
    ///   close             closes every descriptor but the pipes
    ///   churn BYTES       allocates and frees for ever, in a thread
    ///   launch NS         starts a kernel that runs so long: result
    ///   sync              cuCtxSynchronize: result
    std::string ask(const std::string& line);
    long long number(const std::string& line);
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// SIGKILL, reaped.
    void kill();
    void send_signal(int number) const;
    /// Ends its input and waits until it has exited by itself: exit code.
    int finish();

private:
    Worker() = default;
    pid_t pid_ = -1;
    int to_ = -1;
    int from_ = -1;
};

/// What a process does that was started as one.
int serve_as_worker();

/// Runs `body` in a forked child and gives how it ended: exit code, or 128 + signal. A failed check
/// in it is kExitFailed. Waits 20 s at most.
int in_child(void (*body)());
/// Waits for a child, at most 20 s: exit code, or 128 + signal; -1: it went on.
int wait_for(pid_t child);

}  // namespace aliquot::guardkit
