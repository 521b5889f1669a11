// SPDX-License-Identifier: Apache-2.0
// The process that runs one try: it outlives the server, and writes down how its program ended.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>

#include "base/number.h"
#include "base/text.h"
#include "document/build.h"
#include "document/json.h"
#include "job_server/attempt.h"
#include "job_server/submitter.h"
#include "os/errno_error.h"
#include "os/process_stat.h"
#include "os/replace_file.h"
#include "os/root.h"

namespace aliquot::job_server {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr int kCouldNotStart = 127;
constexpr std::chrono::seconds kReapLimit{10};

void say(std::string_view line) {
    const std::string text = std::string(line) + "\n";
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    (void)written;
}

std::string file_text(const std::string& file) {
    auto text = os::Root("/").read(file);
    return text ? *std::move(text) : std::string();
}

class Runner {
public:
    explicit Runner(fs::path directory) : directory_(std::move(directory)) {}
    int run();

private:
    bool claim();
    bool open_output();
    void make_cgroup();
    bool start();
    enum class As : std::uint8_t { kSubmitter, kGuard };
    [[noreturn]] void become_program(const std::vector<std::string>& words, As as,
                                     int report) const;
    void run_aside() const;
    void watch();
    void take_output();
    void take_signals();
    void keep_time();
    void ask_to_end(jobs::Cause cause);
    void reap();
    void end_others();
    void judge();
    void write_exit();

    const fs::path directory_;
    Spec spec_;
    Descriptor started_;
    Descriptor output_;
    Descriptor pipe_;     // from the program
    Descriptor signals_;  // SIGCHLD, SIGTERM
    pid_t program_ = -1;
    std::optional<int> status_;  // of the program, as waitpid() tells
    std::uint64_t written_ = 0;
    bool cut_ = false;
    jobs::Cause asked_ = jobs::Cause::kNone;  // why it was asked to end
    SteadyClock::time_point began_ = SteadyClock::now();
    SteadyClock::time_point kill_at_ = SteadyClock::time_point::max();
    Ending ending_;
};

/// `started` appears with its content and locked, or not at all: a server that looks never sees half of it.
bool Runner::claim() {
    const fs::path made =
        directory_ / (std::string(kStartedFile) + "." + std::to_string(::getpid()));
    started_.reset(::open(made.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!started_ || ::flock(started_.get(), LOCK_EX | LOCK_NB) != 0) return false;
    const auto stat = os::parse_stat(file_text("/proc/self/stat"));
    const std::string text = boot_id() + " " + std::to_string(::getpid()) + " " +
                             std::to_string(stat ? stat->start_ticks : 0) + "\n";
    const bool written = write_at(started_.get(), text.data(), text.size(), 0) &&
                         ::fsync(started_.get()) == 0 &&
                         ::link(made.c_str(), (directory_ / kStartedFile).c_str()) == 0;
    ::unlink(made.c_str());
    const Descriptor folder(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return written && folder && ::fsync(folder.get()) == 0;
}

bool Runner::open_output() {
    const fs::path file = directory_ / kOutputFile;
    output_.reset(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (!output_) return false;
    return ::geteuid() != 0 || ::fchown(output_.get(), spec_.uid, spec_.gid) == 0;
}

void Runner::make_cgroup() {
    if (spec_.cgroup.empty()) return;
    if (::mkdir(spec_.cgroup.c_str(), 0755) != 0 && errno != EEXIST) {
        spec_.cgroup.clear();
        return;
    }
    constexpr std::int64_t kPeriod = 100'000;  // microseconds
    if (spec_.memory_bytes != 0) std::ofstream(spec_.cgroup + "/memory.max") << spec_.memory_bytes;
    if (spec_.cpu_milli != 0) {
        std::ofstream(spec_.cgroup + "/cpu.max")
            << spec_.cpu_milli * kPeriod / 1000 << " " << kPeriod;
    }
}

/// In the child: only what is async-signal-safe, and what a process with one thread may do.
void Runner::become_program(const std::vector<std::string>& words, As as, int report) const {
    const auto give_up = [report] {
        const int problem = errno;
        const ssize_t written = ::write(report, &problem, sizeof problem);
        (void)written;
        ::_exit(kCouldNotStart);
    };
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::setpgid(0, 0);
    if (!spec_.cgroup.empty()) {
        std::ofstream group(spec_.cgroup + "/cgroup.procs");
        group << ::getpid();
        group.close();
    }
    const bool guarded = as == As::kGuard;
    if (!guarded && !become_submitter(spec_)) give_up();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::umask(022);
    const std::string workdir = guarded ? "/" : spec_.workdir;
    if (!workdir.empty() && ::chdir(workdir.c_str()) != 0) give_up();
    set_environment(guarded ? spec_.guard_env : spec_.env);
    execute(words);
    give_up();
    ::_exit(kCouldNotStart);
}

/// What has to be done around the program; it has ten seconds, and says nothing.
void Runner::run_aside() const {
    if (spec_.aside.empty()) return;
    const pid_t pid = ::fork();
    if (pid < 0) return;
    if (pid == 0) {
        const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
        become_program(spec_.aside, As::kSubmitter, null);
    }
    const auto end = SteadyClock::now() + kReapLimit;
    while (::waitpid(pid, nullptr, WNOHANG) == 0) {
        if (SteadyClock::now() >= end) ::kill(pid, SIGKILL);
        const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
        ::nanosleep(&pause, nullptr);
    }
}

bool Runner::start() {
    std::array<int, 2> out{};
    std::array<int, 2> report{};
    if (::pipe2(out.data(), O_CLOEXEC) != 0) return false;
    pipe_.reset(out[0]);
    Descriptor write_end(out[1]);
    ::fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
    if (::pipe2(report.data(), O_CLOEXEC) != 0) return false;
    Descriptor told(report[0]);
    Descriptor teller(report[1]);
    program_ = ::fork();
    if (program_ < 0) return false;
    if (program_ == 0) {
        const int null = ::open("/dev/null", O_RDONLY);
        ::dup2(null, STDIN_FILENO);
        ::dup2(write_end.get(), STDOUT_FILENO);
        ::dup2(write_end.get(), STDERR_FILENO);
        if (spec_.guard.empty()) become_program(spec_.argv, As::kSubmitter, teller.get());
        std::vector<std::string> words = spec_.guard;
        words.push_back(directory_.native());
        become_program(words, As::kGuard, teller.get());
    }
    ::setpgid(program_, program_);
    teller.reset();
    int problem = 0;
    ssize_t got = 0;
    do {
        got = ::read(told.get(), &problem, sizeof problem);
    } while (got < 0 && errno == EINTR);
    if (got != static_cast<ssize_t>(sizeof problem)) return true;
    ending_ = {.cause = jobs::Cause::kNotStarted,
               .code = problem == ENOENT ? kCouldNotStart : kCouldNotStart - 1,
               .reason = spec_.argv.front() + ": " + std::strerror(problem)};  // NOLINT: one thread
    return false;
}

void Runner::take_output() {
    std::array<char, 65'536> chunk{};
    // In turns with signals and the clock, however much comes.
    for (int round = 0; round < 16; ++round) {
        const ssize_t got = ::read(pipe_.get(), chunk.data(), chunk.size());
        if (got == 0) pipe_.reset();
        if (got <= 0) return;
        const auto room = spec_.output_bytes - std::min(spec_.output_bytes, written_);
        const auto part = std::min(static_cast<std::uint64_t>(got), room);
        std::string_view rest(chunk.data(), part);
        while (!rest.empty()) {
            const ssize_t done = ::write(output_.get(), rest.data(), rest.size());
            if (done < 0 && errno == EINTR) continue;
            if (done <= 0) break;  // a full disk: the program goes on
            rest.remove_prefix(static_cast<std::size_t>(done));
        }
        written_ += part;
        if (part < static_cast<std::uint64_t>(got) && !cut_) {
            cut_ = true;
            constexpr std::string_view kNote = "\n[aliquot: output is cut here: it is too long]\n";
            const ssize_t said = ::write(output_.get(), kNote.data(), kNote.size());
            (void)said;
        }
    }
}

void Runner::ask_to_end(jobs::Cause cause) {
    if (asked_ != jobs::Cause::kNone) return;
    asked_ = cause;
    kill_at_ = SteadyClock::now() + std::chrono::milliseconds(spec_.grace_ms);
    ::kill(-program_, SIGTERM);
}

void Runner::take_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        if (info.ssi_signo == SIGTERM) ask_to_end(jobs::Cause::kCancelled);
        if (info.ssi_signo == SIGUSR1) ask_to_end(jobs::Cause::kPreempted);
    }
}

void Runner::reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == program_) status_ = status;
    }
}

void Runner::keep_time() {
    const auto now = SteadyClock::now();
    if (now >= kill_at_) ::kill(-program_, SIGKILL);
    if (spec_.seconds > 0 && now >= began_ + std::chrono::seconds(spec_.seconds)) {
        ask_to_end(jobs::Cause::kDeadline);
    }
}

void Runner::watch() {
    constexpr int kPatience = 500;  // ms: the clock is looked at as often
    while (!status_) {
        std::array<pollfd, 2> events{{{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                      {.fd = pipe_.get(), .events = POLLIN, .revents = 0}}};
        ::poll(events.data(), events.size(), kPatience);
        take_signals();
        if (pipe_) take_output();
        reap();
        keep_time();
    }
}

/// Whatever the program has left behind ends with it: a job that has ended uses no GPU.
void Runner::end_others() {
    ::kill(-program_, SIGKILL);
    if (!spec_.cgroup.empty()) std::ofstream(spec_.cgroup + "/cgroup.kill") << "1";
    const auto end = SteadyClock::now() + kReapLimit;
    while (SteadyClock::now() < end) {
        int status = 0;
        const pid_t got = ::waitpid(-1, &status, WNOHANG);
        if (got < 0 && errno == ECHILD) break;
        if (got > 0) continue;
        const auto names = os::Root("/").list("/proc", 100'000);
        if (!names) break;
        for (const std::string& name : *names) {
            const auto pid = parse_number<pid_t>(name);
            if (!pid) continue;
            const auto stat = os::parse_stat(file_text("/proc/" + name + "/stat"));
            // What loses its parent becomes our child: we are a subreaper.
            if (stat && stat->parent == static_cast<std::uint32_t>(::getpid())) {
                ::kill(*pid, SIGKILL);
            }
        }
        const timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000};
        ::nanosleep(&pause, nullptr);
    }
    if (pipe_) take_output();
}

void Runner::judge() {
    const int status = status_.value_or(0);
    ending_.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (asked_ != jobs::Cause::kNone) {
        ending_.cause = asked_;
    } else if (ending_.code != 0) {
        ending_.cause = jobs::Cause::kProgram;
        const std::string events =
            spec_.cgroup.empty() ? "" : file_text(spec_.cgroup + "/memory.events");
        const auto killed = leading_number(after(events, "oom_kill "));
        if (killed && *killed > 0) ending_.cause = jobs::Cause::kOutOfMemory;
    }
    if (WIFSIGNALED(status)) ending_.reason = "signal " + std::to_string(WTERMSIG(status));
}

void Runner::write_exit() {
    const std::string text =
        document::to_json_line(document::make_mapping({{"cause", jobs::word(ending_.cause)},
                                                       {"code", ending_.code},
                                                       {"reason", ending_.reason}}));
    // Without, the try counts as lost and is made again: the disk must take it.
    constexpr int kTries = 50;
    for (int i = 0; i < kTries; ++i) {
        if (os::replace_file(directory_ / kExitFile, text + "\n", 0600)) break;
        const timespec pause{.tv_sec = 0, .tv_nsec = 100'000'000};
        ::nanosleep(&pause, nullptr);
    }
    if (!spec_.cgroup.empty()) ::rmdir(spec_.cgroup.c_str());
}

int Runner::run() {
    ::setsid();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    auto spec = read_spec(file_text((directory_ / kSpecFile).native()));
    if (!spec) {
        say("no spec: " + spec.error().message);
        return kCouldNotStart;
    }
    spec_ = *std::move(spec);
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGCHLD, SIGTERM, SIGUSR1, SIGINT, SIGHUP}) ::sigaddset(&set, number);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);  // NOLINT(performance-no-int-to-ptr)
    signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_ || !claim()) {
        say("it was taken back, or its directory cannot be written");
        return kCouldNotStart;
    }
    say("started");
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
    make_cgroup();
    if (!open_output()) {
        ending_ = {.cause = jobs::Cause::kNotStarted,
                   .code = kCouldNotStart,
                   .reason = "no output file can be made"};
    } else if (run_aside(); start()) {
        watch();
        end_others();
        judge();
        run_aside();
    } else if (ending_.cause == jobs::Cause::kNone) {
        ending_ = {.cause = jobs::Cause::kNodeLost,
                   .code = kCouldNotStart,
                   .reason = "no process can be made"};
    }
    write_exit();
    return 0;
}

}  // namespace

int run_attempt(const fs::path& directory) { return Runner(directory).run(); }

}  // namespace aliquot::job_server
