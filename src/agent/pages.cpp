// SPDX-License-Identifier: Apache-2.0
#include "agent/pages.h"

#include "base/log.h"
#include "http/address.h"
#include "labels/sysfs.h"

namespace aliquot::agent {
namespace {

/// Whether the pod may be called ready: kubelet knows every resource, or there is nothing to offer.
http::Response pod_readiness(const PageSources& from) {
    const auto seen = from.observations.get().value;
    auto answer = StatusBoard::readiness(seen.get(), from.serving);
    constexpr int kGood = 200;
    if (answer.status != kGood && seen && seen->inventory.gpus.empty() &&
        !labels::has_nvidia_gpu(from.root)) {
        return {.body = "this node has no NVIDIA GPU\n"};
    }
    return answer;
}

// What connections may hold: with what the agent needs itself it fits the 64 MiB of its container.
constexpr std::size_t kMostLocalBytes = std::size_t{6} << 20U;
constexpr std::size_t kMostNodeBytes = std::size_t{12} << 20U;
constexpr std::size_t kMostProbeBytes = std::size_t{1} << 20U;

Result<std::unique_ptr<http::Server>> listen_locally(const os::Root& root, std::string address,
                                                     http::Handler pages) {
    constexpr std::string_view kUnix = "unix:";
    constexpr std::chrono::seconds kLimit{2};
    if (address.starts_with(kUnix)) {
        address = "unix:" + root.resolve(address.substr(kUnix.size())).native();
    }
    if (auto local = http::check_local(address); !local) return std::move(local).error();
    return http::Server::listen({.address = std::move(address),
                                 .access = {.response_headers = {{"Cache-Control", "no-store"}}},
                                 .threads = 2,
                                 .most_connections = 64,
                                 .most_bytes = kMostLocalBytes,
                                 .request_limit = kLimit,
                                 .idle_limit = kLimit},
                                std::move(pages));
}

}  // namespace

page::Sight node_sight(const PageSources& from) {
    page::Sight sight;
    auto snapshot = from.telemetry.snapshot();
    sight.cluster.now = std::chrono::system_clock::now();
    if (snapshot) {
        sight.title = "Node " + snapshot->node;
        sight.cluster.agents.push_back(
            {.address = snapshot->node, .snapshot = std::move(snapshot), .problem = ""});
    }
    const StatusBoard::Config config = from.board.config();
    for (const findings::Finding& one : config.findings) {
        const std::string_view severity = to_text(one.severity);
        sight.remarks.push_back({.severity = severity == "info" ? "note" : std::string(severity),
                                 .where = one.file + ":" + std::to_string(one.line),
                                 .what = one.rule + " " + one.message,
                                 .fix = one.fix});
    }
    if (!config.problem.empty()) {
        sight.remarks.push_back({"error", config.file, config.problem, ""});
    }
    for (const std::string& remark : from.board.remarks()) {
        sight.remarks.push_back({"note", "sharing", remark, ""});
    }
    return sight;
}

// One line for each page.
http::Routes local_pages(const PageSources& from, const std::shared_ptr<page::Live>& live) {
    using Request = http::Request;
    const page::Site site(live, "/page/", page::Reach::kThisMachine);
    const auto seen = [from] { return from.observations.get().value; };
    return http::Routes({
        {"/healthz", "whether it works", [from](const Request&) { return from.board.health(); }},
        {"/readyz", "whether kubelet knows all that is offered",
         [from, seen](const Request&) {
             return StatusBoard::readiness(seen().get(), from.serving);
         }},
        {"/status", "all that it knows, as JSON",
         [from, seen](const Request&) { return from.board.status(seen().get(), from.serving); }},
        {"/metrics", "for Prometheus", [from](const Request&) { return from.telemetry.metrics(); }},
        {"/api/v1/state", "the measurements as JSON",
         [from](const Request&) { return from.telemetry.state(); }},
        {"/page/*", "for a browser", site},
        {"/page", "", site},
    });
}

http::Routes node_pages(const PageSources& from, const std::shared_ptr<page::Live>& live,
                        const Result<page::Reach>& reach) {
    using Request = http::Request;
    http::Handler site = [why = reach ? "" : reach.error().message](const Request&) {
        return http::Response{.status = 403, .body = why + "\n"};
    };
    if (reach) site = page::Site(live, "/page/", *reach);
    const auto index = std::make_shared<std::string>();
    http::Routes pages({
        {"/", "this list", [index](const Request&) { return http::Response{.body = *index}; }},
        {"/metrics", "for Prometheus (text or OpenMetrics)",
         [from](const Request& request) { return from.telemetry.scrape(request); }},
        {"/api/v1/state", "the same truth as JSON",
         [from](const Request&) { return from.telemetry.state(); }},
        {"/health", "whether it is up to date",
         [from](const Request&) { return from.telemetry.health(); }},
        {"/healthz", "", [from](const Request&) { return from.telemetry.health(); }},
        {"/live", "whether it works, for kubelet",
         [from](const Request&) { return from.board.health(); }},
        {"/ready", "whether it serves, for kubelet",
         [from](const Request&) { return pod_readiness(from); }},
        {"/page/*", "for a browser", site},
        {"/page", "", site},
    });
    *index = "aliquot-agent\n\n" + pages.index();
    return pages;
}

http::Routes probe_pages(const PageSources& from) {
    using Request = http::Request;
    return http::Routes({
        {"/live", "whether it works", [from](const Request&) { return from.board.health(); }},
        {"/startup", "whether it has started",
         [from](const Request&) { return from.board.health(); }},
        {"/ready", "whether it serves", [from](const Request&) { return pod_readiness(from); }},
    });
}

std::shared_ptr<page::Live> Pages::live() {
    if (!live_) {
        live_ = std::make_shared<page::Live>([from = sources_] { return node_sight(from); },
                                             page::LiveOptions{});
    }
    return live_;
}

void Pages::serve_probes(const std::string& address) {
    if (address == "off") return;
    constexpr std::chrono::seconds kLimit{5};
    auto server = http::Server::listen({.address = address,
                                        .threads = 1,
                                        .most_connections = 64,
                                        .most_bytes = kMostProbeBytes,
                                        .request_limit = kLimit,
                                        .idle_limit = kLimit},
                                       probe_pages(sources_));
    if (!server) {
        log::error("probes.not_served", {{"why", server.error().message}});
        return;
    }
    probes_ = *std::move(server);
    log::info("probes.served", {{"address", address}, {"port", probes_->port()}});
}

void Pages::serve_local(const std::string& address) {
    if (address == "off") return;
    auto server = listen_locally(sources_.root, address, local_pages(sources_, live()));
    if (!server) {
        log::error("http.not_served", {{"why", server.error().message}});
        return;
    }
    local_ = *std::move(server);
}

void Pages::serve_node(const TelemetryOptions& options) {
    if (options.listen == "off") return;
    http::ServerOptions listening{.address = options.listen, .most_bytes = kMostNodeBytes};
    if (!options.web_config.empty()) {
        auto access = http::read_access(sources_.root.resolve(options.web_config).native());
        // Not without what was to protect it.
        if (!access) {
            log::error("metrics.not_served", {{"why", access.error().message}});
            return;
        }
        listening.access = *std::move(access);
    }
    const auto reach = page::reach_of(listening.address, listening.access);
    auto pages = node_pages(sources_, reach ? live() : nullptr, reach);
    auto server = http::Server::listen(std::move(listening), std::move(pages));
    if (!server) {
        log::error("metrics.not_served", {{"why", server.error().message}});
        return;
    }
    node_ = *std::move(server);
    log::info("metrics.served", {{"address", options.listen}, {"port", node_->port()}});
}

}  // namespace aliquot::agent
