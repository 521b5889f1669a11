// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/node_list.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include "catalog/gpu_models.h"
#include "catalog/mig_profiles.h"
#include "sim/trace/csv.h"
#include "sim/trace/pair_list.h"

namespace aliquot::sim::trace {
namespace {

enum Column : std::size_t {
    kName,
    kCpu,
    kMemory,
    kGpus,
    kModel,
    kGpuMemory,
    kMig,
    kPrice,
    kWatts,
    kLabels,
    kTaints
};
constexpr std::array<std::string_view, 11> kNodeColumnNames{
    "sn",  "cpu_milli",      "memory_mib", "gpu",    "model", "gpu_memory_mib",
    "mig", "price_per_hour", "idle_watts", "labels", "taints"};
constexpr std::size_t kNodeColumns = 5;
constexpr CsvLimits kNodeLimits{.rows = 1'000'001};  // with the header line
constexpr std::int64_t kMostAmount = 2'000'000'000;
constexpr std::int64_t kNone = 0;

class NodeListReader {
public:
    NodeListReader(std::string name, std::string_view text)
        : csv_(std::move(name), text, kNodeLimits), table_(csv_) {}

    Result<NodeList> read() {
        auto header = table_.read_header("a node list", kNodeColumnNames, kNodeColumns);
        if (!header) return std::move(header).error();
        while (true) {
            auto row = table_.next();
            if (!row) return std::move(row).error();
            if (!*row) break;
            auto node = read_row();
            if (!node) return std::move(node).error();
            list_.nodes.push_back(*std::move(node));
        }
        if (list_.nodes.empty()) return csv_.wrong(1, "no node: a line for each node was expected");
        std::sort(list_.models.begin(), list_.models.end());
        return std::move(list_);
    }

private:
    Result<placement::NodeSpec> read_row() {
        placement::NodeSpec node;
        node.name = table_.field(kName).text;
        if (node.name.empty()) return table_.wrong(kName, "the name of the node was expected");
        const auto [known, is_new] = lines_.emplace(node.name, csv_.line());
        if (!is_new) {
            return table_.wrong(kName, "this name stands in line " + std::to_string(known->second) +
                                           " already; every node needs its own");
        }
        Result<Done> done = Done{};
        table_.take(kCpu, 0, kMostAmount, node.cpu_milli, done);
        table_.take(kMemory, 0, kMostAmount, node.memory_mib, done);
        table_.take(kGpus, 0, placement::kMostDevices, node.devices, done);
        table_.take(kGpuMemory, 0, kMostAmount, node.device_mib, done, &kNone);
        if (done) done = read_price(node);
        table_.take(kWatts, 0, 1'000'000, node.idle_watts, done, &kNone);
        if (done) done = read_gpu(node);
        if (done) done = read_pairs(node);
        if (!done) return std::move(done).error();
        return node;
    }

    Result<Done> read_price(placement::NodeSpec& node) {
        auto price = table_.decimal(kPrice, 1000, 1'000'000);
        if (!price) return std::move(price).error();
        node.milli_price_per_hour = static_cast<std::int32_t>(*price);
        return Done{};
    }

    Result<Done> read_gpu(placement::NodeSpec& node) {
        auto mig = table_.flag(kMig);
        if (!mig) return std::move(mig).error();
        if (node.devices == 0) {
            if (*mig) return table_.wrong(kMig, "the node has no GPU: 0 was expected");
            return Done{};
        }
        node.model = table_.field(kModel).text;
        if (node.model.empty()) {
            return table_.wrong(kModel, "the model of the node's GPUs was expected, such as T4");
        }
        if (node.model.find('|') != std::string::npos) {
            return table_.wrong(kModel, "one model was expected; all GPUs of a node are alike");
        }
        auto& models = list_.models;
        if (std::find(models.begin(), models.end(), node.model) == models.end()) {
            if (models.size() == kMostModels) {
                return table_.wrong(kModel, "at most " + std::to_string(kMostModels) +
                                                " different models were expected");
            }
            models.push_back(node.model);
        }
        return *mig ? read_mig(node) : Done{};
    }

    Result<Done> read_mig(placement::NodeSpec& node) {
        node.mig_devices = static_cast<std::uint16_t>((1U << node.devices) - 1U);
        for (const placement::MigGeometry& geometry : list_.geometries) {
            if (geometry.model == node.model) return Done{};
        }
        const catalog::GpuModel* const model =
            catalog::find_gpu_model(node.model, static_cast<unsigned>(node.device_mib));
        placement::MigGeometry geometry{.model = node.model, .profiles = {}};
        if (model != nullptr) {
            const auto profiles = catalog::mig_profiles(*model);
            unsigned most = 1;  // compute slices of the whole GPU
            for (const auto& profile : profiles) most = std::max(most, profile.slices);
            for (const auto& profile : profiles) {
                placement::MigProfile one{
                    .name = std::string(profile.name),
                    .width = static_cast<std::uint8_t>(profile.memory_slices)};
                for (const unsigned start : profile.starts) {
                    if (start < 8) one.starts = static_cast<std::uint8_t>(one.starts | 1U << start);
                }
                one.milli = static_cast<std::int32_t>(placement::kWholeGpu * profile.slices / most);
                geometry.profiles.push_back(std::move(one));
            }
        }
        if (geometry.profiles.empty()) {
            return table_.wrong(kMig, "no MIG profiles are known for the model " +
                                          shown(node.model) +
                                          "; write 0, or a model such as A100-SXM4-40GB");
        }
        list_.geometries.push_back(std::move(geometry));
        return Done{};
    }

    Result<Done> read_pairs(placement::NodeSpec& node) {
        auto labels = parse_pairs(table_.field(kLabels).text, nullptr);
        if (!labels) return table_.wrong(kLabels, labels.error().message);
        node.labels = *std::move(labels);
        auto taints = parse_pairs(table_.field(kTaints).text, "");
        if (!taints) return table_.wrong(kTaints, taints.error().message);
        node.taints = *std::move(taints);
        return Done{};
    }

    static constexpr std::size_t kMostModels = 64;

    CsvReader csv_;
    CsvTable table_;
    NodeList list_;
    std::unordered_map<std::string, unsigned> lines_;
};

}  // namespace

std::int64_t NodeList::capacity_milli() const {
    std::int64_t milli = 0;
    for (const placement::NodeSpec& node : nodes) {
        milli += std::int64_t{node.devices} * placement::kWholeGpu;
    }
    return milli;
}

Result<NodeList> read_node_list(std::string name, std::string_view text) {
    return NodeListReader(std::move(name), text).read();
}

void fill_gpu_memory(NodeList& list) {
    std::unordered_map<std::string, std::int32_t> known;
    for (placement::NodeSpec& node : list.nodes) {
        if (node.devices == 0 || node.device_mib != 0) continue;
        const auto [entry, is_new] = known.emplace(node.model, 0);
        if (is_new) {
            const catalog::GpuModel* const model = catalog::find_gpu_model(node.model);
            if (model != nullptr) {
                entry->second = static_cast<std::int32_t>(
                    model->memory_mib != 0 ? model->memory_mib
                                           : static_cast<unsigned>(model->memory_gib * 1024));
            }
        }
        node.device_mib = entry->second;
    }
}

}  // namespace aliquot::sim::trace
