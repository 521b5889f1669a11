// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>

#include "cmd/aliquot/sim_command.h"
#include "command_line/command.h"
#include "k8s/memory_amount.h"
#include "sim/mps/client.h"
#include "sim/node/script.h"

namespace aliquot::sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGlance{200};  // how often it looks whether its GPU still works
constexpr double kLongestSeconds = 1e8;
constexpr std::size_t kLongestScript = 1 << 16;  // bytes

struct UseOptions {
    std::string memory;
    unsigned sm_percent = 30;
    std::optional<double> seconds;
    std::optional<std::string> script;
    unsigned gpus = 1;
    std::optional<std::string> mig;
    std::string state;
};

std::optional<std::string> environment(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string name_of(const UsablePlace& place) {
    const std::string gpu = "GPU " + std::to_string(place.gpu.index);
    if (!place.device) return gpu + " (" + place.gpu.product + ", " + place.gpu.uuid + ")";
    return gpu + " MIG " + std::to_string(place.device->index) + " (" + place.gpu.product +
           " MIG " + place.device->profile + ", " + place.device->uuid + ")";
}

Result<std::vector<UsablePlace>> wanted_places(const UseOptions& options,
                                               const std::vector<GpuView>& gpus) {
    if (!options.mig) {
        return visible_places(gpus, environment("ALIQUOT_SIM_VISIBLE_DEVICES"),
                              environment("NVIDIA_VISIBLE_DEVICES"));
    }
    auto place = find_mig_device(gpus, *options.mig, std::nullopt);
    if (!place) return std::move(place).error();
    return std::vector{*std::move(place)};
}

/// What makes the workload stop: a signal, its time, or its GPU.
enum class End : std::uint8_t { kAsked, kGpuLost, kServerLost };

End hold(const Node& node, const std::vector<UsablePlace>& held,
         std::optional<Clock::time_point> until, const sigset_t& signals, mps::Client* client) {
    for (;;) {
        auto wait = std::chrono::nanoseconds(kGlance);
        if (until) {
            if (*until <= Clock::now()) return End::kAsked;
            wait = std::min(wait, std::chrono::nanoseconds(*until - Clock::now()));
        }
        wait = std::max(wait, std::chrono::nanoseconds(0));
        const timespec limit{.tv_sec = wait.count() / 1'000'000'000,
                             .tv_nsec = wait.count() % 1'000'000'000};
        if (::sigtimedwait(&signals, nullptr, &limit) > 0) return End::kAsked;
        if (client != nullptr && !client->connected()) return End::kServerLost;
        const auto gpus = node.gpus();
        for (const UsablePlace& place : held) {
            const unsigned index = place.gpu.index;
            if (index >= gpus.size() || gpus[index].fault.starts_with("lost")) return End::kGpuLost;
        }
    }
}

/// As the CUDA library does: where CUDA_MPS_PIPE_DIRECTORY names a daemon the process is its client,
/// else it goes on by itself.
std::optional<mps::Client> connect_to_mps(cli::Context& context, std::uint64_t bytes,
                                          std::string& trouble) {
    const auto pipe = environment("CUDA_MPS_PIPE_DIRECTORY");
    if (!pipe || pipe->empty()) return std::nullopt;
    auto client = mps::Client::connect(*pipe, "aliquot sim use");
    if (!client) {
        if (client.error().code == ErrorCode::kConflict) trouble = client.error().message;
        return std::nullopt;
    }
    if (client->memory_limit() && bytes > *client->memory_limit()) {
        trouble = "CUDA out of memory: MPS gives this process " +
                  k8s::bytes_text(*client->memory_limit()) + ", " + k8s::bytes_text(bytes) +
                  " are wanted";
    }
    context.out << "client of MPS server " << client->server() << "\n";
    return *std::move(client);
}

/// What it does over time: --script, or --memory and --sm for ever.
Result<LoadScript> wanted_load(const UseOptions& options) {
    if (options.script) {
        std::error_code ignored;
        if (!std::filesystem::is_regular_file(*options.script, ignored)) {
            return parse_load_script(*options.script);
        }
        std::ifstream file(*options.script);
        std::string text(kLongestScript, '\0');
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
        if (file.bad() || file.gcount() == static_cast<std::streamsize>(kLongestScript)) {
            return Error{ErrorCode::kInvalidInput,
                         *options.script + ": cannot be read, or is longer than a load script is"};
        }
        text.resize(static_cast<std::size_t>(file.gcount()));
        auto script = parse_load_script(text);
        if (!script) return std::move(script).error().during(*options.script);
        return script;
    }
    if (options.memory.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     "say what it does: --memory SIZE, or --script SCRIPT"};
    }
    const auto bytes = k8s::parse_bytes(options.memory);
    if (!bytes) return Error(bytes.error()).during("--memory");
    return LoadScript{.phases = {{.sm_percent = options.sm_percent, .memory_bytes = *bytes}}};
}

/// As much of it as an MPS client may.
LoadScript limited(LoadScript script, unsigned most_percent) {
    for (LoadPhase& phase : script.phases) {
        phase.sm_percent = std::min(phase.sm_percent, most_percent);
    }
    return script;
}

Result<Done> begin(Node& node, const UsablePlace& place, std::uint32_t pid, const LoadScript& load,
                   ProcessKind kind) {
    const LoadPhase& first = load.phases.front();
    if (load.phases.size() > 1 || load.period.count() > 0) {
        const auto begun = node.run_script(place.gpu.index, pid, load, place.instance(), kind);
        if (!begun) return begun.error();
        return Done{};
    }
    return node.set_process(place.gpu.index, pid, first.memory_bytes, first.sm_percent,
                            place.instance(), kind);
}

std::uint64_t most_memory(const LoadScript& load) {
    return std::ranges::max_element(load.phases, {}, &LoadPhase::memory_bytes)->memory_bytes;
}

void run_use(const UseOptions& options, cli::Context& context) {
    auto load = wanted_load(options);
    if (!load) return fail_with(context, load.error());
    auto node = open_node(state_directory(options.state));
    if (!node) return fail_with(context, node.error());
    const auto visible = wanted_places(options, node->gpus());
    if (!visible) return fail_with(context, visible.error());
    if (visible->size() < options.gpus) {
        return cli::fail(context, cli::kFindings,
                         "no CUDA-capable device is detected: " + std::to_string(options.gpus) +
                             " wanted, " + std::to_string(visible->size()) +
                             " visible to this process");
    }
    // Signals are taken by hold(), so that memory is always given back.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, &signals, &before);

    const auto pid = static_cast<std::uint32_t>(::getpid());
    std::vector<UsablePlace> held;
    std::string trouble;
    auto client = connect_to_mps(context, most_memory(*load), trouble);
    const auto kind = client ? ProcessKind::kMpsClient : ProcessKind::kCompute;
    if (client) load = limited(*std::move(load), client->thread_percent());
    for (unsigned i = 0; i < options.gpus && trouble.empty(); ++i) {
        const UsablePlace& place = (*visible)[i];
        const auto taken = begin(*node, place, pid, *load, kind);
        if (taken) {
            held.push_back(place);
        } else {
            const std::string& why = taken.error().message;
            const bool full = taken.error().code == ErrorCode::kConflict && !why.contains("busy");
            trouble = (full ? "CUDA out of memory: " : "") + why;
        }
    }
    if (trouble.empty()) {
        for (const UsablePlace& place : held) {
            const LoadPhase& first = load->phases.front();
            context.out << "process " << pid << " holds " << k8s::bytes_text(first.memory_bytes)
                        << " and " << first.sm_percent << " % of " << name_of(place)
                        << (load->phases.size() > 1 ? ", then as its script says" : "") << "\n";
        }
        context.out.flush();
        std::optional<Clock::time_point> until;
        if (options.seconds) {
            until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(*options.seconds));
        }
        const End end = hold(*node, held, until, signals, client ? &*client : nullptr);
        if (end == End::kGpuLost) trouble = "the GPU is lost: every call to it fails";
        if (end == End::kServerLost) trouble = "CUDA error 806: the MPS server has gone";
    }
    for (const UsablePlace& place : held) {
        (void)node->set_process(place.gpu.index, pid, 0, 0, place.instance());
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!trouble.empty()) cli::fail(context, cli::kFindings, trouble);
}

}  // namespace

void add_sim_use(command_line::Command& sim, cli::Context& context) {
    auto* const command = sim.add_subcommand("use", "Simulate a workload: hold GPU memory");
    command->footer(
        "aliquot sim use --memory 6Gi --sm 40 --for 60\n"
        "aliquot sim use --script 0s:80%:2Gi,10s:0%,20s:again");
    const auto options = std::make_shared<UseOptions>();
    auto* const memory =
        command->add_option("--memory", options->memory, "How much, as 2Gi or 512Mi")
            ->type_name("SIZE");
    auto* const busy =
        command->add_option("--sm", options->sm_percent, "How busy it keeps the GPU, in percent")
            ->range(0U, 100U)
            ->capture_default_str()
            ->type_name("PERCENT");
    command
        ->add_option("--script", options->script,
                     "What it does over time instead, as "
                     "0s:80%:2Gi,10s:0%,20s:again, or a file of such lines")
        ->excludes(memory)
        ->excludes(busy)
        ->type_name("SCRIPT");
    command->add_option("--for", options->seconds, "End after this long; default: on a signal")
        ->range(0.0, kLongestSeconds)
        ->type_name("SECONDS");
    command->add_option("--gpus", options->gpus, "How many of the visible GPUs it uses")
        ->range(1U, 32U)
        ->capture_default_str()
        ->type_name("N");
    command
        ->add_option("--mig", options->mig,
                     "A MIG device instead: its uuid, or GPU:DEVICE by index, as 0:2")
        ->type_name("DEVICE");
    command->add_option("--state", options->state, "Directory of the node")->type_name("DIR");
    command->callback([options, &context] { run_use(*options, context); });
}

}  // namespace aliquot::sim
