// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "cli/answer.h"
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
    const auto request = request_of(options.words);
    if (!request) return fail(context, exit_code_of(request.error()), request.error().message);
    const auto job = jobs::job_manifest(*request);
    if (!job) return fail(context, exit_code_of(job.error()), job.error().message);
    for (const jobs::Problem& one : jobs::check(*request, jobs::Place::kCluster)) {
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
