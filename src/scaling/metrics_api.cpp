// SPDX-License-Identifier: Apache-2.0
#include "scaling/metrics_api.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/latest.h"
#include "base/log.h"
#include "http/certificate.h"
#include "http/server.h"
#include "os/root.h"
#include "os/temporary_directory.h"
#include "scaling/front_proxy.h"
#include "scaling/kube_directory.h"
#include "scaling/service.h"

namespace aliquot::scaling {
namespace {

constexpr std::chrono::seconds kRefreshEvery{60};
constexpr std::chrono::hours kOwnCertificateLasts{24 * 3650};

bool is_loopback(const std::string& listen) {
    return listen.starts_with("127.") || listen.starts_with("localhost:") ||
           listen.starts_with("[::1]:");
}

}  // namespace

class MetricsApi::Running {
public:
    explicit Running(MetricsApiOptions options)
        : options_(std::move(options)), recent_(options_.recent) {}

    Result<Done> start();
    [[nodiscard]] unsigned port() const { return server_->port(); }
    [[nodiscard]] const std::string& labels_from() const { return labels_from_; }

private:
    [[nodiscard]] std::string own_file(const char* name) const {
        return (folder_.path() / name).string();
    }
    Result<Done> connect();
    Result<Done> find_certificate();
    Result<Done> find_front_proxy();
    Result<Done> take_authority(const ProxyAuthority& authority);
    Result<Done> listen();
    void keep(const std::stop_token& stop);

    const MetricsApiOptions options_;
    const os::TemporaryDirectory folder_;  // for certificates
    kube_client::Connection connection_;
    std::string labels_from_;
    std::unique_ptr<PodDirectory> directory_;
    RecentMetrics recent_;
    http::Tls tls_;
    std::string authority_;  // as written to its file
    Latest<FrontProxy> front_proxy_;
    std::unique_ptr<Gatherer> gatherer_;
    std::unique_ptr<Service> service_;
    std::unique_ptr<http::Server> server_;
    std::jthread keeper_;
};

Result<Done> MetricsApi::Running::connect() {
    if (!options_.use_kube) {
        labels_from_ = "the API server is not to be asked";
        directory_ = std::make_unique<NoDirectory>(labels_from_);
        return Done{};
    }
    auto connection = kube_client::connect(options_.kube);
    if (!connection) {
        const bool can_do_without =
            !options_.front_proxy_only || !options_.front_proxy_ca_file.empty();
        if (connection.error().code != ErrorCode::kNotFound || !can_do_without) {
            return std::move(connection).error().during("API server");
        }
        labels_from_ = connection.error().message;
        directory_ = std::make_unique<NoDirectory>(labels_from_);
        return Done{};
    }
    connection_ = *std::move(connection);
    labels_from_ = connection_.origin;
    auto directory = std::make_unique<KubeDirectory>(*connection_.api);
    directory->start();
    directory_ = std::move(directory);
    return Done{};
}

Result<Done> MetricsApi::Running::find_certificate() {
    tls_.certificate_file = options_.certificate_file;
    tls_.key_file = options_.key_file;
    if (tls_.certificate_file.empty() != tls_.key_file.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     "a certificate file needs a key file and the other way round"};
    }
    if (!tls_.certificate_file.empty()) return Done{};
    const auto authority = http::make_authority("aliquot-metrics-api", kOwnCertificateLasts);
    if (!authority) return authority.error();
    const auto own = http::issue(*authority, "aliquot-metrics-api",
                                 {"DNS:aliquot-metrics-api", "DNS:localhost", "IP:127.0.0.1"},
                                 kOwnCertificateLasts);
    if (!own) return own.error();
    tls_.certificate_file = own_file("tls.crt");
    tls_.key_file = own_file("tls.key");
    constexpr std::uint32_t kOnlyUs = 0600;
    const os::Root root;
    if (auto wrote = root.write_atomically(tls_.certificate_file, own->certificate); !wrote) {
        return wrote;
    }
    return root.write_atomically(tls_.key_file, own->key, kOnlyUs);
}

Result<Done> MetricsApi::Running::find_front_proxy() {
    if (!options_.front_proxy_only) {
        if (is_loopback(options_.listen)) return Done{};
        return Error{ErrorCode::kInvalidInput,
                     options_.listen +
                         ": without authentication everybody who reaches this address "
                         "reads the metrics; listen on 127.0.0.1:PORT"};
    }
    tls_.client_auth = http::Tls::ClientAuth::kVerifyIfGiven;  // probes have no certificate
    if (!options_.front_proxy_ca_file.empty()) {
        tls_.client_ca_file = options_.front_proxy_ca_file;
        front_proxy_.publish({.allowed_names = options_.front_proxy_names});
        return Done{};
    }
    tls_.client_ca_file = own_file("front-proxy-ca.crt");
    if (connection_.api == nullptr) {
        return Error{ErrorCode::kInvalidInput,
                     "without an API server the front proxy's authority must be given as a file"};
    }
    const auto authority = ask_proxy_authority(*connection_.api);
    if (!authority) return Error(authority.error()).during("front proxy");
    return take_authority(*authority);
}

Result<Done> MetricsApi::Running::take_authority(const ProxyAuthority& authority) {
    if (authority.certificates != authority_) {
        // The server looks at its files by itself.
        auto wrote = os::Root().write_atomically(tls_.client_ca_file, authority.certificates);
        if (!wrote) return wrote;
        authority_ = authority.certificates;
    }
    front_proxy_.publish({.allowed_names = authority.allowed_names});
    return Done{};
}

Result<Done> MetricsApi::Running::listen() {
    Service::Dependencies dependencies{
        .recent = recent_,
        .directory = *directory_,
        // Ready whether an agent answered or not: an API that is not ready hinders
        // the whole cluster's discovery.
        .is_ready = [this] { return gatherer_->state().rounds > 0; },
        .now = [] { return std::chrono::system_clock::now(); }};
    if (options_.front_proxy_only) {
        dependencies.front_proxy = [this] { return front_proxy_.get().value; };
    }
    service_ = std::make_unique<Service>(std::move(dependencies));
    auto server = http::Server::listen(
        {.address = options_.listen, .access = {.tls = tls_}, .most_connections = 256},
        service_->routes());
    if (!server) return std::move(server).error();
    server_ = *std::move(server);
    return Done{};
}

/// Once a minute: whether the front proxy has changed, what is stale.
void MetricsApi::Running::keep(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    while (true) {
        {
            std::unique_lock lock(mutex);
            never.wait_for(lock, stop, kRefreshEvery, [] { return false; });
        }
        if (stop.stop_requested()) return;
        recent_.sweep(std::chrono::system_clock::now());
        if (!options_.front_proxy_only || !options_.front_proxy_ca_file.empty()) continue;
        const auto authority = ask_proxy_authority(*connection_.api);
        auto taken = authority ? take_authority(*authority) : Result<Done>(authority.error());
        if (!taken) {
            log::warning("scaling.front_proxy_unknown", {{"reason", taken.error().message}});
        }
    }
}

Result<Done> MetricsApi::Running::start() {
    auto gatherer = Gatherer::make(options_.gather,
                                   [this](const telemetry::Snapshot& snapshot, Instant received) {
                                       recent_.add(snapshot, received);
                                   });
    if (!gatherer) return std::move(gatherer).error();
    gatherer_ = *std::move(gatherer);
    using Step = Result<Done> (Running::*)();
    for (const Step step : {&Running::connect, &Running::find_certificate,
                            &Running::find_front_proxy, &Running::listen}) {
        if (auto done = (this->*step)(); !done) return done;
    }
    gatherer_->start();
    keeper_ = std::jthread([this](const std::stop_token& stop) { keep(stop); });
    return Done{};
}

MetricsApi::MetricsApi(std::unique_ptr<Running> running) : running_(std::move(running)) {}
MetricsApi::~MetricsApi() = default;
unsigned MetricsApi::port() const { return running_->port(); }
const std::string& MetricsApi::labels_from() const { return running_->labels_from(); }

Result<std::unique_ptr<MetricsApi>> MetricsApi::start(MetricsApiOptions options) {
    auto running = std::make_unique<Running>(std::move(options));
    if (auto started = running->start(); !started) return std::move(started).error();
    return std::unique_ptr<MetricsApi>(new MetricsApi(std::move(running)));
}

}  // namespace aliquot::scaling
