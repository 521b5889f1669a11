// SPDX-License-Identifier: Apache-2.0
//
// What `aliquot placement defrag` wins in a cluster whose tasks have come and gone for a while: tasks of a list are
// placed by the books of the controller's role `placement` as they come (Poisson), and leave after an exponential
// lifetime; what finds no place goes. Then plans of different sizes are made from the same books, each from the start.
//
//   defrag_bench --nodes openb_node_list_gpu_node.csv --pods openb_pod_list_default.csv
//
// A GPU has 100 units; several GPUs are as many containers of one. Tasks without a GPU and models are left out.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <queue>
#include <random>

#include "scheduling/books.h"
#include "sim/trace/task_list.h"

namespace aliquot {
namespace {

using scheduling::Books;
using scheduling::GpuPod;
using scheduling::ServedNode;

constexpr char kShare[] = "example.com/gpu.shared";
constexpr unsigned kUnits = 100;
constexpr double kLifetimes = 6;  // of tasks that come and go before the plan

struct Options {
    std::string nodes;
    std::string pods;
    double load = 0.85;
    double movable = 1;
    unsigned seed = 1;
};

std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct Cluster {
    std::map<std::string, ServedNode> nodes;
    std::map<std::string, GpuPod> pods;  // that run
    unsigned gpus = 0;
    std::size_t refused = 0;
};

Cluster nodes_of(const sim::trace::NodeList& list) {
    Cluster made;
    for (const auto& one : list.nodes) {
        if (one.devices == 0) continue;
        ServedNode node{.name = one.name,
                        .is_open = true,
                        .cpu_milli = one.cpu_milli,
                        .memory_mib = one.memory_mib};
        for (unsigned i = 0; i < one.devices; ++i)
            node.gpus.push_back({"GPU-" + one.name + "-" + std::to_string(i), {{kShare, kUnits}}});
        node.on_one_gpu = {kShare};
        made.gpus += one.devices;
        made.nodes[node.name] = std::move(node);
    }
    return made;
}

GpuPod pod_of(const sim::trace::Task& task, std::size_t number, bool movable) {
    const std::string name = "p" + std::to_string(number);
    GpuPod pod{.uid = name,
               .name_space = "team",
               .name = name,
               .is_gated = true,
               .owner = "owner of " + name,
               .movable = movable ? GpuPod::Movable::kUntold : GpuPod::Movable::kNo,
               .bound_at = "2026-01-01T00:00:00Z",
               .cpu_milli = task.request.cpu_milli,
               .memory_mib = task.request.memory_mib};
    const auto units = static_cast<unsigned>((task.request.milli + 9) / 10);
    for (unsigned i = 0; i < task.request.gpus; ++i)
        pod.devices.push_back({"c" + std::to_string(i), kShare, units});
    return pod;
}

/// Tasks come and go; what runs in the end is in the cluster.
void churn(Cluster& cluster, const std::vector<sim::trace::Task>& tasks, const Options& options) {
    std::mt19937_64 random(options.seed);
    const auto draw = [&] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
    double mean = 0;  // GPUs of a task
    for (const auto& one : tasks) mean += one.request.gpu_milli() / 1000.0;
    mean /= static_cast<double>(tasks.size());
    const double rate = options.load * cluster.gpus / mean;  // tasks in a mean lifetime
    Books books;
    for (const auto& [name, node] : cluster.nodes) books.set_node(node);
    std::priority_queue<std::pair<double, std::string>, std::vector<std::pair<double, std::string>>,
                        std::greater<>>
        ends;
    double now = 0;
    for (std::size_t i = 0; now < kLifetimes; ++i) {
        now += -std::log1p(-draw()) / rate;
        for (; !ends.empty() && ends.top().first <= now; ends.pop()) {
            books.remove_pod(ends.top().second);
            cluster.pods.erase(ends.top().second);
        }
        const auto& task = tasks[random() % tasks.size()];
        GpuPod pod = pod_of(task, i, draw() < options.movable);
        const double lifetime = -std::log1p(-draw());
        const auto decision = books.decide(pod);
        if (decision.targets.empty()) {
            ++cluster.refused;
            continue;
        }
        pod.is_gated = false;
        pod.node = decision.targets.front().node;
        pod.plan = "as granted";
        books.set_pod(pod);
        ends.emplace(now + lifetime, pod.uid);
        cluster.pods[pod.uid] = pod;
        cluster.nodes.at(pod.node).granted[pod.uid] = decision.targets.front().units;
    }
}

/// Nodes of eight GPUs and more that are wholly free.
unsigned free_large_nodes(const Books& books) {
    std::map<std::string, std::pair<unsigned, unsigned>> nodes;  // GPUs, free ones
    for (const auto& row : books.gpus()) {
        auto& [gpus, free] = nodes[row.node];
        ++gpus;
        free += row.free == row.units ? 1 : 0;
    }
    unsigned count = 0;
    for (const auto& [name, node] : nodes)
        count += node.first >= 8 && node.first == node.second ? 1 : 0;
    return count;
}

void tell_plans(const Cluster& cluster) {
    std::printf("moves allowed  made  free GPUs  free nodes  of 8 GPUs  seconds\n");
    for (const std::size_t most : {0U, 10U, 20U, 50U, 100U, 200U, 500U, 1000U}) {
        Books books;
        for (const auto& [name, node] : cluster.nodes) books.set_node(node);
        for (const auto& [uid, pod] : cluster.pods) books.set_pod(pod);
        const auto begin = std::chrono::steady_clock::now();
        const auto plan =
            books.plan_defrag({.bound_before = "2026-01-01T01:00:00Z", .most_moves = most});
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        std::printf("%13zu  %4zu  %9u  %10u  %9u  %7.2f\n", most, plan.moves.size(),
                    plan.after.gpus, plan.after.nodes, free_large_nodes(books), took.count());
    }
}

int run(const Options& options) {
    const auto nodes = sim::trace::read_node_list(options.nodes, read(options.nodes));
    if (!nodes) return std::fprintf(stderr, "%s\n", nodes.error().message.c_str()), 2;
    auto list = sim::trace::read_task_list(options.pods, read(options.pods), &*nodes);
    if (!list) return std::fprintf(stderr, "%s\n", list.error().message.c_str()), 2;
    std::erase_if(list->tasks, [](const auto& one) { return one.request.gpus == 0; });
    Cluster cluster = nodes_of(*nodes);
    churn(cluster, list->tasks, options);
    double used = 0;
    for (const auto& [uid, pod] : cluster.pods) {
        for (const auto& one : pod.devices) used += one.count;
    }
    std::printf("%zu nodes, %u GPUs; %zu pods run on %.1f %% of them, %zu found no place\n",
                cluster.nodes.size(), cluster.gpus, cluster.pods.size(),
                used / kUnits / cluster.gpus * 100, cluster.refused);
    tell_plans(cluster);
    return 0;
}

}  // namespace
}  // namespace aliquot

int main(int argc, char** argv) {
    CLI::App app("what defrag wins after churn");
    aliquot::Options options;
    app.add_option("--nodes", options.nodes)->required();
    app.add_option("--pods", options.pods)->required();
    app.add_option("--load", options.load);
    app.add_option("--movable", options.movable, "part of the pods that may be moved");
    app.add_option("--seed", options.seed);
    CLI11_PARSE(app, argc, argv);
    return aliquot::run(options);
}
