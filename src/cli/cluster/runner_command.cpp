// SPDX-License-Identifier: Apache-2.0
// aliquot runner: GitHub Actions on a pool of GPU nodes.
#include <memory>
#include <ostream>

#include "cli/cluster/cluster_flags.h"
#include "cli/cluster/pool_resource.h"
#include "cli/commands.h"
#include "cli/files/config_command.h"
#include "command_line/command.h"
#include "document/json.h"
#include "document/path.h"
#include "document/write.h"
#include "pools/definition.h"
#include "pools/read.h"
#include "pools/runner.h"
#include "pools/runner_metrics.h"

namespace aliquot::cli {
namespace {

using document::Value;

struct RunnerWords {
    ClusterOptions cluster;
    pools::RunnerOptions options;
    std::string file;
    std::string container = "pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel";
    bool objects = false;
    std::string pool;
    std::optional<double> price;
};

/// The one pool of the file; empty: it was said what is wrong.
std::optional<pools::Pool> pool_of(Context& context, const RunnerWords& words) {
    const auto input = read_input(words.file);
    if (!input) {
        fail(context, kUsage, input.error().message);
        return std::nullopt;
    }
    auto read = pools::read_pools(input->text);
    context.err << pools::text_of(input->name, read.problems);
    if (read.has_errors() || read.pools.size() != 1) {
        fail(context, kUsage, words.file + ": runners need exactly one pool that can be read");
        return std::nullopt;
    }
    return std::move(read.pools[0]);
}

std::optional<pools::RunnerFiles> files_of(Context& context, const RunnerWords& words) {
    const auto pool = pool_of(context, words);
    if (!pool) return std::nullopt;
    auto files = pools::runner_files(*pool, words.options);
    if (!files) {
        fail(context, kUsage, files.error().message);
        return std::nullopt;
    }
    return *std::move(files);
}

void print_values(Context& context, const RunnerWords& words) {
    const auto files = files_of(context, words);
    if (!files) return;
    for (const std::string& warning : files->warnings) {
        context.err << "aliquot: warning: " << warning << '\n';
        context.exit_code = kFindings;
    }
    if (!words.objects) {
        context.out << document::to_yaml(files->values);
        return;
    }
    const char* separator = "";
    for (const Value& object : files->objects) {
        context.out << separator << document::to_yaml(object);
        separator = "---\n";
    }
}

std::string scheduling_message(const Value& pod) {
    for (const Value& condition : document::items_at(pod, {"status", "conditions"})) {
        if (document::text_at(condition, {"type"}) == "PodScheduled" &&
            document::text_at(condition, {"status"}) == "False") {
            return document::text_at(condition, {"message"});
        }
    }
    return "";
}

unsigned number_at(const Value& object, std::string_view path) {
    const auto* const value = document::at_path(object, path);
    return value == nullptr
               ? 0
               : static_cast<unsigned>(std::strtoul(value->scalar.c_str(), nullptr, 10));
}

/// Without a listener nobody hears of jobs. Who may not look at other namespaces is told nothing of it.
bool look_at_listener(Context& context, kube_client::Api& api, const RunnerWords& words,
                      pools::RunnerFigures& figures) {
    const auto listeners =
        api.list(kube_client::resources::pods(),
                 {.label_selector = "app.kubernetes.io/component=runner-scale-set-listener,"
                                    "actions.github.com/scale-set-name=" +
                                    words.options.name},
                 call_of(words.cluster));
    if (!listeners) {
        if (listeners.failure().is(kube_client::Reason::kForbidden)) return true;
        fail(context, listeners.failure());
        return false;
    }
    figures.listens = false;
    for (const auto& item : listeners->items) {
        if (kube_client::string_at(item.json, "/status/phase") == "Running") figures.listens = true;
    }
    return true;
}

/// What the pool of that name has, as the controller last told it.
bool look_at_nodes(Context& context, kube_client::Api& api, const RunnerWords& words,
                   pools::RunnerFigures& figures) {
    figures.nodes_at_most = ~0U;
    const std::string& name = words.pool.empty() ? words.options.name : words.pool;
    const auto object = api.get(pool_resource(), {.name = name}, call_of(words.cluster));
    if (!object) {
        const auto& failure = object.failure();
        const bool absent = failure.is(kube_client::Reason::kNotFound) ||
                            failure.is(kube_client::Reason::kForbidden);
        if (absent && words.pool.empty()) return true;
        fail(context, failure);
        return false;
    }
    const auto pool = document::parse_json(object->json);
    if (!pool) return true;
    figures.nodes = number_at(*pool, "status.nodes");
    figures.nodes_starting = number_at(*pool, "status.starting");
    figures.nodes_at_most = number_at(*pool, "spec.max");
    return true;
}

void explain_runners(Context& context, const RunnerWords& words) {
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    const kube_client::Resource sets{.group = "actions.github.com",
                                     .version = "v1alpha1",
                                     .plural = "autoscalingrunnersets",
                                     .kind = "AutoscalingRunnerSet"};
    const std::string space = connection->namespace_name;
    auto& api = *connection->api;
    const auto object = api.get(sets, {space, words.options.name}, call_of(words.cluster));
    if (!object) return fail(context, object.failure());
    const auto set = document::parse_json(object->json);
    const auto pods =
        api.list(kube_client::resources::pods(), {.namespace_name = space}, call_of(words.cluster));
    if (!set || !pods) return fail(context, pods ? kube_client::Failure{} : pods.failure());
    pools::RunnerFigures figures{.assigned = number_at(*set, "status.pendingEphemeralRunners") +
                                             number_at(*set, "status.runningEphemeralRunners"),
                                 .running = number_at(*set, "status.runningEphemeralRunners"),
                                 .registered = number_at(*set, "status.currentRunners"),
                                 .busy = number_at(*set, "status.runningEphemeralRunners"),
                                 .max_runners = number_at(*set, "spec.maxRunners"),
                                 .pods_failed = number_at(*set, "status.failedEphemeralRunners")};
    for (const auto& item : pods->items) {
        // Runner pods are NAME-xxxxx-runner-xxxxx, those of jobs have "-workflow" behind that.
        const auto pod = document::parse_json(item.json);
        if (!item.name.starts_with(words.options.name + "-") || !pod ||
            document::text_at(*pod, {"status", "phase"}) != "Pending" ||
            !document::text_at(*pod, {"spec", "nodeName"}).empty()) {
            continue;
        }
        ++figures.pods_pending;
        if (figures.pending_reason.empty()) figures.pending_reason = scheduling_message(*pod);
    }
    figures.assigned = std::max(figures.assigned, figures.running + figures.pods_pending);
    if (!look_at_listener(context, api, words, figures)) return;
    if (!look_at_nodes(context, api, words, figures)) return;
    for (const std::string& why : pools::explain_waiting(figures)) context.out << why << '\n';
}

void add_values_options(command_line::Command& command, RunnerWords& words) {
    auto& options = words.options;
    command.add_option("POOL", words.file, "Pool file; - is standard input", " ")->required();
    command
        .add_option("--url", options.config_url, "Repository, organisation or enterprise", "URL")
        ->required();
    command.add_option("--name", options.name, "Name of the scale set; default: the pool's",
                       "NAME");
    command.add_option("--secret", options.secret, "Secret with GitHub's credentials",
                       "NAME (github-app)");
    command
        .add_option("--label", options.labels,
                    "Labels of the runners; default: self-hosted,linux,x64,gpu,cuda", "LABELS")
        ->delimiter(',');
    command.add_option("--min", options.min_runners, "Number of idle runners to keep", "N (0)");
    command.add_option("--max", options.max_runners, "Maximum number of runners", "N (10)");
    command.add_option("--resource", options.resource, "Resource that a job requests",
                       "RESOURCE (nvidia.com/gpu)");
    command.add_option("--count", options.amount, "How many of this resource", "N (1)")
        ->range(1U, 16U);
    command.add_option("--cpu", options.cpu_request, "CPU request of a job", "AMOUNT (4)");
    command.add_option("--cpu-limit", options.cpu_limit, "and limit", "AMOUNT (8)");
    command.add_option("--memory", options.memory_request, "Memory request of a job",
                       "AMOUNT (16Gi)");
    command.add_option("--memory-limit", options.memory_limit, "and limit", "AMOUNT (32Gi)");
    command.add_option("--cache-claim", options.cache_claim,
                       "Claim for ccache, sccache and git; default: gone with the job", "NAME");
    command.add_flag("--runner-holds-gpu", options.runner_holds_gpu,
                     "Jobs run in the runner's container, which has the GPU, instead of pods of "
                     "their own");
    command.add_option("--gate-image", options.gate_image,
                       "Image with aliquot: a runner that holds a GPU registers only when it is "
                       "clean; for pods of jobs see aliquot gate watch",
                       "IMAGE");
    command.add_flag("--objects", words.objects,
                     "Print the job pod's template and the claim instead, for kubectl");
}

void print_rules(Context& context, const RunnerWords& words) {
    const auto pool = pool_of(context, words);
    if (!pool) return;
    const auto rules = pools::runner_rules(*pool, words.options, words.price);
    if (!rules) return fail(context, kUsage, rules.error().message);
    context.out << document::to_yaml(*rules);
}

void add_rules(command_line::Command& runner, const std::shared_ptr<RunnerWords>& words,
               Context& context) {
    command_line::Command* rules = runner.add_subcommand(
        "rules",
        "Print Prometheus rules: how long jobs of a workflow wait and run, and what they cost");
    rules->footer("aliquot runner rules pool.yaml | kubectl apply -n monitoring -f -");
    rules->add_option("POOL", words->file, "Pool file; - is standard input", " ")->required();
    rules->add_option("--name", words->options.name, "Name of the scale set; default: the pool's",
                      "NAME");
    rules->add_option("--resource", words->options.resource, "Resource that a job requests",
                      "RESOURCE (nvidia.com/gpu)");
    rules->add_option("--count", words->options.amount, "How many of this resource", "N (1)")
        ->range(1U, 16U);
    rules
        ->add_option("--price", words->price, "USD per hour of a node; default: its list price",
                     "USD")
        ->range(0.0, 10'000.0);
    rules->callback([words, &context] { print_rules(context, *words); });
}

}  // namespace

void add_runner_command(command_line::Command& program, Context& context) {
    command_line::Command* runner = program.add_subcommand(
        "runner", "Run GitHub Actions on GPU nodes (Actions Runner Controller)");
    runner->require_subcommand(1);
    runner->footer(
        "aliquot runner values pool.yaml --url https://github.com/org/repo > values.yaml\n"
        "aliquot runner explain gpu -n arc-runners");
    const auto words = std::make_shared<RunnerWords>();
    command_line::Command* values = runner->add_subcommand(
        "values",
        "Print the values of the chart gha-runner-scale-set for a pool: a small runner pod, and "
        "job pods that hold the GPU\n\nExit code 1: a job would fit on no node of the pool.");
    values->footer(
        "aliquot runner values pool.yaml --url https://github.com/org/repo > values.yaml\n"
        "aliquot runner values pool.yaml --url https://github.com/org/repo --objects | kubectl "
        "apply "
        "-n arc-runners -f -");
    add_values_options(*values, *words);
    values->callback([words, &context] { print_values(context, *words); });
    command_line::Command* explain =
        runner->add_subcommand("explain", "Explain why jobs wait for a runner");
    explain->footer("aliquot runner explain gpu -n arc-runners");
    explain->add_option("NAME", words->options.name, "Name of the scale set", " ")->required();
    add_cluster_flags(*explain, words->cluster);
    add_namespace_flag(*explain, words->cluster, "Namespace of the scale set");
    explain->add_option("--pool", words->pool,
                        "Pool of the scale set; default: the one of the same name", "POOL");
    explain->callback([words, &context] { explain_runners(context, *words); });
    add_rules(*runner, words, context);
    command_line::Command* workflow = runner->add_subcommand(
        "workflow", "Print a workflow that shows whether jobs have their GPU");
    workflow->footer("aliquot runner workflow > .github/workflows/gpu.yaml");
    workflow->add_option("--image", words->container, "Image of the job",
                         "IMAGE (pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel)");
    workflow->callback([words, &context] {
        context.out << pools::test_workflow(words->options.labels, words->container);
    });
}

}  // namespace aliquot::cli
