// SPDX-License-Identifier: Apache-2.0
// aliquot queue apply, list, show, pending: queues of a cluster, and who waits.
#include <algorithm>
#include <memory>
#include <ostream>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/cluster/cluster_flags.h"
#include "cli/files/config_command.h"
#include "cli/files/queue_command.h"
#include "cli/jobs/job_client.h"
#include "cli/jobs/job_words.h"
#include "cli/rows.h"
#include "cluster_jobs/queue_file.h"
#include "command_line/command.h"
#include "document/json.h"
#include "document/path.h"
#include "document/write.h"

namespace aliquot::cli {
namespace {

using document::text_at;
using document::Value;

constexpr std::size_t kMostQueueFileMib = 1;
constexpr char kQueueManager[] = "aliquot";

struct QueueOptions {
    JobClient client;
    std::string name;
    std::string file;
    bool dry_run = false;
    std::string format = "table";
};

kube_client::Resource resource_of(const Value& object) {
    const std::string kind = text_at(object, {"kind"});
    return {.group = "kueue.x-k8s.io",
            .version = "v1beta2",
            .plural = lower(kind) + "s",
            .kind = kind,
            .namespaced = kind == "LocalQueue"};
}

void apply_queues(Context& context, const QueueOptions& options) {
    const auto input = read_input(options.file, kMostQueueFileMib);
    if (!input) return failed(context, input.error());
    auto objects = cluster_jobs::read_queue_file(input->text);
    if (!objects) return failed(context, std::move(objects).error().during(input->name));
    if (options.dry_run) {
        for (const Value& object : *objects) context.out << "---\n" << document::to_yaml(object);
        return;
    }
    const auto connection = connect_cluster(context, options.client.cluster);
    if (!connection) return;
    for (const Value& object : *objects) {
        const auto resource = resource_of(object);
        const kube_client::ObjectKey key{text_at(object, {"metadata", "namespace"}),
                                         text_at(object, {"metadata", "name"})};
        const auto done = connection->api->apply(
            resource, key, document::to_json_line(object), true,
            {.field_manager = kQueueManager, .call = call_of(options.client.cluster)});
        if (!done && done.failure().is(kube_client::Reason::kNotFound)) {
            return fail(context, kCouldNotRun,
                        resource.kind + " " + kube_client::to_text(key) +
                            ": Kueue is not installed, or the namespace does not exist");
        }
        if (!done) return fail(context, done.failure());
        context.out << lower(resource.kind) << " " << kube_client::to_text(key) << " applied\n";
    }
}

std::string gpus_text(const Value& queue, const char* field) {
    std::vector<std::string> words;
    for (const Value& one : document::items_at(queue, {"gpus"}))
        words.push_back(text_at(one, {"flavor"}) + " " + text_at(one, {field}));
    return join(words, ", ");
}

void list_queues(Context& context, const QueueOptions& options) {
    const auto answer = options.client.get("/v1/queues");
    if (!answer) return failed(context, answer.error());
    if (options.format != "table") {
        return print_answer(context.out, "QueueList", *answer, options.format);
    }
    std::vector<Row> rows{{"QUEUE", "COHORT", "GPUS", "USED", "RUNNING", "PENDING", "ACTIVE"}};
    for (const Value& queue : document::items_at(*answer, {"queues"})) {
        rows.push_back({text_at(queue, {"name"}), text_at(queue, {"cohort"}),
                        gpus_text(queue, "quota"), gpus_text(queue, "used"),
                        text_at(queue, {"running"}), text_at(queue, {"pending"}),
                        text_at(queue, {"active"})});
    }
    print_rows(context.out, std::move(rows));
}

void show_queue(Context& context, const QueueOptions& options) {
    if (const auto named = check_queue("QUEUE", options.name); !named)
        return failed(context, named.error());
    const auto answer = options.client.get("/v1/queues");
    if (!answer) return failed(context, answer.error());
    for (const Value& queue : document::items_at(*answer, {"queues"})) {
        if (text_at(queue, {"name"}) != options.name) continue;
        return print_answer(context.out, "Queue", queue, options.format);
    }
    fail(context, kCouldNotRun, "there is no queue " + options.name);
}

void pending(Context& context, const QueueOptions& options) {
    if (const auto named = check_queue("QUEUE", options.name); !options.name.empty() && !named)
        return failed(context, named.error());
    const std::string queue = options.name.empty() ? "" : "?queue=" + options.name;
    const auto answer = options.client.get("/v1/pending" + queue);
    if (!answer) return failed(context, answer.error());
    if (options.format != "table") {
        return print_answer(context.out, "PendingJobList", *answer, options.format);
    }
    std::vector<Row> rows{
        {"POSITION", "JOB", "USER", "QUEUE", "GPU", "SUBMITTED", "LIKELY START", "AT THE LATEST"}};
    for (const Value& job : document::items_at(*answer, {"pending"})) {
        rows.push_back({text_at(job, {"position"}), text_at(job, {"id"}), text_at(job, {"user"}),
                        text_at(job, {"queue"}), text_at(job, {"gpus"}),
                        text_at(job, {"submitted"}), text_at(job, {"likelyStart"}),
                        text_at(job, {"latestStart"})});
    }
    print_rows(context.out, std::move(rows));
}

void add_queue_format(command_line::Command& command, QueueOptions& options) {
    add_output(command, options.format);
}

}  // namespace

void add_queue_apply(command_line::Command& queue, Context& context) {
    command_line::Command* command = queue.add_subcommand(
        "apply",
        "Create or update queues of a cluster from one short file: Kueue's ClusterQueues, "
        "LocalQueues and ResourceFlavors");
    const auto options = std::make_shared<QueueOptions>();
    command->add_option("-f,--file", options->file, "The file; - is stdin", "FILE")->required();
    command->add_flag("--dry-run", options->dry_run, "Print the objects instead of applying them");
    add_cluster_flags(*command, options->client.cluster);
    command->footer(
        "aliquot queue apply -f queues.yaml --dry-run\n"
        "aliquot queue apply -f queues.yaml --context prod");
    command->callback([options, &context] { apply_queues(context, *options); });
}

void add_queue_list(command_line::Command& queue, Context& context) {
    command_line::Command* command =
        queue.add_subcommand("list", "List queues with their quotas, and who uses them");
    const auto options = std::make_shared<QueueOptions>();
    add_queue_format(*command, *options);
    add_client_flags(*command, options->client);
    command->footer("aliquot queue list\naliquot queue list --context prod -o json");
    command->callback([options, &context] { list_queues(context, *options); });
}

void add_queue_show(command_line::Command& queue, Context& context) {
    command_line::Command* command = queue.add_subcommand("show", "Show one queue");
    const auto options = std::make_shared<QueueOptions>();
    command->add_option("QUEUE", options->name, "Name of the queue", " ")
        ->required()
        ->complete_by("queues");
    add_queue_format(*command, *options);
    add_client_flags(*command, options->client);
    command->footer("aliquot queue show vision");
    command->callback([options, &context] { show_queue(context, *options); });
}

void add_queue_pending(command_line::Command& queue, Context& context) {
    command_line::Command* command = queue.add_subcommand(
        "pending", "List the jobs that wait, next first, with their likely starts");
    const auto options = std::make_shared<QueueOptions>();
    command->add_option("QUEUE", options->name, "Only of this queue", " ")->complete_by("queues");
    command->add_flag("-A,--all-namespaces", options->client.all_spaces,
                      "Jobs of all namespaces, on a cluster");
    add_queue_format(*command, *options);
    add_client_flags(*command, options->client);
    command->footer("aliquot queue pending\naliquot queue pending vision -A");
    command->callback([options, &context] { pending(context, *options); });
}

}  // namespace aliquot::cli
