// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <thread>

#include "base/time_text.h"
#include "cli/jobs/job_client.h"
#include "cli/jobs/job_command.h"
#include "command_line/command.h"
#include "document/path.h"
#include "jobs/state.h"

namespace aliquot::cli {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kFirstPause{20};
constexpr milliseconds kLongestPause{500};

struct FollowOptions {
    JobClient client;
    std::vector<std::string> ids;
    bool follow = false;
    std::string timeout;
};

/// Waits a moment, each time longer; starts anew when something came.
class Pause {
public:
    void wait() {
        std::this_thread::sleep_for(next_);
        next_ = std::min(next_ * 2, kLongestPause);
    }
    void reset() { next_ = kFirstPause; }

private:
    milliseconds next_ = kFirstPause;
};

/// Whether a job whose pod has ended has ended, too; false: it is tried again.
Result<bool> wait_for_end(const FollowOptions& options, const std::string& path) {
    Pause pause;
    for (int round = 0; round < 20; ++round) {
        const auto job = options.client.get(path);
        if (!job) return job.error();
        const auto state = jobs::state_of(document::text_at(*job, {"state"}));
        if (state && jobs::is_final(*state)) return true;
        if (state != jobs::State::kRunning) return false;
        pause.wait();
    }
    return false;
}

/// Of a cluster: waits until there is a pod, then reads as it writes, and again when it is tried again.
void follow(Context& context, const FollowOptions& options, const std::string& path) {
    const std::string& id = options.ids.front();
    Pause pause;
    while (context.out) {
        const auto job = options.client.get(path);
        if (!job) return failed(context, job.error());
        const auto state = jobs::state_of(document::text_at(*job, {"state"}));
        const bool over = state && jobs::is_final(*state);
        if (over || state == jobs::State::kRunning) {
            const auto done = options.client.follow(id, [&](std::string_view bytes) {
                context.out << bytes << std::flush;
                return static_cast<bool>(context.out);
            });
            if (!done) return failed(context, done.error());
            if (over) return;
            // Its pod has ended; the Job says so a little later, or tries again.
            const auto ended = wait_for_end(options, path);
            if (!ended) return failed(context, ended.error());
            if (*ended) return;
        }
        pause.wait();
    }
}

void logs(Context& context, const FollowOptions& options) {
    const auto path = options.client.path_of(options.ids.front());
    if (!path) {
        failed(context, path.error());
        return;
    }
    if (options.follow && options.client.is_cluster()) return follow(context, options, *path);
    std::string from = "0";
    Pause pause;
    while (context.out) {
        auto part = options.client.ask("GET", *path + "/logs?from=" + from);
        if (!part) {
            failed(context, part.error());
            return;
        }
        context.out << part->body << std::flush;
        from = part->header("aliquot-next");
        const bool more = !part->body.empty();
        if (!more && (!options.follow || part->header("aliquot-ended") == "true")) return;
        if (more) {
            pause.reset();
        } else {
            pause.wait();
        }
    }
}

/// Nothing: it has not ended in time, or cannot be asked about; the exit code is set.
void wait_for_one(Context& context, const FollowOptions& options, const std::string& id,
                  const std::string& path, SteadyClock::time_point end) {
    Pause pause;
    for (;;) {
        const auto job = options.client.get(path);
        if (!job) {
            failed(context, job.error());
            return;
        }
        const std::string word = document::text_at(*job, {"state"});
        const auto state = jobs::state_of(word);
        if (state && jobs::is_final(*state)) {
            context.out << id << " " << word << " " << document::text_at(*job, {"exitCode"})
                        << '\n';
            if (*state != jobs::State::kSucceeded && context.exit_code == kOk) {
                context.exit_code = kFindings;
            }
            return;
        }
        if (SteadyClock::now() >= end) {
            return fail(context, kCouldNotRun, "job " + id + " is still " + word);
        }
        pause.wait();
    }
}

void wait(Context& context, const FollowOptions& options) {
    auto end = SteadyClock::time_point::max();
    if (!options.timeout.empty()) {
        const auto span = parse_duration(options.timeout);
        if (!span || *span > std::chrono::hours(24 * 365)) {
            return fail(context, kUsage,
                        "--timeout: '" + options.timeout + "' is wrong; expected 30s, 10m or 2h");
        }
        end = SteadyClock::now() + *span;
    }
    const auto paths = options.client.paths_of(options.ids);
    if (!paths) return failed(context, paths.error());
    for (std::size_t i = 0; i < paths->size(); ++i) {
        wait_for_one(context, options, options.ids[i], (*paths)[i], end);
        if (context.exit_code == kUsage || context.exit_code == kCouldNotRun) return;
    }
}

}  // namespace

void add_job_logs(command_line::Command& job, Context& context) {
    command_line::Command* command = job.add_subcommand("logs", "Print the output of a job");
    const auto options = std::make_shared<FollowOptions>();
    options->ids.resize(1);
    command
        ->add_option("JOB", options->ids.front(), "Number of the job, of a cluster its name", " ")
        ->required()
        ->complete_by("jobs");
    command->add_flag("-f,--follow", options->follow, "Keep printing until the job has ended");
    add_client_flags(*command, options->client);
    command->footer("aliquot job logs 12\naliquot job logs -f 12");
    command->callback([options, &context] { logs(context, *options); });
}

void add_job_wait(command_line::Command& job, Context& context) {
    command_line::Command* command = job.add_subcommand(
        "wait", "Wait until jobs have ended: exit code 0 when all succeeded, else 1");
    const auto options = std::make_shared<FollowOptions>();
    command->add_option("JOB", options->ids, "Numbers of jobs", "...")
        ->required()
        ->complete_by("jobs");
    command->add_option("--timeout", options->timeout, "Maximum time to wait; then exit code 3",
                        "TIME");
    add_client_flags(*command, options->client);
    command->footer("aliquot job wait 12\naliquot job wait 12 13 --timeout 2h");
    command->callback([options, &context] { wait(context, *options); });
}

}  // namespace aliquot::cli
