// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/serve_costs.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "cli/files/price_file.h"
#include "cli/jobs/use_meter.h"
#include "command_line/command.h"
#include "cost/price.h"
#include "cost/share.h"
#include "os/host_name.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;

}  // namespace

void add_cost_flags(command_line::Command& command, CostWords& words) {
    command.add_option(
        "--prices", words.prices,
        "Your own prices and budgets (aliquot price check); default: the table of cloud "
        "machines only",
        "FILE");
    command.add_option(
        "--cost-store", words.store,
        "Where costs are kept: a file, postgresql://..., or off; default cost.sqlite "
        "beside the journal",
        "PLACE");
    command.add_option("--machine-type", words.type,
                       "Instance type of this machine, as g5.xlarge; default: detected", "TYPE");
    command.add_flag("--spot", words.spot, "This machine is billed at spot prices");
}

void tell_parents(const gpu::Inventory& inventory, std::vector<job_server::Device>& devices) {
    for (const gpu::Gpu& gpu : inventory.gpus) {
        for (const gpu::MigDevice& mig : gpu.mig_devices) {
            const auto found = std::ranges::find(devices, mig.uuid.text, &job_server::Device::uuid);
            if (found == devices.end()) continue;
            found->gpu = gpu.uuid.text;
            found->gpu_model = gpu.model;
            found->share = cost::share_of(gpu, mig);
        }
    }
}

Result<std::unique_ptr<job_server::Costs>> serve_costs(const CostWords& words,
                                                       const std::string& state,
                                                       std::vector<job_server::Device> devices,
                                                       const DriverChoice* driver,
                                                       const gpu::Inventory& inventory) {
    auto prices = read_price_file(words.prices);
    if (!prices) return std::move(prices).error();
    if (words.store == "off") return std::unique_ptr<job_server::Costs>{};
    job_server::CostsOptions options;
    options.where = words.store.empty() ? (fs::path(state) / "cost.sqlite").native() : words.store;
    options.prices = *std::move(prices);
    options.machine = {.name = os::host_name("localhost"),
                       .type = words.type.empty() ? job_server::machine_type() : words.type,
                       .spot = words.spot};
    options.devices = std::move(devices);
    options.cpu_milli = job_server::machine_cpu_milli();
    options.memory_mib = job_server::machine_memory_mib();
    if (driver != nullptr) {
        auto look = use_meter(*driver, inventory);
        if (!look) return std::move(look).error();
        options.look = *std::move(look);
    }
    return job_server::Costs::open(std::move(options));
}

}  // namespace aliquot::cli
