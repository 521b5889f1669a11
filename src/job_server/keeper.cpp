// SPDX-License-Identifier: Apache-2.0
// What people ask of the keeper.
#include "job_server/keeper.h"

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): pidfd_send_signal
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "jobs/check.h"
#include "jobs/name.h"
#include "jobs/read.h"
#include "os/errno_error.h"
#include "os/regular_file.h"

namespace aliquot::job_server {
namespace {

namespace fs = std::filesystem;
using jobs::State;

constexpr std::size_t kMostOutput = std::size_t{1} << 20U;    // of one answer
constexpr std::uint64_t kFarthest = INT64_MAX - kMostOutput;  // where a file can be read

bool may(const User& by, const Record& of) { return by.uid == 0 || by.uid == of.user.uid; }

}  // namespace

std::uint64_t bytes_of(const jobs::Request& request) {
    std::uint64_t bytes = sizeof(Record);
    for (const std::string& word : request.command) bytes += sizeof word + word.size();
    for (const auto& [name, value] : request.env) {
        bytes += sizeof name + name.size() + sizeof value + value.size();
    }
    return bytes;
}

std::vector<JobId> after_of(const jobs::Request& request) {
    std::vector<JobId> ids;
    for (const std::string& word : request.after)
        ids.push_back(parse_number<JobId>(word).value_or(0));
    return ids;
}

Error none_such(JobId id) {
    return {ErrorCode::kNotFound, "there is no job " + std::to_string(id) +
                                      "; aliquot job list shows those that there are"};
}

TimeMs now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

Keeper::Keeper(Options options, Journal journal)
    : options_(std::move(options)), fleet_(options_.devices), journal_(std::move(journal)) {}

Keeper::~Keeper() {
    use_thread_.request_stop();
    thread_.request_stop();
    wake_.notify();
}

Result<std::unique_ptr<Keeper>> Keeper::start(Options options) {
    std::error_code problem;
    fs::create_directories(options.state, problem);
    if (problem) return os::error_from_errno(problem.value(), options.state.native());
    // Others pass through, to their own output.
    constexpr ::mode_t kPassThrough = 0711;
    const fs::path jobs = options.state / "jobs";
    ::chmod(options.state.c_str(), kPassThrough);
    if (::mkdir(jobs.c_str(), kPassThrough) != 0 && errno != EEXIST) {
        return os::error_from_errno(errno, jobs.native());
    }
    auto journal = Journal::open(options.state / "journal.sqlite", options.hook);
    if (!journal) return std::move(journal).error();
    std::unique_ptr<Keeper> made(new Keeper(std::move(options), *std::move(journal)));
    if (auto added = made->fleet_.add_to(made->planner_); !added) return std::move(added).error();
    {
        const std::scoped_lock lock(made->mutex_);
        if (auto found = made->recover(); !found) return std::move(found).error();
    }
    made->thread_ =
        std::jthread([keeper = made.get()](const std::stop_token& stop) { keeper->run(stop); });
    if (made->options_.look) {
        made->use_thread_ = std::jthread(
            [keeper = made.get()](const std::stop_token& stop) { keeper->watch_use(stop); });
    }
    return made;
}

fs::path Keeper::directory_of(const Record& record, std::uint32_t attempt) const {
    return options_.state / "jobs" / (std::to_string(record.id) + "." + std::to_string(attempt));
}

const Keeper::Job* Keeper::same_as(const User& user, const jobs::Request& request,
                                   const std::string& key) const {
    if (key.empty() && request.task_id.empty()) return nullptr;
    for (const auto& [id, job] : jobs_) {
        const Record& record = job.record;
        if (record.user.uid != user.uid || record.index != 0) continue;
        if (!key.empty() ? record.key == key : record.request.task_id == request.task_id)
            return &job;
    }
    return nullptr;
}

Result<Done> Keeper::room_for(const User& user, const jobs::Request& request) const {
    std::size_t of_user = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_of_user = 0;
    for (const auto& [id, job] : jobs_) {
        bytes += job.bytes;
        if (job.record.user.uid != user.uid) continue;
        bytes_of_user += job.bytes;
        of_user += jobs::is_final(job.record.state) ? 0 : 1;
    }
    const auto full = [](const std::string& of, const std::string& what) {
        return Error{ErrorCode::kUnavailable,
                     "the queue is full: " + of + what + "; submit again when some have ended"};
    };
    const auto at_most = [](std::size_t number, std::size_t most) {
        return counted(number, "job") + " of at most " + std::to_string(most);
    };
    if (living_ + request.array > options_.most_jobs) {
        return full("", at_most(living_, options_.most_jobs));
    }
    const bool alone = user.uid == 0 || user.uid == ::geteuid();
    if (!alone && of_user + request.array > options_.most_of_user) {
        return full("user " + user.name + " has ", at_most(of_user, options_.most_of_user));
    }
    const std::uint64_t more = bytes_of(request) * request.array;
    const std::uint64_t left =
        alone ? options_.most_bytes - std::min(bytes, options_.most_bytes)
              : options_.most_bytes / 2 - std::min(bytes_of_user, options_.most_bytes / 2);
    if (more > left || bytes + more > options_.most_bytes) {
        return full("", "its jobs' programs and variables have " + std::to_string(bytes >> 20U) +
                            " MiB, these further " + std::to_string(more >> 20U) +
                            " MiB, and there is room for " +
                            std::to_string(options_.most_bytes >> 20U) + " MiB");
    }
    return Done{};
}

/// Asks the job's runner to end it.
void Keeper::tell_runner(const Job& job) const {
    const bool goes_on = job.record.state == State::kSuspending && !job.record.cancel_asked;
    const int signal = goes_on ? SIGUSR1 : SIGTERM;
    if (job.runner) {
        ::syscall(SYS_pidfd_send_signal, job.runner.get(), signal, nullptr, 0);
    } else if (job.child > 0) {
        ::kill(job.child, signal);  // ours keeps its number until it is reaped
    }
}

/// Whether this server would take it at all, whatever jobs there are.
Result<Done> Keeper::takes(const User& user, const jobs::Request& request) const {
    if (::geteuid() != 0 && user.uid != ::geteuid()) {
        return Error{ErrorCode::kPermission,
                     "this server runs as one user and starts jobs of that user only; a server of "
                     "root starts them for all"};
    }
    if (request.priority > 0 && user.uid != 0 && user.uid != ::geteuid()) {
        return Error{ErrorCode::kPermission,
                     "priority: " + std::to_string(request.priority) +
                         " is for root to give: it passes over all others; expected 0 or less"};
    }
    if (auto valid = jobs::require_valid(request, jobs::Place::kMachine); !valid) {
        return std::move(valid).error();
    }
    if (!request.image.empty() && options_.container.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     "image: '" + one_line(request.image, 80) +
                         "': this server runs programs, not containers: it has no podman, nerdctl "
                         "or docker; leave it out"};
    }
    const IdlePolicy& idle = options_.idle;
    constexpr TimeMs kMsPerSecond = 1'000;
    if (idle.most_after != 0 && request.idle_after_seconds * kMsPerSecond > idle.most_after) {
        return Error{ErrorCode::kInvalidInput,
                     "idle_after_seconds: " + std::to_string(request.idle_after_seconds) +
                         " is more than this server allows; expected at most " +
                         std::to_string(idle.most_after / kMsPerSecond)};
    }
    if (request.idle_after_seconds != 0 && !options_.look) {
        return Error{ErrorCode::kInvalidInput,
                     "idle_after_seconds: this server cannot measure its GPUs, they are "
                     "simulated; leave it out"};
    }
    auto fits = fleet_.request_of(request);
    if (!fits && request.cpu_after_seconds == 0) return std::move(fits).error();
    return Done{};
}

Result<Keeper::Submitted> Keeper::submit(const User& user, jobs::Request request,
                                         const std::string& key) {
    request.user = user.name;
    if (auto taken = takes(user, request); !taken) return std::move(taken).error();
    const std::scoped_lock lock(mutex_);
    Submitted answer;
    if (const Job* const before = same_as(user, request, key)) {
        const auto changes = differences(before->record.request, request);
        if (!changes.empty()) {
            return Error{ErrorCode::kConflict, "job " + std::to_string(before->record.id) +
                                                   " has this task or key: " + join(changes, "; ")};
        }
        answer.is_new = false;
        answer.jobs.push_back(before->record);
        return answer;
    }
    if (auto room = room_for(user, request); !room) return std::move(room).error();
    for (const JobId id : after_of(request)) {
        const auto found = jobs_.find(id);
        if (found == jobs_.end() || found->second.record.user.uid != user.uid) {
            return Error{ErrorCode::kInvalidInput, "after: you have no job " + std::to_string(id)};
        }
    }
    const TimeMs now = now_ms();
    if (request.gang > 1 && request.cpu_after_seconds == 0 &&
        !planner_.could_ever_start(planner_job({.id = 1, .request = request}))) {
        return Error{ErrorCode::kInvalidInput, "gang: " + std::to_string(request.gang) + " times " +
                                                   counted(request.gpu_count, "GPU") +
                                                   ": this machine has not so many"};
    }
    for (std::uint32_t i = 0; i < request.array; ++i) {
        Record record{.user = user, .key = key, .index = i, .request = request, .submitted = now};
        record.reason = "it waits for its turn";
        answer.jobs.push_back(std::move(record));
    }
    if (auto added = journal_.add(answer.jobs); !added) return std::move(added).error();
    for (const Record& record : answer.jobs) {
        Job& job = jobs_[record.id];
        job.record = record;
        job.bytes = bytes_of(record.request);
        ++living_;
    }
    changed_ = true;
    wake_.notify();
    return answer;
}

Result<Done> Keeper::step(Job& job, State to, std::string reason, TimeMs now) {
    Record next = job.record;
    next.state = to;
    next.reason = one_line(reason, 500);
    if (jobs::is_final(to)) next.ended = now;
    auto written = journal_.update(
        next, {.at = now, .from = job.record.state, .to = to, .reason = next.reason});
    if (!written) {
        log::error("journal.failed", {{"job", next.id}, {"reason", written.error().message}});
        return written;
    }
    if (jobs::is_final(to) && !jobs::is_final(job.record.state)) --living_;
    if (!jobs::is_final(to) && jobs::is_final(job.record.state)) ++living_;
    job.record = std::move(next);
    changed_ = true;
    tell(job);
    return written;
}

void Keeper::tell(const Job& job) const {
    if (options_.told) options_.told(job.record);
}

std::vector<Record> Keeper::list(const Filter& filter) const {
    const std::scoped_lock lock(mutex_);
    std::vector<Record> found;
    for (auto at = jobs_.upper_bound(filter.above); at != jobs_.end(); ++at) {
        if (found.size() >= filter.most) break;
        const Record& record = at->second.record;
        const bool ended = jobs::is_final(record.state);
        if (filter.which == Which::kLiving && ended) continue;
        if (filter.which == Which::kEnded && !ended) continue;
        if (filter.uid && record.user.uid != *filter.uid) continue;
        if (!filter.queue.empty() && record.request.queue != filter.queue) continue;
        found.push_back(record);
    }
    return found;
}

Result<Record> Keeper::find(JobId id) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = jobs_.find(id); found != jobs_.end()) return found->second.record;
    auto past = journal_.find(id);
    if (!past) return std::move(past).error();
    if (!past->has_value()) return none_such(id);
    return **std::move(past);
}

Result<std::vector<Transition>> Keeper::steps(JobId id) {
    const std::scoped_lock lock(mutex_);
    return journal_.steps(id);
}

Result<Keeper::Job*> Keeper::owned(const User& by, JobId id) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return none_such(id);
    if (!may(by, found->second.record)) {
        return Error{ErrorCode::kPermission, "job " + std::to_string(id) + " is of user " +
                                                 found->second.record.user.name +
                                                 ": only that user and root may do this"};
    }
    return &found->second;
}

void Keeper::drop(JobId id) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    std::error_code problem;
    Record record = found->second.record;
    for (; record.attempt > 0; --record.attempt) fs::remove_all(directory_of(record), problem);
    jobs_.erase(found);
}

Result<Done> Keeper::remove(const User& by, JobId id) {
    const std::scoped_lock lock(mutex_);
    const auto job = owned(by, id);
    if (!job) return job.error();
    if (!jobs::is_final((*job)->record.state)) {
        return Error{ErrorCode::kConflict, "job " + std::to_string(id) + " is " +
                                               std::string(jobs::word((*job)->record.state)) +
                                               "; cancel it first"};
    }
    if (auto done = journal_.forget(id); !done) return std::move(done).error();
    drop(id);
    return Done{};
}

Result<Output> Keeper::output(const User& by, JobId id, std::uint64_t from, std::size_t most) {
    fs::path file;
    bool final = false;
    {
        const std::scoped_lock lock(mutex_);
        const auto job = owned(by, id);
        if (!job) return job.error();
        file = directory_of((*job)->record) / kOutputFile;
        final = jobs::is_final((*job)->record.state);
    }
    Output part{.bytes = {}, .next = from, .ended = final};
    const auto opened = os::open_regular(file);
    if (!opened) {
        if (opened.error().code == ErrorCode::kNotFound) return part;
        return opened.error();
    }
    part.bytes.resize(std::min(most, kMostOutput));
    const ssize_t got = ::pread(opened->get(), part.bytes.data(), part.bytes.size(),
                                static_cast<off_t>(std::min<std::uint64_t>(from, kFarthest)));
    if (got < 0) return os::error_from_errno(errno, file.native());
    part.ended = final && static_cast<std::size_t>(got) < part.bytes.size();
    part.bytes.resize(static_cast<std::size_t>(got));
    part.next = from + part.bytes.size();
    return part;
}

std::size_t Keeper::living() const {
    const std::scoped_lock lock(mutex_);
    return living_;
}

std::string Keeper::self_check() {
    const std::scoped_lock lock(mutex_);
    std::size_t books = 0;
    std::size_t waiting = 0;
    std::size_t alive = 0;
    for (const auto& [id, job] : jobs_) {
        books += job.on_books ? 1 : 0;
        waiting += job.planned && !job.on_books ? 1 : 0;
        alive += jobs::is_final(job.record.state) ? 0 : 1;
        if (job.on_books && !jobs::is_active(job.record.state)) {
            return "job " + std::to_string(id) + " holds devices and does not run";
        }
    }
    if (books != planner_.running()) return "the planner runs another number of jobs";
    if (waiting != planner_.waiting()) return "the planner has another number of jobs that wait";
    if (alive != living_) return "the number of living jobs is wrong";
    return planner_.self_check();
}

}  // namespace aliquot::job_server
