// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/wake.h"
#include "job_server/attempt.h"
#include "job_server/fleet.h"
#include "job_server/idleness.h"
#include "job_server/journal.h"
#include "queue/planner.h"

namespace aliquot::job_server {

struct Options {
    std::filesystem::path state;  // a directory of the server alone
    std::vector<Device> devices;
    std::vector<std::string>
        runner;  // a program that calls run_attempt() of the directory that follows
    /// What holds the share of a job that has one, as Spec::guard; empty: shares are not kept to.
    std::function<std::vector<std::string>(const Record&, const std::string& uuid)> guard;
    std::map<std::string, std::string> guard_environment;  // of that
    /// A program that calls run_gang() of the number and the command that follow.
    std::vector<std::string> gang;
    std::map<std::string, std::string> environment;  // of all jobs
    std::string
        container;  // podman, nerdctl or docker, for jobs with an image; empty: they are refused
    std::string cgroup;  // a control group (v2) that may be written; empty: process groups do
    std::size_t most_jobs = 20'000;     // that have not ended; a further one is refused
    std::size_t most_of_user = 10'000;  // of these, by one user: others find room
    std::size_t most_ended = 20'000;    // kept beside; the oldest go first
    std::uint64_t most_bytes = std::uint64_t{256}
                               << 20U;  // programs and variables of all jobs; half for one user
    std::uint64_t output_bytes = std::uint64_t{64} << 20U;
    std::chrono::milliseconds grace{10'000};
    std::chrono::milliseconds first_pause{10'000};  // what retry_after() calls 10 seconds
    Journal::Hook hook;
    /// Called with each new state of a job, with the keeper's lock held: quick, and asks the keeper nothing.
    std::function<void(const Record&)> told{};
    /// Why a job that waits must not start now, in one sentence; empty: it may. Called like `told`.
    std::function<std::string(const Record&)> held{};
    /// What the GPUs did since it was called last; empty: nobody can tell, and no job is idle. Called by one thread, and
    /// only while a job is judged.
    std::function<UseLook()> look{};
    std::chrono::milliseconds look_every{15'000};
    IdlePolicy idle{};
};

/// Why a waiting job waits, and until when.
struct Outlook {
    struct Holder {
        JobId id = 0;
        std::string user;
        std::vector<std::string> devices;
        TimeMs ends = 0;  // as predicted
    };
    std::string why;             // one sentence
    std::uint32_t position = 0;  // 1: next; 0: it does not wait for devices
    TimeMs p50 = 0;              // as likely before as after; 0: not with what there is
    TimeMs p90 = 0;
    std::vector<JobId> ahead;     // the first ten
    std::vector<Holder> holders;  // of what it needs, soonest to end first; at most ten
    std::size_t free_gpus = 0;    // wholly free now
    std::string smaller;  // what of the same kind would start now: "--gpu 1"; empty: nothing
};

/// Part of a job's output.
struct Output {
    std::string bytes;
    std::uint64_t next = 0;  // where to go on
    bool ended = false;      // no more comes
};

/// Keeps the jobs of one machine. Thread-safe. When it goes, running jobs go on: the next one finds them.
class Keeper {
public:
    /// Opens the journal, finds running jobs again, and begins to start others.
    /// errors   of Journal::open() and of the file system
    static Result<std::unique_ptr<Keeper>> start(Options options);
    ~Keeper();
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    struct Submitted {
        std::vector<Record> jobs;
        bool is_new = true;  // false: they were there
    };
    /// One job, or its whole array. The same key or task of the same user is the same job.
    /// errors   kInvalidInput: a field; kConflict: the same key or task with other fields; kUnavailable: too many
    Result<Submitted> submit(const User& user, jobs::Request request, const std::string& key);

    enum class Which : std::uint8_t { kAll, kLiving, kEnded };
    struct Filter {
        Which which = Which::kAll;
        std::optional<uid_t> uid;
        std::string queue;
        JobId above = 0;  // only later ones
        std::size_t most = 500;
    };
    [[nodiscard]] std::vector<Record> list(const Filter& filter) const;
    /// errors   kNotFound; kUnavailable: of the journal
    [[nodiscard]] Result<Record> find(JobId id);
    [[nodiscard]] Result<std::vector<Transition>> steps(JobId id);
    /// errors   kNotFound; kPermission: it is somebody else's
    Result<Record> cancel(const User& by, JobId id);
    /// One that waits keeps no place; one that runs is ended, to begin anew after resume().
    /// errors   kConflict: it has ended
    Result<Record> suspend(const User& by, JobId id);
    /// errors   kConflict: it is not suspended
    Result<Record> resume(const User& by, JobId id);
    /// errors   kConflict: it has not ended, or did well
    Result<Record> retry(const User& by, JobId id);
    /// Removes one that has ended, with its output. errors: kConflict: it has not ended
    Result<Done> remove(const User& by, JobId id);
    /// errors   kNotFound; kPermission
    Result<Output> output(const User& by, JobId id, std::uint64_t from, std::size_t most);
    Result<Outlook> outlook(JobId id);

    /// All jobs that have not ended (most_living at most, the oldest), the newest of those that have, and when
    /// the waiting ones are likely to start. Without programs and variables.
    struct Overview {
        struct Start {
            std::uint32_t position = 0;  // 1: next
            TimeMs p50 = 0;              // 0: not with what there is
            TimeMs p90 = 0;
        };
        std::vector<Record> jobs;
        std::map<JobId, Start> starts;
    };
    [[nodiscard]] Overview overview(std::size_t most_living = 1'000, std::size_t most_ended = 200);

    [[nodiscard]] const Options& options() const { return options_; }
    [[nodiscard]] std::size_t living() const;
    /// Empty: planner, journal and processes agree; else what differs. For tests.
    [[nodiscard]] std::string self_check();

private:
    struct Job {
        Record record;
        Descriptor runner;    // its process
        Descriptor announce;  // where it says that it has begun
        pid_t child = 0;      // to be reaped; 0: it is of an earlier server
        bool planned = false;
        bool on_books = false;    // the planner counts it as running
        std::uint64_t bytes = 0;  // of its program and variables
    };
    Keeper(Options options, Journal journal);

    // keeper_recover.cpp
    Result<Done> recover();
    Result<Done> recover_active(Job& job);
    // keeper_outlook.cpp
    [[nodiscard]] std::string why_unplanned(const Job& job, TimeMs now) const;
    // keeper_idle.cpp
    void watch_use(const std::stop_token& stop);
    [[nodiscard]] std::pair<std::vector<Watched>, std::vector<Watched>> watched() const;
    void note_use(const std::vector<Watched>& jobs, const std::vector<Seen>& seen);
    IdleStretch act_on(Job& job, IdleStretch stretch, Seen seen, TimeMs now);
    // keeper_run.cpp: all with the lock held
    void run(const std::stop_token& stop);
    [[nodiscard]] int patience(TimeMs now) const;
    void watch_runners(TimeMs now);
    void look_after(Job& job, TimeMs now);
    void queue_ready(TimeMs now);
    bool is_ready(Job& job, TimeMs now);
    bool is_held(Job& job);
    void tell(const Job& job) const;
    void fall_back(Job& job, TimeMs now);
    void start_some(TimeMs now);
    void start(Job& job, std::vector<std::string> devices, TimeMs now);
    bool spawn(Job& job);
    Result<Done> plan(Job& job, TimeMs now);
    void unplan(Job& job, TimeMs now, queue::Outcome outcome);
    void finish(Job& job, const Ending& ending, TimeMs now);
    void requeue(Job& job, const std::string& reason, TimeMs not_before, TimeMs now);
    void clean_up(TimeMs now);
    [[nodiscard]] Spec spec_of(const Record& record) const;
    void put_in_container(const Record& record, Spec& spec) const;
    // keeper.cpp
    Result<Done> step(Job& job, jobs::State to, std::string reason, TimeMs now);
    Result<Job*> owned(const User& by, JobId id);
    void drop(JobId id);
    [[nodiscard]] Result<Done> takes(const User& user, const jobs::Request& request) const;
    [[nodiscard]] Result<Done> room_for(const User& user, const jobs::Request& request) const;
    void tell_runner(const Job& job) const;
    [[nodiscard]] const Job* same_as(const User& user, const jobs::Request& request,
                                     const std::string& key) const;
    [[nodiscard]] std::filesystem::path directory_of(const Record& record,
                                                     std::uint32_t attempt) const;
    [[nodiscard]] std::filesystem::path directory_of(const Record& record) const {
        return directory_of(record, record.attempt);
    }
    [[nodiscard]] queue::Job planner_job(const Record& record) const;

    const Options options_;
    const Fleet fleet_;
    mutable std::mutex mutex_;  // guards what follows
    Journal journal_;
    queue::Planner planner_;
    std::map<JobId, Job> jobs_;
    std::size_t living_ = 0;
    bool changed_ = true;            // something may start
    TimeMs plan_again_ = INT64_MAX;  // also when nothing happens
    std::map<JobId, IdleStretch> idle_;
    Wake wake_;
    std::jthread thread_;  // last, with the next: they use all the others
    std::jthread use_thread_;
};

TimeMs now_ms();
/// kNotFound, as it is told to whoever asked.
Error none_such(JobId id);
/// The jobs that it comes after.
std::vector<JobId> after_of(const jobs::Request& request);
/// What a job's program and variables take of most_bytes.
std::uint64_t bytes_of(const jobs::Request& request);

}  // namespace aliquot::job_server
