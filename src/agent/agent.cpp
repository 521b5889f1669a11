// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include <iostream>
#include <optional>

#include "agent/claim_switch.h"
#include "agent/clean_up.h"
#include "agent/cluster.h"
#include "agent/configuration.h"
#include "agent/deferred_driver.h"
#include "agent/feature_file.h"
#include "agent/guard_link.h"
#include "agent/mig_restore.h"
#include "agent/mps_control.h"
#include "agent/node_loop.h"
#include "agent/node_placement.h"
#include "agent/observer.h"
#include "agent/pages.h"
#include "agent/paths.h"
#include "agent/privileges.h"
#include "agent/region_holder.h"
#include "agent/serving.h"
#include "agent/settings.h"
#include "agent/signals.h"
#include "agent/status_page.h"
#include "agent/system_calls.h"
#include "agent/telemetry_service.h"
#include "base/log.h"
#include "mps/directories.h"
#include "nvml/meters.h"

namespace aliquot::agent {
namespace {

constexpr int kOk = 0;
constexpr int kBadConfig = 2;
constexpr int kCouldNotRun = 3;
constexpr std::chrono::milliseconds kHolderTimeout{1000};

int complain(int code, const std::string& why) {
    std::cerr << "aliquot-agent: " << why << "\n";
    return code;
}

/// Keeps what MPS and the guard need when they are configured, or were and are to be undone. Returns
/// whether MPS can be served: false when what it needs was there and is given up.
/// settings   null: not known yet, and they may change; then all that some need is kept, as far as
///            whoever started us allows it: MPS only where its directory is
bool give_up_privileges(const Options& options, const os::Root& root, const Settings* settings) {
    if (options.keep_capabilities) return true;
    const bool needed =
        (settings == nullptr ? root.exists(mps::kDefaultRoot)
                             : settings->config.sharing.mechanism == grant::Mechanism::kMps) ||
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
    const auto denied = deny_system_calls(needed ? Mounts::kAllowed : Mounts::kDenied);
    if (!denied) log::warning("privileges.kept", {{"why", denied.error().message}});
    return settings == nullptr ? had && needed : needed || !had;
}

/// What is there from the first to the last moment, and how the rest comes to be.
class Agent {
public:
    explicit Agent(const Options& options)
        : options_(options), root_(options.root), board_(clock_) {}

    /// Privileges, signals, the API server, the configuration. kOk, or the code to end with; why is
    /// said.
    int begin() {
        if (options_.claims.mode != ClaimOptions::Mode::kOff && !options_.cluster.wanted()) {
            return complain(kBadConfig, "--dra: claims are read from the API server; --cluster=on");
        }
        const int code = options_.cluster.wanted() ? begin_in_cluster() : begin_alone();
        if (code != kOk || loaded_) return code;
        const ReadSource& read = configuration_->pending();
        if (read.findings.empty()) return complain(bad_config(), loaded_.error().message);
        findings::print_text(std::cerr, read.findings, Colour::kNever);
        return bad_config();
    }

    /// Until a signal comes.
    int serve(const gpu::XidPolicy& policy) {
        DeferredDriver driver(root_, driver_options());
        kubelet::PodResources pods(root_, options_.kubelet.pod_resources_socket);
        MigRestore restore(root_, clock_, driver, pods, options_.state_directory + "/mig",
                           {.cdi = options_.cdi_directory});
        restore.attempt();  // before anybody looks and offers
        Observer observer(driver, clock_, policy,
                          {.probe_interval = options_.probe_interval,
                           .enumerate_interval = options_.enumerate_interval});
        const auto started = observer.start();
        if (!started && fails_without_driver()) {
            return complain(kCouldNotRun, started.error().message +
                                              " (failOnInitError is true: set it to false "
                                              "to wait for the driver)");
        }
        nvml::DeferredMeters meters(root_, driver_options());
        TelemetryService telemetry = make_telemetry(meters, pods, observer);
        GuardLink guard = make_guard(driver, pods, observer, telemetry);
        RecentGrants grants;
        const auto placement = make_placement(telemetry);
        ClaimSwitch claims = make_claims(guard, driver, observer);
        Serving serving =
            make_serving(guard, grants, placement == nullptr ? nullptr : &placement->plans());
        Pages pages({.root = root_,
                     .board = board_,
                     .observations = observer.observations(),
                     .serving = serving,
                     .telemetry = telemetry});
        pages.serve_local(options_.http_listen);
        pages.serve_probes(options_.probe_listen);
        MpsControl mps(
            root_, driver, driver, configuration_->settings(),
            {.journal = mps_journal_path(options_.state_directory), .allowed = mps_allowed_});
        FeatureFile features(root_, options_.feature_file, options_.label_profiles);
        telemetry.start();
        if (placement != nullptr) placement->start();
        pages.serve_node(options_.telemetry);
        board_.set_metrics_port(pages.node_port());
        log::info("agent.started", {{"version", ALIQUOT_VERSION}});
        Latest<std::uint64_t> served;
        const auto mig = obey_mig_label(root_, clock_, options_, cluster_, driver, observer, served,
                                        pods, grants, claims);
        NodeLoop({.root = root_,
                  .options = options_,
                  .clock = clock_,
                  .signals = *signals_,
                  .configuration = *configuration_,
                  .observer = observer,
                  .restore = restore,
                  .pods = pods,
                  .grants = grants,
                  .mps = mps,
                  .guard = guard,
                  .telemetry = telemetry,
                  .features = features,
                  .serving = serving,
                  .board = board_,
                  .served = served,
                  .cluster = cluster_.link.get(),
                  .placement = placement.get(),
                  .claims = claims})
            .run();
        return kOk;
    }

private:
    int begin_alone() {
        take_room_for_descriptors();
        configuration_.emplace(root_, options_, board_);
        loaded_ = configuration_->load();
        mps_allowed_ = give_up_privileges(options_, root_, &configuration_->settings());
        signals_.emplace();
        return kOk;
    }

    /// Privileges go before the first thread comes, so a configuration from the API server is read
    /// after that.
    int begin_in_cluster() {
        take_room_for_descriptors();
        mps_allowed_ = give_up_privileges(options_, root_, nullptr);
        signals_.emplace();
        auto joined = join_cluster(options_, clock_, signals_->stop());
        if (!joined) {
            return complain(kCouldNotRun, joined.error().message +
                                              " (--cluster=off serves without an API server)");
        }
        cluster_ = *std::move(joined);
        configuration_.emplace(root_, options_, board_,
                               [&link = *cluster_.link] { return link.requests().config(); });
        loaded_ = configuration_->load();
        return kOk;
    }

    [[nodiscard]] int bad_config() const {
        return options_.cluster.wanted() ? kCouldNotRun : kBadConfig;
    }

    [[nodiscard]] bool fails_without_driver() const {
        const auto said = configuration_->settings().config.flags.fail_on_init_error;
        return said.value_or(!options_.cluster.wanted());
    }

    [[nodiscard]] nvml::DriverOptions driver_options() const {
        const Settings& settings = configuration_->settings();
        const bool mounted = root_.exists(settings.container_driver_root);
        return {.driver_root = mounted ? settings.container_driver_root : settings.driver_root,
                .deadline = options_.driver_deadline};
    }

    TelemetryService make_telemetry(nvml::DeferredMeters& meters, kubelet::PodResources& pods,
                                    const Observer& observer) {
        return {root_,
                clock_,
                {.meters = meters,
                 .holders = [&pods](auto timeout) { return by_devices(pods.list(timeout)); },
                 .observations = observer.observations()},
                options_.telemetry};
    }

    GuardLink make_guard(DeferredDriver& driver, kubelet::PodResources& pods,
                         const Observer& observer, TelemetryService& telemetry) {
        return {root_,
                clock_,
                {.observations = observer.observations(),
                 .measuring = {
                     .sensors = driver,
                     .kernel = driver,
                     .holders = [&pods] { return pods.list(kHolderTimeout); },
                     .publish =
                         [this, &telemetry](auto snapshot) {
                             board_.set_guard(snapshot);
                             if (cluster_.link) cluster_.link->tell_guard(*snapshot);
                             telemetry.set_guard(std::move(snapshot));
                         },
                     .owner_of = [&telemetry](pid_t pid) { return telemetry.owner_of(pid); }}},
                {.library = guard_library(options_.guard_library),
                 .library_base = options_.state_directory + "/guard",
                 .regions = kRegions,
                 .measuring = {}}};
    }

    std::unique_ptr<NodePlacement> make_placement(const TelemetryService& telemetry) {
        if (cluster_.link == nullptr || !options_.cluster.placement) return nullptr;
        return std::make_unique<NodePlacement>(
            cluster_.name,
            NodePlacement::Sources{
                .api = *cluster_.api,
                .holders = [&telemetry] { return telemetry.holders(); },
                .tell = [&link = *cluster_.link](
                            std::string granted) { link.tell_granted(std::move(granted)); }});
    }

    ClaimSwitch make_claims(GuardLink& guard, DeferredDriver& driver, Observer& observer) {
        ClaimSwitch::Sources sources{.node = {}, .make = [this, &guard, &driver, &observer] {
                                         return std::make_unique<ClaimService>(
                                             ClaimService::Sources{.root = root_,
                                                                   .api = cluster_.api.get(),
                                                                   .node = cluster_.name,
                                                                   .guard = guard,
                                                                   .clock = clock_,
                                                                   .driver = driver,
                                                                   .observer = observer},
                                             options_);
                                     }};
        if (cluster_.link != nullptr) {
            sources.node = [&asked = cluster_.link->requests()]() -> std::optional<k8s::Node> {
                return asked.has_no_node() ? k8s::Node{} : asked.node();
            };
        }
        return {options_.claims.mode, ClaimService::has_left(root_), std::move(sources)};
    }

    Serving make_serving(GuardLink& guard, RecentGrants& grants, PlannedGrants* plans) const {
        return {root_,
                grants,
                {.kubelet = options_.kubelet,
                 .registration = options_.registration,
                 .cdi_directory = options_.cdi_directory,
                 .complete =
                     [&guard](const std::string& resource, std::span<const std::string> ids,
                              grant::Grant& grant) { return guard.complete(resource, ids, grant); },
                 .plans = plans}};
    }

    const Options& options_;
    os::SystemClock clock_;
    const os::Root root_;
    StatusBoard board_;
    bool mps_allowed_ = false;
    std::optional<Signals> signals_;
    Cluster cluster_;
    std::optional<Configuration> configuration_;
    Result<Done> loaded_ = Done{};
};

}  // namespace

int run(const Options& options) {
    log::configure(options.log_level, options.log_format);
    if (options.clean_up) return clean_up(options);
    const auto policy = gpu::XidPolicy::from_environment(options.disabled_health_checks,
                                                         options.enabled_health_checks);
    if (!policy) return complain(kBadConfig, policy.error().message);
    Agent agent(options);
    const int code = agent.begin();
    return code == kOk ? agent.serve(*policy) : code;
}

}  // namespace aliquot::agent
