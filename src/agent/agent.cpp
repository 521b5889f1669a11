// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include <iostream>

#include "agent/configuration.h"
#include "agent/feature_file.h"
#include "agent/guard_link.h"
#include "agent/held_devices.h"
#include "agent/late_driver.h"
#include "agent/mig_restore.h"
#include "agent/mps_link.h"
#include "agent/observer.h"
#include "agent/privileges.h"
#include "agent/serving.h"
#include "agent/settings.h"
#include "agent/signals.h"
#include "agent/status_page.h"
#include "agent/telemetry_link.h"
#include "base/log.h"
#include "nvml/meters.h"

namespace aliquot::agent {
namespace {

constexpr int kOk = 0;
constexpr int kBadConfig = 2;
constexpr int kCouldNotRun = 3;
constexpr std::chrono::milliseconds kNever = std::chrono::hours(1);

constexpr char kRegions[] = "/run/aliquot/regions";
constexpr std::chrono::milliseconds kHolderTimeout{1000};
constexpr std::chrono::milliseconds kGrantAge{10'000};  // until kubelet surely lists the pod

Result<sharing::Offer> decide(const Settings& settings, const Observation& seen, MpsLink& mps) {
    if (auto problem = mps.objection(settings)) return *std::move(problem);
    return sharing::make_offer(settings.config, seen.inventory);
}

/// Makes kubelet see what the newest observation and the configuration say.
/// Returns false when nothing could be offered because even the configuration in force does not
/// fit.
bool reconcile(Configuration& configuration, const Observation& seen, HeldDevices& held,
               MpsLink& mps, GuardLink& guard, TelemetryLink& telemetry, FeatureFile& features,
               Serving& serving, StatusBoard& board) {
    auto offer = decide(configuration.settings(), seen, mps);
    if (!offer) {
        if (!configuration.reject(offer.error().message)) {
            log::error("offer.impossible", {{"why", offer.error().message}});
            return false;
        }
        offer = decide(configuration.settings(), seen, mps);
        if (!offer) return false;
    }
    // While the driver has told of no GPU yet, nothing is known of what an earlier agent has left.
    if (!seen.inventory.gpus.empty() || seen.driver_problem.empty()) mps.apply(*offer);
    board.set_mps(mps.statuses());
    held.amend(*offer, seen.inventory);
    board.set_remarks(offer->remarks);
    Settings settings = configuration.settings();
    mps.complete(settings.grant);
    guard.apply(settings.config.sharing.guard, *offer);
    telemetry.apply(*offer);
    // Failures are logged where they arise; the next round tries again.
    const bool done = serving.apply(settings, *offer, seen.inventory).ok();
    features.apply(settings, *offer, seen.inventory);
    configuration.accept();  // after the act: it writes to the disk, and kubelet waits
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

/// What the reconciling thread works with.
struct Parts {
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
};

void reconcile_until_told(const Parts& parts) {
    constexpr std::chrono::milliseconds kGlance{100};  // at what daemons do meanwhile
    auto& [options, clock, signals, configuration, observer, restore, pods, mps, guard, telemetry,
           features, serving, board] = parts;
    std::uint64_t version = 0;
    std::uint64_t mps_version = 0;
    std::string restart_needed_for = configuration.settings().driver_root;
    bool again = false;  // the last round did not do everything
    HeldDevices held(clock,
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
        board.beat();
        const bool reloaded = configuration.reload(signals.take_reload());
        if (reloaded && configuration.settings().driver_root != restart_needed_for) {
            restart_needed_for = configuration.settings().driver_root;
            log::warning("config.needs_restart", {{"for", "nvidiaDriverRoot"}});
        }
        const bool news = seen.version != version || mps.version() != mps_version;
        if (!seen.value || (!news && !reloaded && !again)) continue;
        version = seen.version;
        mps_version = mps.version();
        // A driver that came late. What was seen before its GPUs were cut must not be offered.
        if (restore.attempt()) {
            again = true;
            (void)observer.observations().wait_newer(version, 2 * options.probe_interval,
                                                     signals.stop());
            continue;
        }
        again = !reconcile(configuration, *seen.value, held, mps, guard, telemetry, features,
                           serving, board) ||
                held.any();
    }
}

/// Keeps what MPS and the guard need when they are configured, or were and are to be undone. Returns whether MPS can
/// be served: false when what it needs was there and is given up.
bool give_up_privileges(const Options& options, const os::Root& root, const Settings& settings) {
    if (options.keep_capabilities) return true;
    const bool needed = settings.config.sharing.mechanism == sharing::Mechanism::kMps ||
                        root.exists(mps_journal_path(options.state_directory));
    const bool had = has_capabilities(mps_capabilities());
    std::vector<int> kept;
    const auto keep = [&kept](std::span<const int> more) {
        kept.insert(kept.end(), more.begin(), more.end());
    };
    if (needed) keep(mps_capabilities());
    if (needs_guard(settings.config.sharing) || root.exists(kRegions))
        keep(guard_capabilities(settings.config.sharing.guard.kernel_limit));
    const auto dropped = drop_capabilities(kept);
    if (!dropped) log::warning("privileges.kept", {{"why", dropped.error().message}});
    return needed || !had;
}

}  // namespace

int run(const Options& options) {
    log::configure(options.log_level, options.log_format);
    os::SystemClock clock;
    const os::Root root(options.root);
    StatusBoard board(clock);
    Configuration configuration(root, options, board);
    const auto loaded = configuration.load();
    const bool mps_allowed = give_up_privileges(options, root, configuration.settings());
    Signals signals;

    const auto policy = gpu::XidPolicy::from_environment(options.disabled_health_checks,
                                                         options.enabled_health_checks);
    if (!policy) {
        std::cerr << "aliquot-agent: " << policy.error().message << "\n";
        return kBadConfig;
    }
    if (!loaded) {
        return explain_bad_config(loaded, configuration.pending());
    }

    LateDriver driver(root, driver_options(options, configuration.settings(), root));
    kubelet::PodResources pods(root, options.kubelet.pod_resources_socket);
    MigRestore restore(root, clock, driver, pods, options.state_directory + "/mig");
    restore.attempt();  // before anybody looks and offers
    Observer observer(driver, clock, *policy,
                      {.probe_interval = options.probe_interval,
                       .enumerate_interval = options.enumerate_interval});
    const auto started = observer.start();
    if (!started && configuration.settings().fail_on_init_error) {
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
    std::unique_ptr<HttpEndpoint> http;
    if (options.http_listen != "off") {
        auto listening =
            HttpEndpoint::listen(root, options.http_listen, [&](std::string_view path) {
                if (path == "/api/v1/state") return telemetry.state();
                if (path == "/metrics") return telemetry.metrics();
                return board.answer(path, observer.observations(), serving);
            });
        // The status page is beside the point: without it the GPUs are served all the same.
        if (!listening) log::error("http.not_served", {{"why", listening.error().message}});
        if (listening) http = *std::move(listening);
    }
    MpsLink mps(root, driver, driver, configuration.settings(),
                {.journal = mps_journal_path(options.state_directory), .allowed = mps_allowed});
    FeatureFile features(root, options.feature_file, options.label_profiles);
    telemetry.start();
    board.set_metrics_port(telemetry.port());
    log::info("agent.started", {{"version", ALIQUOT_VERSION}});
    reconcile_until_told({.options = options,
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
                          .board = board});
    return kOk;
}

}  // namespace aliquot::agent
