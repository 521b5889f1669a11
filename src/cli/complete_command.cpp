// SPDX-License-Identifier: Apache-2.0
// aliquot complete: what the completion scripts ask while somebody types. One candidate a line; nothing at all when
// nobody answers in time, since a shell has no place for an error.
#include <algorithm>
#include <memory>
#include <ostream>

#include "base/sentence.h"
#include "catalog/gpu_instances.h"
#include "catalog/gpu_models.h"
#include "catalog/models.h"
#include "cli/cluster/pool_resource.h"
#include "cli/commands.h"
#include "cli/jobs/job_client.h"
#include "command_line/command.h"
#include "document/path.h"
#include "findings/rule.h"
#include "kube_client/connect.h"

namespace aliquot::cli {
namespace {

using Names = std::vector<std::string>;

/// Who types waits for it.
constexpr unsigned kMostSeconds = 2;
constexpr std::size_t kMostNames = 2'000;

struct CompleteOptions {
    std::string what;
    Names typed;  // the words of the command line so far
};

/// The value of an option among the typed words: "--context lab", "--context=lab", and as bash parts it at the "=".
std::string typed_value(const Names& typed, std::string_view name, std::string_view letter = "") {
    for (std::size_t i = 0; i < typed.size(); ++i) {
        const std::string& word = typed[i];
        if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
            return word.substr(name.size() + 1);
        }
        if (word != name && (letter.empty() || word != letter)) continue;
        const std::size_t at = i + 1 < typed.size() && typed[i + 1] == "=" ? i + 2 : i + 1;
        if (at < typed.size()) return typed[at];
    }
    return {};
}

ClusterOptions cluster_of(const Names& typed) {
    return {.kubeconfig = typed_value(typed, "--kubeconfig"),
            .context = typed_value(typed, "--context"),
            .namespace_name = typed_value(typed, "--namespace", "-n"),
            .request_timeout_seconds = kMostSeconds};
}

Names objects(const Names& typed, const kube_client::Resource& resource) {
    const ClusterOptions cluster = cluster_of(typed);
    const auto connection =
        kube_client::connect({.kubeconfig = cluster.kubeconfig, .context = cluster.context});
    if (!connection) return {};
    const auto page = connection->api->list(
        resource, {.resource_version = "0", .metadata_only = true}, call_of(cluster));
    Names names;
    if (!page) return names;
    for (const kube_client::Object& one : page->items) names.push_back(one.name);
    return names;
}

/// Ids or names of a list of the server of jobs.
Names of_jobs(const Names& typed, const std::string& path, const char* list, const char* key) {
    JobClient client;
    client.server = typed_value(typed, "--server");
    client.cluster = cluster_of(typed);
    const auto answer = client.get(path);
    Names names;
    if (!answer) return names;
    for (const auto& one : document::items_at(*answer, {list})) {
        names.push_back(document::text_at(one, {key}));
    }
    return names;
}

template <class Items, class Name>
Names named(const Items& items, const Name& name) {
    Names names;
    for (const auto& one : items) names.emplace_back(name(one));
    return names;
}

Names of_contexts(const Names& typed) {
    auto names = kube_client::contexts_of({.kubeconfig = typed_value(typed, "--kubeconfig")});
    return names ? *std::move(names) : Names();
}

Names checks_of_doctor(const Names& /*typed*/) {
    Names names;
    for (const findings::Rule& rule : findings::rules()) {
        if (rule.tool == "doctor") names.emplace_back(rule.id);
    }
    return names;
}

struct Source {
    std::string_view what;
    Names (*ask)(const Names& typed);
};

constexpr Source kSources[] = {
    {"contexts", of_contexts},
    {"namespaces",
     [](const Names& typed) { return objects(typed, kube_client::resources::namespaces()); }},
    {"nodes", [](const Names& typed) { return objects(typed, kube_client::resources::nodes()); }},
    {"pools", [](const Names& typed) { return objects(typed, pool_resource()); }},
    {"jobs", [](const Names& typed) { return of_jobs(typed, "/v1/jobs?which=all", "jobs", "id"); }},
    {"queues", [](const Names& typed) { return of_jobs(typed, "/v1/queues", "queues", "name"); }},
    {"gpu-models",
     [](const Names&) {
         return named(catalog::gpu_models(), [](const auto& one) { return one.key; });
     }},
    {"models",
     [](const Names&) {
         return named(catalog::known_models(), [](const auto& one) { return one.key; });
     }},
    {"machine-types",
     [](const Names&) {
         return named(catalog::gpu_instances(), [](const auto& one) { return one.type; });
     }},
    {"checks", checks_of_doctor},
};

void complete(Context& context, const CompleteOptions& options) {
    const auto* const source = std::ranges::find(kSources, options.what, &Source::what);
    if (source == std::end(kSources)) return;
    Names names = source->ask(options.typed);
    std::ranges::sort(names);
    names.resize(std::min(names.size(), kMostNames));
    std::string_view before;
    for (const std::string& name : names) {
        // A machine of several regions is one type.
        if (!name.empty() && name != before) context.out << one_line(name) << '\n';
        before = name;
    }
}

}  // namespace

void add_complete_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "complete", "Print the possible values of an argument, for completion scripts");
    command->footer("aliquot complete nodes -- --context lab");
    command->hide();
    const auto options = std::make_shared<CompleteOptions>();
    std::vector<std::string> all;
    for (const Source& source : kSources) all.emplace_back(source.what);
    command->add_option("WHAT", options->what, "What is asked for", " ")->required()->one_of(all);
    command->add_option("WORDS", options->typed, "The arguments typed so far, after --", "...");
    command->callback([options, &context] { complete(context, *options); });
}

}  // namespace aliquot::cli
