// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/service.h"

#include <algorithm>
#include <atomic>

#include "document/json.h"
#include "vision_worker/memory_view.h"
#include "vision_worker/request.h"

namespace aliquot::vision_worker {
namespace {

using document::make_mapping;
using document::make_sequence;
using document::only_if;

constexpr std::string_view kJson = "application/json; charset=utf-8";
constexpr const char* kRetrySeconds = "1";

http::Response json(int status, const document::Value& value) {
    http::Response response{.status = status,
                            .content_type = std::string(kJson),
                            .body = document::to_json_line(value) + "\n"};
    if (status == 503) response.headers.emplace_back("Retry-After", kRetrySeconds);
    return response;
}

http::Response error(int status, const std::string& message) {
    return json(status, make_mapping({{"error", message}}));
}

document::Value picture_value(const Engine& engine, const std::string& name,
                              const Outcome& outcome) {
    using document::append;
    auto value = make_mapping({{"name", only_if(!name.empty(), name)},
                               {"error", only_if(!outcome.error.empty(), outcome.error)},
                               {"status", only_if(outcome.status != 200, outcome.status)}});
    if (outcome.status != 200) return value;
    append(value, "width", outcome.width);
    append(value, "height", outcome.height);
    if (engine.task() == Task::kDetect) {
        append(value, "detections",
               make_sequence(outcome.detections, [&](const vision::Detection& one) {
                   const std::string label = engine.label(one.label);
                   return make_mapping(
                       {{"class", one.label},
                        {"label", only_if(!label.empty(), label)},
                        {"score", document::make_number(one.score)},
                        {"box", make_mapping({{"left", document::make_number(one.left, 1)},
                                              {"top", document::make_number(one.top, 1)},
                                              {"right", document::make_number(one.right, 1)},
                                              {"bottom", document::make_number(one.bottom, 1)}})}});
               }));
    } else {
        append(value, "classes", make_sequence(outcome.classes, [&](const vision::ClassScore& one) {
                   const std::string label = engine.label(one.label);
                   return make_mapping({{"class", one.label},
                                        {"label", only_if(!label.empty(), label)},
                                        {"score", document::make_number(one.score)}});
               }));
    }
    append(value, "batch", outcome.batch);
    document::Value times = make_mapping();
    for (std::size_t i = 0; i < kStages; ++i) {
        append(times, std::string(name_of(static_cast<Stage>(i))),
               document::make_number(outcome.ms.at(i), 2));
    }
    append(value, "milliseconds", std::move(times));
    return value;
}

/// The pictures of one request, until the last of them is done.
struct Collected {
    explicit Collected(std::size_t count) : names(count), outcomes(count), left(count) {}
    std::vector<std::string> names;
    std::vector<Outcome> outcomes;
    std::atomic<std::size_t> left;
    std::function<void(http::Response)> answer;
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

/// One picture that failed is the request's failure; of several, those that went well are told.
http::Response answer_of(const Engine& engine, const Collected& all) {
    if (all.outcomes.size() == 1 && all.outcomes[0].status != 200) {
        return error(all.outcomes[0].status, all.outcomes[0].error);
    }
    int status = 0;
    auto images = make_sequence();
    for (std::size_t i = 0; i < all.outcomes.size(); ++i) {
        status = status == 0 ? all.outcomes[i].status : std::min(status, all.outcomes[i].status);
        images.items.push_back(picture_value(engine, all.names[i], all.outcomes[i]));
    }
    return json(status, make_mapping({{"images", std::move(images)}}));
}

}  // namespace

std::string to_json(const Engine& engine, const std::string& name, const Outcome& outcome) {
    return document::to_json_line(picture_value(engine, name, outcome));
}

http::ServerOptions Service::server_options(const Settings& settings) {
    constexpr std::size_t kHeldBytes = std::size_t{256} << 20U;
    http::ServerOptions options;
    options.address = settings.listen;
    options.methods = {"GET", "POST"};
    options.threads = static_cast<unsigned>(std::max(allowed_cores(), 2));
    options.most_connections = settings.most_connections;
    options.most_requests = static_cast<unsigned>(settings.most_connections);
    options.most_large_bodies = options.most_requests;
    options.most_bytes = std::max(kHeldBytes, settings.most_body_bytes * 4);
    options.most_body_bytes = settings.most_body_bytes;
    options.body_paths = {"/v1/infer", "/infer"};
    options.request_limit = settings.timeout + std::chrono::seconds(5);
    return options;
}

http::Response Service::infer(const http::Request& request) {
    const ReadRequest base{.limits = settings_.limits, .top = settings_.top};
    auto read = read_request(request.header("content-type"), request.body, base);
    if (!read) {
        metrics_.answered(400, {});
        return error(400, read.error().message);
    }
    return {.later = [this, read = *std::move(read)](std::function<void(http::Response)> answer) {
        const auto all = std::make_shared<Collected>(read.pictures.size());
        all->answer = std::move(answer);
        std::vector<Picture> pictures;
        for (std::size_t i = 0; i < read.pictures.size(); ++i) {
            all->names[i] = read.pictures[i].name;
            pictures.push_back({.owner = read.pictures[i].owner,
                                .bytes = read.pictures[i].bytes,
                                .limits = read.limits,
                                .top = read.top,
                                .done = [this, all, i](Outcome outcome) {
                                    all->outcomes[i] = std::move(outcome);
                                    if (all->left.fetch_sub(1) != 1) return;
                                    http::Response response = answer_of(engine_, *all);
                                    metrics_.answered(
                                        response.status,
                                        std::chrono::steady_clock::now() - all->began);
                                    all->answer(std::move(response));
                                }});
        }
        if (pipeline_.submit(std::move(pictures))) return;
        metrics_.answered(503, {});
        all->answer(error(503, std::to_string(settings_.most_waiting) +
                                   " pictures wait already; ask again in a second"));
    }};
}

http::Response Service::model_page() const {
    const Metrics::Device device = metrics_.device();
    const vision::InputForm& form = engine_.form();
    return json(
        200, make_mapping(
                 {{"model", settings_.model},
                  {"task", engine_.task() == Task::kDetect ? "detect" : "classify"},
                  {"input", make_mapping({{"width", form.width}, {"height", form.height}})},
                  {"layout", only_if(engine_.task() == Task::kDetect,
                                     vision::name_of(engine_.output().layout))},
                  {"labels", engine_.labels()},
                  {"provider", engine_.provider()},
                  {"notTaken", engine_.refused()},
                  {"device", device.name},
                  {"onnxruntime", device.library},
                  {"batch", make_mapping({{"most", engine_.most()}, {"why", engine_.formula()}})},
                  {"gpuMemoryBytes", device.memory_bytes},
                  {"gpuArenaBytes", device.arena_bytes}}));
}

http::Response Service::operator()(const http::Request& request) {
    const bool post = request.method == "POST";
    if (request.path == "/v1/infer" || request.path == "/infer") {
        if (post) return infer(request);
        return {.status = 405,
                .content_type = std::string(kJson),
                .body = "{\"error\":\"POST a picture\"}\n",
                .headers = {{"Allow", "POST"}}};
    }
    if (post) return error(404, request.path + ": nothing takes a POST here; expected /v1/infer");
    if (request.path == "/metrics") {
        return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
                .body = metrics_.text()};
    }
    if (request.path == "/healthz") {
        if (pipeline_.stall() == Stall::kHung)
            return {.status = 503, .body = "the device does not answer\n"};
        if (pipeline_.is_stuck())
            return {.status = 503, .body = "several batches in a row have failed\n"};
        return {.body = "ok\n"};
    }
    if (request.path == "/readyz") {
        if (metrics_.stalled)
            return {.status = 503, .body = "the device has not answered in time\n"};
        if (!metrics_.ready) return {.status = 503, .body = "the last batch has failed\n"};
        return {.body = "ok\n"};
    }
    if (request.path == "/v1/model") return model_page();
    if (request.path == "/") {
        return {.body =
                    "POST /v1/infer   pictures: a form, JSON {\"image\": BASE64}, or the picture "
                    "itself\n"
                    "GET  /v1/model   what is loaded, and on what it runs\n"
                    "GET  /metrics    for Prometheus\n"
                    "GET  /healthz    whether it runs\n"
                    "GET  /readyz     whether it can answer\n"};
    }
    return error(404, request.path + ": no such page; GET / lists them");
}

}  // namespace aliquot::vision_worker
