// SPDX-License-Identifier: Apache-2.0
// The web page of a made-up cluster in which nothing ever changes, with something in every view: what page_test.py takes
// pictures of. Prints its port, ends with its input.
#include <iostream>

#include "cost/report.h"
#include "http/server.h"
#include "page/cost_tables.h"
#include "page/site.h"

namespace {

using namespace aliquot;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
constexpr std::uint64_t kPercentPpm = 10'000;
constexpr std::int64_t kMinuteMs = 60'000;

telemetry::Tenant tenant_of(const std::string& space, const std::string& pod, unsigned held_gib,
                            unsigned percent) {
    telemetry::Tenant tenant;
    tenant.owner = {
        .pod_uid = "uid-" + pod, .pod_namespace = space, .pod = pod, .container = "main"};
    tenant.resource = "nvidia.com/gpu";
    tenant.source = telemetry::Source::kDriver;
    tenant.memory_limit_bytes = held_gib * kGiB;
    tenant.amounts.memory_bytes = held_gib * kGiB / 2;
    tenant.amounts.utilization_ppm = percent * kPercentPpm;
    tenant.entitlement_ppm = telemetry::kMillion / 4;
    tenant.share_utilization_ppm = 4 * percent * kPercentPpm;
    constexpr std::uint64_t kIdleNs = 45ULL * 60 * 1'000'000'000;
    if (percent == 0) tenant.idle_ns = kIdleNs;
    return tenant;
}

telemetry::Device device_of(unsigned index) {
    telemetry::Device device;
    device.gpu.index = index;
    device.gpu.uuid = {"GPU-00000000-0000-0000-0000-00000000000" + std::to_string(index)};
    device.gpu.model = "NVIDIA A100-SXM4-80GB";
    device.gpu.memory_bytes = 80 * kGiB;
    device.layout.mechanism = grant::Mechanism::kTimeSlicing;
    device.layout.replicas = 4;
    device.layout.slots["nvidia.com/gpu"] = 4;
    device.total.power_milliwatts = 200'000;
    device.parts.resize(1);
    return device;
}

void put(telemetry::Device& device, std::vector<telemetry::Tenant> tenants) {
    std::uint64_t used = 0;
    std::uint64_t busy = 0;
    for (const telemetry::Tenant& one : tenants) {
        used += *one.amounts.memory_bytes;
        busy += *one.amounts.utilization_ppm;
    }
    device.total.memory_bytes = used;
    device.total.utilization_ppm = busy;
    device.layout.allocated["nvidia.com/gpu"] = static_cast<unsigned>(tenants.size());
    device.parts[0].total = device.total;
    device.parts[0].tenants = std::move(tenants);
}

std::shared_ptr<const telemetry::Snapshot> first_node() {
    auto node = std::make_shared<telemetry::Snapshot>();
    node->node = "gpu-1";
    node->driver_version = "580.65.06";
    node->price_per_gpu_hour = 2.4;
    for (unsigned i = 0; i < 4; ++i) node->devices.push_back(device_of(i));
    put(node->devices[0],
        {tenant_of("vision", "resnet", 20, 20), tenant_of("speech", "asr", 20, 5)});
    put(node->devices[1],
        {tenant_of("vision", "yolo-a", 20, 25), tenant_of("vision", "yolo-b", 20, 24),
         tenant_of("search", "embed", 20, 12), tenant_of("search", "rank", 20, 0)});
    put(node->devices[2], {});
    put(node->devices[3], {tenant_of("speech", "tts", 20, 10)});
    node->devices[3].gpu.health.state = gpu::Health::State::kUnhealthy;
    node->devices[3].gpu.health.reason = "Xid 79: the GPU has fallen off the bus";
    node->devices[3].gpu.health.advice = "drain the node and restart it";
    return node;
}

page::Table jobs(std::int64_t now_ms) {
    page::Table table{
        .name = "jobs",
        .columns = {"job", "name", "user", "queue", "state", "gpus", "share", "devices",
                    "submitted", "started", "ended", "position", "p50", "p90"},
        .rows = {}};
    const auto at = [&](std::int64_t minutes) {
        return std::optional(static_cast<std::uint64_t>(now_ms + minutes * kMinuteMs));
    };
    const auto add = [&](unsigned number, const char* user, const char* state,
                         std::optional<std::uint64_t> started, std::optional<std::uint64_t> ended,
                         std::optional<std::uint64_t> position) {
        const auto place = static_cast<std::int64_t>(position.value_or(0));
        table.rows.push_back(page::RowWriter(std::to_string(number))
                                 .text("train-" + std::to_string(number))
                                 .text(user)
                                 .text("lab")
                                 .text(state)
                                 .number(1)
                                 .text("")
                                 .text(started ? "GPU 0" : "")
                                 .number(at(-100))
                                 .number(started)
                                 .number(ended)
                                 .number(position)
                                 .number(position ? at(20 * place) : std::nullopt)
                                 .number(position ? at(45 * place) : std::nullopt)
                                 .done());
    };
    add(1, "anna", "Failed", at(-90), at(-30), std::nullopt);
    add(2, "ben", "Running", at(-60), std::nullopt, std::nullopt);
    for (unsigned i = 1; i <= 3; ++i) add(2 + i, "anna", "Queued", std::nullopt, std::nullopt, i);
    return table;
}

cost::Report costs() {
    cost::Report report;
    const auto add = [&](const char* key, cost::State state, cost::Micros amount, bool nobody) {
        cost::Line line{.key = key, .nobody = nobody};
        line.sums.by_state[static_cast<std::size_t>(state)] = amount;
        line.sums.gpu = amount;
        line.sums.gpu_ms[static_cast<std::size_t>(state)] = cost::kDayMs;
        report.lines.push_back(line);
    };
    add("vision", cost::State::kBusy, 410'000'000, false);
    add("speech", cost::State::kIdle, 120'000'000, false);
    add("", cost::State::kFree, 200'000'000, true);
    for (std::int64_t day = 0; day < 7; ++day) {
        report.steps.push_back({.begin = (20'000 + day) * cost::kDayMs,
                                .owners = 60'000'000 + day * 5'000'000,
                                .idle = 20'000'000,
                                .nobody = 40'000'000 - day * 4'000'000});
    }
    return report;
}

page::Sight look() {
    page::Sight sight{.title = "Scene", .cluster = {}, .pods = {}, .remarks = {}, .more = {}};
    const auto now = std::chrono::system_clock::now();
    sight.cluster.now = now;
    sight.cluster.agents.push_back({.address = "gpu-1", .snapshot = first_node(), .problem = ""});
    sight.cluster.agents.push_back(
        {.address = "gpu-2", .snapshot = nullptr, .problem = "no answer"});
    for (const char* const name : {"big-0", "big-1"}) {
        sight.pods.push_back({.name = name,
                              .pod_namespace = "research",
                              .phase = "Pending",
                              .node = "",
                              .gpu = "",
                              .share = "nvidia.com/gpu: 8",
                              .reason = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu"});
    }
    sight.remarks = {
        {"error", "deploy.yaml:12", "POD001 0.5 is not a whole number", "nvidia.com/gpu: 1"},
        {"note", "sharing", "15 of 16 shares are offered", ""}};
    static const std::int64_t kBegun =
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
    sight.more = {jobs(kBegun)};
    for (page::Table& table : page::cost_tables(costs(), "USD"))
        sight.more.push_back(std::move(table));
    return sight;
}

}  // namespace

int main() {
    const auto live =
        std::make_shared<page::Live>(look, page::LiveOptions{.title = "Scene", .views = "[]"});
    const auto server = http::Server::listen({.address = "127.0.0.1:0"},
                                             page::Site(live, "/", page::Reach::kThisMachine));
    if (!server) {
        std::cerr << server.error().message << "\n";
        return 3;
    }
    std::cout << (*server)->port() << std::endl;
    std::cin.get();
    return 0;
}
