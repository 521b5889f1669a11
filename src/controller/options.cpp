// SPDX-License-Identifier: Apache-2.0
#include "controller/options.h"

#include <algorithm>
#include <sstream>

#include "base/time_text.h"
#include "command_line/command.h"
#include "http/address.h"

namespace aliquot::controller {
namespace {

constexpr int kUsage = 2;
constexpr std::chrono::seconds kLeastLifetime{5};
constexpr std::chrono::seconds kLongest = std::chrono::hours(24 * 3660);

/// What is read as text first.
struct DurationTexts {
    std::string authority = "8760h";
    std::string certificate = "2160h";
    std::string trust_delay = "5m";
    std::string drain = "5s";
    std::string lease_duration = "15s";
    std::string unfit_patience = "30s";
    std::string claims_patience = "10s";
    std::string keep_after = "10m";
    std::string release_after = "0s";
    std::string least_run = "10m";
    std::string idle_after = "off";
    std::string idle_action = "tell";
    std::string idle_grace = "10m";
    std::string idle_min_run = "10m";
    std::string log_level = "info";
    std::string log_format = "text";
};

void add_names(command_line::Command& app, Options& options) {
    app.add_option("--namespace", options.namespace_name,
                   "where Secret and Lease are [POD_NAMESPACE]", "NS (aliquot-system)");
    app.add_option("--service", options.service, "the Service; the certificate is for its names",
                   "NAME (aliquot-webhook)");
    app.add_option("--secret", options.secret, "where authority and certificate are kept",
                   "NAME (aliquot-webhook)");
    app.add_option("--lease", options.lease, "which replica keeps them",
                   "NAME (aliquot-controller)");
    app.add_option("--webhook-configuration", options.webhook_configuration,
                   "MutatingWebhookConfiguration whose caBundle is kept right", "NAME (aliquot)");
    app.add_option("--certificate-names", options.certificate_names,
                   "further names of the certificate: DNS:host, IP:10.0.0.7", "LIST")
        ->delimiter(',');
    app.add_option("--kubeconfig", options.kubeconfig,
                   "how to reach the API server, outside of a pod", "FILE");
    app.add_option("--context", options.context, "context of the kubeconfig", "NAME");
}

void add_placement(command_line::Command& app, PlacementOptions& placement, DurationTexts& texts) {
    app.add_flag(
        "--placement", placement.enabled,
        "choose node and GPU of pods in namespaces labelled aliquot.dev/placement=enabled");
    app.add_option("--placement-targets", placement.targets,
                   "nodes that one pod may go to, 1 to 64", "N (3)")
        ->range(1, 64);
    app.add_option("--placement-unfit-patience", texts.unfit_patience,
                   "how long a placed pod may find no room on its nodes before it is made again",
                   "DURATION (30s)");
    app.add_option(
        "--placement-keep-after", texts.keep_after,
        "keep a node for the first pod that has waited so long, so that small ones do not\n"
        "take what gets free before it; 0s: never",
        "DURATION (10m)");
    app.add_option(
        "--placement-release-after", texts.release_after,
        "let a waiting pod go without a place after so long, for a cluster autoscaler to\n"
        "see it; 0s: never",
        "DURATION (0s)");
    app.add_flag("--placement-preemption", placement.preemption,
                 "evict pods of a lower priority for one that has no place; never pods of gangs,\n"
                 "and only as PodDisruptionBudgets allow");
    app.add_option("--placement-preemption-least-run", texts.least_run,
                   "how long a pod runs before it may be evicted for that", "DURATION (10m)");
    app.add_flag("--placement-strict", placement.strict,
                 "answer the API server's webhook on pods/binding: a pod gets its GPUs with its\n"
                 "node, and not a node where it has no room");
    ExtenderOptions& extender = placement.extender;
    app.add_option(
        "--placement-extender", extender.listen,
        "HTTPS: POST /extender/filter, /extender/prioritize, for a kube-scheduler whose\n"
        "configuration names it; off: none",
        "ADDRESS:PORT (off)");
    app.add_option("--placement-extender-client-ca", extender.client_ca,
                   "answer only who shows a certificate of this authority", "FILE");
    app.add_option("--placement-extender-client-names", extender.client_names,
                   "and has one of these common names", "LIST (system:kube-scheduler)")
        ->delimiter(',');
}

void add_behaviour(command_line::Command& app, Options& options, DurationTexts& texts) {
    app.add_option("--webhook-listen", options.webhook_listen,
                   "HTTPS: POST /mutate/pods, /gate/pods, /bind/pods, /claim/pods",
                   "ADDRESS:PORT (:8443)");
    app.add_option("--webhook-client-ca", options.webhook_client_ca,
                   "answer only who shows a certificate of this authority, as the API server does\n"
                   "when its AdmissionConfiguration names one for webhooks",
                   "FILE");
    app.add_option("--webhook-client-names", options.webhook_client_names,
                   "and has one of these common names", "LIST")
        ->delimiter(',');
    app.add_option("--health-listen", options.health_listen, "HTTP: /healthz, /readyz, /metrics",
                   "ADDRESS:PORT (:8081)");
    app.add_option("--runtime-class", options.runtime_class,
                   "runtimeClassName for pods with GPUs that have none", "NAME");
    app.add_flag("--pools", options.pools.enabled,
                 "tend Pools: write what their autoscalers read, see aliquot pool --help");
    app.add_flag(
        "--jobs", options.jobs.enabled,
        "GPU jobs beside Kueue: admission checks of controller aliquot.dev/placement (with\n"
        "--placement), gates, likely starts; jobs that come after others");
    app.add_option(
        "--jobs-idle-after", texts.idle_after,
        "Jobs whose GPUs all were idle for so long, by what the agents measure, are told;\n"
        "needs --jobs, and --page-agents-service or --page-agents; off: none",
        "DURATION (off)");
    app.add_option("--jobs-idle-action", texts.idle_action,
                   "tell, or end: and ended when they still are after --jobs-idle-grace",
                   "WHAT (tell)");
    app.add_option("--jobs-idle-grace", texts.idle_grace,
                   "time between what a Job is told and its end", "DURATION (10m)");
    app.add_option("--jobs-idle-min-run", texts.idle_min_run,
                   "beginning of each pod that does not count: programs load their data",
                   "DURATION (10m)");
    app.add_option("--jobs-listen", options.job_api.listen,
                   "the HTTP API of jobs, for who has a token of this cluster and may do the like\n"
                   "with Jobs; off: none",
                   "ADDRESS:PORT (off)");
    app.add_option("--jobs-web-config", options.job_api.web_config,
                   "Prometheus web-config file with its TLS, needed beyond loopback", "FILE");
    app.add_option("--authority-lifetime", texts.authority, "how long an authority is valid",
                   "DURATION (8760h)");
    app.add_option("--certificate-lifetime", texts.certificate,
                   "how long a certificate is valid; renewed after two thirds", "DURATION (2160h)");
    app.add_option("--trust-delay", texts.trust_delay,
                   "how long a new authority is only trusted before it signs", "DURATION (5m)");
    app.add_option("--lease-duration", texts.lease_duration,
                   "how long a leader that is gone is waited for", "DURATION (15s)");
    app.add_option("--drain", texts.drain, "answers so long after SIGTERM, not ready any more",
                   "DURATION (5s)");
    app.add_option("--log-format", texts.log_format, "text or json", "FORMAT (text)")
        ->one_of({"text", "json"});
    app.add_option("--log-level", texts.log_level, "debug, info, warning, error, off",
                   "LEVEL (info)")
        ->one_of({"debug", "info", "warning", "error", "off"});
}

void add_claims(command_line::Command& app, Options& options, DurationTexts& texts) {
    app.add_flag(
        "--claims", options.claims.enabled,
        "choose the GPU of pods with the annotation aliquot.dev/claim in namespaces labelled\n"
        "aliquot.dev/claims=enabled, and make their ResourceClaims for it");
    app.add_option("--claims-patience", texts.claims_patience,
                   "how long kube-scheduler may refuse a pod its GPU before another one is chosen",
                   "DURATION (10s)");
    app.add_flag(
        "--claims-preemption", options.claims.rules.preemption,
        "evict pods of a lower priority with such claims for one that no GPU has room for,\n"
        "as PodDisruptionBudgets allow");
}

void add_cost(command_line::Command& app, CostOptions& cost) {
    app.add_option("--cost-store", cost.store,
                   "where costs are kept: a file, or postgresql://...; off: none are recorded",
                   "PLACE")
        ->capture_default_str();
    app.add_option("--prices", cost.prices,
                   "own prices and budgets, see aliquot price check; none: the table of cloud "
                   "machines",
                   "FILE");
    app.add_option("--cost-listen", cost.listen,
                   "where costs are answered, also as OpenCost does; beyond loopback with "
                   "--page-web-config, for who has a token; off: nowhere",
                   "ADDRESS")
        ->capture_default_str();
}

void add_page(command_line::Command& app, PageOptions& page) {
    app.add_option("--page-listen", page.listen,
                   "the web page of the cluster, for who may list nodes and all pods; off: none",
                   "ADDRESS:PORT (off)");
    app.add_option("--page-web-config", page.web_config,
                   "Prometheus web-config file with the page's TLS, needed beyond loopback",
                   "FILE");
    app.add_option("--page-agents", page.agents, "agents that are asked for it: HOST:PORT", "LIST")
        ->delimiter(',');
    app.add_option("--page-agents-service", page.agents_service,
                   "a name all of whose addresses are agents: a headless service", "NAME:PORT");
    app.add_option("--page-agents-ca-file", page.agents_ca_file,
                   "who signs the agents' certificates", "FILE");
    app.add_option("--page-agents-user", page.agents_user, "name for the agents", "NAME");
    app.add_option("--page-agents-password-file", page.agents_password_file,
                   "file with the password for the agents", "FILE");
}

log::Level level_of(const std::string& word) {
    if (word == "debug") return log::Level::kDebug;
    if (word == "warning") return log::Level::kWarning;
    if (word == "error") return log::Level::kError;
    return word == "off" ? log::Level::kOff : log::Level::kInfo;
}

std::chrono::seconds duration_of(const char* flag, const std::string& text,
                                 std::chrono::seconds least) {
    const auto duration = parse_duration(text);
    if (!duration) throw command_line::UsageError(flag, duration.error().message);
    if (*duration < least) {
        throw command_line::UsageError(
            flag, "'" + text + "' is below " + std::to_string(least.count()) + "s");
    }
    return *duration;
}

void check_placement(const PlacementOptions& placement) {
    const ExtenderOptions& extender = placement.extender;
    if (placement.strict && !placement.enabled)
        throw command_line::UsageError("--placement-strict", "needs --placement");
    if (!extender.is_on()) {
        if (!extender.client_ca.empty()) {
            throw command_line::UsageError("--placement-extender-client-ca",
                                           "needs --placement-extender");
        }
        return;
    }
    if (!placement.enabled)
        throw command_line::UsageError("--placement-extender", "needs --placement");
    if (const auto known = http::check_address(extender.listen); !known)
        throw command_line::UsageError("--placement-extender", known.error().message);
    if (extender.client_ca.empty() || extender.client_names.empty()) {
        throw command_line::UsageError(
            "--placement-extender",
            "needs --placement-extender-client-ca and --placement-extender-client-names: only "
            "kube-scheduler may ask");
    }
}

void read_idle(const DurationTexts& texts, Options& options) {
    IdleOptions& idle = options.idle;
    constexpr std::chrono::seconds kShortest{60};
    if (texts.idle_after != "off")
        idle.after = duration_of("--jobs-idle-after", texts.idle_after, kShortest);
    if (texts.idle_action != "tell" && texts.idle_action != "end") {
        throw command_line::UsageError("--jobs-idle-action",
                                       "'" + texts.idle_action + "': expected tell or end");
    }
    idle.ends = texts.idle_action == "end";
    idle.grace = duration_of("--jobs-idle-grace", texts.idle_grace, std::chrono::seconds(0));
    idle.min_run = duration_of("--jobs-idle-min-run", texts.idle_min_run, std::chrono::seconds(0));
    if (idle.after.count() == 0) return;
    if (!options.jobs.enabled) throw command_line::UsageError("--jobs-idle-after", "needs --jobs");
    if (options.page.agents.empty() && options.page.agents_service.empty()) {
        throw command_line::UsageError("--jobs-idle-after",
                                       "needs --page-agents-service or --page-agents");
    }
}

void finish(const DurationTexts& texts, Options& options) {
    options.lifetimes.authority =
        duration_of("--authority-lifetime", texts.authority, kLeastLifetime);
    options.lifetimes.certificate =
        duration_of("--certificate-lifetime", texts.certificate, kLeastLifetime);
    options.lifetimes.trust_delay =
        duration_of("--trust-delay", texts.trust_delay, std::chrono::seconds(0));
    // A third of the authority's life is left when the next one is made.
    if (options.lifetimes.trust_delay * 3 >= options.lifetimes.authority) {
        throw command_line::UsageError("--trust-delay",
                                       "must be below a third of --authority-lifetime");
    }
    options.lease_duration =
        duration_of("--lease-duration", texts.lease_duration, std::chrono::seconds(3));
    options.placement.unfit_patience =
        duration_of("--placement-unfit-patience", texts.unfit_patience, std::chrono::seconds(1));
    options.claims.rules.patience =
        duration_of("--claims-patience", texts.claims_patience, std::chrono::seconds(1));
    options.placement.keep_after =
        duration_of("--placement-keep-after", texts.keep_after, std::chrono::seconds(0));
    options.placement.release_after =
        duration_of("--placement-release-after", texts.release_after, std::chrono::seconds(0));
    options.placement.preemption_least_run =
        duration_of("--placement-preemption-least-run", texts.least_run, std::chrono::seconds(0));
    read_idle(texts, options);
    options.drain = duration_of("--drain", texts.drain, std::chrono::seconds(0));
    options.log_level = level_of(texts.log_level);
    options.log_format = texts.log_format == "json" ? log::Format::kJson : log::Format::kText;
    for (const auto& [flag, address] : {std::pair{"--webhook-listen", &options.webhook_listen},
                                        {"--health-listen", &options.health_listen}}) {
        const auto known = http::check_address(*address);
        if (!known) throw command_line::UsageError(flag, known.error().message);
    }
    options.pools.name_space = options.namespace_name;
    check_placement(options.placement);
    options.placement.name_space = options.namespace_name;
    if (options.cost.store != "off" && options.page.agents.empty() &&
        options.page.agents_service.empty()) {
        throw command_line::UsageError("--cost-store",
                                       "needs --page-agents-service or --page-agents");
    }
    const PageOptions& page = options.page;
    if (page.listen != "off" && page.agents.empty() && page.agents_service.empty()) {
        throw command_line::UsageError("--page-listen",
                                       "needs --page-agents-service or --page-agents");
    }
    if (!options.webhook_client_names.empty() && options.webhook_client_ca.empty()) {
        throw command_line::UsageError("--webhook-client-names", "needs --webhook-client-ca");
    }
    for (const std::string& name : options.certificate_names) {
        if (!name.starts_with("DNS:") && !name.starts_with("IP:")) {
            throw command_line::UsageError("--certificate-names",
                                           "'" + name + "' is neither DNS:host nor IP:address");
        }
    }
}

}  // namespace

std::vector<std::string> Options::all_names() const {
    const std::string host = service + "." + namespace_name + ".svc";
    std::vector<std::string> names = certificate_names;
    names.push_back("DNS:" + host);
    names.push_back("DNS:" + host + ".cluster.local");
    std::ranges::sort(names);
    return names;
}

Result<std::chrono::seconds> parse_duration(std::string_view text) {
    const auto duration = aliquot::parse_duration(text);
    if (!duration || duration->count() % 1000 != 0 || *duration > kLongest) {
        return Error{
            ErrorCode::kInvalidInput,
            "'" + std::string(text) + "' is not a duration; expected as 90s, 5m, 24h or 30d"};
    }
    return std::chrono::floor<std::chrono::seconds>(*duration);
}

std::variant<Options, EarlyExit> read_options(
    int argc, const char* const* argv, const std::map<std::string, std::string>& environment) {
    Options options;
    if (const auto found = environment.find("POD_NAMESPACE");
        found != environment.end() && !found->second.empty()) {
        options.namespace_name = found->second;
    }
    if (const auto found = environment.find("POD_NAME"); found != environment.end())
        options.placement.pod_name = found->second;
    command_line::Command app(
        "Turns what a person writes on a pod (aliquot.dev/gpu-memory: 3Gi) into resources,\n"
        "tolerations and node affinity, as an admission webhook with certificates of its own.\n\n"
        "Signals: SIGTERM and SIGINT end it after --drain; a second one at once.",
        "aliquot-controller");
    app.set_version_flag("--version", std::string("aliquot-controller ") + ALIQUOT_VERSION);
    app.footer("aliquot-controller --namespace aliquot-system --runtime-class nvidia");
    DurationTexts texts;
    add_names(app, options);
    add_behaviour(app, options, texts);
    add_placement(app, options.placement, texts);
    add_claims(app, options, texts);
    add_page(app, options.page);
    add_cost(app, options.cost);
    using Kind = command_line::Parsed::Kind;
    command_line::Parsed parsed = app.parse(argc, argv);
    if (parsed.kind == Kind::kRun) {
        try {
            finish(texts, options);
        } catch (const command_line::UsageError& problem) {
            parsed = {.kind = Kind::kWrong, .text = problem.what(), .unwanted = {}};
        }
    }
    if (parsed.kind == Kind::kWrong) {
        return EarlyExit{
            .text = "aliquot-controller: " + parsed.text + "; see aliquot-controller --help\n",
            .exit_code = kUsage,
            .to_stderr = true};
    }
    if (parsed.kind != Kind::kRun) return EarlyExit{.text = parsed.text};
    return options;
}

}  // namespace aliquot::controller
