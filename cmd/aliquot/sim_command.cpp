// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot/sim_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <system_error>

#include "command_line/command.h"
#include "k8s/memory_amount.h"

namespace aliquot::sim {
namespace {

namespace fs = std::filesystem;

struct UpOptions {
    std::vector<std::string> gpus;
    std::vector<std::string> mig;
    std::string state;
    std::string driver_version = NodeOptions().driver_version;
    std::uint64_t seed = NodeOptions().seed;
};

void run_up(const UpOptions& options, cli::Context& context) {
    NodeOptions node{
        .driver_version = options.driver_version, .seed = options.seed, .mig = options.mig};
    for (const std::string& text : options.gpus) {
        auto request = parse_gpu_request(text);
        if (!request) return fail_with(context, request.error());
        node.gpus.push_back(*std::move(request));
    }
    const auto directory = state_directory(options.state);
    const auto ours = context.program_directory.parent_path() / "sim";
    fs::path smi = ours / "nvidia-smi";
    if (std::error_code problem; !fs::exists(smi, problem)) {
        context.err << "aliquot: " << smi.native() << " is not built: the node has no nvidia-smi\n";
        smi.clear();
    }
    const auto made = Node::create(directory, node, ours / "libnvidia-ml.so.1", smi);
    if (!made) return fail_with(context, made.error());
    for (const GpuView& gpu : made->gpus()) {
        context.out << "GPU " << gpu.index << ": " << gpu.product << " ("
                    << k8s::bytes_text(gpu.memory_total_bytes) << ", " << gpu.uuid << ")\n";
        for (const MigDeviceView& device : gpu.mig_devices) {
            context.out << "  MIG " << device.index << ": " << device.profile << " ("
                        << k8s::bytes_text(device.memory_total_bytes) << ", " << device.uuid
                        << ")\n";
        }
    }
    context.out << "node is up in " << directory.native() << "; to see it from here:\n"
                << "  eval \"$(aliquot sim env --state " << shell_word(directory.native())
                << ")\" && nvidia-smi\n";
}

void run_down(const std::string& state, cli::Context& context) {
    const auto directory = state_directory(state);
    if (const auto gone = Node::destroy(directory); !gone) return fail_with(context, gone.error());
    context.out << "node in " << directory.native() << " is down\n";
}

void run_env(const std::string& state, cli::Context& context) {
    const auto directory = state_directory(state);
    if (const auto node = open_node(directory); !node) return fail_with(context, node.error());
    context.out << environment_text(directory);
}

void add_up(command_line::Command& sim, cli::Context& context) {
    auto* const up = sim.add_subcommand("up", "Create a simulated node");
    const auto options = std::make_shared<UpOptions>();
    up->add_option("--gpu", options->gpus, "Model and count, as a2 or h100-80:8; may be repeated")
        ->required()
        ->take_all()
        ->allow_extra_args(false)
        ->type_name("MODEL[:N]")
        ->complete_by("gpu-models");
    up->add_option("--mig", options->mig,
                   "How GPUs are cut, as 3g.20gb,1g.5gb*4 or 2g.10gb@2; of one GPU: 1=7g.40gb; may "
                   "be repeated")
        ->take_all()
        ->allow_extra_args(false)
        ->type_name("[GPU=]LAYOUT");
    up->add_option("--state", options->state, "Directory of the node")->type_name("DIR");
    up->add_option("--driver-version", options->driver_version, "Driver version to report")
        ->capture_default_str()
        ->type_name("VERSION");
    up->add_option("--seed", options->seed, "Seed of UUIDs and serial numbers")
        ->capture_default_str();
    up->footer([] {
        std::string text =
            "aliquot sim up --gpu h100-80:8\n"
            "aliquot sim up --gpu a100-40:2 --mig 3g.20gb,1g.5gb*4\n"
            "# models:";
        for (const std::string& name : model_names()) text += " " + name;
        return text;
    });
    up->callback([options, &context] { run_up(*options, context); });
}

/// A command that takes only --state.
void add_simple(command_line::Command& sim, cli::Context& context, const char* name,
                const char* help, const char* example,
                void (*run)(const std::string&, cli::Context&)) {
    auto* const command = sim.add_subcommand(name, help);
    const auto state = std::make_shared<std::string>();
    command->add_option("--state", *state, "Directory of the node")->type_name("DIR");
    command->footer(example);
    command->callback([state, run, &context] { run(*state, context); });
}

/// Does one of the items of a comma list fit?
template <class Fits>
bool any_of(const std::string& list, Fits fits) {
    std::string_view rest = list;
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        if (fits(rest.substr(0, comma))) return true;
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
    return false;
}

bool means(std::string_view item, const GpuView& gpu) {
    return item == "all" || item == gpu.uuid || item == std::to_string(gpu.index);
}

bool means(std::string_view item, const GpuView& gpu, const MigDeviceView& device) {
    return item == device.uuid ||
           item == std::to_string(gpu.index) + ":" + std::to_string(device.index);
}

}  // namespace

void add_sim_command(command_line::Command& program, cli::Context& context) {
    auto* const sim = program.add_subcommand("sim", "Run simulated GPU nodes on this machine");
    sim->require_subcommand(1);
    sim->footer(
        "aliquot sim up --gpu a2 --state /tmp/node\n"
        "eval \"$(aliquot sim env --state /tmp/node)\" && nvidia-smi\n"
        "aliquot sim down --state /tmp/node");
    add_up(*sim, context);
    add_simple(*sim, context, "down", "Remove the node; programs that use it see lost GPUs",
               "aliquot sim down --state /tmp/node", run_down);
    add_sim_status(*sim, context);
    add_simple(*sim, context, "env",
               "Print the environment that makes a shell use the node's driver",
               "eval \"$(aliquot sim env --state /tmp/node)\" && nvidia-smi", run_env);
    add_sim_fault(*sim, context);
    add_sim_use(*sim, context);
    // For help and completion: placement_handover.h.
    sim->add_subcommand("cluster", "Run a simulated Kubernetes cluster of many GPU nodes")
        ->footer("aliquot sim cluster --nodes 1000 --gpu h100-80:8");
}

fs::path state_directory(const std::string& option) {
    fs::path directory = option;
    if (option.empty()) {
        const char* const named =
            std::getenv("ALIQUOT_SIM_STATE");  // NOLINT(concurrency-mt-unsafe)
        directory = named != nullptr && *named != '\0'
                        ? fs::path(named)
                        : fs::path("/tmp/aliquot-sim-" + std::to_string(::getuid()));
    }
    std::error_code problem;
    const auto absolute = fs::absolute(directory, problem).lexically_normal();
    if (problem) return directory;
    return absolute.has_filename() ? absolute : absolute.parent_path();  // "dir/" is dir
}

Result<Node> open_node(const fs::path& directory) {
    auto node = Node::open(directory);
    if (node || node.error().code != ErrorCode::kNotFound) return node;
    return Error{ErrorCode::kNotFound, node.error().message +
                                           "; make one with 'aliquot sim up --gpu a2 --state " +
                                           shell_word(directory.native()) + "'"};
}

void fail_with(cli::Context& context, const Error& error) {
    const bool usage = error.code == ErrorCode::kInvalidInput;
    cli::fail(context, usage ? cli::kUsage : cli::kCouldNotRun, error.message);
}

std::string shell_word(std::string_view text) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_-./:,+@%=").contains(c);
    };
    if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::string environment_text(const fs::path& directory) {
    // The old values stay outside the single quotes, so that the shell puts them in.
    return "export ALIQUOT_SIM_STATE=" + shell_word(directory.native()) +
           "\nexport LD_LIBRARY_PATH=" + shell_word((directory / "lib").native()) +
           "\"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\nexport PATH=" +
           shell_word((directory / "bin").native()) + "\"${PATH:+:$PATH}\"\n";
}

std::vector<UsablePlace> visible_places(const std::vector<GpuView>& gpus,
                                        const std::optional<std::string>& sim_visible,
                                        const std::optional<std::string>& nvidia_visible) {
    const std::string list = sim_visible ? *sim_visible : nvidia_visible.value_or("all");
    std::vector<UsablePlace> places;
    for (const GpuView& gpu : gpus) {
        const bool whole = any_of(list, [&](std::string_view item) { return means(item, gpu); });
        if (whole && !gpu.mig_enabled) places.push_back({.gpu = gpu, .device = {}});
        for (const MigDeviceView& device : gpu.mig_devices) {
            if (whole ||
                any_of(list, [&](std::string_view item) { return means(item, gpu, device); })) {
                places.push_back({.gpu = gpu, .device = device});
            }
        }
    }
    if (!places.empty() && places.front().device) places.resize(1);
    return places;
}

Result<UsablePlace> find_mig_device(const std::vector<GpuView>& gpus, const std::string& text,
                                    std::optional<unsigned> gpu) {
    std::string known;
    for (const GpuView& one : gpus) {
        for (const MigDeviceView& device : one.mig_devices) {
            const std::string name = std::to_string(one.index) + ":" + std::to_string(device.index);
            const bool on_this = gpu.value_or(one.index) == one.index;
            const bool by_index = text == std::to_string(device.index) && (gpu || gpus.size() == 1);
            if (on_this && (means(text, one, device) || by_index)) return UsablePlace{one, device};
            known += (known.empty() ? "" : ", ") + name + " (" + device.profile + ")";
        }
    }
    return Error{ErrorCode::kNotFound, "there is no MIG device " + text.substr(0, 64) +
                                           "; the node has " + (known.empty() ? "none" : known)};
}

}  // namespace aliquot::sim
