// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/install_options.h"

#include "cli/files/config_command.h"
#include "command_line/command.h"

namespace aliquot::cli {
namespace {

void add_image_words(command_line::Command& command, ValueOptions& words) {
    install::Values& values = words.values;
    command
        .add_option("--profile", words.profile, "The kind of cluster; --explain says what it needs",
                    "NAME (kubeadm, microk8s, k3s, eks)")
        ->one_of(install::profile_names());
    command.add_option("--image,--set-image", values.image, "The image of agent and controller",
                       "REFERENCE");
    command
        .add_option("--image-pull-policy", values.pull_policy, "When nodes pull the image",
                    "POLICY (Always, IfNotPresent, Never)")
        ->one_of({"Always", "IfNotPresent", "Never"});
    command.add_option("--node-selector", words.node_selector,
                       "Run the agent only on nodes with this label; may be repeated. Default: all "
                       "Linux nodes",
                       "KEY=VALUE");
    command.add_option("--toleration", words.tolerations,
                       "Run the agent on nodes with this taint, too; may be repeated",
                       "KEY[=VALUE][:EFFECT]");
}

void add_node_words(command_line::Command& command, ValueOptions& words) {
    install::Values& values = words.values;
    command
        .add_option("--gpu-access", words.gpu_access,
                    "How the agent may open the GPUs' device nodes: privileged works everywhere; "
                    "runtime is not privileged and needs NVIDIA's container runtime",
                    "MODE (privileged, runtime)")
        ->one_of({"privileged", "runtime"});
    command.add_option("--runtime-class", values.runtime_class, "RuntimeClass of the agent's pod",
                       "NAME");
    command.add_option("--device-list-strategy", values.device_list_strategy,
                       "How containers learn their GPUs: envvar, volume-mounts, cdi-annotations, "
                       "cdi-cri; a comma list. Default: by profile",
                       "LIST");
    command.add_option("--kubelet-root", values.kubelet_root, "kubelet's --root-dir; by profile",
                       "DIR");
    command.add_option("--driver-root", values.driver_root,
                       "Where NVIDIA's driver is installed on the nodes", "DIR (/)");
    command
        .add_option("--api-port", values.api_port,
                    "Where the API server listens, for the network policy; by profile", "PORT")
        ->range(1, 65535);
    command.add_option("--agent-flag", values.agent_args,
                       "Pass this flag on to aliquot-agent; may be repeated", "--NAME=VALUE");
}

void add_sharing_words(command_line::Command& command, ValueOptions& words) {
    install::Values& values = words.values;
    command.add_option("--config", words.config,
                       "A sharing configuration; without KEY it is \"default\". May be repeated; "
                       "replaces those in the cluster",
                       "[KEY=]FILE");
    command.add_option("--default-config", values.default_config,
                       "Key for nodes without the label nvidia.com/device-plugin.config", "KEY");
    command.add_flag("--mps", values.mps, "Configurations may share by MPS");
    command.add_flag("--mig", values.mig,
                     "Partition GPUs as the node's label nvidia.com/mig.config says");
    command
        .add_option("--mig-drain", values.mig_drain,
                    "What happens to pods that use a GPU about to be partitioned",
                    "ACTION (refuse, wait, evict)")
        ->one_of({"refuse", "wait", "evict"});
    command.add_option("--mig-config", words.mig_config, "MIG configurations, mig-parted's format",
                       "FILE");
    command
        .add_option("--dra", values.dra,
                    "Hand out GPUs by ResourceClaims instead of extended resources (Kubernetes "
                    "1.34 and newer): auto takes shares of any size where the API server keeps "
                    "them (1.36), else the configured ones; by-label: off, except on nodes whose "
                    "label aliquot.dev/dra is one of these",
                    "MODE (off, auto, whole, fixed, consumable, dynamic-mig, by-label)")
        ->one_of({"off", "auto", "whole", "fixed", "consumable", "dynamic-mig", "by-label"});
    command
        .add_option(
            "--labels", values.labels,
            "Who writes the node's labels: the agent itself, node-feature-discovery, nobody",
            "WRITER (node, nodefeature, off)")
        ->one_of({"node", "nodefeature", "off"});
    command
        .add_option("--label-profile", values.label_profiles,
                    "Also add labels as people set them by hand; may be repeated",
                    "NAME (present, accelerator, model, resource, role, type)")
        ->one_of({"present", "accelerator", "model", "resource", "role", "type"})
        ->delimiter(',');
    command.add_option("--taint", values.node_taint,
                       "Taint of nodes with GPUs, as nvidia.com/gpu=true:NoSchedule",
                       "KEY=VALUE:EFFECT");
    command
        .add_option(
            "--unhealthy-taint", values.unhealthy_taint,
            "When aliquot.dev/gpu-unhealthy is set: all GPUs of a node are unhealthy, any, never",
            "WHEN (all, any, off)")
        ->one_of({"all", "any", "off"});
}

void add_controller_roles(command_line::Command& command, ValueOptions& words) {
    install::Values& values = words.values;
    command.add_flag("--no-webhook", words.no_webhook,
                     "Leave out the controller; annotations aliquot.dev/gpu-... then do nothing");
    command
        .add_flag("--placement", values.placement,
                  "Choose node and GPU of pods in namespaces labelled "
                  "aliquot.dev/placement=enabled")
        ->excludes("--no-webhook");
    command.add_flag("--placement-preemption", values.placement_preemption,
                     "Evict pods of a lower priority for one that has no place on any GPU; with "
                     "--placement");
    command.add_flag("--placement-strict", values.placement_strict,
                     "GPUs at binding, in namespaces labelled "
                     "aliquot.dev/placement-strict=enabled; with --placement");
    command.add_option("--placement-extender", values.placement_extender_ca,
                       "Serve a kube-scheduler extender, for clients with a certificate of the CA "
                       "in ca.crt of this ConfigMap in aliquot-system; with --placement",
                       "CONFIGMAP (kube-root-ca.crt)");
    command
        .add_flag(
            "--claims", values.claims,
            "Choose the GPU of pods with the annotation aliquot.dev/claim in namespaces labelled "
            "aliquot.dev/claims=enabled, and make their ResourceClaims; with --dra")
        ->excludes("--no-webhook");
    command.add_flag("--claims-preemption", values.claims_preemption,
                     "Evict pods of a lower priority with such claims for one that no GPU has room "
                     "for; with --claims");
    command
        .add_flag("--pools", values.pools,
                  "Manage Pools of GPU nodes (see aliquot pool --help), and create their "
                  "CustomResourceDefinition")
        ->excludes("--no-webhook");
    command
        .add_flag("--jobs", values.jobs,
                  "Manage GPU jobs with Kueue: admit what the GPUs have room for, and forecast "
                  "when jobs start")
        ->excludes("--no-webhook");
    command.add_option("--jobs-idle-after", values.jobs_idle_after,
                       "Warn Jobs whose GPUs were all idle for this long; with --jobs",
                       "DURATION (off)");
    command
        .add_option("--jobs-idle-action", values.jobs_idle_action,
                    "What happens to a Job that was warned and is still idle after "
                    "--jobs-idle-grace: nothing, or it is cancelled",
                    "ACTION (tell, end)")
        ->one_of({"tell", "end"});
    command.add_option("--jobs-idle-grace", values.jobs_idle_grace,
                       "Time between the warning and the end", "DURATION (10m)");
    command.add_option("--jobs-idle-min-run", values.jobs_idle_min_run,
                       "Beginning of each pod that does not count: programs load their data",
                       "DURATION (10m)");
    command
        .add_option("--jobs-api", values.jobs_api,
                    "Serve the HTTP API of GPU jobs, with the certificate in this TLS Secret of "
                    "aliquot-system, as Service aliquot-jobs",
                    "SECRET")
        ->excludes("--no-webhook");
}

void add_surroundings(command_line::Command& command, ValueOptions& words) {
    install::Values& values = words.values;
    command
        .add_option(
            "--cost-store", values.cost_store,
            "Record what the GPUs cost, and for whom: temporary is lost with the controller's pod, "
            "claim/NAME is a PersistentVolumeClaim in aliquot-system, else "
            "PostgreSQL",
            "off, temporary, claim/NAME, postgresql://HOST/DATABASE")
        ->excludes("--no-webhook");
    command.add_option("--cost-secret", values.cost_secret,
                       "Secret in aliquot-system with PGUSER, PGPASSWORD, ... for PostgreSQL",
                       "NAME");
    command.add_option("--prices", words.prices,
                       "Your own prices and budgets (see aliquot price check); with --cost-store",
                       "FILE");
    command.add_flag("--service-monitor", values.service_monitor,
                     "Add a ServiceMonitor for the Prometheus operator");
    command.add_flag("--pod-monitor", values.pod_monitor, "The same as a PodMonitor")
        ->excludes("--service-monitor");
    command.add_flag("--prometheus-rule", values.prometheus_rule,
                     "Add alerts and recording rules for the Prometheus operator");
    command.add_flag("--metrics-api", values.metrics_api,
                     "Add GPU metrics for autoscalers: aliquot metrics-api");
    command.add_option("--metrics-namespace", values.metrics_namespace,
                       "Namespace of Prometheus, which alone may read metrics",
                       "NAME (monitoring)");
    command
        .add_option(
            "--api-server-cidr", values.api_server_cidrs,
            "Addresses of the API servers, which alone may call the webhook, as 10.0.0.1/32",
            "LIST")
        ->delimiter(',');
    command.add_option(
        "--webhook-client-ca", values.webhook_client_ca,
        "ConfigMap with ca.crt: the webhook accepts only certificates that it signed", "NAME");
    command
        .add_option("--webhook-client-names", values.webhook_client_names,
                    "Common names of the clients that it accepts; default: all", "LIST")
        ->delimiter(',');
    command.add_flag("--no-network-policy", words.no_network_policy,
                     "Do not create NetworkPolicies");
    command.add_flag("--critical-quota", values.critical_quota,
                     "Add a ResourceQuota that permits the critical priority class, for GKE");
}

std::optional<std::string> file_text(Context& context, const std::string& name) {
    auto input = read_input(name);
    if (input) return std::move(input)->text;
    fail(context, kUsage, input.error().message);
    return std::nullopt;
}

bool read_files(Context& context, const ValueOptions& words, install::Values& values) {
    for (const std::string& word : words.config) {
        const auto equals = word.find('=');
        const std::string key = equals == std::string::npos ? "default" : word.substr(0, equals);
        auto text =
            file_text(context, equals == std::string::npos ? word : word.substr(equals + 1));
        if (!text) return false;
        if (!values.config.emplace(key, *std::move(text)).second) {
            fail(context, kUsage, "--config: the key '" + key + "' is there twice");
            return false;
        }
    }
    if (!words.prices.empty()) {
        values.prices_file = words.prices;
        values.prices = file_text(context, words.prices);
        if (!values.prices) return false;
    }
    if (!words.mig_config.empty()) {
        values.mig_config = file_text(context, words.mig_config);
        if (!values.mig_config) return false;
    }
    return true;
}

}  // namespace

void add_value_options(command_line::Command& command, ValueOptions& words) {
    add_image_words(command, words);
    add_sharing_words(command, words);
    add_node_words(command, words);
    add_controller_roles(command, words);
    add_surroundings(command, words);
}

std::optional<install::Values> values_of(Context& context, const ValueOptions& words) {
    install::Values values = words.values;
    values.profile = install::profile_of(words.profile).value_or(install::Profile::kKubeadm);
    values.gpu_access = words.gpu_access == "runtime" ? install::GpuAccess::kRuntime
                                                      : install::GpuAccess::kPrivileged;
    values.webhook = !words.no_webhook;
    values.network_policy = !words.no_network_policy;
    for (const std::string& word : words.node_selector) {
        const auto equals = word.find('=');
        if (equals == std::string::npos) {
            fail(context, kUsage, "--node-selector '" + word + "': expected KEY=VALUE");
            return std::nullopt;
        }
        values.node_selector[word.substr(0, equals)] = word.substr(equals + 1);
    }
    for (const std::string& word : words.tolerations) {
        auto one = install::parse_toleration(word);
        if (!one) {
            fail(context, kUsage, "--toleration: " + one.error().message);
            return std::nullopt;
        }
        values.tolerations.push_back(*std::move(one));
    }
    if (!read_files(context, words, values)) return std::nullopt;
    const auto checked = install::check(values);
    if (!checked) {
        fail(context, kUsage, checked.error().message);
        return std::nullopt;
    }
    return values;
}

}  // namespace aliquot::cli
