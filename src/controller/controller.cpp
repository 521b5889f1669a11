// SPDX-License-Identifier: Apache-2.0
#include "controller/controller.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "controller/binding_reviews.h"
#include "controller/certificate_rotation.h"
#include "controller/node_cache.h"
#include "controller/secret.h"
#include "controller/serving_files.h"
#include "controller/webhook.h"
#include "http/routes.h"
#include "http/server.h"
#include "kube_client/election.h"
#include "kube_client/informer.h"
#include "os/host_name.h"

namespace aliquot::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLongestWait{60};
constexpr seconds kAfterFailure{2};
/// http::Server looks at its files once a second.
constexpr milliseconds kUntilShown{1'200};

std::string identity_of(const Options& options) {
    if (!options.identity.empty()) return options.identity;
    return kube_client::unique_identity(os::host_name());
}

RotationOptions care_of(const Options& options) {
    return {.secret = {options.namespace_name, options.secret},
            .webhook_configuration = options.webhook_configuration,
            .names = options.all_names(),
            .lifetimes = options.lifetimes};
}

kube_client::ElectionOptions election_of(const Options& options) {
    const milliseconds duration = options.lease_duration;
    return {.lease = {options.namespace_name, options.lease},
            .identity = identity_of(options),
            .lease_duration = duration,
            .renew_deadline = duration * 2 / 3,
            .retry = duration * 2 / 15};
}

kube_client::InformerOptions one_object(const std::string& namespace_name,
                                        const std::string& name) {
    return {.namespace_name = namespace_name, .field_selector = "metadata.name=" + name};
}

}  // namespace

class Controller::Running {
public:
    Running(const Options& options, Dependencies dependencies);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    Result<Done> start();
    [[nodiscard]] unsigned webhook_port() const { return webhook_server_->port(); }
    [[nodiscard]] unsigned health_port() const { return health_server_->port(); }
    [[nodiscard]] bool leads() const { return elector_.leads(); }
    [[nodiscard]] bool shows_certificate() const {
        return has_certificate_ && steady_.now() >= shown_from_.load();
    }
    [[nodiscard]] bool is_ready() const {
        return !draining_ && shows_certificate() && nodes_.is_synced();
    }
    void drain() { draining_ = true; }
    void wake();

private:
    Result<Done> listen();
    [[nodiscard]] std::function<bool(const std::string&)> placed_resources() const;
    [[nodiscard]] std::function<admission::Review(std::string_view)> binding_reviews() const;
    [[nodiscard]] http::Response readiness() const;
    [[nodiscard]] Counters::Gauges gauges() const;

    void keep(const std::stop_token& stop);
    bool adopt();
    milliseconds tend(const std::stop_token& stop);

    const Options options_;
    const Dependencies world_;
    Counters counters_;
    ServingFiles files_;
    CertificateRotation rotation_;
    os::SystemClock steady_;
    kube_client::BootClock boot_;

    std::atomic<bool> draining_{false};
    std::atomic<bool> has_certificate_{false};
    std::atomic<os::TimePoint> shown_from_{os::TimePoint{}};  // the first one
    std::atomic<http::Instant> certificate_until_{http::Instant{}};
    std::atomic<http::Instant> authority_until_{http::Instant{}};
    std::mutex writing_;  // held while the leader writes
    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool look_ = true;  // of the keeper

    NodeCache nodes_;
    kube_client::Informer secret_;
    kube_client::Informer configuration_;
    kube_client::Elector elector_;
    std::unique_ptr<ClusterCosts> costs_;      // null: none are recorded; the roles ask it
    std::unique_ptr<PodPlacement> placement_;  // null: pods are not placed
    std::unique_ptr<ClaimPins> claims_;        // null: no claims are made
    std::unique_ptr<PoolRole> pools_;          // null: pools are not tended
    std::unique_ptr<JobWork> jobs_;            // null: not of this role
    std::unique_ptr<JobApi> job_api_;          // null: it is not served
    std::unique_ptr<Webhook> webhook_;
    std::unique_ptr<http::Server> webhook_server_;
    std::unique_ptr<ExtenderServer> extender_server_;  // null: kube-scheduler is not answered
    std::unique_ptr<http::Server> health_server_;
    std::unique_ptr<ClusterPage> page_;  // null: it is not shown
    std::jthread keeper_;
    std::jthread candidate_;
};

Controller::Running::Running(const Options& options, Dependencies dependencies)
    : options_(options),
      world_(std::move(dependencies)),
      rotation_(world_.api, care_of(options)),
      nodes_(world_.api),
      secret_(world_.api, kube_client::resources::secrets(),
              one_object(options.namespace_name, options.secret),
              [this](const auto&, const auto&, const auto&) { wake(); }),
      configuration_(world_.api, webhook_configurations(),
                     one_object("", options.webhook_configuration),
                     [this](const auto&, const auto&, const auto&) { wake(); }),
      elector_(world_.api, boot_, election_of(options),
               {.started =
                    [this] {
                        wake();
                        if (placement_ != nullptr) placement_->wake();
                        if (claims_ != nullptr) claims_->wake();
                        if (pools_ != nullptr) pools_->wake();
                        if (jobs_ != nullptr) jobs_->wake();
                    },
                .stopped = [this] { const std::scoped_lock none_writes(writing_); }}) {}

/// Those who write end first, then the Lease is given up, then the servers end.
Controller::Running::~Running() {
    draining_ = true;
    if (jobs_ != nullptr) jobs_->stop();
    if (placement_ != nullptr) placement_->stop();
    if (claims_ != nullptr) claims_->stop();
    if (pools_ != nullptr) pools_->stop();
    keeper_ = {};
    candidate_ = {};
}

void Controller::Running::wake() {
    {
        const std::scoped_lock lock(mutex_);
        look_ = true;
    }
    changed_.notify_all();
}

std::function<bool(const std::string&)> Controller::Running::placed_resources() const {
    if (placement_ == nullptr) return {};
    return [&placement = *placement_](const std::string& name) { return placement.serves(name); };
}

std::function<admission::Review(std::string_view)> Controller::Running::binding_reviews() const {
    if (placement_ == nullptr || !options_.placement.strict) return {};
    return [&placement = *placement_](std::string_view body) {
        return placement.review_binding(body);
    };
}

Result<Done> Controller::Running::listen() {
    constexpr milliseconds kReviewLimit{3'000};
    constexpr std::size_t kMostHeldBytes = std::size_t{24} << 20U;
    if (auto prepared = files_.prepare(); !prepared) return prepared;
    webhook_ = std::make_unique<Webhook>(
        Webhook::Dependencies{.cluster = [this] { return nodes_.cluster(); },
                              .options = {.runtime_class = options_.runtime_class},
                              .counters = counters_,
                              .client_names = options_.webhook_client_names,
                              .serves = placed_resources(),
                              .binding = binding_reviews()});
    http::Tls tls = files_.tls();
    if (!options_.webhook_client_ca.empty()) {
        tls.client_ca_file = options_.webhook_client_ca;
        tls.client_auth = http::Tls::ClientAuth::kVerify;
    }
    auto server = http::Server::listen(
        {.address = options_.webhook_listen,
         .access = {.tls = std::move(tls)},
         .methods = {"POST"},
         .threads = 4 + (options_.placement.strict ? BindingReviews::kMostAwaited : 0),
         .most_connections = 256,
         .most_bytes = kMostHeldBytes,
         .most_body_bytes = admission::kMostReviewBytes,
         .body_paths = {"/mutate/pods", "/gate/pods", "/bind/pods", "/claim/pods"},
         .request_limit = kReviewLimit},
        http::Routes(
            {{"/mutate/pods", "POST of an AdmissionReview",
              [this](const http::Request& request) { return webhook_->respond(request); }},
             {"/gate/pods", "the same, for pods that are placed",
              [this](const http::Request& request) { return webhook_->respond_gate(request); }},
             {"/bind/pods", "the same, for Bindings of pods",
              [this](const http::Request& request) { return webhook_->respond_binding(request); }},
             {"/claim/pods", "the same, for pods whose claims are made for them",
              [this](const http::Request& request) { return webhook_->respond_claim(request); }}}));
    if (!server) return std::move(server).error();
    webhook_server_ = *std::move(server);
    if (placement_ != nullptr && options_.placement.extender.is_on()) {
        auto extender = ExtenderServer::serve(options_.placement.extender, files_.tls(),
                                              placement_->extender());
        if (!extender) return std::move(extender).error().during("--placement-extender");
        extender_server_ = *std::move(extender);
    }
    using Request = http::Request;
    auto plain = http::Server::listen(
        {.address = options_.health_listen, .threads = 2},
        http::Routes({
            {"/healthz", "whether it runs",
             [](const Request&) { return http::Response{.body = "ok\n"}; }},
            {"/readyz", "whether it can review", [this](const Request&) { return readiness(); }},
            {"/metrics", "for Prometheus",
             [this](const Request&) {
                 return http::Response{
                     .content_type = "text/plain; version=0.0.4; charset=utf-8",
                     .body = counters_.text(gauges()) + (placement_ ? placement_->metrics() : "") +
                             (pools_ ? pools_->metrics() : "") + (jobs_ ? jobs_->metrics() : "") +
                             (costs_ ? costs_->accounts().metrics() : "")};
             }},
        }));
    if (!plain) return std::move(plain).error();
    health_server_ = *std::move(plain);
    return Done{};
}

Result<Done> Controller::Running::start() {
    if (options_.cost.store != "off") {
        auto costs =
            ClusterCosts::start(options_.cost, options_.page,
                                {.api = world_.api, .leads = [this] { return elector_.leads(); }});
        if (!costs) return std::move(costs).error().during("--cost-store");
        costs_ = *std::move(costs);
    }
    const auto held = [costs = costs_.get()](const std::string& name_space) {
        return costs == nullptr ? "" : costs->held(name_space);
    };
    if (options_.placement.enabled) {
        placement_ = std::make_unique<PodPlacement>(
            PodPlacement::Dependencies{
                .api = world_.api, .elector = elector_, .now = world_.now, .held = held},
            options_.placement);
    }
    if (options_.claims.enabled) {
        claims_ = std::make_unique<ClaimPins>(
            PlacementWorld{.api = world_.api, .elector = elector_, .now = world_.now},
            options_.claims);
    }
    if (options_.pools.enabled) {
        pools_ = std::make_unique<PoolRole>(
            PoolWorld{.api = world_.api, .elector = elector_, .now = world_.now, .held = held},
            options_.pools);
    }
    if (options_.jobs.enabled) {
        JobWork::Ask ask;
        if (placement_ != nullptr) ask = std::bind_front(&PodPlacement::ask, placement_.get());
        jobs_ = std::make_unique<JobWork>(
            PlacementWorld{.api = world_.api, .elector = elector_, .now = world_.now},
            options_.jobs, std::move(ask));
        if (auto idle = jobs_->watch_idle(options_.idle, options_.page); !idle)
            return std::move(idle).error().during("--jobs-idle-after");
    }
    if (auto listening = listen(); !listening) return listening;
    if (options_.page.listen != "off") {
        auto* const accounts = costs_ == nullptr ? nullptr : &costs_->accounts();
        auto page = ClusterPage::serve(options_.page, world_.api,
                                       page::look_at(accounts, cost::By::kNamespace));
        if (!page) return std::move(page).error().during("--page-listen");
        page_ = *std::move(page);
    }
    if (options_.job_api.listen != "off") {
        auto served = JobApi::serve(options_.job_api, world_.api);
        if (!served) return std::move(served).error().during("--jobs-listen");
        job_api_ = *std::move(served);
    }
    if (placement_ != nullptr) placement_->start();
    if (claims_ != nullptr) claims_->start();
    if (pools_ != nullptr) pools_->start();
    if (jobs_ != nullptr) jobs_->start();
    nodes_.start();
    secret_.start();
    configuration_.start();
    keeper_ = std::jthread([this](const std::stop_token& stop) { keep(stop); });
    candidate_ = std::jthread([this](const std::stop_token& stop) { elector_.run(stop); });
    return Done{};
}

http::Response Controller::Running::readiness() const {
    constexpr int kUnavailable = 503;
    if (is_ready()) return {.body = "ok\n"};
    const char* const why = draining_              ? "it ends\n"
                            : !shows_certificate() ? "there is no certificate yet\n"
                                                   : "the nodes have not been read yet\n";
    return {.status = kUnavailable, .body = why};
}

Counters::Gauges Controller::Running::gauges() const {
    const auto cluster = nodes_.cluster();
    return {.leads = leads(),
            .gpu_nodes = cluster == nullptr ? 0 : cluster->size(),
            .certificate_until = certificate_until_,
            .authority_until = authority_until_};
}

/// Shows what the Secret holds, when that can be shown; else goes on with what it has. False: it could
/// not be written.
bool Controller::Running::adopt() {
    const auto secret = secret_.store().find({options_.namespace_name, options_.secret});
    if (secret == nullptr) return true;
    const Credentials credentials = read_secret(secret->json).credentials;
    if (!is_usable(credentials.serving, world_.now())) return true;
    if (auto put = files_.put(credentials.serving); !put) {
        log::error("controller.certificate_not_written", {{"reason", put.error().message}});
        return false;
    }
    const auto serving = http::read_certificate(credentials.serving.certificate);
    const auto authority = http::read_certificate(credentials.authority.certificate);
    if (serving) certificate_until_ = serving->valid_until;
    if (authority) authority_until_ = authority->valid_until;
    if (has_certificate_) return true;
    shown_from_ = steady_.now() + kUntilShown;
    has_certificate_ = true;
    log::info("controller.has_certificate");
    return true;
}

/// As the leader: one round. Returns how long nothing is due.
milliseconds Controller::Running::tend(const std::stop_token& stop) {
    if (!secret_.state().synced || !configuration_.state().synced) return kAfterFailure;
    const std::scoped_lock lock(writing_);
    auto call = elector_.call(stop);
    if (!call) return kLongestWait;
    const auto now = world_.now();
    const auto next =
        rotation_.tend(secret_.store().find({options_.namespace_name, options_.secret}),
                       configuration_.store().find({"", options_.webhook_configuration}), now,
                       {.call = *std::move(call), .epoch = elector_.epoch()});
    if (!next) {
        counters_.add_tending_failure();
        log::warning("controller.tending_failed", {{"reason", next.error().message}});
        return kAfterFailure;
    }
    return std::clamp(std::chrono::ceil<milliseconds>(*next - now), milliseconds(100),
                      milliseconds(kLongestWait));
}

void Controller::Running::keep(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        {
            const std::scoped_lock lock(mutex_);
            look_ = false;
        }
        const milliseconds retry = adopt() ? milliseconds(kLongestWait) : kAfterFailure;
        const milliseconds wait =
            std::min(retry, elector_.leads() ? tend(stop) : milliseconds(kLongestWait));
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, wait, [this] { return look_; });
    }
}

Controller::Controller(std::unique_ptr<Running> running) : running_(std::move(running)) {}
Controller::~Controller() = default;
unsigned Controller::webhook_port() const { return running_->webhook_port(); }
unsigned Controller::health_port() const { return running_->health_port(); }
bool Controller::is_ready() const { return running_->is_ready(); }
bool Controller::leads() const { return running_->leads(); }
void Controller::drain() { running_->drain(); }
void Controller::look() { running_->wake(); }

Result<std::unique_ptr<Controller>> Controller::start(const Options& options,
                                                      Dependencies dependencies) {
    auto running = std::make_unique<Running>(options, std::move(dependencies));
    if (auto started = running->start(); !started) return std::move(started).error();
    return std::unique_ptr<Controller>(new Controller(std::move(running)));
}

}  // namespace aliquot::controller
