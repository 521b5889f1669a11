// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "base/json_value.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/host/agent_page.h"
#include "cli/host/driver_choice.h"
#include "cli/rows.h"
#include "command_line/command.h"
#include "gpu/health.h"
#include "gpu/json.h"
#include "k8s/memory_amount.h"
#include "nvml/driver.h"
#include "os/root.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::ordered_json;

struct GpuOptions {
    std::string agent;
    DriverChoice driver;
    std::string which;
    std::string format = "table";
};

/// What the node agent has been watching.
Result<Json> gpus_of_agent(const std::string& address) {
    auto page = ask_agent(address, "/status");
    if (!page) return std::move(page).error();
    Json status = parse_json<Json>(*page);
    if (status.is_discarded() || !status.is_object() || !status.contains("gpus") ||
        !status["gpus"].is_array()) {
        return Error{ErrorCode::kUnavailable,
                     "node agent at " + address + ": its /status is not of this version"};
    }
    const std::string problem = status.value("driverProblem", "");
    if (!problem.empty() && status["gpus"].empty()) return Error{ErrorCode::kUnavailable, problem};
    return std::move(status["gpus"]);
}

/// What the driver says at this moment. Nobody has been watching, so there is no `since`.
Result<Json> from_driver(const GpuOptions& words) {
    const os::Root host(host_of(words.driver));
    auto driver = nvml::Driver::open(host, driver_options(words.driver));
    if (!driver) return std::move(driver).error();
    auto inventory = (*driver)->enumerate(gpu::Links::kLeaveOut);
    if (!inventory) return std::move(inventory).error();
    gpu::HealthTracker book(gpu::XidPolicy{});
    book.note_inventory(*inventory, {});
    std::vector<gpu::Uuid> uuids;
    for (const gpu::Gpu& one : inventory->gpus) {
        if (!one.uuid.text.empty()) uuids.push_back(one.uuid);
    }
    if (const auto probes = (*driver)->probe(uuids)) book.note_probes(*probes, {});
    Json gpus = Json::array();
    for (gpu::Gpu& one : inventory->gpus) {
        if (one.uuid.text.empty()) {
            one.health.advice = gpu::advice_for_silence(one.health.reason);
        } else {
            one.health = book.health_of(one.uuid);
        }
        for (gpu::MigDevice& device : one.mig_devices) {
            device.health = book.health_of(one.uuid, device);
        }
        gpus.push_back(gpu::to_json(one, {}));
    }
    return gpus;
}

/// The agent where it runs, unless another place was asked for.
Result<Json> look(const GpuOptions& words) {
    if (!words.agent.empty()) return gpus_of_agent(words.agent);
    if (!words.driver.node_state.empty() || !words.driver.driver_root.empty())
        return from_driver(words);
    auto seen = gpus_of_agent(usual_agent());
    if (!seen && seen.error().code == ErrorCode::kInvalidInput) {
        return std::move(seen).error().during("ALIQUOT_AGENT");
    }
    if (seen || seen.error().code != ErrorCode::kNotFound) return seen;
    return from_driver(words);
}

std::string memory_of(const Json& object) {
    const auto found = object.find("memoryBytes");
    if (found == object.end() || !found->is_number_unsigned()) return "";
    return k8s::bytes_text(found->get<std::uint64_t>());
}

void print_list(std::ostream& out, const Json& gpus) {
    std::vector<Row> rows{{"GPU", "MODEL", "MEMORY", "MIG", "HEALTH", "SINCE", "REASON"}};
    for (const Json& one : gpus) {
        rows.push_back({cell_of(one, "index"), cell_of(one, "model"), memory_of(one),
                        cell_of(one, "mig"), cell_of(one, "health"), cell_of(one, "since"),
                        cell_of(one, "reason")});
        for (const Json& device : one.value("migDevices", Json::array())) {
            rows.push_back({cell_of(one, "index") + ":" + cell_of(device, "index"),
                            cell_of(device, "profile"), memory_of(device), "",
                            cell_of(device, "health"), cell_of(device, "since"),
                            cell_of(device, "reason")});
        }
    }
    print_rows(out, rows);
    for (const Json& one : gpus) {
        const std::string advice = cell_of(one, "advice");
        if (!advice.empty()) out << "\nGPU " << cell_of(one, "index") << ": " << advice << '\n';
    }
}

void print_one(std::ostream& out, const Json& one) {
    const auto line = [&](const char* name, const std::string& value) {
        if (!value.empty())
            out << name << std::string(14 - std::string_view(name).size(), ' ') << value << '\n';
    };
    line("GPU", cell_of(one, "index"));
    line("UUID", cell_of(one, "uuid"));
    line("Model", cell_of(one, "model"));
    line("Memory", memory_of(one));
    line("PCI", cell_of(one, "pci"));
    line("Device", "/dev/nvidia" + cell_of(one, "minor"));
    line("Capability", cell_of(one, "computeCapability"));
    line("NUMA node", cell_of(one, "numaNode"));
    line("MIG", cell_of(one, "mig"));
    const std::string virtualization = cell_of(one, "virtualization");
    if (virtualization == "vgpu-guest") {
        line("vGPU",
             "a part of a GPU that the hypervisor lends to this virtual machine: it cannot "
             "be cut by MIG from here");
    } else if (virtualization == "vgpu-host" || virtualization == "vsga-host") {
        line("vGPU",
             "this GPU is lent to virtual machines by the vGPU host driver: containers "
             "cannot use it");
    } else if (virtualization == "passthrough") {
        line("Virtual",
             "the whole GPU is passed through to this virtual machine: a reset may need "
             "the hypervisor");
    }
    line("Health", cell_of(one, "health"));
    line("Since", cell_of(one, "since"));
    line("Reason", cell_of(one, "reason"));
    line("Advice", cell_of(one, "advice"));
    const Json devices = one.value("migDevices", Json::array());
    if (!devices.empty()) {
        out << '\n';
        std::vector<Row> rows{{"MIG", "PROFILE", "MEMORY", "START", "GI", "CI", "HEALTH", "UUID"}};
        for (const Json& device : devices) {
            rows.push_back({cell_of(device, "index"), cell_of(device, "profile"), memory_of(device),
                            cell_of(device, "start"), cell_of(device, "gpuInstance"),
                            cell_of(device, "computeInstance"), cell_of(device, "health"),
                            cell_of(device, "uuid")});
        }
        print_rows(out, rows);
    }
    const Json xids = one.value("xids", Json::array());
    if (xids.empty()) return;
    out << '\n';
    std::vector<Row> rows{{"AT", "XID"}};
    for (const Json& seen : xids) rows.push_back({cell_of(seen, "at"), cell_of(seen, "text")});
    print_rows(out, rows);
}

void finish(Context& context, const Json& gpus) {
    const bool all_well = std::ranges::all_of(
        gpus, [](const Json& one) { return cell_of(one, "health") != "Unhealthy"; });
    context.exit_code = all_well ? kOk : kFindings;
}

std::optional<Json> look_or_fail(Context& context, const GpuOptions& words) {
    auto gpus = look(words);
    if (gpus) return *std::move(gpus);
    const bool wrong_word = gpus.error().code == ErrorCode::kInvalidInput;
    fail(context, wrong_word ? kUsage : kCouldNotRun, gpus.error().message);
    return std::nullopt;
}

void list(Context& context, const GpuOptions& words) {
    const auto gpus = look_or_fail(context, words);
    if (!gpus) return;
    if (words.format == "table") {
        print_list(context.out, *gpus);
    } else {
        print_answer(context.out, "GpuList", Json{{"gpus", *gpus}}, words.format);
    }
    finish(context, *gpus);
}

void show(Context& context, const GpuOptions& words) {
    const auto gpus = look_or_fail(context, words);
    if (!gpus) return;
    std::string known;
    for (const Json& one : *gpus) {
        if (cell_of(one, "index") == words.which || cell_of(one, "uuid") == words.which ||
            cell_of(one, "pci") == words.which) {
            if (words.format == "table") {
                print_one(context.out, one);
            } else {
                print_answer(context.out, "Gpu", one, words.format);
            }
            return finish(context, Json::array({one}));
        }
        known += (known.empty() ? "" : ", ") + cell_of(one, "index");
    }
    fail(context, kUsage,
         "no GPU '" + words.which + "' on this node" +
             (known.empty() ? "" : "; expected an index (" + known + "), a uuid or a PCI address"));
}

command_line::Command* add(command_line::Command& parent, const char* name, const char* what,
                           GpuOptions& words) {
    command_line::Command* command = parent.add_subcommand(name, what);
    const DriverFlags flags =
        add_driver_flags(*command, words.driver, "Directory of a simulated node (aliquot sim up)",
                         "Ask the driver installed there, or this libnvidia-ml.so.1, directly");
    command
        ->add_option("--agent", words.agent,
                     "Ask the node agent there; default: the one of this node, else the driver",
                     "ADDRESS")
        ->excludes(flags.node_state)
        ->excludes(flags.driver_root);
    add_output(*command, words.format);
    return command;
}

}  // namespace

void add_gpu_command(command_line::Command& program, Context& context) {
    command_line::Command* gpu =
        program.add_subcommand("gpu", "Show the health of this node's GPUs");
    gpu->require_subcommand(1);
    gpu->footer("aliquot gpu list\naliquot gpu show 0");
    auto words = std::make_shared<GpuOptions>();
    command_line::Command* all =
        add(*gpu, "list", "List the GPUs with their health, reason and advice", *words);
    all->footer(
        "aliquot gpu list\n"
        "aliquot gpu list -o json\n"
        "aliquot gpu list --node-state /tmp/node   # a simulated node");
    all->callback([words, &context] { list(context, *words); });
    command_line::Command* one = add(*gpu, "show", "Show everything known about one GPU", *words);
    one->add_option("GPU", words->which, "Index, uuid or PCI address", " ")->required();
    one->footer("aliquot gpu show 0\naliquot gpu show 0000:3b:00.0 -o yaml");
    one->callback([words, &context] { show(context, *words); });
}

}  // namespace aliquot::cli
