// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <unistd.h>

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
    const auto server = Server::listen({.address = "127.0.0.1:0"},
                                       [&](const Request&) { return Answer{.shared_body = body}; });
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
                           [&](const Request&) { return Answer{.shared_body = body}; });
        if (!server) return state.SkipWithError(server.error().message.c_str());
        TestClient client((*server)->port(), {.authority = &authority});
        for (auto _ : state) benchmark::DoNotOptimize(client.get("/metrics"));
        state.counters["grown_mib"] = resident_mib() - before;
    }
    ::unlink((folder + ".crt").c_str());
    ::unlink((folder + ".key").c_str());
}
BENCHMARK(BM_ScrapeTls);

}  // namespace
}  // namespace aliquot::http
