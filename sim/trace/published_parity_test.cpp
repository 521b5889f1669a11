// SPDX-License-Identifier: Apache-2.0
// The published policies against a plain second implementation: every node looked at for every
// arrival, nothing kept between two. Popularities are multiples of 1/64, so that sums are exact in
// any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "placement/engine.h"
#include "placement/random_cluster.h"
#include "sim/trace/published_scorer.h"

namespace aliquot::sim::trace {
namespace {

using namespace placement;  // NOLINT(google-build-using-namespace)

struct PlainNode {
    int cpu = 0;
    int memory = 0;
    std::string model;
    std::vector<int> gpus;     // free milli
    std::map<int, int> kinds;  // GPUs per task (0: a share) -> tasks here
    [[nodiscard]] int free_gpu() const {
        int sum = 0;
        for (const int milli : gpus) sum += milli;
        return sum;
    }
};

struct PlainPlace {
    int node = -1;
    std::vector<std::uint8_t> devices;
};

bool runs_on(const Request& task, const PlainNode& node) {
    if (task.cpu_milli > node.cpu) return false;
    if (task.gpus == 0) return true;
    if (!task.models.empty() &&
        std::find(task.models.begin(), task.models.end(), node.model) == task.models.end())
        return false;
    return std::count_if(node.gpus.begin(), node.gpus.end(),
                         [&](int milli) { return milli >= task.milli; }) >= task.gpus;
}

PlainNode with(PlainNode node, const Request& task, const std::vector<std::uint8_t>& devices) {
    node.cpu -= task.cpu_milli;
    node.memory -= task.memory_mib;
    for (const std::uint8_t device : devices) node.gpus[device] -= task.milli;
    return node;
}

std::vector<std::uint8_t> first_devices(const PlainNode& node, const Request& task) {
    std::vector<std::uint8_t> devices;
    for (std::size_t i = 0; i < node.gpus.size() && devices.size() < task.gpus; ++i)
        if (node.gpus[i] >= task.milli) devices.push_back(static_cast<std::uint8_t>(i));
    return devices;
}

std::vector<std::uint8_t> tightest_device(const PlainNode& node, const Request& task) {
    if (task.gpus != 1 || task.milli == kWholeGpu) return first_devices(node, task);
    int best = -1;
    for (int i = 0; i < static_cast<int>(node.gpus.size()); ++i) {
        const int milli = node.gpus[static_cast<std::size_t>(i)];
        if (milli >= task.milli && (best < 0 || milli < node.gpus[static_cast<std::size_t>(best)]))
            best = i;
    }
    return {static_cast<std::uint8_t>(best)};
}

double fragmentation(const PlainNode& node, const std::vector<TaskType>& types) {
    double sum = 0;
    for (const TaskType& type : types) {
        const bool runs = type.request.gpus > 0 && runs_on(type.request, node);
        for (const int milli : node.gpus)
            if (!runs || milli < type.request.milli) sum += type.popularity * milli;
    }
    return sum;
}

int fgd_score(const PlainNode& before, const PlainNode& after, const std::vector<TaskType>& types) {
    const double gain = (fragmentation(before, types) - fragmentation(after, types)) / 1000;
    return static_cast<int>(std::floor(100.0 / (1.0 + std::exp(-gain))));
}

int packing_score(const PlainNode& node, const Request& task) {
    if (task.gpus == 0) return 0;
    const auto idle = static_cast<int>(std::count(node.gpus.begin(), node.gpus.end(), 1000));
    if (idle == static_cast<int>(node.gpus.size())) return std::max(33 - idle, idle);
    std::vector<int> sorted = node.gpus;
    std::sort(sorted.begin(), sorted.end());
    std::erase_if(sorted, [&](int milli) { return milli < task.milli; });
    sorted.resize(task.gpus);
    const auto opened = static_cast<int>(std::count(sorted.begin(), sorted.end(), 1000));
    if (opened > 0) return std::max(50 - opened, 33);
    int percent = 0;
    for (const int milli : sorted) percent += milli / 10;
    return std::max(100 - percent / 10, 50);
}

int clustering_score(const PlainNode& node, const Request& task) {
    if (task.gpus == 0) return 0;
    const int fill = 25 * (8'000 - node.free_gpu()) / 8'000;
    const int kind = task.milli == kWholeGpu ? task.gpus : 0;
    if (node.kinds.contains(kind)) return fill + (node.kinds.size() == 1 ? 75 : 50);
    return fill + (node.kinds.empty() ? 25 : 0);
}

int fixed_score(Policy policy, const PlainNode& node, const Request& task) {
    const double wanted = task.gpus * task.milli;
    if (policy == Policy::kBestFit) {
        const double cpu = (node.cpu - task.cpu_milli) / 128'000.0;
        const double gpu = (node.free_gpu() - wanted) / 8'000.0;
        return static_cast<int>((1.0 - (cpu * 0.5 + gpu * 0.5)) * 100.0);
    }
    if (policy == Policy::kDotProduct) {
        const double cpu = node.cpu / 128'000.0 * (task.cpu_milli / 128'000.0);
        const double gpu = node.free_gpu() / 8'000.0 * (wanted / 8'000.0);
        return static_cast<int>(100.0 * (1 - (cpu + gpu) / 2.0));
    }
    return policy == Policy::kPacking ? packing_score(node, task) : clustering_score(node, task);
}

PlainPlace plain_choice(Policy policy, const std::vector<PlainNode>& nodes, const Request& task,
                        const std::vector<TaskType>& types) {
    PlainPlace best;
    int best_score = 0;
    const auto offer = [&](std::size_t node, int score, std::vector<std::uint8_t> devices) {
        if (best.node >= 0 && score <= best_score) return;  // among equals the first
        best = {static_cast<int>(node), std::move(devices)};
        best_score = score;
    };
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const PlainNode& node = nodes[i];
        if (!runs_on(task, node) || task.memory_mib > node.memory) continue;
        if (policy != Policy::kFgd) {
            offer(i, fixed_score(policy, node, task), tightest_device(node, task));
        } else if (task.gpus != 1 || task.milli == kWholeGpu) {
            const auto devices = first_devices(node, task);
            offer(i, fgd_score(node, with(node, task, devices), types), devices);
        } else {
            for (std::size_t at = 0; at < node.gpus.size(); ++at) {
                if (node.gpus[at] < task.milli) continue;
                const auto device = static_cast<std::uint8_t>(at);
                offer(i, fgd_score(node, with(node, task, {device}), types), {device});
            }
        }
    }
    return best;
}

Request random_task(Dice& dice) {
    static constexpr std::array<std::int32_t, 6> kMilli{100, 190, 250, 460, 500, 810};
    static constexpr std::array<std::uint8_t, 6> kGpus{1, 1, 1, 2, 4, 8};
    Request task;
    task.cpu_milli = 1'000 * static_cast<int>(dice.below(16));
    task.memory_mib = 1'024 * static_cast<int>(1 + dice.below(48));
    const unsigned form = dice.below(10);
    if (form == 0) return task;
    task.gpus = form < 6 ? std::uint8_t{1} : dice.of(kGpus);
    task.milli = form < 6 ? dice.of(kMilli) : kWholeGpu;
    if (dice.one_in(6)) task.models = {dice.one_in(2) ? "T4" : "V100"};
    return task;
}

class PublishedParity : public testing::TestWithParam<Policy> {
protected:
    void add_nodes() {
        static constexpr std::array<std::uint8_t, 5> kDevices{0, 1, 2, 4, 8};
        static const std::array<std::string, 3> kModels{"A2", "T4", "V100"};
        for (unsigned i = 0; i < 32; ++i) {
            NodeSpec spec;
            spec.name = "n" + std::to_string(i);
            spec.cpu_milli = 32'000 * static_cast<int>(1 + dice_.below(4));
            spec.memory_mib = 131'072 * static_cast<int>(1 + dice_.below(4));
            spec.devices = dice_.of(kDevices);
            spec.device_mib = 16'384;
            if (spec.devices > 0) spec.model = dice_.of(kModels);
            ASSERT_TRUE(engine_.add_node(spec).ok());
            nodes_.push_back({.cpu = spec.cpu_milli,
                              .memory = spec.memory_mib,
                              .model = spec.model,
                              .gpus = std::vector<int>(spec.devices, 1000),
                              .kinds = {}});
        }
        for (unsigned i = 0; i < 8; ++i)
            types_.push_back(
                {.request = random_task(dice_), .popularity = i < 4 ? 0.1875 : 0.0625});
        engine_.set_workload(types_);
    }

    void arrive(const Request& task) {
        const PlainPlace expected = plain_choice(GetParam(), nodes_, task, types_);
        const auto placed = engine_.place(task);
        ASSERT_EQ(placed.ok(), expected.node >= 0);
        if (!placed) return;
        ASSERT_EQ(placed->node, static_cast<NodeId>(expected.node));
        ASSERT_EQ(placed->devices, expected.devices);
        PlainNode& node = nodes_[placed->node];
        node = with(node, task, placed->devices);
        if (task.gpus > 0) ++node.kinds[task.milli == kWholeGpu ? task.gpus : 0];
        live_.emplace_back(*placed, task);
    }

    void leave() {
        if (live_.empty()) return;
        const unsigned index = dice_.below(static_cast<unsigned>(live_.size()));
        const auto [placed, task] = live_[index];
        live_.erase(live_.begin() + index);
        ASSERT_TRUE(engine_.release(placed.id).ok());
        PlainNode& node = nodes_[placed.node];
        node.cpu += task.cpu_milli;
        node.memory += task.memory_mib;
        for (const std::uint8_t device : placed.devices) node.gpus[device] += task.milli;
        const int kind = task.milli == kWholeGpu ? task.gpus : 0;
        if (task.gpus > 0 && --node.kinds[kind] == 0) node.kinds.erase(kind);
    }

    Dice dice_{11};
    Engine engine_{Options{.policy = GetParam(), .published = published_scorer}};
    std::vector<PlainNode> nodes_;
    std::vector<TaskType> types_;
    std::vector<std::pair<Placement, Request>> live_;
};

TEST_P(PublishedParity, ChoosesWhatAPlainScanChoosesForTwoThousandArrivals) {
    add_nodes();
    std::vector<Request> kinds;
    for (unsigned i = 0; i < 60; ++i) kinds.push_back(random_task(dice_));
    for (unsigned i = 0; i < 2'000; ++i) {
        SCOPED_TRACE("arrival " + std::to_string(i));
        arrive(kinds[dice_.below(static_cast<unsigned>(kinds.size()))]);
        if (i > 150 && dice_.below(3) > 0) leave();
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(live_.size(), 40U);
    EXPECT_EQ(engine_.self_check(), "");
}

INSTANTIATE_TEST_SUITE_P(Policies, PublishedParity,
                         testing::Values(Policy::kFgd, Policy::kBestFit, Policy::kDotProduct,
                                         Policy::kPacking, Policy::kClustering),
                         [](const auto& tested) {
                             std::string word(to_text(tested.param));
                             std::replace(word.begin(), word.end(), '-', '_');
                             return word;
                         });

}  // namespace
}  // namespace aliquot::sim::trace
