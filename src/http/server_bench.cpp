// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <thread>

#include "http/coding.h"
#include "http/server.h"
#include "http/test_client.h"

namespace aliquot::http {
namespace {

/// About what an agent with 8 GPUs and 64 pods answers.
std::shared_ptr<const std::string> metrics_text() {
    std::string text;
    for (int i = 0; text.size() < 300'000; ++i) {
        text += "gpu_pod_busy_seconds_total{node=\"n\",gpu=\"" + std::to_string(i % 8) +
                "\",namespace=\"default\",pod=\"p-" + std::to_string(i) + "\"} " +
                std::to_string(i * 37) + "\n";
    }
    return std::make_shared<const std::string>(std::move(text));
}

double resident_mib() {
    std::ifstream file("/proc/self/statm");
    long total = 0;
    long resident = 0;
    file >> total >> resident;
    return static_cast<double>(resident * ::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

void scrape(benchmark::State& state, const std::string& headers) {
    const auto body = metrics_text();
    const double before = resident_mib();
    const auto server = Server::listen(
        {.address = "127.0.0.1:0"}, [&](const Request&) { return Response{.shared_body = body}; });
    if (!server) return state.SkipWithError(server.error().message.c_str());
    TestClient client((*server)->port());
    for (auto _ : state) benchmark::DoNotOptimize(client.get("/metrics", headers));
    state.counters["grown_mib"] = resident_mib() - before;
}

void BM_ScrapePlain(benchmark::State& state) { scrape(state, ""); }
void BM_ScrapeGzip(benchmark::State& state) { scrape(state, "Accept-Encoding: gzip\r\n"); }
void BM_Gzip(benchmark::State& state) {
    const auto body = metrics_text();
    for (auto _ : state) benchmark::DoNotOptimize(gzip(*body));
}
BENCHMARK(BM_ScrapePlain);
BENCHMARK(BM_ScrapeGzip);
BENCHMARK(BM_Gzip);

/// What TLS costs once: a context, a connection kept open, its first scrape.
void BM_ScrapeTls(benchmark::State& state) {
    const auto authority = TestCertificate::authority("bench");
    const auto own = authority.issue("server", "DNS:localhost");
    const std::string folder = "/tmp/aliquot-web-bench-" + std::to_string(::getpid());
    write_file(folder + ".crt", own.certificate);
    write_file(folder + ".key", own.key);
    const auto body = metrics_text();
    {
        const double before = resident_mib();
        const auto server =
            Server::listen({.address = "127.0.0.1:0",
                            .access = {.tls = Tls{.certificate_file = folder + ".crt",
                                                  .key_file = folder + ".key"}}},
                           [&](const Request&) { return Response{.shared_body = body}; });
        if (!server) return state.SkipWithError(server.error().message.c_str());
        TestClient client((*server)->port(), {.authority = &authority});
        for (auto _ : state) benchmark::DoNotOptimize(client.get("/metrics"));
        state.counters["grown_mib"] = resident_mib() - before;
    }
    ::unlink((folder + ".crt").c_str());
    ::unlink((folder + ".key").c_str());
}
BENCHMARK(BM_ScrapeTls);

/// A scrape with a password, by a connection of its own each time, while 1,000 slow clients, guessers
/// and malformed requests come without end, from one address (0) or from a thousand (1).
void BM_ScrapeBesideAttackers(benchmark::State& state) {
    const auto body = metrics_text();
    // alice:secret
    const auto server = Server::listen(
        {.address = "127.0.0.1:0",
         .access = {.users = {{"alice",
                               "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a"}}}},
        [&](const Request&) { return Response{.shared_body = body}; });
    if (!server) return state.SkipWithError(server.error().message.c_str());
    const unsigned port = (*server)->port();
    const bool many = state.range(0) != 0;
    const auto from = [many](unsigned number) {
        return many ? 0x7f010000U + number % 1000 : 0x7f000001U;
    };
    const auto scrape = [&] {
        TestClient client(port);
        const auto answer = client.get("/metrics", "Authorization: Basic YWxpY2U6c2VjcmV0\r\n");
        return answer && answer->status == 200;
    };
    unsigned refused = scrape() ? 0 : 1;
    std::vector<std::jthread> attackers;
    attackers.emplace_back([&](const std::stop_token& stop) {  // slow: 1,000 are held at once
        std::deque<std::unique_ptr<TestClient>> held;
        for (unsigned i = 0; !stop.stop_requested(); ++i) {
            held.push_back(std::make_unique<TestClient>(port, from(i)));
            held.back()->send("GET /metrics HTTP/1.1\r\nHo");
            if (held.size() > 1000) held.pop_front();
        }
    });
    for (unsigned k = 0; k < 4; ++k) {  // wrong passwords
        attackers.emplace_back([&, k](const std::stop_token& stop) {
            for (unsigned i = 0; !stop.stop_requested(); ++i) {
                TestClient client(port, from(i * 4 + k));
                client.get("/metrics", "Authorization: Basic YWxpY2U6" +
                                           std::to_string(1000 + (i * 4 + k) % 9000) + "\r\n");
            }
        });
    }
    attackers.emplace_back([&](const std::stop_token& stop) {  // malformed
        for (unsigned i = 0; !stop.stop_requested(); ++i) {
            TestClient client(port, from(i));
            client.send("GET / HTTP/1.1\r\nno colon\r\n\r\n");
        }
    });
    double longest = 0;
    for (auto _ : state) {
        const auto begin = std::chrono::steady_clock::now();
        if (!scrape()) ++refused;
        const std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - begin;
        longest = std::max(longest, took.count());
    }
    for (auto& one : attackers) one.request_stop();
    state.counters["longest_ms"] = longest;
    state.counters["refused"] = refused;
}
BENCHMARK(BM_ScrapeBesideAttackers)
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->MinTime(10)
    ->UseRealTime();

}  // namespace
}  // namespace aliquot::http
