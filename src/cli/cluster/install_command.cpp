// SPDX-License-Identifier: Apache-2.0
// aliquot install: what a cluster needs, printed or applied.
#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "base/json_value.h"
#include "base/sentence.h"
#include "cli/answer.h"
#include "cli/cluster/install_options.h"
#include "cli/cluster/step_line.h"
#include "cli/commands.h"
#include "command_line/command.h"
#include "document/write.h"
#include "document/yaml.h"
#include "install/apply.h"
#include "install/diff.h"
#include "install/others.h"
#include "install/render.h"
#include "scaling/manifests.h"

namespace aliquot::cli {
namespace {

using install::Applied;

struct InstallOptions {
    ValueOptions install;
    ClusterOptions cluster;
    std::string format = "text";
    std::string dry_run = "none";
    unsigned timeout_seconds = 120;
    bool diff = false;
    bool force_conflicts = false;
    bool beside = false;
    bool explain = false;
    bool no_wait = false;
};

/// An object of another part gets the label by which uninstall finds it.
void mark_as_ours(install::Manifest& manifest) {
    auto read = document::parse_yaml(manifest.yaml);
    if (read.documents.empty()) return;
    for (auto& [key, metadata] : read.documents[0].entries) {
        if (key.scalar != "metadata") continue;
        auto labels = std::ranges::find_if(
            metadata.entries, [](const auto& one) { return one.first.scalar == "labels"; });
        if (labels == metadata.entries.end()) {
            document::append(metadata, "labels", document::make_mapping());
            labels = std::prev(metadata.entries.end());
        }
        document::append(labels->second, "app.kubernetes.io/part-of",
                         document::make_string("aliquot"));
        document::append(labels->second, "app.kubernetes.io/managed-by",
                         document::make_string("aliquot"));
    }
    manifest.yaml = document::to_yaml(read.documents[0]);
}

/// The server of metrics for autoscalers; a certificate would differ each time.
bool add_metrics_api(Context& context, const install::Values& values,
                     std::vector<install::Manifest>& manifests) {
    const auto text = scaling::manifests({.namespace_name = std::string(install::kNamespace),
                                          .image = values.image,
                                          .with_certificate = false,
                                          .taken = {}});
    auto more = text ? install::split_manifests(*text)
                     : Result<std::vector<install::Manifest>>(text.error());
    if (!more) {
        fail(context, kUsage, more.error().message);
        return false;
    }
    for (install::Manifest& one : *more) {
        mark_as_ours(one);
        manifests.push_back(std::move(one));
    }
    return true;
}

/// Whether we may go on: nobody else offers GPUs, or that is wished.
bool may_go_on(Context& context, kube_client::Api& api, const InstallOptions& words) {
    const auto others = install::find_others(api, call_of(words.cluster));
    if (!others) {
        fail(context, others.failure());
        return false;
    }
    for (const install::OtherPlugin& one : *others) {
        context.err << "aliquot: " << one.title << " is " << one.what
                    << ": two plugins on one node "
                    << "take nvidia.com/gpu from each other\n  " << one.advice << "\n";
    }
    if (others->empty() || words.beside) return true;
    fail(context, kFindings,
         "nothing was installed; --beside installs all the same, for nodes that the other one "
         "leaves alone (--node-selector)");
    return false;
}

void say_why_stopped(Context& context, const install::ApplyFailure& stopped, bool dry_run) {
    const auto conflicts = install::conflicts(stopped.failure);
    if (conflicts.empty()) {
        kube_client::Failure failure = stopped.failure;
        fail(context, std::move(failure).during(stopped.title));
    } else {
        for (const std::string& one : conflicts) context.err << "  " << one << "\n";
        fail(context, kFindings,
             stopped.title +
                 ": others own what we would write; --force-conflicts takes it from "
                 "them");
    }
    if (!dry_run) {
        context.err << "aliquot: what was applied before it stays; install may be run again\n";
    }
}

void print_text(Context& context, const install::ApplyResult& result, const InstallOptions& words) {
    for (const Applied& one : result.applied) {
        context.out << one.manifest.title() << " " << install::to_text(one.what);
        if (words.dry_run == "server") context.out << " (dry run)";
        if (!one.why.empty()) context.out << ": " << one.why;
        context.out << "\n";
        if (!words.diff || one.what == Applied::What::kUnchanged || one.after.empty()) continue;
        const std::string before = one.before.empty() ? "" : install::readable(one.before);
        context.out << install::line_diff(before, install::readable(one.after));
    }
}

nlohmann::ordered_json json_of(const install::ApplyResult& result) {
    nlohmann::ordered_json objects = nlohmann::ordered_json::array();
    for (const Applied& one : result.applied) {
        nlohmann::ordered_json entry = {{"apiVersion", one.manifest.api_version},
                                        {"kind", one.manifest.kind},
                                        {"namespace", one.manifest.namespace_name},
                                        {"name", one.manifest.name},
                                        {"result", install::to_text(one.what)}};
        if (!one.why.empty()) entry["why"] = one.why;
        objects.push_back(std::move(entry));
    }
    nlohmann::ordered_json made = {{"schemaVersion", 1}, {"objects", std::move(objects)}};
    if (result.stopped) {
        made["stopped"] = {{"object", result.stopped->title},
                           {"message", result.stopped->failure.message},
                           {"conflicts", install::conflicts(result.stopped->failure)}};
    }
    return made;
}

/// Until every node's agent is ready, or the limit. Empty: the cluster did not answer.
std::optional<install::Rollout> wait_ready(Context& context, kube_client::Api& api,
                                           const InstallOptions& words) {
    using Clock = std::chrono::steady_clock;
    StepLine line(context);
    const auto until = Clock::now() + std::chrono::seconds(words.timeout_seconds);
    for (;;) {
        const auto rollout = install::look_at_rollout(api, call_of(words.cluster));
        if (!rollout) {
            line.end();
            fail(context, rollout.failure());
            return std::nullopt;
        }
        line.show("agents ready: " + std::to_string(std::min(rollout->ready, rollout->updated)) +
                  " of " + std::to_string(rollout->wished));
        if (rollout->done() || Clock::now() >= until) {
            line.end();
            return *rollout;
        }
        // Polled: of several objects, for a person who watches; a watch of each saves nobody a thing.
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
}

void say_what_is_next(Context& context, const install::Rollout& rollout) {
    if (rollout.wished == 0) {
        context.out << "no node fits: no agent runs. See kubectl get nodes --show-labels and "
                       "--node-selector, --toleration\n";
        return;
    }
    context.out << "agents are ready on " << counted(rollout.ready, "node") << ". Next:\n"
                << "  aliquot node list                    what GPUs they have and offer\n"
                << "  aliquot verify                       runs a test pod on each GPU node\n"
                << "  kubectl edit -n aliquot-system configmap aliquot-config   share GPUs\n";
}

void await(Context& context, kube_client::Api& api, const InstallOptions& words,
           nlohmann::ordered_json& json) {
    const auto rollout = wait_ready(context, api, words);
    if (!rollout) return;
    json["rollout"] = {{"nodes", rollout->wished}, {"ready", rollout->ready}};
    if (rollout->done()) {
        if (words.format == "text") say_what_is_next(context, *rollout);
        return;
    }
    if (!rollout->observed) {
        return fail(context, kFindings,
                    "no controller has looked at the DaemonSet after " +
                        std::to_string(words.timeout_seconds) +
                        " s: is kube-controller-manager up?");
    }
    constexpr std::size_t kMostReasons = 5;
    for (const auto& one : install::why_not_ready(api, call_of(words.cluster), kMostReasons)) {
        context.err << "  " << one << "\n";
    }
    fail(context, kFindings,
         std::to_string(rollout->wished - std::min(rollout->ready, rollout->wished)) + " of " +
             std::to_string(rollout->wished) + " agents are not ready after " +
             std::to_string(words.timeout_seconds) +
             " s; they may still come: kubectl rollout status -n aliquot-system "
             "daemonset/aliquot-agent");
}

void apply(Context& context, const InstallOptions& words, const install::Values& values,
           const std::vector<install::Manifest>& manifests) {
    auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    kube_client::Api& api = *connection->api;
    const bool dry_run = words.dry_run == "server";
    if (!may_go_on(context, api, words)) return;
    const auto result = install::apply(api, manifests,
                                       {.dry_run = dry_run,
                                        .force = words.force_conflicts,
                                        .replace_config = !values.config.empty(),
                                        .replace_mig_config = values.mig_config.has_value(),
                                        .call = call_of(words.cluster)});
    nlohmann::ordered_json json = json_of(result);
    if (words.format == "text") print_text(context, result, words);
    if (result.stopped) {
        say_why_stopped(context, *result.stopped, dry_run);
    } else if (!dry_run && !words.no_wait) {
        await(context, api, words, json);
    }
    if (words.format == "json") print_answer(context.out, "InstallReport", json, "json");
}

void run(Context& context, const InstallOptions& words) {
    if (words.explain) {
        const auto profile = install::profile_of(words.install.profile);
        if (profile) context.out << install::profile_facts(*profile).explanation;
        return;
    }
    const auto values = values_of(context, words.install);
    if (!values) return;
    auto manifests = install::render(*values);
    if (values->metrics_api && !add_metrics_api(context, *values, manifests)) return;
    if (words.format == "yaml" || words.dry_run == "client") {
        if (words.format == "json") {
            nlohmann::ordered_json items = nlohmann::ordered_json::array();
            for (const install::Manifest& one : manifests) {
                items.push_back(parse_json<nlohmann::ordered_json>(install::to_json(one)));
            }
            const nlohmann::ordered_json list{
                {"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
            return print_answer(context.out, "List", list, "json");
        }
        context.out << install::to_yaml(manifests);
        return;
    }
    apply(context, words, *values, manifests);
}

void add_doing(command_line::Command& command, InstallOptions& words) {
    add_output(
        command, words.format, {"text"}, {},
        "yaml prints the manifests without touching the cluster; json reports what was done");
    command
        .add_option("--dry-run", words.dry_run,
                    "client: print the manifests; server: let the API server check them",
                    "[=WORD] (none, client, server)")
        ->expected(0, 1)
        ->default_str("client")
        ->one_of({"none", "client", "server"});
    command.add_flag("--diff", words.diff, "Show how each object changes");
    command.add_flag("--force-conflicts", words.force_conflicts,
                     "Take over fields that others own, such as those changed by kubectl edit");
    command.add_flag("--beside", words.beside,
                     "Install even if the cluster has another device plugin for NVIDIA GPUs");
    command.add_flag("--no-wait", words.no_wait, "Do not wait for the agents");
    command
        .add_option("--timeout", words.timeout_seconds, "Seconds to wait for the agents",
                    "SECONDS (120)")
        ->range(1, 3600);
    command.add_flag("--explain", words.explain, "Explain what nodes of this --profile need");
}

}  // namespace

void add_install_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "install",
        "Install aliquot in a cluster: agent, controller, and their permissions\n\n"
        "Applies the manifests by server-side apply and waits until the agents are ready. It may "
        "be\n"
        "run again at any time, with other flags or a newer version; the configuration in the\n"
        "cluster stays as it is, unless --config is given.");
    command->footer(
        "aliquot install\n"
        "aliquot install --profile microk8s --config sharing.yaml\n"
        "aliquot install --dry-run=server --diff\n"
        "aliquot install -o yaml --profile k3s > aliquot.yaml");
    auto words = std::make_shared<InstallOptions>();
    add_value_options(*command, words->install);
    add_doing(*command, *words);
    add_cluster_flags(*command, words->cluster);
    command->callback([words, &context] { run(context, *words); });
}

}  // namespace aliquot::cli
