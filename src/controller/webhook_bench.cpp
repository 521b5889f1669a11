// SPDX-License-Identifier: Apache-2.0
//
// What an API server waits for: one review over TLS on a connection that stays, and on a new one.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "controller/serving_files.h"
#include "controller/webhook.h"
#include "http/test_client.h"

namespace aliquot::controller {
namespace {

/// Nodes of four kinds: A2 in four shares, whole A100, A100 in MIG devices, H100 in two shares.
std::shared_ptr<const admission::Cluster> cluster_of(std::size_t nodes) {
    struct Kind {
        const char* product;
        const char* memory;
        const char* shares;
    };
    constexpr Kind kKinds[] = {
        {"NVIDIA-A2-SHARED", "15356",
         R"([{\"resource\":\"nvidia.com/gpu\",\"mechanism\":\"memory\",\"devices\":8,\"perGpu\":4,\"memoryMiB\":3839}])"},
        {"NVIDIA-A100-SXM4-80GB", "81920",
         R"([{\"resource\":\"nvidia.com/gpu\",\"mechanism\":\"none\",\"devices\":8,\"perGpu\":1,\"memoryMiB\":81920}])"},
        {"NVIDIA-A100-SXM4-40GB", "40960",
         R"([{\"resource\":\"nvidia.com/mig-1g.5gb\",\"mechanism\":\"mig\",\"devices\":56,\"perGpu\":1,\"memoryMiB\":4864}])"},
        {"NVIDIA-H100-80GB-HBM3-SHARED", "81559",
         R"([{\"resource\":\"nvidia.com/gpu\",\"mechanism\":\"memory\",\"devices\":16,\"perGpu\":2,\"memoryMiB\":40779}])"}};
    auto made = std::make_shared<admission::Cluster>();
    for (std::size_t i = 0; i < nodes; ++i) {
        const Kind& kind = kKinds[i % std::size(kKinds)];
        std::string labels;
        for (int k = 0; k < 30; ++k) {
            labels += R"("example.com/label-)" + std::to_string(k) + R"(":"value",)";
        }
        const std::string name = "gpu-" + std::to_string(i);
        const auto node = admission::read_node(
            R"({"metadata":{"name":")" + name + R"(","labels":{)" + labels +
            R"("kubernetes.io/hostname":")" + name + R"(","nvidia.com/gpu.product":")" +
            kind.product + R"(","nvidia.com/gpu.memory":")" + kind.memory +
            R"("},"annotations":{"aliquot.dev/shares":")" + kind.shares + R"("}},"status":{}})");
        if (!node) throw std::runtime_error("the node cannot be read");
        made->push_back(std::make_shared<const admission::GpuNode>(*node));
    }
    return made;
}

/// A pod as a Deployment makes it: some KiB of spec and managed fields.
std::string request_text() {
    std::string environment;
    for (int i = 0; i < 40; ++i) {
        environment += std::string(i == 0 ? "" : ",") + R"({"name":"SETTING_)" + std::to_string(i) +
                       R"(","value":"some value that is not short"})";
    }
    const std::string body =
        R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002",
        "operation":"CREATE","resource":{"group":"","version":"v1","resource":"pods"},"namespace":"ai",
        "object":{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-","annotations":{
        "aliquot.dev/gpu-memory":"3Gi","aliquot.dev/gpu-type":"a2,a100"}},
        "spec":{"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
        "containers":[{"name":"main","image":"registry.example/web:1","env":[)" +
        environment + R"(],"resources":{"limits":{"memory":"4Gi"},"requests":{"cpu":"1"}}}]}}}})";
    return "POST /mutate/pods?timeout=2s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
           "application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

class Bench {
public:
    explicit Bench(std::size_t nodes) : cluster_(cluster_of(nodes)) {
        if (!files_.prepare()) throw std::runtime_error("no certificate");
        auto server = http::Server::listen(
            {.address = "127.0.0.1:0",
             .access = {.tls = files_.tls()},
             .methods = {"POST"},
             .most_body_bytes = 1U << 20U},
            [this](const http::Request& request) { return webhook_.respond(request); });
        if (!server) throw std::runtime_error(server.error().message);
        server_ = *std::move(server);
    }
    [[nodiscard]] unsigned port() const { return server_->port(); }

private:
    std::shared_ptr<const admission::Cluster> cluster_;
    Counters counters_;
    ServingFiles files_;
    Webhook webhook_{
        {.cluster = [this] { return cluster_; }, .options = {}, .counters = counters_}};
    std::unique_ptr<http::Server> server_;
};

void report(benchmark::State& state, std::vector<double>& microseconds) {
    std::ranges::sort(microseconds);
    const auto at = [&](double part) {
        return microseconds[static_cast<std::size_t>(part *
                                                     static_cast<double>(microseconds.size() - 1))];
    };
    state.counters["p50_us"] = at(0.5);
    state.counters["p99_us"] = at(0.99);
    state.counters["max_us"] = at(1);
}

void ask(http::TestClient& client, const std::string& request) {
    client.send(request);
    const auto answer = client.receive();
    if (!answer || answer->status != 200 || !answer->body.contains("JSONPatch")) {
        throw std::runtime_error("no patch");
    }
}

void review_on_one_connection(benchmark::State& state) {
    const Bench bench(static_cast<std::size_t>(state.range(0)));
    http::TestClient client(bench.port(), http::TestClient::TlsSettings{.authority = nullptr});
    const std::string request = request_text();
    std::vector<double> microseconds;
    for (auto _ : state) {
        const auto begin = std::chrono::steady_clock::now();
        ask(client, request);
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - begin;
        microseconds.push_back(took.count());
    }
    report(state, microseconds);
}

void review_on_a_new_connection(benchmark::State& state) {
    const Bench bench(static_cast<std::size_t>(state.range(0)));
    const std::string request = request_text();
    std::vector<double> microseconds;
    for (auto _ : state) {
        const auto begin = std::chrono::steady_clock::now();
        http::TestClient client(bench.port(), http::TestClient::TlsSettings{.authority = nullptr});
        ask(client, request);
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - begin;
        microseconds.push_back(took.count());
    }
    report(state, microseconds);
}

/// What is decided, without TLS and HTTP.
void review_alone(benchmark::State& state) {
    const auto cluster = cluster_of(static_cast<std::size_t>(state.range(0)));
    const std::string request = request_text();
    const std::string body = request.substr(request.find("\r\n\r\n") + 4);
    for (auto _ : state) {
        const auto review = admission::review(body, cluster.get(), {});
        if (review.result != admission::ReviewResult::kPatched) state.SkipWithError("no patch");
    }
}

BENCHMARK(review_alone)->Arg(10)->Arg(1000)->Arg(5000);
BENCHMARK(review_on_one_connection)->Arg(10)->Arg(1000)->Arg(5000)->Iterations(2000)->UseRealTime();
BENCHMARK(review_on_a_new_connection)->Arg(1000)->Iterations(500)->UseRealTime();

}  // namespace
}  // namespace aliquot::controller
