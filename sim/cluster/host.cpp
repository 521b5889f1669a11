// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/host.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "base/text.h"
#include "nvml/driver.h"
#include "os/spawner.h"

namespace aliquot::sim::cluster {
namespace {

namespace fs = std::filesystem;

// Where an operator mounts the driver of a node; here a link to the simulated node.
constexpr std::string_view kDriverRoot = "/run/nvidia/driver";
constexpr std::string_view kConfigPath = "/etc/aliquot/config.yaml";
constexpr const char* kSystemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

Error failure(const std::error_code& problem, const fs::path& subject) {
    return os::error_from_errno(problem.value(), subject.native());
}

Result<Done> make_folder(const fs::path& path) {
    std::error_code problem;
    fs::create_directories(path, problem);
    if (problem) return failure(problem, path);
    return Done{};
}

Result<Done> make_link(const fs::path& link, const fs::path& target) {
    auto made = make_folder(link.parent_path());
    if (!made) return made;
    std::error_code problem;
    fs::create_symlink(target, link, problem);
    if (problem) return failure(problem, link);
    return Done{};
}

gpu::Health health_of(const sim::GpuView& view) {
    if (view.fault.empty()) return {};
    return {.state = gpu::Health::State::kUnhealthy, .reason = view.fault};
}

gpu::Inventory inventory_of(const sim::Node& node) {
    gpu::Inventory inventory;
    for (const sim::GpuView& view : node.gpus()) {
        gpu::Gpu gpu;
        gpu.index = view.index;
        gpu.uuid = {view.uuid};
        gpu.minor = view.index;
        gpu.model = view.product;
        gpu.memory_bytes = view.memory_total_bytes;
        gpu.health = health_of(view);
        gpu.mig_enabled = !view.mig_devices.empty();
        gpu.mig_capable = gpu.mig_enabled;
        for (const sim::MigDeviceView& device : view.mig_devices) {
            gpu.mig_devices.push_back({.uuid = {device.uuid},
                                       .index = device.index,
                                       .profile = device.profile,
                                       .memory_bytes = device.memory_total_bytes,
                                       .health = gpu.health});
        }
        inventory.gpus.push_back(std::move(gpu));
    }
    return inventory;
}

}  // namespace

Result<std::unique_ptr<Host>> Host::make(const HostOptions& options) {
    std::unique_ptr<Host> host(new Host(options));
    auto prepared = host->prepare();
    if (!prepared) return std::move(prepared).error();
    const bool real = options.gpus == std::vector<std::string>{"real"};
    auto made = real ? host->use_real_driver() : host->make_simulated_node();
    if (!made) return std::move(made).error();
    return host;
}

Host::~Host() {
    driver_.reset();
    std::error_code ignored;
    if (!agent_link_.empty() && !options_.keep) fs::remove(agent_link_, ignored);
    if (options_.keep || !node_) return;
    node_.reset();
    (void)sim::Node::destroy(node_directory_);  // what it cannot remove is no reason to fail now
    fs::remove(node_directory_, ignored);
}

Result<Done> Host::prepare() {
    try {
        temporary_.emplace();
        base_ = temporary_->path();
        if (options_.keep) temporary_->keep();
    } catch (const fs::filesystem_error& error) {
        return failure(error.code(), "temporary directory").during("TMPDIR");
    }
    // Longest path of a socket beneath it, and what bind() takes.
    constexpr std::size_t kSocketPath = 62;
    constexpr std::size_t kLongestAddress = 107;
    if (base_.native().size() + kSocketPath > kLongestAddress) {
        return Error{ErrorCode::kInvalidInput,
                     "TMPDIR " + base_.parent_path().native() +
                         ": too long for the sockets beneath it; set TMPDIR to a shorter path"};
    }
    keeps_logs_ = options_.keep || !options_.state.empty();
    const fs::path lasting = options_.state.empty() ? base_ : fs::absolute(options_.state);
    logs_ = lasting / "logs";
    node_directory_ = lasting / "node";
    root_.emplace(base_ / "root");
    for (const fs::path& folder : {logs_, base_ / "root", base_ / "work"}) {
        auto made = make_folder(folder);
        if (!made) return made;
    }
    if (!options_.state.empty()) {
        // Where `aliquot top --node-state` finds the agent.
        agent_link_ = lasting / "agent.sock";
        std::error_code ignored;
        fs::remove(agent_link_, ignored);  // of a run that was killed
        auto made = make_link(agent_link_, root_->resolve("/run/aliquot/agent.sock"));
        if (!made) return made;
    }
    if (!options_.config_file.empty()) {
        // A link, so that the agent sees the user's edits.
        config_path_ = kConfigPath;
        return make_link(root_->resolve(kConfigPath), fs::absolute(options_.config_file));
    }
    return Done{};
}

Result<Done> Host::make_simulated_node() {
    sim::NodeOptions node;
    node.mig = options_.mig;
    for (const std::string& text : options_.gpus) {
        if (text == "real") {
            return Error{ErrorCode::kInvalidInput,
                         "--gpu real: cannot be mixed with simulated GPUs"};
        }
        auto request = sim::parse_gpu_request(text);
        if (!request) return std::move(request).error().during("--gpu " + text);
        node.gpus.push_back(*std::move(request));
    }
    const fs::path libraries = options_.program_directory.parent_path() / "sim";
    auto made = sim::Node::create(node_directory_, node, libraries / "libnvidia-ml.so.1",
                                  libraries / "nvidia-smi");
    if (!made) return std::move(made).error().during("simulated node");
    node_ = *std::move(made);
    driver_root_ = kDriverRoot;
    return make_link(root_->resolve(kDriverRoot), node_directory_);
}

Result<Done> Host::use_real_driver() {
    // The agent's tree is ours, but the driver, its devices and sysfs are the machine's own.
    driver_root_ = "/";
    for (const char* name : {"bin", "dev", "lib", "lib64", "sbin", "sys", "usr"}) {
        const fs::path target = fs::path("/") / name;
        std::error_code ignored;
        if (!fs::exists(target, ignored)) continue;
        auto linked = make_link(base_ / "root" / name, target);
        if (!linked) return linked;
    }
    // Of /proc all but the processes: those are shown as this node's pods have them.
    std::error_code problem;
    fs::directory_iterator entry("/proc", problem);
    for (; !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
        const std::string name = entry->path().filename().native();
        if (name.front() >= '0' && name.front() <= '9') continue;
        auto linked = make_link(base_ / "root/proc" / name, entry->path());
        if (!linked) return linked;
    }
    auto driver = nvml::Driver::open(*root_, {});
    if (!driver && driver.error().code == ErrorCode::kNotFound) {
        return Error{ErrorCode::kNotFound,
                     "--gpu real: this machine has no NVIDIA driver (libnvidia-ml.so.1 is in no "
                     "library directory); a simulated GPU needs none: --gpu a2"};
    }
    if (!driver) return std::move(driver).error().during("--gpu real");
    driver_ = *std::move(driver);
    return Done{};
}

std::string Host::node_directory() const {
    return node_ ? node_directory_.native() : std::string();
}

Result<gpu::Inventory> Host::look() {
    return node_ ? Result<gpu::Inventory>(inventory_of(*node_)) : driver_->enumerate();
}

Environment Host::agent_environment() const {
    Environment environment = os::current_environment();
    if (node_) environment["ALIQUOT_SIM_STATE"] = node_directory_.native();
    return environment;
}

Environment Host::driver_environment(const std::vector<std::string>& gpus) const {
    std::string list = join(gpus, ",");
    Environment environment;
    environment["PATH"] = options_.program_directory.native() + ":" + kSystemPath;
    if (!node_) {
        // Where this user's CUDA is, is in these.
        const Environment ours = os::current_environment();
        for (const char* name : {"PATH", "LD_LIBRARY_PATH"}) {
            const auto found = ours.find(name);
            if (found == ours.end()) continue;
            environment[name] += (environment[name].empty() ? "" : ":") + found->second;
        }
        // A local process is not in a container: this is what hides the other GPUs from CUDA.
        environment["CUDA_VISIBLE_DEVICES"] = list;
        return environment;
    }
    environment["PATH"] = (node_directory_ / "bin").native() + ":" + environment["PATH"];
    // The driver, and what an image would bring along.
    environment["LD_LIBRARY_PATH"] =
        (node_directory_ / "lib").native() + ":" +
        (options_.program_directory.parent_path() / "sim/onnxruntime").native();
    environment["ALIQUOT_SIM_STATE"] = node_directory_.native();
    environment["ALIQUOT_SIM_VISIBLE_DEVICES"] = list.empty() ? "none" : list;
    return environment;
}

Result<std::string> Host::working_directory(const std::string& name) {
    const fs::path path = base_ / "work" / name;
    auto made = make_folder(path);
    if (!made) return std::move(made).error();
    return path.native();
}

}  // namespace aliquot::sim::cluster
