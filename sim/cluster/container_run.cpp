// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/container_run.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/wait.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace aliquot::sim::cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstBackOff = 1000ms;
constexpr auto kLongestBackOff = 30'000ms;
constexpr auto kGoodContainerRun = 60s;
constexpr int kStartFailed = 128;  // as containerd reports a program that cannot be started

/// Has this child ended? It stays a zombie, so that its group id is nobody else's yet.
bool has_ended(pid_t pid) {
    siginfo_t info{};
    const int got = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
    return got == 0 && info.si_pid == pid;
}

/// What a container leaves behind ends with its first process, as in a pid namespace.
void end_group(pid_t pid) { ::kill(-pid, SIGKILL); }

}  // namespace

void ContainerRun::enter(State state, TimePoint now) {
    state_ = state;
    changed_ = now;
}

void ContainerRun::start(TimePoint now) {
    started_ = now;
    enter(State::kRunning, now);
    if (is_pause()) return;
    auto process = os::Process::start({.argv = plan_.argv,
                                       .environment = plan_.environment,
                                       .working_directory = plan_.working_directory,
                                       .output_path = plan_.log_path});
    if (process) {
        process_ = *std::move(process);
        return;
    }
    exit_code_ = kStartFailed;
    ending_ = "cannot start " + process.error().message;
}

void ContainerRun::note_end(const os::Exit& exit) {
    process_.reset();
    exit_code_ = exit.code;
    ending_ = exit.signal == 0 ? "exit code " + std::to_string(exit.code)
                               : "killed by signal " + std::to_string(exit.signal);
}

void ContainerRun::after_end(RestartPolicy policy, TimePoint now) {
    const bool again = policy == RestartPolicy::kAlways ||
                       (policy == RestartPolicy::kOnFailure && exit_code_ != 0);
    if (!again) {
        enter(State::kEnded, now);
        return;
    }
    if (now - started_ >= kGoodContainerRun) back_off_ = 0ms;
    back_off_ = std::clamp(back_off_ * 2, std::chrono::milliseconds(kFirstBackOff),
                           std::chrono::milliseconds(kLongestBackOff));
    next_start_ = now + back_off_;
    enter(State::kBackOff, now);
}

void ContainerRun::tick(RestartPolicy policy, TimePoint now) {
    if (state_ == State::kEnded) return;
    if (state_ == State::kWaiting) start(now);
    if (state_ == State::kBackOff && now >= next_start_) {
        ++restarts_;
        start(now);
    }
    if (state_ != State::kRunning || is_pause()) return;
    if (!process_) {  // it could not be started
        after_end(policy, now);
        return;
    }
    if (!has_ended(process_->pid())) return;
    end_group(process_->pid());
    note_end(process_->poll().value_or(os::Exit{}));
    after_end(policy, now);
}

void ContainerRun::signal(int number) {
    if (process_) process_->signal(number);
}

void ContainerRun::stop(std::chrono::milliseconds grace) {
    if (process_) {
        const pid_t pid = process_->pid();
        const auto deadline = std::chrono::steady_clock::now() + grace;
        process_->signal(SIGTERM);
        while (!has_ended(pid) && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(2ms);
        }
        end_group(pid);
        note_end(process_->terminate(0ms));
    }
    enter(State::kEnded, std::chrono::steady_clock::now());
}

}  // namespace aliquot::sim::cluster
