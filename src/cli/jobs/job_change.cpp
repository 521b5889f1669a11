// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "cli/jobs/job_client.h"
#include "cli/jobs/job_command.h"
#include "command_line/command.h"
#include "document/json.h"
#include "document/path.h"
#include "jobs/state.h"

namespace aliquot::cli {
namespace {

struct ChangeOptions {
    JobClient client;
    std::vector<std::string> ids;
};

struct Change {
    const char* name;
    const char* description;
    const char* method;
    const char* page;
    const char* done;
};

constexpr Change kCancel{"cancel", "Cancel jobs: those that run are ended", "POST", "/cancel",
                         "is cancelled"};
constexpr Change kRetry{"retry", "Run jobs again that failed, expired or were cancelled", "POST",
                        "/retry", "waits again"};
constexpr Change kSuspend{"suspend",
                          "Suspend jobs: those that run are ended and give their GPUs back, until "
                          "they are resumed",
                          "POST", "/suspend", "is suspended"};
constexpr Change kResume{"resume", "Put suspended jobs back into their queue", "POST", "/resume",
                         "waits again"};
constexpr Change kDelete{"delete", "Delete jobs that have ended, with their output", "DELETE", "",
                         "is deleted"};

void change(Context& context, const ChangeOptions& options, const Change& what) {
    const auto paths = options.client.paths_of(options.ids);
    if (!paths) return failed(context, paths.error());
    for (std::size_t i = 0; i < paths->size(); ++i) {
        const std::string& id = options.ids[i];
        const auto answer = options.client.ask(what.method, (*paths)[i] + what.page);
        if (answer) {
            const auto job = document::parse_json(answer->body);
            const std::string state = job ? document::text_at(*job, {"state"}) : "";
            const auto known = jobs::state_of(state);
            // One that runs is asked to end first.
            const bool later = known && ((&what == &kCancel && !jobs::is_final(*known)) ||
                                         (&what == &kSuspend && *known != jobs::State::kSuspended));
            context.out << "job " << id << " " << (later ? "is being ended" : what.done) << '\n';
        } else {
            failed(context, answer.error());
        }
    }
}

void add_change(command_line::Command& job, Context& context, const Change& what) {
    command_line::Command* command = job.add_subcommand(what.name, what.description);
    const auto options = std::make_shared<ChangeOptions>();
    command->add_option("JOB", options->ids, "Numbers of jobs", "...")
        ->required()
        ->complete_by("jobs");
    add_client_flags(*command, options->client);
    command->footer(std::string("aliquot job ") + what.name + " 12 13");
    command->callback([options, &context, &what] { change(context, *options, what); });
}

}  // namespace

void add_job_cancel(command_line::Command& job, Context& context) {
    add_change(job, context, kCancel);
}
void add_job_retry(command_line::Command& job, Context& context) {
    add_change(job, context, kRetry);
}
void add_job_suspend(command_line::Command& job, Context& context) {
    add_change(job, context, kSuspend);
}
void add_job_resume(command_line::Command& job, Context& context) {
    add_change(job, context, kResume);
}
void add_job_delete(command_line::Command& job, Context& context) {
    add_change(job, context, kDelete);
}

}  // namespace aliquot::cli
