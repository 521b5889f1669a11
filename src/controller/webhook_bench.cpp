// SPDX-License-Identifier: Apache-2.0
//
// What an API server waits for: one review over TLS on a connection that stays, and on a new one; of a pod and of the
// Binding of one. What kube-scheduler waits for: the extender's answer about the nodes of a cluster.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "controller/binding_reviews.h"
#include "controller/extender.h"
#include "controller/serving_files.h"
#include "controller/webhook.h"
#include "http/test_client.h"
#include "os/temporary_directory.h"

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

// ---- strict placement and the extender ------------------------------------------------------------

constexpr char kShare[] = "nvidia.com/gpu.shared";
constexpr char kScheduler[] = "system:kube-scheduler";
constexpr unsigned kUnits = 8;
constexpr unsigned kGpus = 8;

std::string name_of(std::size_t node) { return "gpu-node-" + std::to_string(node); }

std::string pod_text(const std::string& uid, unsigned count, const std::string& node = "") {
    const std::string limits =
        count == 0 ? "" : ",\"" + std::string(kShare) + "\":\"" + std::to_string(count) + "\"";
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + uid +
           R"(","namespace":"team","uid":")" + uid + R"("},"spec":{)" +
           (node.empty() ? "" : R"("nodeName":")" + node + R"(",)") +
           R"("containers":[{"name":"main","image":"registry.example/c:1","resources":{"limits":{"cpu":"1","memory":"1Gi")" +
           limits + "}}}]}}";
}

/// Nodes of eight GPUs in eight shares each, half of which are held.
class Placed {
public:
    explicit Placed(std::size_t nodes) : nodes_(nodes) {
        for (std::size_t i = 0; i < nodes; ++i) {
            scheduling::ServedNode node{
                .name = name_of(i), .is_open = true, .cpu_milli = 128'000, .memory_mib = 1'048'576};
            for (unsigned gpu = 0; gpu < kGpus; ++gpu)
                node.gpus.push_back({name_of(i) + "-" + std::to_string(gpu), {{kShare, kUnits}}});
            node.on_one_gpu = {kShare};
            books_->set_node(std::move(node));
        }
        for (std::size_t i = 0; i < nodes * 8; ++i) {
            const auto held = scheduling::read_gpu_pod(
                pod_text("held-" + std::to_string(i), 4, name_of(i % nodes)));
            books_->set_pod(*held);
        }
    }
    void tell(const std::string& uid, unsigned count) {
        kube_client::Object object{.json = pod_text(uid, count), .namespace_name = "team"};
        object.name = object.uid = uid;
        reviews_.note({"team", uid},
                      std::make_shared<const kube_client::Object>(std::move(object)));
    }
    SharedBooks& books() { return books_; }
    BindingReviews& reviews() { return reviews_; }
    Extender& extender() { return extender_; }
    [[nodiscard]] std::size_t nodes() const { return nodes_; }

private:
    const std::size_t nodes_;
    SharedBooks books_{scheduling::Books::Options{}};
    BindingReviews reviews_{{.books = books_,
                             .may_answer = [] { return true; },
                             .catch_up = [](auto) { return true; },
                             .next_generation = [] { return 1; }}};
    Extender extender_{{.books = books_, .is_synced = [] { return true; }}, {kScheduler}};
};

std::string binding_body(const std::string& uid, const std::string& node) {
    return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002",
        "operation":"CREATE","resource":{"group":"","version":"v1","resource":"pods"},"subResource":"binding","namespace":"team","name":")" +
           uid +
           R"(","userInfo":{"username":"system:kube-scheduler","groups":["system:authenticated"]},"dryRun":false,
        "object":{"apiVersion":"v1","kind":"Binding","metadata":{"name":")" +
           uid + R"(","namespace":"team","uid":")" + uid +
           R"("},"target":{"apiVersion":"v1","kind":"Node","name":")" + node + R"("}}}})";
}

using Clock = std::chrono::steady_clock;

/// Each pod is new; what it got is taken back between the measurements.
template <class Ask>
void bind_one_after_the_other(benchmark::State& state, Placed& placed, unsigned count,
                              const Ask& ask) {
    std::vector<double> microseconds;
    std::size_t number = 0;
    for (auto _ : state) {
        const std::string uid = "pod-" + std::to_string(++number);
        placed.tell(uid, count);
        const std::string body = binding_body(uid, name_of(number % placed.nodes()));
        const auto begin = Clock::now();
        if (!ask(body)) state.SkipWithError("another answer");
        const std::chrono::duration<double> took = Clock::now() - begin;
        state.SetIterationTime(took.count());
        microseconds.push_back(took.count() * 1e6);
        placed.books()->take_back(uid);
        placed.reviews().note({"team", uid}, nullptr);
    }
    report(state, microseconds);
}

/// range(0)   nodes; range(1)   units that the pod asks for, 0: none
void binding_alone(benchmark::State& state) {
    Placed placed(static_cast<std::size_t>(state.range(0)));
    const auto count = static_cast<unsigned>(state.range(1));
    const auto expected =
        count == 0 ? admission::ReviewResult::kUnchanged : admission::ReviewResult::kPatched;
    bind_one_after_the_other(state, placed, count, [&](const std::string& body) {
        return placed.reviews().review(body).result == expected;
    });
}

void binding_on_one_connection(benchmark::State& state) {
    Placed placed(static_cast<std::size_t>(state.range(0)));
    Counters counters;
    const Webhook webhook{
        {.cluster = [] { return nullptr; },
         .options = {},
         .counters = counters,
         .client_names = {},
         .serves = {},
         .binding = [&](std::string_view body) { return placed.reviews().review(body); }}};
    ServingFiles files;
    if (!files.prepare()) throw std::runtime_error("no certificate");
    auto server = http::Server::listen(
        {.address = "127.0.0.1:0",
         .access = {.tls = files.tls()},
         .methods = {"POST"},
         .most_body_bytes = 1U << 20U},
        [&](const http::Request& request) { return webhook.respond_binding(request); });
    if (!server) throw std::runtime_error(server.error().message);
    http::TestClient client((*server)->port(), http::TestClient::TlsSettings{.authority = nullptr});
    bind_one_after_the_other(
        state, placed, static_cast<unsigned>(state.range(1)), [&](const std::string& body) {
            client.send(
                "POST /bind/pods?timeout=1s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                "application/json\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
            const auto answer = client.receive();
            return answer && answer->status == 200 && answer->body.contains("\"allowed\":true");
        });
}

std::string extender_body(std::size_t nodes) {
    std::string names;
    for (std::size_t i = 0; i < nodes; ++i) names += (i == 0 ? "\"" : ",\"") + name_of(i) + "\"";
    return "{\"Pod\":" + pod_text("asks", 4) + ",\"Nodes\":null,\"NodeNames\":[" + names + "]}";
}

using Verb = http::Response (Extender::*)(const http::Request&);

void extender_alone(benchmark::State& state, Verb verb) {
    Placed placed(static_cast<std::size_t>(state.range(0)));
    http::Request request;
    request.method = "POST";
    request.body = extender_body(placed.nodes());
    request.peer_name = kScheduler;
    std::vector<double> microseconds;
    for (auto _ : state) {
        const auto begin = Clock::now();
        const auto response = (placed.extender().*verb)(request);
        const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
        microseconds.push_back(took.count());
        if (response.body.size() < placed.nodes() * 10) state.SkipWithError("too few nodes");
    }
    report(state, microseconds);
}

/// With the certificate that it asks for.
void extender_on_one_connection(benchmark::State& state, const std::string& verb) {
    Placed placed(static_cast<std::size_t>(state.range(0)));
    const os::TemporaryDirectory folder;
    const auto authority = http::TestCertificate::authority("cluster");
    const auto own = authority.issue(kScheduler, "DNS:scheduler");
    const std::string ca = folder.path() / "ca.crt";
    http::write_file(ca, authority.certificate);
    ServingFiles files;
    if (!files.prepare()) throw std::runtime_error("no certificate");
    const auto server = ExtenderServer::serve({.listen = "127.0.0.1:0", .client_ca = ca},
                                              files.tls(), placed.extender());
    if (!server) throw std::runtime_error(server.error().message);
    http::TestClient client((*server)->port(), {.authority = nullptr, .own = &own});
    const std::string body = extender_body(placed.nodes());
    const std::string request = "POST /extender/" + verb +
                                " HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                                "application/json\r\nContent-Length: " +
                                std::to_string(body.size()) + "\r\n\r\n" + body;
    std::vector<double> microseconds;
    for (auto _ : state) {
        const auto begin = Clock::now();
        client.send(request);
        const auto answer = client.receive();
        const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
        microseconds.push_back(took.count());
        if (!answer || answer->status != 200) state.SkipWithError("another answer");
    }
    report(state, microseconds);
}

BENCHMARK(binding_alone)
    ->ArgsProduct({{1000, 5000}, {0, 2}})
    ->Iterations(2000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(binding_on_one_connection)
    ->ArgsProduct({{1000, 5000}, {0, 2}})
    ->Iterations(2000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(extender_alone, filter, &Extender::filter)
    ->Arg(1000)
    ->Arg(5000)
    ->Iterations(200)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(extender_alone, prioritize, &Extender::prioritize)
    ->Arg(1000)
    ->Arg(5000)
    ->Iterations(200)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(extender_on_one_connection, filter, std::string("filter"))
    ->Arg(1000)
    ->Arg(5000)
    ->Iterations(200)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(extender_on_one_connection, prioritize, std::string("prioritize"))
    ->Arg(1000)
    ->Arg(5000)
    ->Iterations(200)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(review_alone)->Arg(10)->Arg(1000)->Arg(5000);
BENCHMARK(review_on_one_connection)->Arg(10)->Arg(1000)->Arg(5000)->Iterations(2000)->UseRealTime();
BENCHMARK(review_on_a_new_connection)->Arg(1000)->Iterations(500)->UseRealTime();

}  // namespace
}  // namespace aliquot::controller
