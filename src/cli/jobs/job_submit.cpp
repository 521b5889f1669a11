// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>
#include <random>

#include "cli/answer.h"
#include "cli/jobs/job_advice.h"
#include "cli/jobs/job_client.h"
#include "cli/jobs/job_command.h"
#include "cli/jobs/job_words.h"
#include "command_line/command.h"
#include "document/json.h"
#include "document/path.h"
#include "jobs/manifest.h"
#include "jobs/name.h"
#include "jobs/read.h"

namespace aliquot::cli {
namespace {

struct SubmitOptions {
    JobWords words;
    JobClient client;
    std::string key;
    bool dry_run = false;
    std::string format = "table";
};

/// A machine runs it where it was submitted; its name alone makes no two jobs one.
void complete(const SubmitOptions& options, jobs::Request& request) {
    if (request.workdir.empty()) {
        std::error_code problem;
        request.workdir = std::filesystem::current_path(problem).native();
    }
    if (options.words.task.empty() && options.words.file.empty() && request.name.empty()) {
        request.name = jobs::dns_label(request.task_id);
        request.task_id.clear();
    }
}

/// A cluster's job has a name that nobody else has, unless it is said whose work it is.
void complete_for_cluster(const SubmitOptions& options, jobs::Request& request) {
    const bool says = !options.words.task.empty() || !options.words.file.empty() ||
                      !request.name.empty() || !options.key.empty();
    if (says) return;
    constexpr std::size_t kMostStem = 50;
    std::random_device random;
    std::array<char, 16> end{};
    std::snprintf(end.data(), end.size(), "-%06x", random() & 0xFFFFFFU);
    request.name = jobs::dns_label(request.task_id).substr(0, kMostStem) + end.data();
    request.task_id.clear();
}

void print_manifest(Context& context, const SubmitOptions& options, const jobs::Request& request) {
    const auto job = jobs::job_manifest(request);
    if (!job) {
        failed(context, job.error());
        return;
    }
    print_document(context.out, *job, options.format);
}

void submit(Context& context, const SubmitOptions& options) {
    auto described = JobDescription::of(options.words);
    if (!described) return failed(context, described.error());
    jobs::Request& request = described->request;
    const bool on_cluster = options.client.is_cluster();
    // What is wrong is said before anybody is asked.
    const auto checked = described->check(on_cluster || options.dry_run ? jobs::Place::kCluster
                                                                        : jobs::Place::kMachine);
    if (!checked) return failed(context, checked.error());
    if (options.dry_run) return print_manifest(context, options, request);
    if (on_cluster) {
        complete_for_cluster(options, request);
    } else {
        complete(options, request);
    }
    const auto answer = options.client.ask(
        "POST", "/v1/jobs", document::to_json_line(to_document(request, jobs::Secrets::kTell)),
        options.key);
    if (!answer) {
        failed(context, answer.error());
        return;
    }
    const auto value = document::parse_json(answer->body);
    if (!value) return fail(context, kCouldNotRun, "job server: does not answer as one");
    if (options.format != "table") {
        return print_answer(context.out, "SubmittedJobs", *value, options.format);
    }
    for (const auto& job : document::items_at(*value, {"jobs"})) {
        context.out << document::text_at(job, {"id"}) << '\n';
    }
    const JobWords& words = options.words;
    const bool named = words.gpus != 0 || !words.gpu_memory.empty() || words.gpu_compute != 0 ||
                       !words.gpu_type.empty() || !words.file.empty();
    if (const std::string advice = named ? "" : gpu_advice(request); !advice.empty())
        context.err << "aliquot: " << advice << '\n';
    if (const auto sentence = document::text_at(*value, {"forecast", "sentence"});
        !sentence.empty() && answer->status == 201) {
        context.err << "aliquot: cost: " << sentence << '\n';
    }
    if (answer->status == 200) context.err << "aliquot: this job was there already\n";
}

}  // namespace

void add_job_submit(command_line::Command& job, Context& context) {
    command_line::Command* command =
        job.add_subcommand("submit", "Submit a job; prints its number, on a cluster its name");
    const auto options = std::make_shared<SubmitOptions>();
    add_job_words(*command, options->words);
    command
        ->add_option("--after", options->words.after,
                     "Start only when this job has succeeded; may be given several times", "JOB")
        ->allow_extra_args(false);
    command->add_option(
        "--idempotency-key", options->key,
        "Submitting the same key again gives the same job, for scripts that are retried", "TEXT");
    command->add_flag("--dry-run", options->dry_run,
                      "Print the Kubernetes Job instead of submitting");
    add_output(*command, options->format);
    add_client_flags(*command, options->client);
    command->footer(
        "aliquot job submit --gpu 1 -- python3 train.py\n"
        "aliquot job submit --gpu-memory 8Gi --gpu-compute 50 --time 2h -- ./infer\n"
        "aliquot job submit --array 10 --env SEED=1 -- ./sweep.sh");
    command->callback([options, &context] { submit(context, *options); });
}

}  // namespace aliquot::cli
