// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <ostream>

#include "base/columns.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/jobs/job_client.h"
#include "cli/jobs/job_command.h"
#include "cli/rows.h"
#include "command_line/command.h"
#include "document/build.h"
#include "document/path.h"

namespace aliquot::cli {
namespace {

using document::text_at;
using document::Value;

struct LookOptions {
    JobClient client;
    std::string id;
    std::string queue;
    bool mine = false;
    bool all = false;
    unsigned most = 500;
    std::string format = "table";
};

void add_format(command_line::Command& command, LookOptions& options) {
    add_output(command, options.format);
    add_client_flags(command, options.client);
}

std::string gpus_of(const Value& job) {
    if (text_at(job, {"onCpu"}) == "true") return "cpu";
    const std::string memory = text_at(job, {"gpuMemory"});
    const std::string compute = text_at(job, {"gpuCompute"});
    if (memory.empty() && compute.empty()) return text_at(job, {"gpus"});
    return join(std::vector<std::string>{memory.empty() ? "share" : memory,
                                         compute.empty() ? "" : compute + "%"},
                " ");
}

/// As many pages of the list as it takes, as one.
Result<Value> all_pages(const LookOptions& options, const std::string& path) {
    constexpr std::size_t kMostOfPage = 1'000;
    Value jobs = document::make_sequence();
    bool more = true;
    std::string above = "0";
    while (more && jobs.items.size() < options.most) {
        const std::size_t most = std::min(options.most - jobs.items.size(), kMostOfPage);
        // A machine goes on above a number, a cluster behind so many: its jobs have names.
        const std::string from = options.client.is_cluster()
                                     ? "&skip=" + std::to_string(jobs.items.size())
                                     : "&above=" + above;
        auto page = options.client.get(path + from + "&limit=" + std::to_string(most));
        if (!page) return page;
        for (const Value& job : document::items_at(*page, {"jobs"})) jobs.items.push_back(job);
        more = text_at(*page, {"more"}) == "true";
        if (jobs.items.empty()) break;
        above = text_at(jobs.items.back(), {"id"});
    }
    return document::make_mapping({{"jobs", std::move(jobs)}, {"more", more}});
}

void tell_more(Context& context, const Value& list) {
    if (text_at(list, {"more"}) == "true")
        context.err << "aliquot: there are more; --limit shows up to 10000\n";
}

void list_of_cluster(Context& context, const LookOptions& options, const Value& answer) {
    std::vector<Row> rows;
    Row head{"JOB", "QUEUE", "USER", "STATE", "GPU", "SUBMITTED", "STARTED", "CODE"};
    if (options.client.all_spaces) head.insert(head.begin(), "NAMESPACE");
    rows.push_back(head);
    for (const Value& job : document::items_at(answer, {"jobs"})) {
        std::string gpus = gpus_of(job);
        if (const std::string pods = text_at(job, {"pods"}); !pods.empty())
            gpus = pods + "x" + gpus;
        Row row{text_at(job, {"id"}),
                text_at(job, {"queue"}),
                text_at(job, {"user"}),
                text_at(job, {"state"}),
                gpus,
                text_at(job, {"submitted"}),
                text_at(job, {"started"}),
                text_at(job, {"exitCode"})};
        if (options.client.all_spaces) row.insert(row.begin(), text_at(job, {"namespace"}));
        rows.push_back(row);
    }
    print_rows(context.out, std::move(rows));
    tell_more(context, answer);
}

void list(Context& context, const LookOptions& options) {
    std::string path = options.all ? "/v1/jobs?which=all" : "/v1/jobs?which=living";
    if (options.mine) path += "&mine=true";
    if (!options.queue.empty()) {
        if (const auto named = check_queue("--queue", options.queue); !named)
            return failed(context, named.error());
        path += "&queue=" + options.queue;
    }
    const auto answer = all_pages(options, path);
    if (!answer) {
        failed(context, answer.error());
        return;
    }
    if (options.format != "table") {
        return print_answer(context.out, "JobList", *answer, options.format);
    }
    if (options.client.is_cluster()) return list_of_cluster(context, options, *answer);
    std::vector<Row> rows{{"JOB", "NAME", "USER", "STATE", "GPU", "SUBMITTED", "STARTED", "CODE"}};
    for (const Value& job : document::items_at(*answer, {"jobs"})) {
        rows.push_back({text_at(job, {"id"}), text_at(job, {"name"}), text_at(job, {"user"}),
                        text_at(job, {"state"}), gpus_of(job), text_at(job, {"submitted"}),
                        text_at(job, {"started"}), text_at(job, {"exitCode"})});
    }
    print_rows(context.out, std::move(rows));
    tell_more(context, *answer);
}

void print_fields(std::ostream& out, const Value& job) {
    std::vector<Row> rows;
    for (const auto& entry : job.entries) {
        const Value& value = entry.second;
        if (value.is_mapping()) {
            for (const auto& field : value.entries) {
                std::string text = field.second.scalar;
                if (field.second.is_sequence()) {
                    std::vector<std::string> items;
                    for (const Value& item : field.second.items) items.push_back(item.scalar);
                    text = join(items, " ");
                }
                if (field.second.is_mapping()) {
                    std::vector<std::string> names;
                    for (const auto& one : field.second.entries) names.push_back(one.first.scalar);
                    text = join(names) + " (values are not shown)";
                }
                rows.push_back({entry.first.scalar + "." + field.first.scalar + ":", text});
            }
            continue;
        }
        if (!value.is_sequence()) {
            rows.push_back({entry.first.scalar + ":", value.scalar});
            continue;
        }
        for (const Value& item : value.items) {
            std::vector<std::string> words;
            for (const auto& field : item.entries) {
                std::string text = field.second.scalar;
                for (const Value& part : field.second.items) text += part.scalar + " ";
                words.push_back(text);
            }
            rows.push_back(
                {entry.first.scalar + ":", words.empty() ? item.scalar : join(words, "  ")});
        }
    }
    out << in_columns(rows);
}

void look(Context& context, const LookOptions& options, const char* page, const char* kind) {
    const auto path = options.client.path_of(options.id);
    if (!path) {
        failed(context, path.error());
        return;
    }
    const auto answer = options.client.get(*path + page);
    if (!answer) {
        failed(context, answer.error());
        return;
    }
    if (options.format != "table") {
        return print_answer(context.out, kind, *answer, options.format);
    }
    print_fields(context.out, *answer);
}

void add_look(command_line::Command& job, Context& context, const char* name, const char* page,
              const char* kind, const char* description) {
    command_line::Command* command = job.add_subcommand(name, description);
    const auto options = std::make_shared<LookOptions>();
    command->add_option("JOB", options->id, "Number of the job, of a cluster its name", " ")
        ->required()
        ->complete_by("jobs");
    add_format(*command, *options);
    command->footer(std::string("aliquot job ") + name + " 12\naliquot job " + name +
                    " 12 -o json");
    command->callback([options, &context, page, kind] { look(context, *options, page, kind); });
}

}  // namespace

void add_job_list(command_line::Command& job, Context& context) {
    command_line::Command* command = job.add_subcommand("list", "List the jobs that wait or run");
    const auto options = std::make_shared<LookOptions>();
    command->add_flag("-a,--all", options->all, "Also those that have ended");
    command->add_flag("--mine", options->mine, "Only your own");
    command->add_option("--queue", options->queue, "Only of this queue", "NAME")
        ->complete_by("queues");
    command->add_option("--limit", options->most, "Show at most this many, oldest first", "N")
        ->range(1U, 10'000U);
    command->add_flag("-A,--all-namespaces", options->client.all_spaces,
                      "Jobs of all namespaces, on a cluster");
    add_format(*command, *options);
    command->footer("aliquot job list\naliquot job list --all --mine -o json");
    command->callback([options, &context] { list(context, *options); });
}

void add_job_show(command_line::Command& job, Context& context) {
    add_look(job, context, "show", "", "Job",
             "Show one job: what it asks for, where it runs, its steps");
}

void add_job_explain(command_line::Command& job, Context& context) {
    add_look(job, context, "explain", "/explain", "JobExplanation",
             "Explain why a job waits: its position, when it may start, who has the GPUs");
}

}  // namespace aliquot::cli
