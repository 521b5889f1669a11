// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include <iostream>
#include <optional>

#include "agent/clean_up.h"
#include "agent/cluster.h"
#include "agent/configuration.h"
#include "agent/feature_file.h"
#include "agent/guard_link.h"
#include "agent/held_devices.h"
#include "agent/late_driver.h"
#include "agent/mig_restore.h"
#include "agent/mps_link.h"
#include "agent/node_labels.h"
#include "agent/observer.h"
#include "agent/pages.h"
#include "agent/paths.h"
#include "agent/privileges.h"
#include "agent/serving.h"
#include "agent/settings.h"
#include "agent/signals.h"
#include "agent/status_page.h"
#include "agent/telemetry_link.h"
#include "base/log.h"
#include "labels/sysfs.h"
#include "nvml/meters.h"

namespace aliquot::agent {
namespace {

constexpr int kOk = 0;
constexpr int kBadConfig = 2;
constexpr int kCouldNotRun = 3;
constexpr std::chrono::milliseconds kNever = std::chrono::hours(1);

constexpr std::chrono::milliseconds kHolderTimeout{1000};
constexpr std::chrono::milliseconds kGrantAge{10'000};  // until kubelet surely lists the pod

Result<sharing::Offer> decide(const Settings& settings, const Observation& seen, MpsLink& mps) {
    if (auto problem = mps.objection(settings)) return *std::move(problem);
    return sharing::make_offer(settings.config, seen.inventory);
}

/// What the reconciling thread works with.
struct Parts {
    const os::Root& root;
    const Options& options;
    os::Clock& clock;
    Signals& signals;
    Configuration& configuration;
    Observer& observer;
    MigRestore& restore;
    kubelet::PodResources& pods;
    MpsLink& mps;
    GuardLink& guard;
    TelemetryLink& telemetry;
    FeatureFile& features;
    Serving& serving;
    StatusBoard& board;
    Latest<std::uint64_t>& served;  // the newest observation that kubelet is told of
    ClusterLink* cluster;           // null: we speak to no API server
};

void tell_cluster(const Parts& parts, const Settings& settings, const sharing::Offer& offer,
                  const Observation& seen) {
    if (parts.cluster == nullptr) return;
    parts.cluster->tell({.labels = node_labels(parts.root, settings, offer, seen.inventory,
                                               parts.options.label_profiles),
                         .inventory = seen.inventory,
                         .driver_problem = seen.driver_problem,
                         .has_board = labels::has_nvidia_gpu(parts.root),
                         .shares = node::share_statuses(offer)});
}

/// Makes kubelet see what the newest observation and the configuration say.
/// Returns false when nothing could be offered because even the configuration in force does not
/// fit.
bool reconcile(const Parts& parts, const Observation& told, HeldDevices& held) {
    Configuration& configuration = parts.configuration;
    const Observation seen{.inventory = offerable(told), .driver_problem = told.driver_problem};
    auto offer = decide(configuration.settings(), seen, parts.mps);
    if (!offer) {
        if (!configuration.reject(offer.error().message)) {
            log::error("offer.impossible", {{"why", offer.error().message}});
            return false;
        }
        offer = decide(configuration.settings(), seen, parts.mps);
        if (!offer) return false;
    }
    // While the driver has told of no GPU yet, nothing is known of what an earlier agent has left.
    if (!seen.inventory.gpus.empty() || seen.driver_problem.empty()) parts.mps.apply(*offer);
    parts.board.set_mps(parts.mps.statuses());
    held.amend(*offer, seen.inventory);
    parts.board.set_remarks(offer->remarks);
    Settings settings = configuration.settings();
    parts.mps.complete(settings.grant);
    parts.guard.apply(settings.config.sharing.guard, *offer);
    parts.telemetry.apply(*offer);
    // Failures are logged where they arise; the next round tries again.
    const bool done = parts.serving.apply(settings, *offer, seen.inventory).ok();
    parts.features.apply(settings, *offer, seen.inventory);
    configuration.accept();  // after the act: it writes to the disk, and kubelet waits
    tell_cluster(parts, settings, *offer, told);
    return done;
}

nvml::DriverOptions driver_options(const Options& options, const Settings& settings,
                                   const os::Root& root) {
    const bool mounted = root.exists(settings.container_driver_root);
    return {.driver_root = mounted ? settings.container_driver_root : settings.driver_root,
            .deadline = options.driver_deadline};
}

int explain_bad_config(const Result<Done>& loaded, const ReadSource& read) {
    if (read.findings.empty()) {
        std::cerr << "aliquot-agent: " << loaded.error().message << "\n";
    } else {
        findings::print_text(std::cerr, read.findings, false);
    }
    return kBadConfig;
}

void reconcile_until_told(const Parts& parts) {
    constexpr std::chrono::milliseconds kGlance{100};  // at what daemons do meanwhile
    const Options& options = parts.options;
    Signals& signals = parts.signals;
    Configuration& configuration = parts.configuration;
    Observer& observer = parts.observer;
    MpsLink& mps = parts.mps;
    std::uint64_t version = 0;
    std::uint64_t mps_version = 0;
    std::string restart_needed_for = configuration.settings().driver_root;
    bool again = false;  // the last round did not do everything
    HeldDevices held(parts.clock,
                     {.list = [&parts] { return parts.pods.list(kHolderTimeout); },
                      .just_granted =
                          [&parts](const gpu::Uuid& device) {
                              return parts.serving.granted_within(device, kGrantAge);
                          }},
                     {});
    while (!signals.stop().stop_requested()) {
        const auto seen = observer.observations().wait_newer(
            version,
            version == 0 ? std::chrono::milliseconds(0)
                         : std::min(options.config_interval, mps.idle() ? kNever : kGlance),
            signals.stop());
        parts.board.beat();
        const bool reloaded = configuration.reload(signals.take_reload());
        if (reloaded && configuration.settings().driver_root != restart_needed_for) {
            restart_needed_for = configuration.settings().driver_root;
            log::warning("config.needs_restart", {{"for", "nvidiaDriverRoot"}});
        }
        if (parts.cluster != nullptr) parts.cluster->tell_config(configuration.told());
        const bool news = seen.version != version || mps.version() != mps_version;
        if (!seen.value || (!news && !reloaded && !again)) continue;
        version = seen.version;
        mps_version = mps.version();
        // A driver that came late. What was seen before its GPUs were cut must not be offered.
        // An unfinished change is none to be brought to its end while we are at it ourselves.
        if (seen.value->withheld.empty() && parts.restore.attempt()) {
            (void)observer.look_now();
            continue;
        }
        const bool done = reconcile(parts, *seen.value, held);
        if (done) parts.served.publish(version);
        again = !done || held.any();
        if (parts.cluster != nullptr) parts.cluster->tell_config(configuration.told());
    }
}

/// Keeps what MPS and the guard need when they are configured, or were and are to be undone. Returns
/// whether MPS can be served: false when what it needs was there and is given up.
/// settings   null: not known yet, and they may change; then all that some need is kept, as far as
///            whoever started us allows it
bool give_up_privileges(const Options& options, const os::Root& root, const Settings* settings) {
    if (options.keep_capabilities) return true;
    const bool needed = settings == nullptr ||
                        settings->config.sharing.mechanism == sharing::Mechanism::kMps ||
                        root.exists(mps_journal_path(options.state_directory));
    const bool had = has_capabilities(mps_capabilities());
    std::vector<int> kept;
    const auto keep = [&kept](std::span<const int> more) {
        kept.insert(kept.end(), more.begin(), more.end());
    };
    if (needed) keep(mps_capabilities());
    if (settings == nullptr) {
        keep(guard_capabilities(true));
    } else if (needs_guard(settings->config.sharing) || root.exists(kRegions)) {
        keep(guard_capabilities(settings->config.sharing.guard.kernel_limit));
    }
    const auto dropped = drop_capabilities(kept);
    if (!dropped) log::warning("privileges.kept", {{"why", dropped.error().message}});
    return settings == nullptr ? had : needed || !had;
}

}  // namespace

int run(const Options& options) {
    log::configure(options.log_level, options.log_format);
    if (options.clean_up) return clean_up(options);
    os::SystemClock clock;
    const os::Root root(options.root);
    StatusBoard board(clock);
    const auto policy = gpu::XidPolicy::from_environment(options.disabled_health_checks,
                                                         options.enabled_health_checks);
    if (!policy) {
        std::cerr << "aliquot-agent: " << policy.error().message << "\n";
        return kBadConfig;
    }

    // Privileges go before the first thread comes, so a configuration from the API server is read
    // after that.
    const bool clustered = options.cluster.wanted();
    bool mps_allowed = false;
    std::optional<Signals> maybe_signals;
    Cluster cluster;
    std::optional<Configuration> maybe_configuration;
    if (clustered) {
        mps_allowed = give_up_privileges(options, root, nullptr);
        maybe_signals.emplace();
        auto joined = join_cluster(options, clock, maybe_signals->stop());
        if (!joined) {
            std::cerr << "aliquot-agent: " << joined.error().message
                      << " (--cluster=off serves without an API server)\n";
            return kCouldNotRun;
        }
        cluster = *std::move(joined);
        maybe_configuration.emplace(root, options, board,
                                    [&link = *cluster.link] { return link.config(); });
    } else {
        maybe_configuration.emplace(root, options, board);
    }
    Configuration& configuration = *maybe_configuration;
    const auto loaded = configuration.load();
    if (!clustered) {
        mps_allowed = give_up_privileges(options, root, &configuration.settings());
        maybe_signals.emplace();
    }
    Signals& signals = *maybe_signals;
    if (!loaded) {
        const int code = explain_bad_config(loaded, configuration.pending());
        return clustered ? kCouldNotRun : code;
    }

    LateDriver driver(root, driver_options(options, configuration.settings(), root));
    kubelet::PodResources pods(root, options.kubelet.pod_resources_socket);
    MigRestore restore(root, clock, driver, pods, options.state_directory + "/mig");
    restore.attempt();  // before anybody looks and offers
    Observer observer(driver, clock, *policy,
                      {.probe_interval = options.probe_interval,
                       .enumerate_interval = options.enumerate_interval});
    const auto started = observer.start();
    const auto insists = configuration.settings().config.flags.fail_on_init_error;
    if (!started && insists.value_or(!clustered)) {
        std::cerr << "aliquot-agent: " << started.error().message
                  << " (failOnInitError is true: set it to false to wait for the driver)\n";
        return kCouldNotRun;
    }
    nvml::LateMeters meters(root, driver_options(options, configuration.settings(), root));
    TelemetryLink telemetry(root, clock,
                            {.meters = meters,
                             .holders = [&pods](auto timeout) { return pods.list(timeout); },
                             .observations = observer.observations()},
                            options.telemetry);
    GuardLink guard(root, clock,
                    {.sensors = driver,
                     .kernel = driver,
                     .observations = observer.observations(),
                     .holders = [&pods] { return pods.list(kHolderTimeout); },
                     .publish =
                         [&](auto snapshot) {
                             board.set_guard(snapshot);
                             if (cluster.link) cluster.link->tell_guard(*snapshot);
                             telemetry.set_guard(std::move(snapshot));
                         }},
                    {.library = guard_library(options.guard_library),
                     .library_base = options.state_directory + "/guard",
                     .regions = kRegions});
    Serving serving(
        root, {.kubelet = options.kubelet,
               .registration = options.registration,
               .cdi_directory = options.cdi_directory,
               .complete = [&guard](const std::string& resource, std::span<const std::string> ids,
                                    kubelet::Grant& grant) {
                   return guard.complete(resource, ids, grant);
               }});
    Pages pages({.root = root,
                 .board = board,
                 .observations = observer.observations(),
                 .serving = serving,
                 .telemetry = telemetry});
    pages.serve_local(options.http_listen);
    MpsLink mps(root, driver, driver, configuration.settings(),
                {.journal = mps_journal_path(options.state_directory), .allowed = mps_allowed});
    FeatureFile features(root, options.feature_file, options.label_profiles);
    telemetry.start();
    pages.serve_node(options.telemetry);
    board.set_metrics_port(pages.node_port());
    log::info("agent.started", {{"version", ALIQUOT_VERSION}});
    Latest<std::uint64_t> served;
    const auto mig =
        obey_mig_label(root, clock, options, cluster, driver, observer, served, pods, serving);
    reconcile_until_told({.root = root,
                          .options = options,
                          .clock = clock,
                          .signals = signals,
                          .configuration = configuration,
                          .observer = observer,
                          .restore = restore,
                          .pods = pods,
                          .mps = mps,
                          .guard = guard,
                          .telemetry = telemetry,
                          .features = features,
                          .serving = serving,
                          .board = board,
                          .served = served,
                          .cluster = cluster.link.get()});
    return kOk;
}

}  // namespace aliquot::agent
