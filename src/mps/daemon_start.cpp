// SPDX-License-Identifier: Apache-2.0
// How a control daemon comes to be: found again or started, and what is changed for it.
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/log.h"
#include "base/number.h"
#include "k8s/memory_amount.h"
#include "mps/control_daemon.h"
#include "mps/program.h"
#include "os/regular_file.h"

namespace aliquot::mps {
namespace {

constexpr std::string_view kOutput = "/daemon.out";

/// The pid that a daemon has left in its pipe directory; 0: none. Containers can write there.
pid_t pid_in_file(const os::Root& root, const Directories& directories) {
    constexpr std::size_t kMost = 64;
    const auto file =
        os::open_regular(root.resolve(directories.pipe + "/nvidia-cuda-mps-control.pid"));
    std::array<char, kMost> text{};
    const ssize_t length = file ? ::pread(file->get(), text.data(), text.size(), 0) : 0;
    std::string_view digits(text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    return take_number<pid_t>(digits).value_or(0);
}

}  // namespace

Result<Done> ControlDaemon::make_control() {
    if (control_) return Done{};
    auto program =
        find_program(around_.root, around_.options.driver_roots, around_.options.mps_root + "/lib");
    if (!program) return std::move(program).error().during("MPS control daemon");
    control_.emplace(
        Control::Options{.program = program->path,
                         .environment = std::move(program->environment),
                         .pipe_directory = around_.root.resolve(directories_.pipe).native(),
                         .deadline = around_.options.answer_limit});
    return Done{};
}

/// Finds the daemon that an earlier run of this program has left.
bool ControlDaemon::adopt() {
    const auto entry = around_.journal.find(gpu_);
    if (!entry || !control_) return false;
    const bool named = entry->daemon.pid > 0;
    if (named && group_ == 0) group_ = entry->daemon.pid;
    const auto facts =
        look_at_process(named ? entry->daemon.pid : pid_in_file(around_.root, directories_));
    if (!facts || !is_of_mps(*facts)) return false;
    if (named && facts->id != entry->daemon) return false;
    const auto answer = control_->default_thread_percentage();
    if (answer) {
        take(facts->id);
        log::info("mps.adopted", {{"gpu", gpu_.text}, {"daemon", daemon_.pid}});
        return true;
    }
    if (!named) return false;  // perhaps another's: the file may be old
    log::warning("mps.mute_daemon_ended",
                 {{"gpu", gpu_.text}, {"daemon", facts->id.pid}, {"why", answer.error().message}});
    daemon_ = facts->id;
    stop_daemon();
    return false;
}

void ControlDaemon::take(const ProcessId& id) {
    daemon_ = id;
    group_ = id.pid;
    auto entry = around_.journal.find(gpu_).value_or(JournalEntry{.gpu = gpu_});
    entry.daemon = id;
    const auto noted = around_.journal.put(entry);
    if (!noted) log::warning("mps.journal", {{"gpu", gpu_.text}, {"why", noted.error().message}});
    had_one_ = true;
}

Result<Done> ControlDaemon::start(const std::stop_token& stop) {
    if (auto done = clear_leftovers(); !done) return done;
    if (auto done = check_no_strangers(); !done) return done;
    publish(Phase::kStarting, "MPS control daemon is starting");
    if (auto done = make_directories(around_.root, directories_); !done) {
        Error problem = std::move(done).error().during("MPS control daemon");
        // A conflict is for processes that leave by themselves; a directory does not.
        if (problem.code == ErrorCode::kConflict) problem.code = ErrorCode::kPermission;
        return problem;
    }
    if (auto done = make_exclusive(); !done) return done;
    if (had_one_) {
        const std::scoped_lock lock(mutex_);
        ++status_.restarts;
    }
    if (auto done = spawn(directories_); !done) return done;
    return wait_ready(stop);
}

Result<Done> ControlDaemon::spawn(const Directories& directories) {
    constexpr std::uint64_t kMostLog = 1U << 20U;
    const auto log_file = around_.root.resolve(directories.log + std::string(kOutput));
    const auto size = around_.root.status(directories.log + std::string(kOutput));
    if (size && size->size_bytes > kMostLog) {
        (void)around_.root.remove(directories.log + std::string(kOutput));
    }
    os::Command command{.argv = {control_->options().program, "-f"},
                        .environment = control_->options().environment,
                        .output_path = log_file.native(),
                        .new_process_group = true,
                        .die_with_parent = false};
    command.binds.push_back(
        {.source = around_.root.resolve(directories.shm).native(), .target = "/dev/shm"});
    command.environment["CUDA_MPS_PIPE_DIRECTORY"] = control_->options().pipe_directory;
    command.environment["CUDA_MPS_LOG_DIRECTORY"] = around_.root.resolve(directories.log).native();
    command.environment["CUDA_VISIBLE_DEVICES"] = gpu_.text;
    private_shm_ = true;
    auto process = os::Process::start(command);
    if (!process && process.error().code == ErrorCode::kPermission) {
        command.binds.clear();
        private_shm_ = false;
        process = os::Process::start(command);
        if (process) {
            log::warning("mps.shm_shared",
                         {{"gpu", gpu_.text},
                          {"why",
                           "a mount namespace needs CAP_SYS_ADMIN and a mount point at or "
                           "above /dev/shm; clients and daemon use the host's /dev/shm"}});
        }
    }
    if (!process) return std::move(process).error().during("MPS control daemon");
    child_ = *std::move(process);
    const auto facts = look_at_process(child_->pid());
    take(facts ? facts->id : ProcessId{.pid = child_->pid()});
    log::info("mps.starting", {{"gpu", gpu_.text}, {"daemon", daemon_.pid}});
    return Done{};
}

Result<Done> ControlDaemon::wait_ready(const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kBetween{50};
    const EndWatch end(daemon_);
    const auto until = Clock::now() + around_.options.ready_limit;
    for (;;) {
        if (const auto exit = child_->poll()) {
            return Error{ErrorCode::kUnavailable,
                         "MPS control daemon ended at its start with code " +
                             std::to_string(exit->code) + ": " + last_words()};
        }
        const auto answer = control_->default_thread_percentage();
        if (answer) return Done{};
        if (stop.stop_requested()) return answer.error();
        if (Clock::now() >= until) {
            return Error{ErrorCode::kUnavailable, "MPS control daemon does not come up: " +
                                                      answer.error().message + "; " + last_words()};
        }
        wake_.wait(kBetween, &end);
    }
}

std::string ControlDaemon::last_words() const {
    const auto text = around_.root.read(directories_.log + std::string(kOutput), 4UL << 20U);
    if (!text || text->empty()) return "its log is empty";
    std::string_view rest = *text;
    while (rest.ends_with('\n')) rest.remove_suffix(1);
    const auto line = rest.substr(rest.rfind('\n') + 1);
    constexpr std::size_t kLongest = 200;
    return "its last words: " + std::string(line.substr(0, kLongest));
}

/// Journal first, then the change.
Result<Done> ControlDaemon::make_exclusive() {
    const auto mode = around_.modes.compute_mode(gpu_);
    if (!mode) return mode.error();
    auto entry = around_.journal.find(gpu_);
    const bool exclusive = *mode == gpu::ComputeMode::kExclusiveProcess;
    if (exclusive && entry) return Done{};
    if (!entry) {
        entry = JournalEntry{.gpu = gpu_, .restore_to = std::nullopt, .daemon = daemon_};
        if (exclusive) log::warning("mps.mode_was_exclusive", {{"gpu", gpu_.text}});
    }
    if (!exclusive && !entry->restore_to) entry->restore_to = *mode;
    if (auto noted = around_.journal.put(*entry); !noted) {
        return std::move(noted).error().during("MPS journal");
    }
    if (exclusive) return Done{};
    auto set = around_.modes.set_compute_mode(gpu_, gpu::ComputeMode::kExclusiveProcess);
    if (set) log::info("mps.mode", {{"gpu", gpu_.text}, {"mode", "exclusive-process"}});
    return set;
}

Result<Done> ControlDaemon::restore_mode() {
    const auto entry = around_.journal.find(gpu_);
    if (!entry || !entry->restore_to) return Done{};
    const auto mode = around_.modes.compute_mode(gpu_);
    if (!mode) return Error(mode.error()).during("restore the compute mode");
    if (*mode != gpu::ComputeMode::kExclusiveProcess) return Done{};  // somebody did it already
    auto set = around_.modes.set_compute_mode(gpu_, *entry->restore_to);
    if (!set) return std::move(set).error().during("restore the compute mode");
    log::info("mps.mode", {{"gpu", gpu_.text}, {"mode", gpu::to_text(*entry->restore_to)}});
    return Done{};
}

/// Processes that compute on the GPU, MPS itself left out.
std::vector<std::uint32_t> ControlDaemon::computing() const {
    std::vector<std::uint32_t> pids;
    const auto processes = around_.sensors.processes(gpu_);
    if (!processes) return pids;
    for (const gpu::Process& process : *processes) {
        const auto facts = look_at_process(static_cast<pid_t>(process.pid));
        if (process.graphics || (facts && is_of_mps(*facts))) continue;
        if (std::ranges::find(pids, process.pid) == pids.end()) pids.push_back(process.pid);
    }
    return pids;
}

std::string ControlDaemon::names_of(const std::vector<std::uint32_t>& pids) {
    constexpr std::size_t kMost = 4;
    std::string text;
    for (std::size_t i = 0; i < pids.size() && i < kMost; ++i) {
        const PodName pod = pod_of_process(static_cast<pid_t>(pids[i]));
        text += (i == 0 ? "process " : ", ") + std::to_string(pids[i]);
        if (!pod.uid.empty()) text += " of pod " + pod.uid;
    }
    if (pids.size() > kMost) text += " and " + std::to_string(pids.size() - kMost) + " more";
    return text;
}

/// Ends the servers of a daemon that is gone: they hold the GPU, and nobody can reach them. Not
/// while one of their clients still computes.
Result<Done> ControlDaemon::clear_leftovers() {
    std::vector<ProcessId> left = mps_processes_of_group(group_);
    for (const ProcessId& server : servers_) {
        if (is_alive(server) && std::ranges::find(left, server) == left.end()) {
            left.push_back(server);
        }
    }
    if (left.empty()) return Done{};
    if (const auto clients = computing(); !clients.empty()) {
        return Error{ErrorCode::kConflict,
                     "MPS control daemon ended, and its server (process " +
                         std::to_string(left.front().pid) +
                         ") still serves those who were there: " + names_of(clients) +
                         "; a new one starts when they have ended"};
    }
    for (const int number : {SIGTERM, SIGKILL}) {
        for (const ProcessId& process : left) {
            if (is_alive(process)) ::kill(process.pid, number);
        }
        const auto until = Clock::now() + around_.options.recheck;
        for (const ProcessId& process : left) {
            const EndWatch end(process);
            while (is_alive(process) && Clock::now() < until) {
                wake_.wait(
                    std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()),
                    &end);
            }
        }
    }
    if (std::ranges::any_of(left, is_alive)) {
        return Error{ErrorCode::kUnavailable,
                     "MPS server " + std::to_string(left.front().pid) + " does not end"};
    }
    servers_.clear();
    return Done{};
}

/// Whoever computes on the GPU by itself would keep the MPS server out.
Result<Done> ControlDaemon::check_no_strangers() {
    const auto strangers = computing();
    if (strangers.empty()) return Done{};
    return Error{ErrorCode::kConflict,
                 "MPS waits until those who use the GPU without it have "
                 "ended: " +
                     names_of(strangers)};
}

Result<Done> ControlDaemon::apply_memory_limit(std::uint64_t bytes) {
    if (auto set = control_->set_default_memory_limit(gpu_, bytes); !set) return set;
    const auto now = control_->default_memory_limit(gpu_);
    constexpr std::uint64_t kMiB = 1U << 20U;
    if (!now || !*now) {
        log::warning(
            "mps.limit_unconfirmed",
            {{"gpu", gpu_.text}, {"why", now ? "the daemon tells no limit" : now.error().message}});
    } else if (**now / kMiB != bytes / kMiB) {
        return Error{ErrorCode::kUnavailable, "MPS control daemon keeps the memory limit " +
                                                  k8s::bytes_text(**now) + " where " +
                                                  k8s::bytes_text(bytes) + " was set"};
    }
    for (const ProcessId& server : servers_) {
        auto set = control_->set_memory_limit(static_cast<std::uint32_t>(server.pid), gpu_, bytes);
        if (!set) return set;
    }
    return Done{};
}

/// The limits hold for servers that start later, and for clients that come later to the servers
/// that run.
Result<Done> ControlDaemon::apply_limits(const Limits& limits) {
    if (applied_ == limits) return Done{};
    if (const auto servers = control_->servers()) {
        servers_.clear();
        for (const std::uint32_t server : *servers) {
            const auto facts = look_at_process(static_cast<pid_t>(server));
            if (facts) servers_.push_back(facts->id);
        }
    }
    const double wanted_percent = limits.thread_percent;
    if (auto set = control_->set_default_thread_percentage(limits.thread_percent); !set) return set;
    const auto now = control_->default_thread_percentage();
    if (!now) return now.error();
    if (std::abs(*now - wanted_percent) > 0.5) {
        return Error{ErrorCode::kUnavailable, "MPS control daemon keeps the thread percentage " +
                                                  std::to_string(std::lround(*now)) + " where " +
                                                  std::to_string(limits.thread_percent) +
                                                  " was set"};
    }
    for (const ProcessId& server : servers_) {
        auto set = control_->set_thread_percentage(static_cast<std::uint32_t>(server.pid),
                                                   limits.thread_percent);
        if (!set) return set;
    }
    if (limits.memory_bytes) {
        if (auto set = apply_memory_limit(*limits.memory_bytes); !set) return set;
    }
    applied_ = limits;
    const std::scoped_lock lock(mutex_);
    status_.limits = limits;
    return Done{};
}

}  // namespace aliquot::mps
