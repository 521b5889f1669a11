// SPDX-License-Identifier: Apache-2.0
#include "controller/cluster_page.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/log.h"
#include "base/time_text.h"
#include "http/address.h"
#include "k8s/resource_name.h"
#include "kube_client/resource.h"
#include "os/root.h"
#include "page/site.h"

namespace aliquot::controller {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kBetweenLooks{5};
constexpr std::chrono::seconds kSilent{30};     // then a node is said not to answer
constexpr std::chrono::minutes kForgotten{10};  // then it is not shown any more
constexpr std::size_t kMostPods = 1'000;
constexpr std::size_t kMostPassword = 4'096;
constexpr std::size_t kMostStreams = 256;
constexpr std::size_t kMostHeldBytes = std::size_t{24} << 20U;

/// "nvidia.com/gpu: 2" of all containers; empty: it asks for no GPU.
std::string gpus_asked(const Json& spec) {
    std::string asked;
    for (const Json& container : member(spec, "containers")) {
        const Json& limits = member(member(container, "resources"), "limits");
        if (!limits.is_object()) continue;
        for (const auto& [name, amount] : limits.items()) {
            if (!k8s::is_gpu_resource(name)) continue;
            if (!asked.empty()) asked += ", ";
            asked +=
                name + ": " + (amount.is_string() ? amount.get<std::string>() : dumped(amount));
        }
    }
    return asked;
}

/// Why it waits, as the scheduler or whoever holds its gates says.
std::string reason_of(const Json& pod) {
    const Json& gates = member(member(pod, "spec"), "schedulingGates");
    for (const Json& one : member(member(pod, "status"), "conditions")) {
        if (text_at(one, "type") != "PodScheduled" || text_at(one, "status") != "False") continue;
        const std::string message = text_at(one, "message");
        if (!message.empty()) return message;
    }
    if (gates.is_array() && !gates.empty()) {
        return "it is held by the scheduling gate " + text_at(gates[0], "name");
    }
    return {};
}

}  // namespace

Result<http::ServerOptions> server_of(const PageOptions& options) {
    http::ServerOptions server{.address = options.listen,
                               .threads = TokenReviews::kThreads,
                               .most_bytes = kMostHeldBytes,
                               .most_streams = kMostStreams};
    if (!options.web_config.empty()) {
        auto access = http::read_access(options.web_config);
        if (!access) return std::move(access).error();
        server.access = *std::move(access);
        if (!server.access.users.empty()) {
            return Error{ErrorCode::kInvalidInput,
                         options.web_config +
                             ": basic_auth_users: this page takes tokens of the cluster instead"};
        }
    }
    if (auto known = http::check_address(options.listen); !known) return std::move(known).error();
    if (!server.access.tls && !http::check_local(options.listen)) {
        return Error{ErrorCode::kPermission,
                     options.listen +
                         ": tokens are shown here: where others than this machine can reach it, it "
                         "needs TLS, by --page-web-config"};
    }
    return server;
}

Result<scaling::GatherOptions> gathering(const PageOptions& options) {
    scaling::GatherOptions gather{.agents = options.agents,
                                  .service = options.agents_service,
                                  .ca_file = options.agents_ca_file,
                                  .user = options.agents_user};
    if (options.agents_password_file.empty()) return gather;
    auto password = os::Root().read(
        std::filesystem::absolute(options.agents_password_file).native(), kMostPassword);
    if (!password) return std::move(password).error();
    while (password->ends_with('\n') || password->ends_with('\r')) password->pop_back();
    gather.password = *std::move(password);
    return gather;
}

std::vector<page::PodSeen> waiting_pods(const kube_client::Page& pods) {
    std::vector<page::PodSeen> waiting;
    for (const kube_client::Object& object : pods.items) {
        const Json pod = parse_json<Json>(object.json);
        const Json& spec = member(pod, "spec");
        std::string asked = gpus_asked(spec);
        const std::string phase = text_at(member(pod, "status"), "phase");
        if (asked.empty() || phase != "Pending") continue;
        waiting.push_back({.name = object.name,
                           .pod_namespace = object.namespace_name,
                           .phase = phase,
                           .node = text_at(spec, "nodeName"),
                           .gpu = "",
                           .share = std::move(asked),
                           .reason = reason_of(pod)});
    }
    return waiting;
}

page::Sight ClusterPage::look() {
    gatherer_->round();
    page::Sight sight;
    const Instant now = std::chrono::system_clock::now();
    sight.cluster.now = now;
    costs_.add_to(sight);
    {
        const std::scoped_lock lock(mutex_);
        std::erase_if(nodes_,
                      [&](const auto& one) { return now - one.second.received > kForgotten; });
        for (const auto& [name, node] : nodes_) {
            const auto age = std::chrono::floor<std::chrono::seconds>(now - node.received);
            sight.cluster.agents.push_back(
                {.address = name,
                 .snapshot = node.snapshot,
                 .problem = age > kSilent ? "its agent does not answer; this is from before" : ""});
        }
    }
    const auto state = gatherer_->state();
    if (state.answered < state.agents) {
        sight.remarks.push_back({"error", "agents",
                                 std::to_string(state.agents - state.answered) + " of " +
                                     std::to_string(state.agents) +
                                     " do not answer: " + state.problem,
                                 ""});
    } else if (state.agents == 0) {
        sight.remarks.push_back({"error", "agents", "none was found: " + state.problem, ""});
    }
    kube_client::ListOptions pending;
    pending.field_selector = "status.phase=Pending";
    pending.chunk = kMostPods;
    const auto pods = api_.list_page(kube_client::resources::pods(), pending, "",
                                     {.deadline = std::chrono::seconds(5)});
    if (!pods) {
        sight.remarks.push_back({"warning", "API server",
                                 "waiting pods cannot be listed: " + pods.failure().message,
                                 "the controller may list pods of all namespaces"});
        return sight;
    }
    sight.pods = waiting_pods(*pods);
    if (!pods->next.empty()) {
        sight.remarks.push_back({"note", "API server",
                                 "more than " + std::to_string(kMostPods) +
                                     " pods are Pending; the others are left out",
                                 ""});
    }
    return sight;
}

Result<std::unique_ptr<ClusterPage>> ClusterPage::serve(const PageOptions& options,
                                                        kube_client::Api& api,
                                                        page::CostLook costs) {
    auto server = server_of(options);
    if (!server) return std::move(server).error();
    auto gather = gathering(options);
    if (!gather) return std::move(gather).error();
    std::unique_ptr<ClusterPage> made(new ClusterPage(api, std::move(costs)));
    auto gatherer = scaling::Gatherer::make(
        *std::move(gather), [page = made.get()](const telemetry::Snapshot& snapshot, auto) {
            auto kept = std::make_shared<const telemetry::Snapshot>(snapshot);
            const std::scoped_lock lock(page->mutex_);
            page->nodes_[snapshot.node] = {.snapshot = std::move(kept),
                                           .received = std::chrono::system_clock::now()};
        });
    if (!gatherer) return std::move(gatherer).error();
    made->gatherer_ = *std::move(gatherer);
    const auto live = std::make_shared<page::Live>(
        [page = made.get()] { return page->look(); },
        page::LiveOptions{.title = "Cluster", .views = "[]", .interval = kBetweenLooks});
    const auto reach =
        http::check_local(options.listen) ? page::Reach::kThisMachine : page::Reach::kWhoMay;
    auto listening = http::Server::listen(
        *std::move(server),
        page::Site(live, "/", reach, [page = made.get()](const http::Request& request) {
            return page->gate_.admit(request);
        }));
    if (!listening) return std::move(listening).error();
    made->server_ = *std::move(listening);
    log::info("page.served", {{"address", options.listen}, {"port", made->server_->port()}});
    return made;
}

}  // namespace aliquot::controller
