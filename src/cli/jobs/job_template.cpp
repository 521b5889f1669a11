// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "cli/answer.h"
#include "cli/jobs/job_client.h"
#include "cli/jobs/job_command.h"
#include "cli/jobs/job_words.h"
#include "command_line/command.h"
#include "jobs/check.h"
#include "jobs/manifest.h"

namespace aliquot::cli {
namespace {

struct TemplateOptions {
    JobWords words;
    std::string format = "yaml";
};

void print_template(Context& context, const TemplateOptions& options) {
    const auto described = JobDescription::of(options.words);
    if (!described) return failed(context, described.error());
    const auto checked = described->check(jobs::Place::kCluster);
    if (!checked) return failed(context, checked.error());
    const auto job = jobs::job_manifest(described->request);
    if (!job) return failed(context, job.error());
    for (const jobs::Problem& one : jobs::check(described->request, jobs::Place::kCluster)) {
        context.err << "aliquot: " << one.field << ": " << one.message << '\n';
    }
    print_document(context.out, *job, options.format);
}

}  // namespace

void add_job_template(command_line::Command& job, Context& context) {
    command_line::Command* command =
        job.add_subcommand("template", "Print the Kubernetes Job of a GPU job, for kubectl apply");
    const auto options = std::make_shared<TemplateOptions>();
    add_job_words(*command, options->words);
    add_output(*command, options->format, {});
    command->footer(
        "aliquot job template --image trainer:1.4 --gpu 2 --gpu-type a100 -- python3 train.py\n"
        "aliquot job template -f job.yaml | kubectl apply -f -");
    command->callback([options, &context] { print_template(context, *options); });
}

}  // namespace aliquot::cli
