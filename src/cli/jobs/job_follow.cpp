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

void logs(Context& context, const FollowOptions& options) {
    const auto path = job_path(options.ids.front());
    if (!path) {
        failed(context, path.error());
        return;
    }
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
                  SteadyClock::time_point end) {
    const auto path = job_path(id);
    if (!path) {
        failed(context, path.error());
        return;
    }
    Pause pause;
    for (;;) {
        const auto job = options.client.get(*path);
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
    for (const std::string& id : options.ids) {
        wait_for_one(context, options, id, end);
        if (context.exit_code == kUsage || context.exit_code == kCouldNotRun) return;
    }
}

}  // namespace

void add_job_logs(command_line::Command& job, Context& context) {
    command_line::Command* command = job.add_subcommand("logs", "Print the output of a job");
    const auto options = std::make_shared<FollowOptions>();
    options->ids.resize(1);
    command->add_option("JOB", options->ids.front(), "Number of the job", " ")->required();
    command->add_flag("-f,--follow", options->follow, "Go on until the job has ended");
    add_server_flag(*command, options->client);
    command->footer("aliquot job logs 12\naliquot job logs -f 12");
    command->callback([options, &context] { logs(context, *options); });
}

void add_job_wait(command_line::Command& job, Context& context) {
    command_line::Command* command = job.add_subcommand(
        "wait", "Wait until jobs have ended: exit code 0 when all succeeded, else 1");
    const auto options = std::make_shared<FollowOptions>();
    command->add_option("JOB", options->ids, "Numbers of jobs", "...")->required();
    command->add_option("--timeout", options->timeout, "At most so long; then exit code 3", "TIME");
    add_server_flag(*command, options->client);
    command->footer("aliquot job wait 12\naliquot job wait 12 13 --timeout 2h");
    command->callback([options, &context] { wait(context, *options); });
}

}  // namespace aliquot::cli
