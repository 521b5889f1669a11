// SPDX-License-Identifier: Apache-2.0
// aliquot pool: how many GPU nodes a pool should have, and why.
#include <memory>
#include <ostream>

#include "base/sentence.h"
#include "base/time_text.h"
#include "cli/answer.h"
#include "cli/cluster/cluster_flags.h"
#include "cli/cluster/pool_provider.h"
#include "cli/cluster/pool_resource.h"
#include "cli/cluster/pool_spot.h"
#include "cli/commands.h"
#include "cli/files/config_command.h"
#include "cli/rows.h"
#include "command_line/command.h"
#include "document/json.h"
#include "document/path.h"
#include "document/write.h"
#include "document/yaml.h"
#include "pools/definition.h"
#include "pools/desired.h"
#include "pools/outputs.h"
#include "pools/read.h"
#include "pools/reconcile.h"
#include "pools/spot.h"

namespace aliquot::cli {
namespace {

using document::or_null;
using document::Value;
using std::chrono::seconds;

struct PoolOptions {
    ClusterOptions cluster;
    std::string file;
    std::string name;
    std::string at;
    std::string until;
    std::string format = "table";
    unsigned nodes = 0;
    bool tags = false;
    bool release = false;
    bool dry_run = false;
};

/// The pools of a file; empty: it was said what is wrong.
std::vector<pools::Pool> pools_of_file(Context& context, const std::string& file) {
    const auto input = read_input(file);
    if (!input) {
        fail(context, kUsage, input.error().message);
        return {};
    }
    auto read = pools::read_pools(input->text);
    context.err << pools::text_of(input->name, read.problems);
    if (read.has_errors()) {
        context.exit_code = kUsage;
        return {};
    }
    return std::move(read.pools);
}

std::optional<pools::Instant> moment_of(Context& context, const PoolOptions& words) {
    if (words.at.empty()) return std::chrono::floor<seconds>(std::chrono::system_clock::now());
    const auto at = parse_rfc3339(words.at);
    if (!at)
        fail(context, kUsage,
             "--at: '" + words.at + "' is not a time, expected one as 2026-12-01T09:00:00Z");
    return at ? std::optional(std::chrono::floor<seconds>(*at)) : std::nullopt;
}

std::vector<Value> objects_of(const kube_client::Page& page) {
    std::vector<Value> objects;
    for (const auto& item : page.items) {
        auto read = document::parse_json(item.json);
        if (read) objects.push_back(*std::move(read));
    }
    return objects;
}

struct Seen {
    std::vector<Value> nodes;
    std::vector<Value> pods;
};

std::optional<Seen> look_at_cluster(Context& context, kube_client::Api& api,
                                    const ClusterOptions& words) {
    const auto nodes = api.list(kube_client::resources::nodes(), {}, call_of(words));
    if (!nodes) {
        fail(context, nodes.failure());
        return std::nullopt;
    }
    const auto pods = api.list(kube_client::resources::pods(), {}, call_of(words));
    if (!pods) {
        fail(context, pods.failure());
        return std::nullopt;
    }
    return Seen{objects_of(*nodes), objects_of(*pods)};
}

Value document_of(const pools::Pool& pool, const pools::Desired& desired,
                  const pools::ScheduleLook& look) {
    return document::make_mapping(
        {{"pool", pool.name},
         {"desired", desired.nodes},
         {"present", desired.present},
         {"starting", desired.starting},
         {"busy", desired.busy},
         {"failed", desired.failed},
         {"sick", desired.sick},
         {"placeholders", desired.placeholders},
         {"ask", desired.ask},
         {"remove", desired.remove},
         {"parts", document::make_mapping({{"schedule", desired.by_schedule},
                                           {"hand", desired.by_hand},
                                           {"queue", desired.by_queue},
                                           {"warm", desired.by_warm},
                                           {"cooling", desired.cooling}})},
         {"reasons", desired.reasons},
         {"next", or_null(look.next.has_value(), look.next ? rfc3339(*look.next) : "")}});
}

void print_desired(Context& context, const pools::Pool& pool, const pools::Desired& desired,
                   const pools::ScheduleLook& look) {
    context.out << pool.name << ": " << counted(desired.nodes, "node") << " wanted, "
                << desired.present << " there (" << desired.busy << " with pods, "
                << desired.starting << " starting)\n";
    for (const std::string& reason : desired.reasons) context.out << "  " << reason << '\n';
    if (desired.ask != 0) context.out << "  asks for " << counted(desired.ask, "node") << '\n';
    for (const std::string& name : desired.remove) context.out << "  lets go: " << name << '\n';
    const auto offers = pools::offers_of(pool, seconds(0));
    if (!offers.empty()) {
        context.out << "  tries: "
                    << listed(offers, [](const pools::Offer& one) { return to_text(one); }) << '\n';
    }
    if (look.next) context.out << "  next change of a schedule: " << rfc3339(*look.next) << '\n';
}

void print_explanation(Context& context, Value told, const std::string& format) {
    print_answer(context.out, "PoolExplanation", versioned(std::move(told)), format);
}

void explain_pools(Context& context, const PoolOptions& words,
                   const std::vector<pools::Pool>& all) {
    const auto now = moment_of(context, words);
    if (!now) return;
    std::vector<Value> told;
    for (const pools::Pool& pool : all) {
        const auto look = pools::look_at(pool.schedules, {}, *now);
        const auto desired = pools::decide(pool, look, {}, {}, *now);
        if (words.format == "table") {
            print_desired(context, pool, desired, look);
        } else {
            told.push_back(document_of(pool, desired, look));
        }
    }
    if (told.size() == 1) print_explanation(context, std::move(told.front()), words.format);
    // One document, whatever the file holds.
    if (told.size() > 1) {
        print_answer(context.out, "PoolExplanationList",
                     document::make_sequence(told, [](const Value& one) { return one; }),
                     words.format);
    }
}

/// The pool of the cluster, with what its schedules remember.
void explain_pool_of_cluster(Context& context, const PoolOptions& words) {
    const auto now = moment_of(context, words);
    const auto connection = now ? connect_cluster(context, words.cluster) : std::nullopt;
    if (!connection) return;
    const auto object =
        connection->api->get(pool_resource(), {.name = words.name}, call_of(words.cluster));
    if (!object) return fail(context, object.failure());
    const auto value = document::parse_json(object->json);
    if (!value) return fail(context, kCouldNotRun, value.error().message);
    const auto seen = look_at_cluster(context, *connection->api, words.cluster);
    if (!seen) return;
    const auto round = pools::look_at_pool(*value, seen->nodes, seen->pods, {}, *now);
    for (const auto& problem : round.problems) {
        context.err << "aliquot: " << problem.message << '\n';
    }
    if (!round.is_valid) {
        context.exit_code = kFindings;
        return;
    }
    if (words.format == "table") {
        print_desired(context, round.pool, round.desired, round.schedule);
    } else {
        print_explanation(context, document_of(round.pool, round.desired, round.schedule),
                          words.format);
    }
    for (const Value& condition : document::items_at(*value, {"status", "conditions"})) {
        if (document::text_at(condition, {"status"}) != "False") continue;
        context.err << "aliquot: " << document::text_at(condition, {"type"}) << ": "
                    << document::text_at(condition, {"message"}) << '\n';
    }
}

void explain_pool(Context& context, const PoolOptions& words) {
    if (!words.file.empty()) {
        auto all = pools_of_file(context, words.file);
        if (all.empty()) return;
        if (!words.name.empty()) {
            std::erase_if(all, [&](const pools::Pool& one) { return one.name != words.name; });
        }
        if (!all.empty()) return explain_pools(context, words, all);
        return fail(context, kUsage, words.file + ": has no pool '" + words.name + "'");
    }
    if (words.name.empty()) return fail(context, kUsage, "a pool's name or -f FILE expected");
    explain_pool_of_cluster(context, words);
}

void render_pool(Context& context, const PoolOptions& words) {
    const char* separator = "";
    for (const pools::Pool& pool : pools_of_file(context, words.file)) {
        if (words.tags) {
            context.out << separator << document::to_yaml(pools::autoscaler_tags(pool));
            separator = "---\n";
            continue;
        }
        const auto outputs =
            pools::outputs_of(pool, {.nodes = words.nodes, .placeholders = words.nodes});
        for (const Value& object : outputs.objects) {
            context.out << separator << document::to_yaml(object);
            separator = "---\n";
        }
        for (const std::string& remark : outputs.remarks) {
            context.err << "aliquot: " << pool.name << ": " << remark << '\n';
        }
    }
}

void apply_pool(Context& context, const PoolOptions& words) {
    const auto input = read_input(words.file);
    if (!input) return fail(context, kUsage, input.error().message);
    if (pools_of_file(context, words.file).empty()) return;
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    const kube_client::Resource definitions{.group = "apiextensions.k8s.io",
                                            .version = "v1",
                                            .plural = "customresourcedefinitions",
                                            .kind = "CustomResourceDefinition",
                                            .namespaced = false};
    const auto known =
        connection->api->get(definitions, {.name = "pools.aliquot.dev"}, call_of(words.cluster));
    if (!known && known.failure().is(kube_client::Reason::kNotFound)) {
        return fail(context, kCouldNotRun,
                    "the cluster does not know pools yet; run: aliquot install --pools, or for the "
                    "definition "
                    "alone: aliquot pool crd | kubectl apply -f -");
    }
    const auto stream = document::parse_yaml(input->text);
    for (const Value& object : stream.documents) {
        if (!object.is_mapping() || document::text_at(object, {"kind"}) != "Pool") continue;
        const std::string name = document::text_at(object, {"metadata", "name"});
        const auto applied = connection->api->apply(
            pool_resource(), {.name = name}, document::to_json_line(object), true,
            {.dry_run = words.dry_run, .call = call_of(words.cluster)});
        if (!applied) return fail(context, applied.failure());
        context.out << "pool/" << name << " applied" << (words.dry_run ? " (dry run)" : "") << '\n';
    }
}

void list_pools(Context& context, const PoolOptions& words) {
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    const auto page = connection->api->list(pool_resource(), {}, call_of(words.cluster));
    if (!page) return fail(context, page.failure());
    const auto objects = objects_of(*page);
    if (words.format != "table") {
        return print_answer(context.out, "PoolList",
                            versioned(document::make_mapping({{"pools", objects}})), words.format);
    }
    std::vector<Row> rows{{"POOL", "MIN", "MAX", "DESIRED", "NODES", "ENGINE", "WHY"}};
    for (const Value& one : objects) {
        rows.push_back(
            {document::text_at(one, "metadata.name"), document::text_at(one, "spec.min"),
             document::text_at(one, "spec.max"), document::text_at(one, "status.desired"),
             document::text_at(one, "status.nodes"), document::text_at(one, "spec.engine"),
             document::text_at(one, "status.reasons.0")});
    }
    print_rows(context.out, rows);
}

void show_pool(Context& context, const PoolOptions& words) {
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    const auto object =
        connection->api->get(pool_resource(), {.name = words.name}, call_of(words.cluster));
    if (!object) return fail(context, object.failure());
    const auto value = document::parse_json(object->json);
    if (!value) return fail(context, kCouldNotRun, value.error().message);
    print_document(context.out, *value, words.format);
}

void patch_pool(Context& context, const PoolOptions& words, const Value& spec) {
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    const auto patched =
        connection->api->patch(pool_resource(), {.name = words.name},
                               document::to_json_line(document::make_mapping({{"spec", spec}})),
                               {.write = {.call = call_of(words.cluster)}});
    if (!patched) return fail(context, patched.failure());
    context.out << "pool/" << words.name << " changed\n";
}

void scale_pool(Context& context, const PoolOptions& words) {
    patch_pool(context, words, document::make_mapping({{"replicas", words.nodes}}));
}

void hold_pool(Context& context, const PoolOptions& words) {
    if (words.release) {
        return patch_pool(context, words, document::make_mapping({{"hold", Value{}}}));
    }
    if (!words.until.empty() && !parse_rfc3339(words.until)) {
        return fail(
            context, kUsage,
            "--until: '" + words.until + "' is not a time, expected one as 2026-12-01T09:00:00Z");
    }
    patch_pool(context, words,
               document::make_mapping(
                   {{"hold", document::make_mapping(
                                 {{"replicas", words.nodes},
                                  {"until", or_null(!words.until.empty(), words.until)}})}}));
}

}  // namespace

void add_pool_command(command_line::Command& program, Context& context) {
    command_line::Command* pool = program.add_subcommand(
        "pool", "Grow and shrink pools of GPU nodes: by schedule, by what waits, by hand");
    pool->require_subcommand(1);
    pool->footer(
        "aliquot pool explain -f pool.yaml --at 2026-12-01T09:00:00Z\n"
        "aliquot pool render pool.yaml | kubectl apply -f -\n"
        "aliquot pool apply -f pool.yaml\n"
        "aliquot pool scale gpu-pool --replicas 5");
    const auto words = std::make_shared<PoolOptions>();
    using Run = void (*)(Context&, const PoolOptions&);
    const auto add = [&](const char* name, const char* what, const char* examples, Run run) {
        command_line::Command* command = pool->add_subcommand(name, what);
        command->footer(examples);
        command->callback([words, run, &context] { run(context, *words); });
        return command;
    };
    auto* apply = add("apply", "Write the pools of a file into the cluster",
                      "aliquot pool apply -f pool.yaml --dry-run", apply_pool);
    apply->add_option("-f,--file", words->file, "Pool file; - is standard input", "FILE")
        ->required();
    apply->add_flag("--dry-run", words->dry_run, "Only let the API server validate them");
    auto* list = add("list", "List the pools of the cluster", "aliquot pool list", list_pools);
    add_output(*list, words->format);
    auto* show = add("show", "Show one pool", "aliquot pool show gpu-pool -o json", show_pool);
    add_output(*show, words->format);
    auto* explain = add("explain", "Explain how many nodes a pool should have now",
                        "aliquot pool explain gpu-pool\n"
                        "aliquot pool explain -f pool.yaml --at 2026-12-01T09:00:00Z",
                        explain_pool);
    explain->add_option("POOL", words->name, "Name of the pool, in the cluster or in the file", " ")
        ->complete_by("pools");
    explain->add_option("-f,--file", words->file, "Read the pool from a file, without a cluster",
                        "FILE");
    explain->add_option("--at", words->at, "As of this time instead of now", "TIME");
    add_output(*explain, words->format);
    auto* scale = add("scale", "Keep at least this many nodes, whatever schedule and queue ask for",
                      "aliquot pool scale gpu-pool --replicas 5", scale_pool);
    scale->add_option("--replicas", words->nodes, "Nodes", "N")->required();
    auto* hold = add("hold", "Keep exactly this many nodes, within min and max, until released",
                     "aliquot pool hold gpu-pool --replicas 0 --until 2026-12-02T07:00:00Z\n"
                     "aliquot pool hold gpu-pool --release",
                     hold_pool);
    hold->add_option("--replicas", words->nodes, "Nodes", "N");
    hold->add_option("--until", words->until, "When the hold ends by itself", "TIME");
    hold->add_flag("--release", words->release, "End it");
    for (auto* const command : {show, scale, hold}) {
        command->add_option("POOL", words->name, "Its name", " ")->required()->complete_by("pools");
    }
    for (auto* const command : {apply, list, show, explain, scale, hold}) {
        add_cluster_flags(*command, words->cluster);
    }
    auto* render = add("render", "Print what Karpenter or another autoscaler reads for a pool",
                       "aliquot pool render pool.yaml --nodes 2 | kubectl apply -f -\n"
                       "aliquot pool render pool.yaml --tags",
                       render_pool);
    render->add_option("FILE", words->file, "Pool file; - is standard input", " ")->required();
    render->add_option("--nodes", words->nodes, "Desired number of nodes", "N (0)");
    render->add_flag("--tags", words->tags, "Tags of an Auto Scaling group instead");
    add_pool_provider(*pool, context);
    add_pool_spot(*pool, context);
    add("crd", "Print the CustomResourceDefinition of pools",
        "aliquot pool crd | kubectl apply -f -", [](Context& out, const PoolOptions&) {
            out.out << document::to_yaml(pools::pool_definition());
        });
}

}  // namespace aliquot::cli
