// SPDX-License-Identifier: Apache-2.0
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigtimedwait is POSIX

#include <chrono>
#include <filesystem>
#include <memory>
#include <ostream>

#include "base/log.h"
#include "cli/commands.h"
#include "command_line/command.h"
#include "kube_client/connect.h"
#include "os/root.h"
#include "scaling/manifests.h"
#include "scaling/metrics_api.h"

namespace aliquot::cli {
namespace {

struct MetricsApiOptions {
    scaling::MetricsApiOptions options;
    scaling::ManifestOptions manifests;
    std::string agents_password_file;
    std::string authentication = "front-proxy";
    unsigned every_seconds = 10;
    unsigned window_seconds = 60;
    bool print_manifests = false;
    bool without_certificate = false;
    bool without_api_server = false;
};

int exit_code_of(const Error& error) {
    return error.code == ErrorCode::kInvalidInput ? kUsage : kCouldNotRun;
}

/// Those of our APIServices that somebody else has; they are named on err.
std::set<std::string> taken(Context& context, kube_client::Api& api, const std::string& ours) {
    std::set<std::string> names;
    for (const std::string& name : scaling::api_service_names()) {
        const auto json = api.get_raw("/apis/apiregistration.k8s.io/v1/apiservices/" + name);
        if (!json) {
            if (!json.failure().is(kube_client::Reason::kNotFound)) {
                context.err << "aliquot: " << name << ": cannot be looked at ("
                            << json.failure().message << "); check that nobody else has it\n";
            }
            continue;
        }
        const std::string owner = scaling::api_service_owner(*json);
        if (owner == ours + "/aliquot-metrics-api") continue;
        context.err << "aliquot: " << name << " belongs to "
                    << (owner.empty() ? "the API server itself" : owner)
                    << ": left out; its metrics go on as they are\n";
        names.insert(name);
    }
    return names;
}

void print_manifests(Context& context, MetricsApiOptions& words) {
    words.manifests.with_certificate = !words.without_certificate;
    if (words.without_api_server) {
        context.err << "aliquot: the cluster was not looked at: kubectl get apiservice | grep "
                       "metrics.k8s.io shows whether somebody else serves these APIs\n";
    } else {
        auto connection = kube_client::connect(words.options.kube);
        if (connection) {
            words.manifests.taken =
                taken(context, *connection->api, words.manifests.namespace_name);
        } else {
            context.err << "aliquot: the cluster was not looked at (" << connection.error().message
                        << "): see that nobody else serves these APIs\n";
        }
    }
    const auto text = scaling::manifests(words.manifests);
    if (!text) return fail(context, exit_code_of(text.error()), text.error().message);
    context.out << *text;
}

/// Runs until SIGINT or SIGTERM.
void serve(Context& context, MetricsApiOptions& words) {
    scaling::MetricsApiOptions& options = words.options;
    options.gather.every = std::chrono::seconds(words.every_seconds);
    options.recent.window = std::chrono::seconds(words.window_seconds);
    options.front_proxy_only = words.authentication == "front-proxy";
    options.use_kube = !words.without_api_server;
    if (!words.agents_password_file.empty()) {
        auto password =
            os::Root().read(std::filesystem::absolute(words.agents_password_file).native(), 4096);
        if (!password) return fail(context, kUsage, password.error().message);
        while (password->ends_with('\n') || password->ends_with('\r')) password->pop_back();
        options.gather.password = *std::move(password);
    }
    if (options.gather.agents.empty() && options.gather.service.empty()) {
        return fail(context, kUsage,
                    "no agents; expected --agents HOST:PORT,... or --agents-service NAME:PORT");
    }
    // Before any thread: all of them then leave these to us.
    sigset_t ending;
    sigset_t before;
    ::sigemptyset(&ending);
    ::sigaddset(&ending, SIGINT);
    ::sigaddset(&ending, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ending, &before);
    {
        auto running = scaling::MetricsApi::start(std::move(options));
        if (!running) {
            fail(context, exit_code_of(running.error()), running.error().message);
        } else {
            log::info("metrics_api.ready",
                      {{"port", (*running)->port()}, {"labels", (*running)->labels_from()}});
            int number = 0;
            ::sigwait(&ending, &number);
            log::info("metrics_api.ending", {{"signal", number}});
        }
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void add_agents(command_line::Command& command, MetricsApiOptions& words) {
    scaling::GatherOptions& gather = words.options.gather;
    command.add_option("--agents", gather.agents, "Agents: HOST:PORT or https://HOST:PORT", "LIST")
        ->delimiter(',');
    command.add_option("--agents-service", gather.service,
                       "A headless service whose addresses are the agents", "NAME:PORT");
    command.add_option("--agents-ca-file", gather.ca_file, "CA of the agents' certificates",
                       "FILE");
    command_line::Option* certificate =
        command.add_option("--agents-cert-file", gather.certificate_file,
                           "Client certificate to present to the agents");
    command_line::Option* key = command.add_option("--agents-key-file", gather.key_file, "Its key");
    certificate->option_text("FILE")->needs(key);
    key->option_text("FILE")->needs(certificate);
    command.add_flag("--agents-insecure", gather.any_certificate,
                     "Accept any certificate from agents");
    command.add_option("--agents-user", gather.user, "Name for the agents", "NAME");
    command.add_option("--agents-password-file", words.agents_password_file,
                       "File with the password for the agents", "FILE");
    command
        .add_option("--every", words.every_seconds, "Seconds between queries of the agents",
                    "SECONDS (10)")
        ->range(1, 60);
    command
        .add_option("--window", words.window_seconds, "Seconds over which a value is averaged",
                    "SECONDS (60)")
        ->range(1, 600);
}

void add_serving(command_line::Command& command, MetricsApiOptions& words) {
    scaling::MetricsApiOptions& options = words.options;
    command.add_option("--listen", options.listen, "Address to listen on", "ADDRESS:PORT (:6443)");
    command.add_option("--tls-cert-file", options.certificate_file,
                       "Certificate of the server; default: one made at the start", "FILE");
    command.add_option("--tls-key-file", options.key_file, "Its key", "FILE");
    command
        .add_option("--authentication", words.authentication,
                    "How clients are authenticated; none is for 127.0.0.1 only",
                    "KIND (front-proxy, none)")
        ->one_of({"front-proxy", "none"});
    command.add_option("--requestheader-client-ca-file", options.front_proxy_ca_file,
                       "CA of the front proxy's certificate; default: the cluster's setting",
                       "FILE");
    command
        .add_option("--requestheader-allowed-names", options.front_proxy_names,
                    "Accepted names of the front proxy; default: any that this CA signed", "LIST")
        ->delimiter(',');
    command.add_option("--kubeconfig", options.kube.kubeconfig, "How to reach the API server",
                       "FILE");
    command.add_option("--context", options.kube.context, "Context of the kubeconfig", "NAME");
    command.add_flag("--without-api-server", words.without_api_server,
                     "Do not use the API server: pods are known by name only");
}

void add_printing(command_line::Command& command, MetricsApiOptions& words) {
    command.add_flag("--print-manifests", words.print_manifests,
                     "Print the manifests for the cluster instead of serving");
    command.add_option("--namespace", words.manifests.namespace_name, "Namespace of the manifests",
                       "NAME (aliquot-system)");
    command.add_option("--image", words.manifests.image, "Its image", "REFERENCE");
    command.add_option("--replicas", words.manifests.replicas, "How many", "NUMBER (2)")
        ->range(1, 10);
    command.add_flag("--without-certificate", words.without_certificate,
                     "Leave out the certificate: each server makes its own, which is not verified");
}

}  // namespace

void add_metrics_api_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "metrics-api",
        "Serve GPU metrics to Kubernetes autoscalers: custom.metrics.k8s.io and "
        "external.metrics.k8s.io");
    auto words = std::make_shared<MetricsApiOptions>();
    add_serving(*command, *words);
    add_agents(*command, *words);
    add_printing(*command, *words);
    command->footer(
        "aliquot metrics-api --agents-service aliquot-agents.aliquot-system.svc:9400\n"
        "aliquot metrics-api --print-manifests --image registry.example/aliquot:0.1 | kubectl "
        "apply "
        "-f -\n"
        "aliquot metrics-api --agents 127.0.0.1:9400 --listen 127.0.0.1:6443 --authentication "
        "none");
    command->callback([words, &context] {
        if (words->print_manifests) {
            print_manifests(context, *words);
        } else {
            serve(context, *words);
        }
    });
}

}  // namespace aliquot::cli
