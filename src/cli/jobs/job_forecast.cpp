// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "cli/answer.h"
#include "cli/jobs/job_client.h"
#include "cli/jobs/job_command.h"
#include "cli/jobs/job_words.h"
#include "command_line/command.h"
#include "document/json.h"
#include "document/path.h"
#include "jobs/read.h"

namespace aliquot::cli {
namespace {

struct ForecastOptions {
    JobWords words;
    JobClient client;
    std::string format = "table";
};

void foretell(Context& context, const ForecastOptions& options) {
    const auto described = JobDescription::of(options.words);
    if (!described) return failed(context, described.error());
    if (const auto checked = described->check(jobs::Place::kMachine); !checked)
        return failed(context, checked.error());
    const auto answer = options.client.ask_server(
        "POST", "/v1/cost/forecast",
        document::to_json_line(to_document(described->request, jobs::Secrets::kTell)));
    if (!answer) return failed(context, answer.error());
    const auto value = document::parse_json(answer->body);
    if (!value) return fail(context, kCouldNotRun, "job server: does not answer as one");
    if (options.format != "table") {
        return print_answer(context.out, "JobForecast", *value, options.format);
    }
    const std::string sentence = document::text_at(*value, {"sentence"});
    context.out << (sentence.empty() ? "nobody knows what this machine costs; start aliquot serve "
                                       "with --prices or --machine-type"
                                     : sentence)
                << '\n';
}

}  // namespace

void add_job_forecast(command_line::Command& job, Context& context) {
    command_line::Command* command = job.add_subcommand(
        "forecast", "Estimate what a job would cost here, before it is submitted");
    const auto options = std::make_shared<ForecastOptions>();
    add_job_words(*command, options->words);
    add_output(*command, options->format);
    add_server_flag(*command, options->client);
    command->footer("aliquot job forecast --gpu 2 --time 4h -- python3 train.py");
    command->callback([options, &context] { foretell(context, *options); });
}

}  // namespace aliquot::cli
