// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/columns.h"
#include "cli/answer.h"
#include "cmd/aliquot/sim_command.h"
#include "command_line/command.h"
#include "k8s/memory_amount.h"

namespace aliquot::sim {
namespace {

void print_table(std::ostream& out, const std::vector<GpuView>& gpus) {
    std::vector<Row> rows = {{"GPU", "MODEL", "MEMORY", "PROCESSES", "LAST XID", "FAULT", "UUID"}};
    for (const GpuView& gpu : gpus) {
        rows.push_back({std::to_string(gpu.index), gpu.model,
                        k8s::bytes_text(gpu.memory_used_bytes) + " / " +
                            k8s::bytes_text(gpu.memory_total_bytes),
                        std::to_string(gpu.processes),
                        gpu.last_xid == 0 ? "-" : std::to_string(gpu.last_xid),
                        gpu.fault.empty() ? "-" : gpu.fault, gpu.uuid});
        for (const MigDeviceView& device : gpu.mig_devices) {
            rows.push_back({std::to_string(gpu.index) + ":" + std::to_string(device.index),
                            device.profile,
                            k8s::bytes_text(device.memory_used_bytes) + " / " +
                                k8s::bytes_text(device.memory_total_bytes),
                            std::to_string(device.processes), "-", "-", device.uuid});
        }
    }
    out << in_columns(rows, {.gap = 3});
}

nlohmann::ordered_json to_json(const GpuView& gpu) {
    nlohmann::ordered_json devices = nlohmann::ordered_json::array();
    for (const MigDeviceView& device : gpu.mig_devices) {
        devices.push_back({{"index", device.index},
                           {"profile", device.profile},
                           {"uuid", device.uuid},
                           {"gpuInstance", device.instance.gpu_instance},
                           {"computeInstance", device.instance.compute_instance},
                           {"start", device.start},
                           {"size", device.size},
                           {"memoryTotalBytes", device.memory_total_bytes},
                           {"memoryUsedBytes", device.memory_used_bytes},
                           {"processes", device.processes}});
    }
    return {{"enabled", gpu.mig_enabled}, {"pending", gpu.mig_pending}, {"devices", devices}};
}

nlohmann::ordered_json to_json(const std::filesystem::path& directory,
                               const std::vector<GpuView>& gpus) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const GpuView& gpu : gpus) {
        list.push_back({{"index", gpu.index},
                        {"model", gpu.model},
                        {"product", gpu.product},
                        {"uuid", gpu.uuid},
                        {"pciBusId", gpu.pci_bus_id},
                        {"memoryTotalBytes", gpu.memory_total_bytes},
                        {"memoryUsedBytes", gpu.memory_used_bytes},
                        {"memoryPeakBytes", gpu.memory_peak_bytes},
                        {"processes", gpu.processes},
                        {"fault", gpu.fault},
                        {"lastXid", gpu.last_xid}});
        if (gpu.mig_capable) list.back()["mig"] = to_json(gpu);
    }
    return {{"state", directory.native()}, {"gpus", list}};
}

struct StatusOptions {
    std::string state;
    std::string format = "table";
};

void run_status(const StatusOptions& options, cli::Context& context) {
    const auto directory = state_directory(options.state);
    const auto node = open_node(directory);
    if (!node) return fail_with(context, node.error());
    const auto gpus = node->gpus();
    if (options.format == "table") {
        print_table(context.out, gpus);
    } else {
        cli::print_answer(context.out, "SimulatedNode", to_json(directory, gpus), options.format);
    }
}

}  // namespace

void add_sim_status(command_line::Command& sim, cli::Context& context) {
    auto* const command = sim.add_subcommand("status", "Show the GPUs of the node");
    command->footer("aliquot sim status --state /tmp/node -o json");
    const auto options = std::make_shared<StatusOptions>();
    cli::add_output(*command, options->format);
    command->add_option("--state", options->state, "Directory of the node")->type_name("DIR");
    command->callback([options, &context] { run_status(*options, context); });
}

}  // namespace aliquot::sim
