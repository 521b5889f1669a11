// SPDX-License-Identifier: Apache-2.0
#include "controller/extender.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_depth.h"
#include "base/json_value.h"
#include "base/log.h"
#include "http/routes.h"

namespace aliquot::controller {
namespace {

using Json = nlohmann::json;
using scheduling::NodeVerdict;

constexpr int kNoQuestion = 400;
constexpr int kForbiddenStatus = 403;
constexpr int kBest = 10;  // kube-scheduler multiplies by the weight and ten
/// It is asked on the scheduling thread: rather all nodes than late.
constexpr std::chrono::milliseconds kExtenderPatience{200};
constexpr std::size_t kDeepestQuestion = 64;

struct Arguments {
    scheduling::GpuPod pod;
    std::vector<std::string> nodes;
};

Error no_question(std::string what) { return {ErrorCode::kInvalidInput, std::move(what)}; }

Result<Arguments> read_arguments(std::string_view body) {
    if (is_nested_deeper(body, kDeepestQuestion))
        return no_question("the body is nested deeper than 64 levels");
    const Json root = parse_json<Json>(body);
    if (!root.is_object()) return no_question("the body is no JSON object; expected ExtenderArgs");
    const Json& names = member(root, "NodeNames");
    if (!names.is_array()) {
        return no_question(
            "NodeNames is missing; expected names only: set nodeCacheCapable: true of the "
            "extender");
    }
    if (names.size() > Extender::kMostNodes) {
        return no_question(std::to_string(names.size()) + " nodes; expected at most " +
                           std::to_string(Extender::kMostNodes));
    }
    auto pod = scheduling::read_gpu_pod(dumped(member(root, "Pod")));
    if (!pod) return no_question("Pod: " + pod.error().message);
    Arguments made{.pod = *std::move(pod), .nodes = {}};
    made.nodes.reserve(names.size());
    for (const Json& name : names) {
        if (!name.is_string()) return no_question("NodeNames: expected names");
        made.nodes.push_back(name.get<std::string>());
    }
    return made;
}

http::Response json_answer(const Json& json) {
    return {.content_type = "application/json", .body = dumped(json)};
}

http::Response may_not_ask() {
    return {.status = kForbiddenStatus, .body = "the certificate's name may not ask here\n"};
}

Json filter_result(const std::vector<std::string>& nodes,
                   const std::vector<NodeVerdict>& verdicts) {
    Json good = Json::array();
    Json failed = Json::object();
    Json never = Json::object();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto kind = verdicts.empty() ? NodeVerdict::Kind::kNotOurs : verdicts[i].kind;
        if (kind == NodeVerdict::Kind::kNoRoom)
            failed[nodes[i]] = verdicts[i].why;
        else if (kind == NodeVerdict::Kind::kNever)
            never[nodes[i]] = verdicts[i].why;
        else
            good.push_back(nodes[i]);
    }
    return {{"Nodes", nullptr},
            {"NodeNames", std::move(good)},
            {"FailedNodes", std::move(failed)},
            {"FailedAndUnresolvableNodes", std::move(never)},
            {"Error", ""}};
}

Json priority_list(const std::vector<std::string>& nodes,
                   const std::map<std::string, std::int64_t>& costs) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    std::vector<std::optional<std::int64_t>> of_node(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto found = costs.find(nodes[i]);
        if (found == costs.end()) continue;
        of_node[i] = found->second;
        least = std::min(least, found->second);
        most = std::max(most, found->second);
    }
    const double range = static_cast<double>(most) - static_cast<double>(least);
    Json list = Json::array();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        int score = 0;
        if (of_node[i]) {
            const double above = static_cast<double>(*of_node[i]) - static_cast<double>(least);
            score = range > 0 ? kBest - static_cast<int>(std::ceil(above / range * kBest)) : kBest;
        }
        list.push_back({{"Host", nodes[i]}, {"Score", score}});
    }
    return list;
}

}  // namespace

bool Extender::may_ask(const http::Request& request) const {
    return std::ranges::find(client_names_, request.peer_name) != client_names_.end();
}

void Extender::ask(const scheduling::GpuPod& pod,
                   const std::function<void(SharedBooks::Use&)>& question) {
    bool busy = !world_.is_synced();
    if (!busy && !pod.devices.empty()) {
        auto books = world_.books.within(kExtenderPatience);
        busy = !books;
        if (books) question(books);
    }
    count(busy ? Outcome::kBusy : Outcome::kAnswered);
}

http::Response Extender::filter(const http::Request& request) {
    const auto begin = std::chrono::steady_clock::now();
    if (!may_ask(request)) {
        count(Outcome::kForbidden);
        return may_not_ask();
    }
    const auto asked = read_arguments(request.body);
    if (!asked) {
        count(Outcome::kMalformed);
        // In the answer, where kube-scheduler shows it to people; of a status it tells the number only.
        return json_answer({{"NodeNames", Json::array()}, {"Error", asked.error().message}});
    }
    std::vector<NodeVerdict> verdicts;
    ask(asked->pod,
        [&](SharedBooks::Use& books) { verdicts = books->judge(asked->pod, asked->nodes); });
    http::Response response = json_answer(filter_result(asked->nodes, verdicts));
    took_.add(std::chrono::steady_clock::now() - begin);
    return response;
}

http::Response Extender::prioritize(const http::Request& request) {
    const auto begin = std::chrono::steady_clock::now();
    if (!may_ask(request)) {
        count(Outcome::kForbidden);
        return may_not_ask();
    }
    const auto asked = read_arguments(request.body);
    if (!asked) {
        count(Outcome::kMalformed);
        return {.status = kNoQuestion, .body = asked.error().message + "\n"};
    }
    std::map<std::string, std::int64_t> costs;
    ask(asked->pod, [&](SharedBooks::Use& books) { costs = books->costs(asked->pod); });
    http::Response response = json_answer(priority_list(asked->nodes, costs));
    took_.add(std::chrono::steady_clock::now() - begin);
    return response;
}

std::string Extender::metrics() const {
    constexpr std::array<std::string_view, 4> kWords{"answered", "busy", "malformed", "forbidden"};
    std::string out;
    metrics::Text text(out);
    text.family("aliquot_placement_extender_requests_total",
                "What kube-scheduler asked the extender, by answer.", "counter");
    for (std::size_t i = 0; i < kWords.size(); ++i)
        text.row("").label("how", kWords[i]).is(outcomes_[i].load());
    text.family("aliquot_placement_extender_seconds", "How long the answer took.", "histogram");
    took_.write(text);
    return out;
}

Result<std::unique_ptr<ExtenderServer>> ExtenderServer::serve(const ExtenderOptions& options,
                                                              http::Tls tls, Extender& extender) {
    constexpr std::chrono::milliseconds kRequestLimit{5'000};
    constexpr std::size_t kMostHeldBytes = std::size_t{24} << 20U;
    tls.client_ca_file = options.client_ca;
    tls.client_auth = http::Tls::ClientAuth::kVerify;
    using Request = http::Request;
    auto server = http::Server::listen(
        {.address = options.listen,
         .access = {.tls = std::move(tls)},
         .methods = {"POST"},
         .threads = 2,
         .most_connections = 32,
         .most_bytes = kMostHeldBytes,
         .most_body_bytes = Extender::kMostBodyBytes,
         .request_limit = kRequestLimit},
        http::Routes(
            {{"/extender/filter", "POST of ExtenderArgs: which nodes have GPUs for the pod",
              [&extender](const Request& request) { return extender.filter(request); }},
             {"/extender/prioritize", "POST of ExtenderArgs: which of them are best",
              [&extender](const Request& request) { return extender.prioritize(request); }}}));
    if (!server) return std::move(server).error();
    auto made = std::make_unique<ExtenderServer>();
    made->server_ = *std::move(server);
    log::info("placement.extender",
              {{"address", options.listen}, {"extender_port", made->server_->port()}});
    return made;
}

}  // namespace aliquot::controller
