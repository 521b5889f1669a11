// SPDX-License-Identifier: Apache-2.0
// The web page of a made-up cluster, all of whose GPUs change at each look: page_bench.py drives it.
#include <CLI/CLI.hpp>
#include <iostream>
#include <random>

#include "http/server.h"
#include "page/site.h"

namespace {

using namespace aliquot;

struct Cluster {
    unsigned nodes = 1'000;
    unsigned gpus = 8;
    unsigned pods = 32;  // on each GPU
};

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

telemetry::Tenant make_tenant(unsigned node, unsigned gpu, unsigned pod, unsigned pods) {
    telemetry::Tenant tenant;
    tenant.owner = {.pod_uid = "uid",
                    .pod_namespace = "team-" + std::to_string((node + pod) % 23),
                    .pod = "worker-" + std::to_string(node) + "-" + std::to_string(gpu) + "-" +
                           std::to_string(pod),
                    .container = "main"};
    tenant.resource = "nvidia.com/gpu";
    tenant.source = telemetry::Source::kDriver;
    tenant.entitlement_ppm = telemetry::kMillion / pods;
    tenant.amounts.memory_bytes = kGiB;
    tenant.amounts.utilization_ppm = telemetry::kMillion / pods / 2;
    tenant.share_utilization_ppm = telemetry::kMillion / 2;
    return tenant;
}

telemetry::Snapshot make_node(const Cluster& cluster, unsigned number) {
    telemetry::Snapshot node;
    node.node = "gpu-node-" + std::to_string(number);
    node.driver_version = "580.65.06";
    for (unsigned i = 0; i < cluster.gpus; ++i) {
        telemetry::Device device;
        device.gpu.index = i;
        device.gpu.uuid = {"GPU-" + std::to_string(number) + "-" + std::to_string(i)};
        device.gpu.model = "NVIDIA A100-SXM4-80GB";
        device.gpu.memory_bytes = 80 * kGiB;
        device.layout.replicas = cluster.pods;
        device.layout.slots["nvidia.com/gpu"] = cluster.pods;
        device.layout.allocated["nvidia.com/gpu"] = cluster.pods;
        telemetry::Part part;
        for (unsigned p = 0; p < cluster.pods; ++p) {
            part.tenants.push_back(make_tenant(number, i, p, cluster.pods));
        }
        device.parts.push_back(std::move(part));
        node.devices.push_back(std::move(device));
    }
    return node;
}

/// Other figures for every GPU; the snapshots are ours alone between two looks.
void change(std::vector<std::shared_ptr<telemetry::Snapshot>>& nodes, std::mt19937& random) {
    constexpr unsigned kHundred = 100;
    for (auto& node : nodes) {
        for (telemetry::Device& device : node->devices) {
            device.total.utilization_ppm = random() % (kHundred + 1) * 10'000;
            device.total.memory_bytes = random() % (80 * kGiB);
            device.total.power_milliwatts = (60 + random() % 340) * 1'000;
            device.metrics.set(gpu::Metric::kTemperatureCelsius,
                               static_cast<double>(30 + random() % 50));
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    Cluster cluster;
    unsigned interval_ms = 5'000;
    CLI::App app("The web page of a made-up cluster; prints its port, ends with its input.");
    app.add_option("--nodes", cluster.nodes);
    app.add_option("--gpus", cluster.gpus);
    app.add_option("--pods", cluster.pods);
    app.add_option("--interval-ms", interval_ms);
    CLI11_PARSE(app, argc, argv);
    std::vector<std::shared_ptr<telemetry::Snapshot>> nodes;
    for (unsigned i = 0; i < cluster.nodes; ++i) {
        nodes.push_back(std::make_shared<telemetry::Snapshot>(make_node(cluster, i)));
    }
    std::mt19937 random(1);
    const auto live = std::make_shared<page::Live>(
        [&] {
            change(nodes, random);
            page::Sight sight{
                .title = "Bench", .cluster = {}, .pods = {}, .remarks = {}, .more = {}};
            sight.cluster.now = std::chrono::system_clock::now();
            for (const auto& node : nodes) {
                sight.cluster.agents.push_back(
                    {.address = node->node, .snapshot = node, .problem = ""});
            }
            return sight;
        },
        page::LiveOptions{
            .title = "Bench", .views = "[]", .interval = std::chrono::milliseconds(interval_ms)});
    const auto server = http::Server::listen(
        {.address = "127.0.0.1:0", .most_bytes = std::size_t{24} << 20U, .most_streams = 256},
        page::Site(live, "/", page::Reach::kThisMachine));
    if (!server) {
        std::cerr << server.error().message << "\n";
        return 3;
    }
    std::cout << (*server)->port() << std::endl;
    std::cin.get();
    return 0;
}
